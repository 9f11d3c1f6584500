"""`recall_history`: reading the originals of what was masked, summarised or left out.

Given are record numbers, or words to look for. What it has answered before is left out
(`originals.recalled`): it is a copy of what the log holds anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from minutebook.errors import ConfigError, MinutebookError
from minutebook.tokens.estimate import estimate_text
from minutebook.tools.offer import BadArguments, Offer, read_arguments, whole_number
from minutebook.tools.originals import NAME, callers, recalled, whole_text
from minutebook.tools.search import excerpt_start, search, words_of
from minutebook.turns import pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from minutebook.messages import Message

TOKENS_MAX = 4_000
"""How much one call may bring back, unless its caller says otherwise."""
TOKENS_LEAST = 200
"""An answer needs so many to be of use: a head, some words, and what was left out."""
RECORDS_MAX = 200
"""How many records one call may name."""
FOUND_MAX = 10
"""How many messages a query brings at most."""
EXCERPT_SHARE = 0.25
"""How much of the budget one message that a query found may take; asked for by its number it
may take all."""
LISTED_MAX = 10
"""How many records a line about missing ones names."""
NOTE_TOKENS = 80
"""Kept free for the line about what there was no room for: ten long numbers and some words."""
LITTLE_CHARACTERS = 40
"""Less of a message is not worth the room that its head takes."""
CHARACTERS_A_TOKEN_MAX = 128
"""No text has more characters in a token; so a huge one need not be looked at whole."""

OFFER = Offer(
    name=NAME,
    description=(
        "Read earlier messages of this conversation word for word, also those that were "
        "shortened, summarised or left out. Give record numbers, as summaries and shortened "
        "outputs name them, or words to look for, or both. Of a record that is too long for one "
        "answer, read on with from_character."
    ),
    parameters={
        "type": "object",
        "properties": {
            "records": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1},
                "description": "Numbers of records to read.",
            },
            "query": {"type": "string", "description": "Words to look for."},
            "from_character": {
                "type": "integer",
                "minimum": 0,
                "description": "Where in each named record to begin reading.",
            },
        },
        "additionalProperties": False,
    },
)


class Recall:
    """The handler of `recall_history` for one session."""

    def __init__(
        self, history: Callable[[], Sequence[Message]], *, tokens_max: int = TOKENS_MAX
    ) -> None:
        """Take what gives the full history, and how many tokens one answer may take.

        Raises:
            ConfigError: If that is too little for an answer.
        """
        if tokens_max < TOKENS_LEAST:
            raise ConfigError(
                "tokens_max", f"{tokens_max} is too little to recall anything ({TOKENS_LEAST} is)"
            )
        self._history = history
        self._tokens_max = tokens_max

    def handle(self, arguments: str | Mapping[str, Any] | None) -> str:
        """Answer a call of the tool; the text is for the model, whatever happened.

        It takes at most the tokens that are allowed, as `estimate_text` counts them.
        """
        try:
            asked = _asked(read_arguments(arguments))
            entries = _entries(self._history())
        except BadArguments as error:
            return str(error)
        except MinutebookError as error:
            return f"The history cannot be read: {error}"
        page = _Page(self._tokens_max)
        named = [entry for entry in entries if entry.message.seq in asked.records]
        missing = sorted(asked.records - {entry.message.seq or 0 for entry in named})
        if missing:
            page.note(f"There is no record {_listed(missing)}.")
        for entry in named:
            page.show(entry, asked.start)
        others = [entry for entry in entries if entry.message.seq not in asked.records]
        texts = [entry.text for entry in others]
        for at in search(texts, asked.words)[:FOUND_MAX]:
            page.excerpt(others[at], excerpt_start(texts[at], asked.words))
        return page.finished() or "Nothing was found."


class _Asked(Struct, frozen=True, kw_only=True):
    """What a call asks for."""

    records: frozenset[int]
    words: tuple[str, ...]
    start: int


class _Entry(Struct, frozen=True, kw_only=True):
    """A message, and how it is shown."""

    message: Message
    head: str
    text: str


def _asked(given: Mapping[str, Any]) -> _Asked:
    """Read a call's arguments.

    Raises:
        BadArguments: If they ask for nothing, or make no sense.
    """
    value = given.get("records")
    items = value if isinstance(value, list) else [] if value is None else [value]
    numbers = [whole_number(item) for item in items]
    if None in numbers:
        raise BadArguments("`records` has to be a list of whole numbers.")
    records = frozenset(number for number in numbers if number is not None)
    if len(records) > RECORDS_MAX:
        raise BadArguments(f"Ask for at most {RECORDS_MAX} records at a time.")
    query = given.get("query") or ""
    if not isinstance(query, str):
        raise BadArguments("`query` has to be a text.")
    start = whole_number(given.get("from_character") or 0)
    if start is None or start < 0:
        raise BadArguments("`from_character` has to be a whole number, 0 or more.")
    words = words_of(query)
    if not records and not words:
        raise BadArguments("Give `records`, or a `query` with words in it, or both.")
    return _Asked(records=records, words=words, start=start)


def _entries(history: Sequence[Message]) -> list[_Entry]:
    """Give the messages with their heads; the tool's own answers are left out."""
    pairing = pair(history)
    own, tools = recalled(history, pairing), callers(history, pairing)
    entries = []
    for at, message in enumerate(history):
        if at not in own:
            role = f"result of {tools[at]}" if at in tools else message.role
            gone = "" if message.active else ", no longer in view"
            head = f"[record {message.seq}, {role}{gone}]"
            entries.append(_Entry(message=message, head=head, text=whole_text(message)))
    return entries


