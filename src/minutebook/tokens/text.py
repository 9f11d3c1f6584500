"""How many tokens a text takes, estimated without a vocabulary and at C speed. Pure.

Most tokens begin where the *kind* of character changes: a word, a number, a sign, a line.
Those places are counted, each with its weight; every visible character adds a little, since
long words break up, and a character outside ASCII adds what its script costs. All sums are
whole thousandths of a token and are rounded once, so a text costs the same on every machine.

Longer never costs less: the estimate of a text is at least that of each piece of it.

The constants were fitted to o200k, the public vocabulary of OpenAI's current models, on one
half of 8 700 pieces of real text (manuals, sources in ten languages, JSON, logs, sessions of
a dozen agents, prose in thirty languages; least relative error, no weight below 0). On the
other half one piece was off by, in percent, at the median and the 90th percentile: English
prose and manuals 3 and 8, Python 4 and 12, JavaScript 4 and 10, JSON 4 and 10, what agents
read and write 4 and 11, Chinese manuals 4 and 11, Chinese news and reviews 5 and 12, Japanese
5 and 10, Korean 4 and 9, Russian 8 and 21, classical Chinese verse 16 and 26. A quarter of
the characters, for comparison: English 9 and 25, Python 12 and 35, JSON 13 and 121, agents
12 and 36, Chinese 45 and 58. `python -m benchmarks.tokens` measures it anew. Other vocabularies
are further off, mostly by one factor.
"""

from __future__ import annotations

import re

START = 800
"""What it costs, in thousandths of a token, that a word, a line or an indentation begins.

Fitted together with the next two on ASCII text: 0.802, 0.447 and 0.051.
"""

HALF_START = 450
"""What it costs that a capital or a sign begins; most are drawn into the word beside them.

A number takes `START` twice (fitted apart: 1.65 for a run of digits, which o200k cuts into
threes), and the second of several signs in a row takes this once more (fitted apart: 0.62).
"""

CHARACTER = 50
"""What each visible character adds: the longer a word, the more tokens it breaks into."""

SPACE = 8
"""What each space adds: o200k packs up to 128 spaces into one token (measured: 0.008)."""

SCRIPTS: tuple[tuple[bytes, int], ...] = (
    # Han and kana. Fitted 0.50 to 0.62, as the share of prose and of manuals goes.
    (bytes(range(0xE3, 0xEA)), 590),
    # Cyrillic and Arabic. Fitted 0.171 and 0.166; less here, for Russian is cheaper than
    # Ukrainian and Serbian (+11 %, -7 %, -14 % at 0.16).
    (bytes(range(0xD0, 0xD4)) + bytes(range(0xD8, 0xDC)), 160),
    # Hangul. Fitted 0.426.
    (bytes(range(0xEA, 0xEE)), 430),
    # Greek, Armenian, Hebrew, the scripts of India, Thai, Georgian, and typographic signs,
    # arrows and boxes. Fitted alone they lie between 0.22 and 0.30, together 0.263.
    (b"\xce\xcf" + bytes(range(0xD4, 0xD8)) + bytes(range(0xDC, 0xE3)), 260),
    # Latin letters with accents, which break the word that they stand in. Fitted 1.33.
    (bytes(range(0xC3, 0xCE)), 1300),
    # Signs of Latin-1: section, degree, guillemets, the hard space. Fitted 0.70 to 0.75.
    (b"\xc2", 700),
    # Full-width signs; the comma among them also ends a run of Han. Fitted 2.3 to 2.7, less
    # here, for alone in a row they cost far less (measured: 0.25).
    (b"\xee\xef", 2000),
    # Emoji and everything else beyond the basic plane. Fitted 1.28 to 1.41.
    (bytes(range(0xF0, 0x100)), 1300),
)
"""First bytes in UTF-8 and what a character beginning so adds to `CHARACTER`, commonest first."""

BLOB_LENGTH = 512
"""From how many characters of the base64 alphabet in a row on, a text is taken for data."""

BLOB_CHARACTER = 650
"""The most that one character of such data costs.

Measured with o200k, tokens a character: random bytes in base64 0.683, pictures 0.61 to 0.68,
a program 0.564, source text 0.571, hexadecimal 0.570.
"""

_BLOCK = 1 << 16
"""How many bytes are weighed at a time, so that the masks below have a fixed size."""

_UPPER = bytes(range(0x41, 0x5B))
_LETTERS = bytes(range(0x61, 0x7B)) + _UPPER
_DIGITS = bytes(range(0x30, 0x3A))
_BREAKS = b"\n\r\t"
_ASCII = bytes(range(0x80))
_HIGH = bytes(range(0x80, 0x100))
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_SIGNS = bytes(set(_ASCII) - set(_LETTERS + _DIGITS + _BREAKS + b" "))
_BASE64 = _LETTERS + _DIGITS + b"+/=-_"
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/=_-]*+")

# One bit for each kind of byte; a number has two, which is how it comes to count twice.
_IN_WORD, _IN_NUMBER, _IN_BREAK, _IN_CAPITALS, _IN_SIGNS, _IN_SPACES = 1, 2 | 4, 8, 16, 32, 64

_Masks = tuple[int, int, int, int]


