"""One record, one line: encode and decode, strictly and leniently. No I/O.

The only place where records become bytes. `lines` reads whole logs with it.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import ValidationError

from minutebook.errors import InvalidMessage
from minutebook.messages import Function, Message, OtherPart, Part, TextPart, ToolCall
from minutebook.records import Batch, Other, Record, Special

if TYPE_CHECKING:
    from collections.abc import Sequence

SPECIAL_PREFIXES = (b'{"role":"_', b'{"role": "_')
"""How special records begin: as we write them, and as Kimi CLI does."""
SEQ_LIMIT = 1 << 53
"""A `seq` from here on is no number of ours (2^53: where JSON readers lose precision)."""
REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What the fast decoders raise on a line that they do not take."""

PAGE_BYTES = 4096
"""What a power loss leaves or loses whole: the page of the operating system's cache."""
_INSIDE = (
    b'{"role":"_batch","n":%8d,"bytes":%12d,"hash":"inside","content":"goes on inside a batch"}\n'
)
"""A `_batch` line inside of a batch, always of one length; no sum is spelled like its hash."""

_encoder = msgspec.json.Encoder()
_message_decoder = msgspec.json.Decoder(Message)
special_decoder = msgspec.json.Decoder(Special)
"""Decodes a special record's line, fast and strict; `decode` raises one of `REFUSED`."""
decode_message = _message_decoder.decode
"""Decode a message's line, fast and strict; raises one of `REFUSED`."""


def decode_special(line: bytes) -> Special:
    """Decode a special record's line, fast and strict; raises one of `REFUSED`."""
    record: Special = special_decoder.decode(line)
    return record


def checksum(data: bytes | memoryview, running: int = 0) -> str:
    """Give the check sum that guards batches and names rotations, as `crc32:xxxxxxxx`.

    CRC-32 because it guards against torn and lost blocks, not against an attacker, and
    because it has to be taken of every batch on every opening (measured: zlib 7.1 GB/s,
    hashlib's blake2b 1.4 GB/s on the same machine).
    """
    return f"crc32:{zlib.crc32(data, running):08x}"