class _Page:
    """An answer that is written as far as its budget goes."""

    def __init__(self, tokens_max: int) -> None:
        self._tokens_max = tokens_max
        self._blocks: list[str] = []
        self._left_out: list[int] = []

    def note(self, text: str) -> None:
        """Write a line of our own."""
        self._blocks.append(text)

    def show(self, entry: _Entry, start: int) -> None:
        """Write a message from a character on, as much of it as there is room for."""
        self._write(entry, min(start, len(entry.text)), self._left())

    def excerpt(self, entry: _Entry, start: int) -> None:
        """Write a message, or what of it fits into an excerpt from a character on."""
        room = min(self._left(), int(self._tokens_max * EXCERPT_SHARE))
        whole = _costs(entry, 0, len(entry.text)) <= room
        self._write(entry, 0 if whole else start, room)

    def finished(self) -> str:
        """Give the answer."""
        if self._left_out:
            self.note(f"No room for record {_listed(self._left_out)}; ask for them alone.")
            self._left_out = []
        return "\n\n".join(self._blocks)

    def _left(self) -> int:
        return self._tokens_max - NOTE_TOKENS - estimate_text("\n\n".join(self._blocks))

    def _write(self, entry: _Entry, start: int, room: int) -> None:
        end = _fitting(entry, start, room)
        if end is None:
            self._left_out.append(entry.message.seq or 0)
        else:
            self._blocks.append(_block(entry, start, end))


def _block(entry: _Entry, start: int, end: int) -> str:
    """Write a message from one character to another, with what is left out named."""
    before = f"[{start} characters come before this]\n" if start else ""
    more = len(entry.text) - end
    after = f"\n[{more} characters more: from_character={end}]" if more else ""
    return f"{entry.head}\n{before}{entry.text[start:end]}{after}"


def _costs(entry: _Entry, start: int, end: int) -> int:
    return estimate_text(_block(entry, start, end)) + 1


def _fitting(entry: _Entry, start: int, tokens: int) -> int | None:
    """Give where a message has to end, read from *start*; None if not even a little fits."""
    least = min(start + LITTLE_CHARACTERS, len(entry.text))
    high = min(len(entry.text), start + max(tokens, 0) * CHARACTERS_A_TOKEN_MAX)
    if high < least or _costs(entry, start, least) > tokens:
        return None
    if _costs(entry, start, high) <= tokens:
        return high
    low = least
    while high - low > 1:
        middle = (low + high) // 2
        if _costs(entry, start, middle) <= tokens:
            low = middle
        else:
            high = middle
    return low


def _listed(numbers: Sequence[int]) -> str:
    """Name records, the first ones if there are many."""
    named = ", ".join(map(str, numbers[:LISTED_MAX]))
    more = len(numbers) - LISTED_MAX
    return f"{named} and {more} more" if more > 0 else named
