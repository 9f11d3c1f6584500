"""The facts that a digest is made of. Values; the only thing here that changes is `Facts`.

Facts are gathered from messages and from the summary before (see `gather` and `parse`) into
one `Facts`, in the order of the conversation, and written by `render`. A later fact about
the same thing replaces or adds to the earlier one, so gathering in two goes, with a summary
in between, tells the same story as gathering at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from minutebook.compaction.phrases import USES

QUOTES_MAX = 400
"""How many quotes of one kind are held; the weakest go first. Bounds time and memory."""

LISTED = 2.0
"""What an entry of a to-do list weighs among the open items; a sentence weighs less. A later
list takes the place of an earlier one, later words that of earlier words."""


class Quote(Struct, frozen=True, gc=False):
    """Somebody's own words."""

    text: str
    record: int
    """The `seq` of the message; 0 where it isn't known any more."""
    weight: float = 1.0
    """How much it matters beside others of its kind, its age left aside."""


class FileUse(Struct, frozen=True, gc=False):
    """What was done to one file."""

    path: str
    counts: tuple[int, ...]
    """How often, one number for each of `phrases.USES`."""
    record: int
    note: str = ""
    """The first line of the last change, as it was written."""


class Command(Struct, frozen=True, gc=False):
    """A command that was run, as often as it was."""

    command: str
    runs: int
    failures: int
    record: int
    outcome: str = ""
    """How it ended the last time; empty if it worked and counted nothing."""


class Failure(Struct, frozen=True, gc=False):
    """An error, and whether the same call worked later."""

    text: str
    source: str
    record: int
    resolved: int = 0
    """The record in which the same thing worked; 0 while it has not."""


class Place(Struct, frozen=True, gc=False):
    """Names and where they were met."""

    place: str
    """A path or a command; empty for what people and the model wrote."""
    names: tuple[str, ...]
    record: int


class NameStat(Struct):
    """How often and where one name was met. Changed in place while gathering."""

    name: str
    uses: int = 0
    """In how many of the assistant's own messages (text and arguments) it stands."""
    sights: int = 0
    """In how many other messages it stands."""
    record: int = 0
    """The last record that it stands in."""
    place: str = ""
    """The file or command that it was last met in."""


class Facts(Struct, kw_only=True):
    """Everything that is known of the part that a summary stands for."""

    task: Quote | None = None
    requests: list[Quote] = field(default_factory=list)
    rules: list[Quote] = field(default_factory=list)
    focus: list[Quote] = field(default_factory=list)
    """The last request and what the assistant said it was doing; the newest last."""
    open: list[Quote] = field(default_factory=list)
    decisions: list[Quote] = field(default_factory=list)
    earlier: list[Quote] = field(default_factory=list)
    """Lines of summaries that are not ours."""
    files: dict[str, FileUse] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    errors: dict[str, Failure] = field(default_factory=dict)
    """By what was called; one is held for each, the last."""
    names: dict[str, NameStat] = field(default_factory=dict)
    first: int = 0
    """The first record that is covered; 0 while nothing is."""
    last: int = 0
    told: int = 0
    """The last record that an earlier summary covers; 0 without one."""
    count: int = 0
    """How many messages are covered, those of earlier summaries included."""

    def cover(self, first: int, last: int, count: int) -> None:
        """Add a span of records to what is covered."""
        self.first = min(self.first, first) if self.first else first
        self.last = max(self.last, last)
        self.count += count

    def use_file(self, use: str, path: str, record: int, note: str = "") -> None:
        """Add one use of a file."""
        old = self.files.get(path)
        counts = list(old.counts) if old else [0] * len(USES)
        counts[USES.index(use)] += 1
        kept = note or (old.note if old else "")
        self.files[path] = FileUse(path, tuple(counts), record, kept)

    def run(self, command: str, record: int, outcome: str, *, failed: bool) -> None:
        """Add one run of a command."""
        old = self.commands.get(command)
        runs, failures = (old.runs, old.failures) if old else (0, 0)
        self.commands[command] = Command(command, runs + 1, failures + failed, record, outcome)

    def fail(self, source: str, text: str, record: int) -> None:
        """Add an error; the same source's earlier one is replaced."""
        self.errors[source] = Failure(text, source, record)

    def work(self, source: str, record: int) -> None:
        """Note that a call worked: an error of the same source is resolved."""
        failure = self.errors.get(source)
        if failure and not failure.resolved:
            self.errors[source] = Failure(failure.text, source, failure.record, record)

    def meet(
        self, names: Iterable[str], record: int, *, place: str, own: bool, times: int = 1
    ) -> None:
        """Add a message's names; *own* if the assistant wrote them itself."""
        for name in names:
            stat = self.names.get(name)
            if stat is None:
                stat = self.names[name] = NameStat(name)
            stat.uses += times if own else 0
            stat.sights += 0 if own else times
            stat.record = max(stat.record, record)
            stat.place = place or stat.place


def add_quote(quotes: list[Quote], quote: Quote) -> None:
    """Append a quote; one with the same words moves to the end instead of standing twice."""
    for index, other in enumerate(quotes):
        if other.text == quote.text:
            del quotes[index]
            break
    quotes.append(quote)
    if len(quotes) > QUOTES_MAX:
        weakest = min(range(len(quotes) // 2), key=lambda index: quotes[index].weight)
        del quotes[weakest]