def encode_line(record: Record) -> bytes:
    """Encode one record as its line, the newline included.

    Lone surrogates, which UTF-8 cannot hold, become U+FFFD here and nowhere else.

    Raises:
        InvalidMessage: If the record holds a value that JSON cannot.
    """
    try:
        value: Any = record
        if isinstance(record, Message) and _has_other(record):
            value = _with_plain_parts(record)
        try:
            line = _encoder.encode(value)
        except UnicodeEncodeError:
            line = _encoder.encode(clean(msgspec.to_builtins(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(f"cannot be written as JSON: {error}") from error
    return line + b"\n"


def decode_line(line: bytes) -> Record:
    """Decode the one record of a line that we have just encoded."""
    if line.startswith(SPECIAL_PREFIXES):
        return decode_special(line)
    try:
        return decode_message(line)
    except ValidationError:
        return from_object(json.loads(line))


class Framed(NamedTuple):
    """What one append writes."""

    data: bytes
    starts: tuple[int, ...] | None
    """Where each line begins in it; None if the last bytes are the lines and nothing else."""


def frame(lines: Sequence[bytes]) -> bytes:
    """Join lines into what one append writes: two or more stand behind a `_batch` line."""
    body = b"".join(lines)
    return body if len(lines) < 2 else _head(len(lines), len(body), checksum(body)) + body


def paged(lines: Sequence[bytes], offset: int) -> Framed:
    """Frame lines for a file in which they will stand from byte *offset* on.

    A power loss may leave any page of the write and lose any other, the one with the `_batch`
    line too. So before the first line that begins in another page stands a further `_batch` line,
    which no sum can fit: inside of a batch that is whole it says nothing, and standing alone
    it is a batch that failed, with all of its lines.
    """
    framed = frame(lines)
    last = offset + len(framed) - len(lines[-1])
    if len(lines) < 2 or last // PAGE_BYTES == offset // PAGE_BYTES:
        return Framed(framed, None)
    return _guarded(lines, offset, len(str(sum(map(len, lines)))))


def _head(count: int, size: int, hash_text: str) -> bytes:
    """Write the `_batch` line of a batch."""
    batch = Batch(n=count, bytes=size, hash=hash_text, content=f"batch of {count}")
    return _encoder.encode(batch) + b"\n"


def _guarded(lines: Sequence[bytes], offset: int, digits: int) -> Framed:
    """Frame lines that begin in more than one page; their bytes have at least so many *digits*.

    Where pages end hangs on how long the first `_batch` line is, and that on how many digits
    the bytes behind it have.
    """
    while True:
        length = len(_head(len(lines), 10 ** (digits - 1), checksum(b"")))
        body, starts = _inside(lines, offset + length, offset // PAGE_BYTES)
        if len(str(len(body))) <= digits:
            break
        digits += 1
    while len(str(len(body))) < digits:
        # With one digit less another guard was needed, and without that guard a digit less.
        body += _INSIDE % (0, 0)
    head = _head(len(lines), len(body), checksum(body))
    return Framed(head + body, tuple(length + start for start in starts))


def _inside(lines: Sequence[bytes], offset: int, page: int) -> tuple[bytes, list[int]]:
    """Lay the lines of a batch from a place of the file on, with what guards each page.

    *page* is the one in which the last `_batch` line begins. Gives also where each line stands.
    """
    pieces: list[bytes | None] = []
    starts, size, left = [], 0, len(lines)
    counts: list[tuple[int, int]] = []
    for line in lines:
        while (offset + size) // PAGE_BYTES != page:
            page = (offset + size) // PAGE_BYTES
            size += len(_INSIDE % (0, 0))
            counts.append((left, size))
            pieces.append(None)
        starts.append(size)
        pieces.append(line)
        size += len(line)
        left -= 1
    guards = iter([_INSIDE % (count, size - behind) for count, behind in counts])
    return b"".join(next(guards) if piece is None else piece for piece in pieces), starts


def with_seq(line: bytes, seq: int) -> bytes:
    """Splice `seq` into a message's line as its last key, every other byte as it was."""
    end = line.rstrip()
    return b'%s,"seq":%d}\n' % (end[:-1].rstrip(), seq)


def clean(value: Any) -> Any:
    """Replace every lone surrogate in a JSON value by U+FFFD, pairs joined, keys too."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def from_object(value: object) -> Record:
    """Give the record of a JSON object whose shape the strict decoders refuse.

    Raises:
        ValueError: If it is not an object or has no `role`.
    """
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        msg = "no object with a role"
        raise ValueError(msg)
    role: str = value["role"]
    if role.startswith("_"):
        try:
            special: Special = msgspec.convert(value, Special)
        except ValidationError:
            return Other(role=role)
        return special
    calls = value.get("tool_calls")
    seq, at = value.get("seq"), value.get("at")
    return Message(
        role=role,
        content=_lenient_content(value.get("content")),
        name=_text_or_none(value.get("name")),
        tool_calls=tuple(map(_lenient_call, calls)) if isinstance(calls, list) and calls else None,
        tool_call_id=_text_or_none(value.get("tool_call_id")),
        at=float(at) if isinstance(at, (int, float)) and abs(at) < 1e18 else None,
        origin=_text_or_none(value.get("origin")),
        pin=value.get("pin") is True,
        elided=_text_or_none(value.get("elided")) or "",
        seq=seq if type(seq) is int and 0 < seq < SEQ_LIMIT else None,
    )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _lenient_content(value: object) -> str | tuple[Part, ...] | None:
    """Read any content: text, parts, one part by itself, or something else kept whole."""
    if value is None or isinstance(value, str):
        return value
    return tuple(_lenient_part(item) for item in (value if isinstance(value, list) else [value]))


def _lenient_part(value: object) -> Part:
    """Read any part; what is not of a known shape is kept whole."""
    if isinstance(value, str):
        return TextPart(value)
    if isinstance(value, dict):
        if value.get("type") != "_other":
            try:
                part: Part = msgspec.convert(value, Part)
            except ValidationError:
                return OtherPart(value)
            return part
        return OtherPart(value)
    return OtherPart({"type": "unknown", "value": value})


def _lenient_call(value: object) -> ToolCall:
    """Read any tool call; what is missing is empty, arguments that are a value become text."""
    raw = value if isinstance(value, dict) else {}
    inner = raw.get("function")
    function = inner if isinstance(inner, dict) else {}
    arguments = function.get("arguments", msgspec.UNSET)
    if arguments is not None and not isinstance(arguments, (str, msgspec.UnsetType)):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        type=_text_or_none(raw.get("type")) or "function",
        id=_text_or_none(raw.get("id")) or "",
        function=Function(name=_text_or_none(function.get("name")) or "", arguments=arguments),
    )


def _has_other(message: Message) -> bool:
    content = message.content
    return isinstance(content, tuple) and any(type(part) is OtherPart for part in content)


def _with_plain_parts(message: Message) -> Any:
    """Give the message as a JSON value in which unknown parts stand as they were read."""
    value = msgspec.to_builtins(message)
    value["content"] = [
        part.data if isinstance(part, OtherPart) else msgspec.to_builtins(part)
        for part in message.parts
    ]
    return value


class _Numbered(msgspec.Struct):
    """As much of a line as tells its number."""

    seq: int | None = None


_numbered_decoder = msgspec.json.Decoder(_Numbered)


def has_seq(line: bytes) -> bool:
    """Tell whether a message's line carries a usable `seq` of its own."""
    if b'"seq"' not in line:
        return False
    try:
        seq = _numbered_decoder.decode(line).seq
    except REFUSED:
        # A line that only the slow path of `lines` can read.
        text = line.decode("utf-8", "surrogateescape")
        try:
            record = from_object(json.JSONDecoder(strict=False).decode(text))
        except (ValueError, RecursionError):
            return False
        seq = record.seq if isinstance(record, Message) else None
    return seq is not None and 0 < seq < SEQ_LIMIT


def is_ours(line: bytes) -> bool:
    """Tell whether minutebook wrote the line: what Kimi CLI writes has neither key."""
    if line.startswith(SPECIAL_PREFIXES):
        return b'"content":' in line
    return b'"seq":' in line
