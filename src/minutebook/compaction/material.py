"""Show a conversation to a summariser: as material, numbered, nothing in it a request. Pure.

One entry for each message that has something to show. Thinking is left out, and blank
parts are; media and parts of unknown kinds are placeholders; calls stand with name and
arguments, results as quoted text under the name of what was called. So a request for a
summary is plain text: it needs no tool definitions and breaks no rule of pairing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from minutebook.codec import checksum, clean
from minutebook.messages import Message, OtherPart, Part, TextPart, ThinkPart
from minutebook.providers.media import placeholder
from minutebook.providers.view import is_redacted_thinking
from minutebook.tokens.estimate import estimate_text
from minutebook.turns import origin_of, pair

RESULT_TOKENS_MAX = 2_000
"""A longer result, or argument text, is shown by head and tail. What a file of that size is
about stands at its ends often enough, and the record keeps the whole."""

HEAD_SHARE = 0.6
"""Of what is shown of a long text so much is head: it tells what it is, the tail how it ended."""

CUT_TOKENS_MIN = 24
"""No text is cut to less; the mark of the cut alone takes a dozen."""

_CUT = "\n[… {count} characters left out …]\n"
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")

_WRITERS = {
    "user": "user",
    "assistant": "assistant",
    "dmail": "note that the agent sent to itself",
    "import": "context that the user brought in",
    "summary": "earlier minutes",
    "system": "system message",
    "developer": "system message",
}
"""How the writer of an entry is named; whatever else there is was put in by the program."""


class Entry(Struct, frozen=True, gc=False):
    """What is shown of one message."""

    seq: int
    """The message's number; 0 where it has none."""
    text: str
    """Empty if there is nothing to show."""
    tokens: int


def entries(
    messages: Sequence[Message], *, result_tokens_max: int | None = RESULT_TOKENS_MAX
) -> list[Entry]:
    """Give one entry for each message, in order.

    Of results and arguments longer than *result_tokens_max* head and tail are shown; None
    shows them whole. What people and the model wrote is always whole.
    """
    pairing = pair(messages)
    asked = {
        result: messages[index].calls[number].name
        for (index, number), result in pairing.results.items()
    }
    return [
        _entry(message, asked.get(index, ""), result_tokens_max)
        for index, message in enumerate(messages)
    ]


def clipped(entry: Entry, tokens_max: int) -> Entry:
    """Give the entry with its middle cut out, if it takes more than *tokens_max*."""
    if entry.tokens <= tokens_max:
        return entry
    text = shorten(entry.text, tokens_max)
    return Entry(entry.seq, text, estimate_text(text))


def fenced(text: str, name: str) -> str:
    """Put *text* between two lines that it does not hold, which say where *name* is.

    The lines carry a check sum of the text, so no text can end its own fence.
    """
    mark = checksum(text.encode("utf-8", "replace")).removeprefix("crc32:")
    while mark in text:
        mark = checksum(mark.encode()).removeprefix("crc32:")
    return f"===== {name} {mark} begins =====\n{text}\n===== {name} {mark} ends ====="


def shorten(text: str, tokens_max: int) -> str:
    """Cut the middle out of a text, so that it takes at most *tokens_max* by our estimate.

    The cut says how many characters are missing. It falls between two lines where one ends
    nearby, and never inside what is read as one character. Not below `CUT_TOKENS_MIN`.
    """
    tokens_max = max(tokens_max, CUT_TOKENS_MIN)
    shown = text
    tokens = estimate_text(text)
    keep = len(text)
    while tokens > tokens_max and keep > 0:
        keep = min(keep - 1, int(keep * tokens_max / tokens * 0.97))
        shown = _without_middle(text, keep)
        tokens = estimate_text(shown)
    return shown


def _without_middle(text: str, keep: int) -> str:
    head = int(keep * HEAD_SHARE)
    tail = len(text) - (keep - head)
    slack = keep // 10
    line_end = text.rfind("\n", head - slack, head)
    head = line_end if line_end > 0 else head
    line_start = text.find("\n", tail, tail + slack)
    tail = line_start + 1 if line_start >= 0 else tail
    while 0 < head < len(text) and _continues(text[head]):
        head -= 1
    while tail < len(text) and _continues(text[tail]):
        tail += 1
    return f"{text[:head]}{_CUT.format(count=tail - head)}{text[tail:]}"


def _continues(char: str) -> bool:
    """Tell whether a character belongs to the one before it."""
    return char in _JOINERS or bool(unicodedata.combining(char))


def _entry(message: Message, tool: str, result_tokens_max: int | None) -> Entry:
    shown = [text for part in message.parts if (text := _shown(part).strip("\n")).strip()]
    if message.role == "tool":
        body = _limited("\n".join(shown), result_tokens_max)
        lines = [f"> {line}" for line in body.split("\n")] if body else ["(no output)"]
        name = f"result of {tool}" if tool else "result of a call that is not shown"
    else:
        lines = shown
        lines += [
            f"called {call.name} with {_limited(call.arguments.strip() or '{}', result_tokens_max)}"
            for call in message.calls
        ]
        name = _WRITERS.get(origin_of(message), "put in by the program")
    if not lines:
        return Entry(message.seq or 0, "", 0)
    text = str(clean("\n".join((f"[{message.seq or 0}] {name}:", *lines)))).replace("\0", "\ufffd")
    return Entry(message.seq or 0, text, estimate_text(text))


def _limited(text: str, tokens_max: int | None) -> str:
    return text if tokens_max is None else shorten(text, tokens_max)


def _shown(part: Part) -> str:
    """Give what is shown of one part; empty for what is left out."""
    match part:
        case TextPart(text=text):
            return text
        case ThinkPart():
            return ""
        case OtherPart(data=data):
            kind = data.get("type")
            return "" if is_redacted_thinking(part) else f"[{kind or 'unknown'} left out]"
        case _:
            return placeholder(part)
