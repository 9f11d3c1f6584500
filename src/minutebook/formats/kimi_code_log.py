"""The wire log of Kimi Code replayed: the context as the agent has it, and what was left. Pure.

The log is the state: messages are added, a step's events are folded into one reply, an undo
cuts the end off, a compaction keeps some users' messages and puts a summary behind them. Rules:
the vendor's `contextMemory`. Messages that arrive while calls wait for their results stand
behind these. In the experimental tree of tasks ("spine") a closed task is replaced by what the
model noted of it; positions there are those of the context, so calls that were given up have
their made-up result here, as with the vendor.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from minutebook.formats.mapping import table, text, whole
from minutebook.messages import Message, Part, ToolCall
from minutebook.records import Usage

GIVEN_UP = "<system>ERROR: The call was given up before its result was recorded.</system>"
"""The made-up result of a call that a next step has overtaken. Our words."""
ELISION_NOTICE = "[Here the agent left out messages of the user; the summary covers them.]"
"""What stands between the first and the last users' messages of a long history. Our words."""
BLANKED_FROM_CHARACTERS = 400
"""How long a result is at least that a micro compaction blanks: the vendor's 100 tokens."""
_KEPT_WHEN_TYPED = frozenset({"skill_activation", "plugin_command"})
"""Origins that are a user's if he typed the command himself."""


class Slot:
    """One message of the log as it grows."""

    def __init__(self, role: str, *, at: float | None, kind: str = "", typed: bool = False) -> None:
        """Begin empty. *kind* is the origin as the log names it, *typed* whether by a command."""
        self.role = role
        self.at = at
        self.kind = kind
        self.real = role == "user" and (
            kind in {"", "user"} or (kind in _KEPT_WHEN_TYPED and typed)
        )
        """Whether a user wrote it: where an undo cuts, and what a compaction keeps."""
        self.parts: list[Part] = []
        self.calls: list[ToolCall] = []
        self.call_id: str | None = None
        self.usage: Usage | None = None
        self.message: Message | None = None
        """The message itself where the log has it whole."""


class Task(Struct):
    """A task of the tree, by the positions of its first and last message in the context."""

    opened: int
    closed: int | None = None
    memory: int | None = None
    """The slot with what the model noted of it."""