def estimate_text(text: str) -> int:
    """Give the tokens of *text*: 0 for none, else at least 1.

    Never raises, whatever the text holds (lone surrogates, NUL, megabytes of one character),
    and takes time linear in its length: about 1.5 microseconds for 300 characters of English
    and 4 milliseconds for a megabyte.
    """
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    thousandths = _weigh(data) if len(data) < BLOB_LENGTH else _weigh_long(data)
    return (thousandths + 500) // 1000 or 1


def _weigh(data: bytes) -> int:
    """Weigh UTF-8 text that is no data, in thousandths of a token."""
    weight = CHARACTER * len(data) - (CHARACTER - SPACE) * data.count(b" ")
    kinds = data.translate(_KINDS)
    if len(kinds) <= _BLOCK:
        weight += _weigh_changes(kinds, _MASKS)
    else:
        weight += _weigh_changes(kinds[:_BLOCK], _MASKS)
        for start in range(_BLOCK, len(kinds), _BLOCK):
            weight += _weigh_changes(kinds[start - 2 : start + _BLOCK], _MASKS_LATER)
    if not data.isascii():
        weight += _weigh_scripts(data.translate(None, _ASCII))
    return weight


def _weigh_changes(kinds: bytes, masks: _Masks) -> int:
    """Weigh the places where the kind of byte changes.

    The bytes are read as one large number, so that each step below works on all of them at
    once: shifted by eight bits, a byte's kind lies over that of the byte after it.
    """
    starts_whole, seconds_whole, starts_half, seconds_half = masks
    here = int.from_bytes(kinds, "little")
    same = here & (here << 8)
    starts = here ^ same
    seconds = same ^ (same & (same << 8))
    whole = (starts & starts_whole) | (seconds & seconds_whole)
    half = (starts & starts_half) | (seconds & seconds_half)
    return START * whole.bit_count() + HALF_START * half.bit_count()


def _weigh_scripts(high: bytes) -> int:
    """Weigh the characters outside ASCII, given all their bytes; what these cost comes off."""
    scripts = high.translate(_SCRIPT_OF, _CONTINUATIONS)
    weight = CHARACTER * (len(scripts) - len(high))
    left = len(scripts)
    for script, (_, cost) in enumerate(SCRIPTS):
        if not left:
            break
        found = scripts.count(script)
        weight += cost * found
        left -= found
    return weight


def _weigh_long(data: bytes) -> int:
    """Weigh text that may hold data: a run of base64 is weighed by a rule of its own.

    A run of `BLOB_LENGTH` bytes holds at least one whole step of half that length, counted
    from the text's beginning. So only the steps' first bytes are looked at, and prose is
    passed over at a few bytes a step.
    """
    step = BLOB_LENGTH // 2
    weight = weighed = position = 0
    while position + step <= len(data):
        match = _BASE64_RUN.match(data, position)
        end = match.end() if match else position
        if end - position < step:
            position += step
            continue
        start = position - _base64_tail(data, max(weighed, position - step), position)
        if end - start >= BLOB_LENGTH:
            weight += _weigh(data[weighed:start]) + _weigh_blob(data[start:end])
            weighed = end
        position = end + -end % step
    return weight + _weigh(data[weighed:] if weighed else data)


def _base64_tail(data: bytes, start: int, end: int) -> int:
    """Count the bytes before *end*, back to *start* at most, that are of base64's alphabet."""
    before = data[start:end]
    return len(before) - len(before.rstrip(_BASE64))


def _weigh_blob(data: bytes) -> int:
    """Weigh a run of base64 or the like: letters without sense break up into more tokens.

    By its changes alone, random base64 would cost 0.50 a character and base64 of source text
    0.38, both three quarters of the truth or less; a long row of one letter or sign has no
    changes and stays cheap.
    """
    weight = _weigh(data)
    return max(weight, min(weight * 3 // 2, BLOB_CHARACTER * len(data)))


def _kinds() -> bytes:
    """Build the table that gives each byte its kind. A byte outside ASCII is part of a word."""
    table = bytearray(256)
    for members, bits in (
        (_LETTERS + _HIGH, _IN_WORD),
        (_UPPER, _IN_CAPITALS),
        (_DIGITS, _IN_NUMBER),
        (_BREAKS, _IN_BREAK),
        (_SIGNS, _IN_SIGNS),
        (b" ", _IN_SPACES),
    ):
        for byte in members:
            table[byte] |= bits
    return bytes(table)


def _masks(context: int) -> _Masks:
    """Build the masks of a block whose first *context* bytes belong to the block before it.

    In order: kinds whose first byte costs a whole start, whose second byte does (one space
    goes with the word after it, more are an indentation), and the same for half a start.
    """
    return (
        _mask(_IN_WORD | _IN_NUMBER | _IN_BREAK, context),
        _mask(_IN_SPACES, context),
        _mask(_IN_CAPITALS | _IN_SIGNS, context),
        _mask(_IN_SIGNS, context),
    )


def _mask(bits: int, context: int) -> int:
    """Repeat *bits* for each byte of a block, after *context* bytes of nothing."""
    return int.from_bytes(bytes(context) + bytes((bits,)) * _BLOCK, "little")


def _script_of() -> bytes:
    """Build the table from a character's first byte to its place in `SCRIPTS`."""
    table = bytearray((len(SCRIPTS),)) * 256
    for script, (leads, _) in enumerate(SCRIPTS):
        for lead in leads:
            table[lead] = script
    return bytes(table)


_KINDS = _kinds()
_SCRIPT_OF = _script_of()
_MASKS = _masks(0)
_MASKS_LATER = _masks(2)
