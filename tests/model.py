"""What a session must be after any operations, worked out slowly and plainly.

A log is a list of entries, a rewrite makes a new list, and every value is folded anew from the
start each time it is asked for. It knows of no bytes, offsets, files or caches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from minutebook.messages import Message, replace
from minutebook.tokens.estimate import estimate_message


@dataclass(frozen=True)
class Said:
    message: Message


@dataclass(frozen=True)
class Prompted:
    text: str


@dataclass(frozen=True)
class Marked:
    id: int


@dataclass(frozen=True)
class Counted:
    tokens: int
    exact: bool = True


@dataclass(frozen=True)
class Tagged:
    seq: int
    pin: bool | None = None
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Rewritten:
    kind: str
    left: int | None
    """The number of the rotation that the log before has become."""
    own: int = 1
    """How many entries the rewrite wrote itself, this one first."""
    source: int | None = None
    """The rotation that what is kept comes from."""


Entry = Said | Prompted | Marked | Counted | Tagged | Rewritten
Log = tuple[Entry, ...]


class NotThereError(Exception):
    """The operation cannot be done, and changes nothing."""


def messages(log: Iterable[Entry]) -> list[Message]:
    """Give what was said, in order."""
    return [entry.message for entry in log if isinstance(entry, Said)]


def prompt(log: Iterable[Entry]) -> str | None:
    """Give the last system prompt."""
    found = None
    for entry in log:
        if isinstance(entry, Prompted):
            found = entry.text
    return found


def checkpoints(log: Iterable[Entry]) -> list[tuple[int, int]]:
    """Give each checkpoint's id and how many messages stand before it."""
    found, count = [], 0
    for entry in log:
        count += isinstance(entry, Said)
        if isinstance(entry, Marked):
            found.append((entry.id, count))
    return found


def count(log: Iterable[Entry]) -> tuple[int, bool, int]:
    """Give the last believable count, whether it is exact, and the estimate of what follows."""
    tokens, exact, pending, anything = 0, False, 0, False
    for entry in log:
        if isinstance(entry, Said):
            pending += estimate_message(entry.message)
            anything = True
        if isinstance(entry, Counted) and (entry.tokens > 0 or not anything):
            tokens, exact, pending = entry.tokens, entry.exact, 0
    return tokens, exact, pending


def marks(log: Sequence[Entry]) -> dict[int, tuple[bool, tuple[str, ...]]]:
    """Give pin and tags of every message, by its number."""
    found: dict[int, tuple[bool, tuple[str, ...]]] = {
        message.seq or 0: (message.pin, ()) for message in messages(log)
    }
    for entry in log:
        if isinstance(entry, Tagged) and entry.seq in found:
            pin, tags = found[entry.seq]
            found[entry.seq] = (
                pin if entry.pin is None else entry.pin,
                tags if entry.tags is None else entry.tags,
            )
    return found


def named(log: Sequence[Entry], rotations: dict[int, Log]) -> set[int]:
    """Give the rotations that a log's rewrites name, and those that these name, and so on."""
    found: set[int] = set()
    waiting = [log]
    while waiting:
        for entry in waiting.pop():
            if isinstance(entry, Rewritten):
                new = {entry.left, entry.source} - {None} - found
                found |= {number for number in new if number}
                waiting += [rotations[number] for number in new if number]
    return found