class Log:
    """What a wire log has said so far; feed it in file order."""

    def __init__(self) -> None:
        """Begin empty."""
        self.slots: list[Slot] = []
        """Every message, in the order of writing."""
        self.context: list[int] = []
        self.left: set[int] = set()
        """What an undo or a clearing dropped."""
        self.compactions = 0
        self.maskings = 0
        self.reverts = 0
        self.changed_at = 0
        """How many slots there were when what is sent last became less."""
        self.cutoff = 0
        """Results before this position of the context are blanked."""
        self.tasks: dict[str, Task] = {}
        self._epoch_start = 0
        self._epoch_memory: int | None = None
        self._steps: dict[str, Slot] = {}
        self._open: Slot | None = None
        self._pending: dict[str, None] = {}
        self._deferred: list[int] = []

    def add(self, slot: Slot) -> None:
        """Take a whole message; it waits while calls wait for their results."""
        self.slots.append(slot)
        (self._deferred if self._pending else self.context).append(len(self.slots) - 1)

    def step(self, uuid: str, at: float | None) -> None:
        """Begin a reply. Calls of the one before that have no result yet are given up."""
        for call_id in tuple(self._pending):
            given_up = Slot("tool", at=at, kind="notice")
            given_up.message = Message(
                role="tool", content=GIVEN_UP, tool_call_id=call_id, at=at, origin="notice"
            )
            self._put(given_up)
        self._pending.clear()
        self._flush()
        self._open = Slot("assistant", at=at)
        self._steps[uuid] = self._open

    def reply(self, uuid: str) -> Slot | None:
        """Give the reply of a step, the open one if there is none of that id; none before any."""
        slot = self._steps.get(uuid, self._open)
        if slot is not None and slot is self._open and not slot.parts and not slot.calls:
            # A step that never says anything leaves no message.
            self._put(slot)
        return slot

    def step_of(self, uuid: str) -> Slot | None:
        """Give the reply of a step that is over, none if it never began."""
        return self._steps.get(uuid)

    def call(self, uuid: str, call: ToolCall) -> None:
        """Take a call of a step."""
        slot = self.reply(uuid)
        if slot is not None:
            slot.calls.append(call)
            self._pending[call.id] = None

    def result(self, slot: Slot) -> bool:
        """Take a result. Tells whether a call waited for it; one that none waited for is left."""
        awaited = slot.call_id in self._pending
        self.slots.append(slot)
        if awaited:
            self.context.append(len(self.slots) - 1)
            self._pending.pop(slot.call_id or "", None)
            self._flush()
        return awaited

    def finish(self) -> None:
        """End the log: what waited for results stands at its end."""
        self._pending.clear()
        self._flush()

    def undo(self, count: int) -> None:
        """Cut back to the last but *count* user's message; nothing if there are not as many."""
        cut = len(self.context)
        left = count
        for at in range(len(self.context) - 1, -1, -1):
            slot = self.slots[self.context[at]]
            if left <= 0 or slot.kind == "compaction_summary":
                break
            if slot.real:
                left -= 1
                cut = at
        if left > 0 or count <= 0:
            return
        self.reverts += 1
        self._cut(cut)

    def clear(self) -> None:
        """Empty the context."""
        self._cut(0)
        self.tasks.clear()
        self._epoch_start, self._epoch_memory = 0, None

    def compact(self, record: dict[str, Any], summary: Slot) -> None:
        """Replace the context by the users' messages that are kept, and the summary."""
        self.compactions += 1
        self._changed()
        self.cutoff = 0
        self.tasks.clear()
        kept = [at for at in self.context if self.slots[at].real]
        count = whole(record.get("keptUserMessageCount"))
        head = whole(record.get("keptHeadUserMessageCount"))
        self.slots.append(summary)
        place = len(self.slots) - 1
        if count is None:
            self.context = [place, *self.context[whole(record.get("compactedCount")) or 0 :]]
        elif head is None:
            self.context = [*kept[max(len(kept) - count, 0) :], place]
        else:
            elision = Slot("user", at=summary.at, kind="injection")
            elision.message = Message(
                role="user", content=ELISION_NOTICE, at=summary.at, origin="notice"
            )
            self.slots.append(elision)
            tail = kept[max(len(kept) - max(count - head, 0), head) :]
            self.context = [*kept[:head], len(self.slots) - 1, *tail, place]
        left = whole(record.get("tokensAfter"))
        if left and self.context[-1] == place:
            content = f"{left} tokens, estimated"
            summary.usage = Usage(token_count=left, content=content, estimated=True)

    def mask(self, cutoff: int) -> None:
        """Blank the results before a position of the context."""
        self.cutoff = cutoff
        self.maskings += 1
        self._changed()

    def spine(self, kind: str, record: dict[str, Any], memory: Slot) -> None:
        """Take a change of the tree of tasks; *memory* is what is noted of a task it closes."""
        match kind:
            case "spine.open":
                opened = whole(record.get("openedAt"))
                self.tasks[text(record.get("id"))] = Task(opened=opened or 0)
            case "spine.close":
                self._close(text(record.get("id")), record, memory)
            case "spine.next":
                closed = self._close(text(record.get("closedId")), record, memory)
                self.tasks[text(record.get("openedId"))] = Task(opened=closed + 1)
            case "spine.root_compact":
                self._epoch_start = whole(record.get("epochStartAt")) or 0
                self._epoch_memory = whole(record.get("epochMemoryAt"))
                self.compactions += 1
                self._changed()
            case "spine.truncate_repair":
                self._repair(whole(record.get("cut")) or 0)
            case _:
                pass

    def view(self) -> list[int]:
        """Give what is sent: the context, a closed task replaced by what was noted of it."""
        spans = sorted(
            (task.opened, task.closed, task.memory)
            for task in self.tasks.values()
            if task.closed is not None and task.closed >= max(task.opened, self._epoch_start)
        )
        found: list[int] = []
        at = self._epoch_start
        if self._epoch_memory is not None and self._epoch_memory < len(self.context):
            found += [self.context[self._epoch_memory]] if self._epoch_memory < at else []
        for opened, closed, memory in spans:
            if opened < at:
                # Inside of one that was closed later: that one's note covers it.
                continue
            found += self.context[at:opened]
            found += [] if memory is None else [memory]
            at = (closed or 0) + 1
        return found + self.context[at:]

    def blanked(self) -> set[int]:
        """Give the slots whose results are blanked."""
        return {
            at
            for at in self.context[: self.cutoff]
            if self.slots[at].role == "tool" and _length(self.slots[at]) >= BLANKED_FROM_CHARACTERS
        }

    def _put(self, slot: Slot) -> None:
        self.context.append(len(self.slots))
        self.slots.append(slot)

    def _flush(self) -> None:
        if not self._pending:
            self.context += self._deferred
            self._deferred.clear()

    def _cut(self, at: int) -> None:
        self.left.update(self.context[at:])
        self.left.update(self._deferred)
        del self.context[at:]
        self._pending.clear()
        self._deferred.clear()
        self._open = None
        self.cutoff = min(self.cutoff, at)
        self._repair(at)

    def _repair(self, cut: int) -> None:
        """Bring the tree in line with a context that was cut at a position."""
        for name, task in tuple(self.tasks.items()):
            if task.closed is not None and task.closed >= cut:
                if task.opened >= cut:
                    del self.tasks[name]
                    continue
                task.closed = cut - 1
            task.opened = min(task.opened, cut)
        if self._epoch_memory is not None and self._epoch_memory >= cut:
            self._epoch_start, self._epoch_memory = 0, None

    def _close(self, name: str, record: dict[str, Any], memory: Slot) -> int:
        closed = whole(record.get("closedAt")) or 0
        task = self.tasks.get(name)
        if task is not None:
            self.slots.append(memory)
            task.closed, task.memory = closed, len(self.slots) - 1
            self._changed()
        return closed

    def _changed(self) -> None:
        self.changed_at = len(self.slots)


def _length(slot: Slot) -> int:
    """Measure a result's text in characters."""
    return sum(len(getattr(part, "text", "")) for part in slot.parts)


def origin_kind(message: dict[str, Any]) -> tuple[str, bool]:
    """Give the kind of a message's origin, and whether a user typed the command behind it."""
    origin = table(message.get("origin"))
    return text(origin.get("kind")), origin.get("trigger") == "user-slash"