@dataclass
class Model:
    """A session: its log, the logs that it left, and the numbers that are still free."""

    log: Log = ()
    rotations: dict[int, Log] = field(default_factory=dict)
    next_seq: int = 1
    next_checkpoint: int = 0
    words: dict[int, Message] = field(default_factory=dict)
    """Every message ever written, by its number, as it was first."""

    def full(self) -> list[tuple[Message, bool]]:
        """Give everything ever said, and whether the context holds it."""
        active = {message.seq for message in messages(self.log)}
        return [(self.words[seq], seq in active) for seq in sorted(self.words)]

    def append(self, said: Iterable[Message], tokens: int | None = None) -> None:
        """Say something; *tokens* is what the provider counted."""
        for message in said:
            self._say(message)
        if tokens is not None:
            self.log += (Counted(tokens),)

    def set_prompt(self, text: str) -> None:
        """Set the system prompt, in front of a log that has none."""
        if text == prompt(self.log):
            return
        if self.log and prompt(self.log) is None:
            self._leave()
            self.log = (Prompted(text), *self.log)
        else:
            self.log += (Prompted(text),)

    def checkpoint(self) -> int:
        """Set a mark."""
        number = self.next_checkpoint
        self.next_checkpoint += 1
        self.log += (Marked(number),)
        return number

    def mark(self, seq: int, pin: bool | None = None, tags: tuple[str, ...] | None = None) -> None:
        """Pin or tag a message."""
        self.log += (Tagged(seq, pin, tags),)

    def revert(self, checkpoint: int, note: Message | None = None) -> None:
        """Go back to before a checkpoint, of this log or of the newest that holds it."""
        source, index = self.find(checkpoint)
        whole = self._log(source)
        said = [] if note is None else [note]
        self._become(whole[:index], whole, "revert", source, said)

    def find(self, checkpoint: int) -> tuple[int | None, int]:
        """Give the rotation that holds a checkpoint (None: the log), and its place there."""
        for source in (None, *sorted(self.rotations, reverse=True)):
            log = self._log(source)
            for index in reversed(range(len(log))):
                if log[index] == Marked(checkpoint):
                    return source, index
        raise NotThereError

    def _log(self, source: int | None) -> Log:
        return self.log if source is None else self.rotations[source]

    def clear(self) -> None:
        """Leave everything behind but the prompt."""
        text = prompt(self.log)
        number = self._leave()
        start: Log = () if text is None else (Prompted(text),)
        self.log = (*start, Rewritten("clear", number))

    def restore(self, number: int) -> None:
        """Bring a log back that was left."""
        self._become(self.rotations[number], self.rotations[number], "restore", number)

    def undo(self, *, force: bool) -> None:
        """Take the last rewrite back that is not an undo itself."""
        for index in reversed(range(len(self.log))):
            entry = self.log[index]
            if isinstance(entry, Rewritten) and entry.kind not in {"undo", "fork"}:
                break
        else:
            raise NotThereError
        assert isinstance(entry, Rewritten)
        assert entry.left is not None
        old = self.rotations[entry.left]
        later = self.log[index + 1 :]
        if entry.kind == "compaction":
            since = self.log[index + entry.own :]
            kept = (*old, *(item for item in since if not isinstance(item, Counted)))
            self._become(kept, kept, "undo", entry.left)
            return
        said = messages(later)
        if entry.kind != "clear" and said and said[0].origin in {"notice", "dmail"}:
            said = said[1:]
        if said and not force:
            raise NotThereError
        self._become(old, old, "undo", entry.left)

    def compact(self, plan: Sequence[Message], tokens: int, *, pinned: int | None = None) -> None:
        """Put the messages that a compaction decided on in the place of the history."""
        before = marks(self.log)
        text = prompt(self.log)
        number = self._leave()
        laid: list[Entry] = []
        for message in plan:
            if message.seq is None:
                message = replace(message, seq=self.next_seq)  # noqa: PLW2901 - it has a number now
                self.words[self.next_seq] = message
                self.next_seq += 1
            laid.append(Said(message))
        laid += [Tagged(seq, *value) for seq, value in before.items()]
        if pinned is not None:
            laid.append(Tagged(pinned, pin=True))
        start: Log = () if text is None else (Prompted(text),)
        mark = Marked(self.next_checkpoint)
        self.next_checkpoint += 1
        self.log = (
            *start,
            Rewritten("compaction", number, own=3 + len(laid)),
            mark,
            *laid,
            Counted(tokens, exact=False),
        )

    def fork(self, at: int | None) -> "Model":
        """Give the session that a fork begins with."""
        whole = kept = self.log
        if at is not None:
            source, index = self.find(at)
            whole = self._log(source)
            kept = whole[:index]
        reached = named(kept, self.rotations)
        child = Model(
            log=(*kept, Rewritten("fork", None), *self._restated(kept, whole)),
            rotations={number: self.rotations[number] for number in reached},
            next_seq=self.next_seq,
            next_checkpoint=self.next_checkpoint,
        )
        for log in (child.log, *child.rotations.values()):
            for message in messages(log):
                child.words[message.seq or 0] = self.words[message.seq or 0]
        return child

    def _say(self, message: Message) -> None:
        message = replace(message, seq=self.next_seq)
        self.words[self.next_seq] = message
        self.next_seq += 1
        self.log += (Said(message),)

    def _leave(self) -> int:
        number = max(self.rotations, default=0) + 1
        self.rotations[number] = self.log
        return number

    def _become(
        self, kept: Log, whole: Log, kind: str, source: int | None, said: Iterable[Message] = ()
    ) -> None:
        """Let *kept* be the log; what is pinned or tagged now stays so."""
        restated = self._restated(kept, whole)
        number = self._leave()
        self.log = (*kept, Rewritten(kind, number, source=source))
        for message in said:
            self._say(message)
        self.log += restated

    def _restated(self, kept: Log, whole: Log) -> Log:
        """Say again what each kept message's pin and tags are.

        They are those of now; of a message that the log does not hold, those that it had at
        the end of the log from which it comes back.
        """
        now, then = marks(self.log), marks(whole)
        return tuple(
            Tagged(message.seq or 0, *now.get(message.seq or 0, then[message.seq or 0]))
            for message in messages(kept)
        )
