"""Calls without a result, and results without a call, found while messages pass by. Pure.

The same rules as `turns.pair`, which has the whole history at hand. Memory: what is open, and
the results that a recovery made up, since a real one may still come; not the history.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.turns import is_made_up

if TYPE_CHECKING:
    from minutebook.messages import Message


class Place(Struct, frozen=True, kw_only=True):
    """Where a message stands: its number, and whatever else its reader wants to find it by."""

    seq: int = 0
    end: int = 0
    """Where its record ends in the log, in bytes; grows from message to message."""


class OpenCall(Struct, frozen=True, kw_only=True):
    """A call that nothing answers."""

    call_id: str
    tool: str
    index: int
    """Which message holds it, counted from 0 among those taken."""
    number: int
    """Which of the message's calls it is, from 0."""
    seq: int
    after: int
    """The end of the record behind which a result would be taken for this call's: that of its
    exchange, unless another call of the same id was made by then."""


class _Exchange:
    """A message with calls, and how far its results reach."""

    __slots__ = ("end", "index", "seq")

    def __init__(self, index: int, place: Place) -> None:
        self.index = index
        self.seq = place.seq
        self.end = place.end


class _Waiting:
    """The calls of one id in one message that are open."""

    __slots__ = ("calls", "exchange", "frozen", "last")

    def __init__(self, exchange: _Exchange) -> None:
        self.exchange = exchange
        self.calls: deque[tuple[int, str]] = deque()
        self.last = exchange.end
        self.frozen: int | None = None
        """How far the exchange reached when a later message made a call of this id."""

    def answered(self, end: int) -> None:
        self.last = self.exchange.end = max(end, self.exchange.end)

    @property
    def after(self) -> int:
        return self.exchange.end if self.frozen is None else max(self.frozen, self.last)


class Unsettled:
    """What is open behind the messages taken so far."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self.orphans: list[int] = []
        """The `seq` of each tool message that answers nothing; in no order."""
        self.last_calling = -1
        """The index of the last message with calls; -1 before the first."""
        self._index = -1
        self._waiting: dict[str, list[_Waiting]] = {}
        self._replaceable: dict[str, list[tuple[int, int, int, _Waiting]]] = {}

    def take(self, message: Message, place: Place) -> None:
        """Take the next message of the history."""
        self._index += 1
        if message.role == "assistant" and message.tool_calls:
            self._ask(message, place)
        elif message.role == "tool":
            self._answer(message, place)

    def open(self) -> list[OpenCall]:
        """Give the open calls, in the order in which they were made."""
        found = [
            OpenCall(
                call_id=call_id,
                tool=name,
                index=waiting.exchange.index,
                number=number,
                seq=waiting.exchange.seq,
                after=waiting.after,
            )
            for call_id, stack in self._waiting.items()
            for waiting in stack
            for number, name in waiting.calls
        ]
        return sorted(found, key=lambda call: (call.index, call.number))

    def _ask(self, message: Message, place: Place) -> None:
        self.last_calling = self._index
        exchange = _Exchange(self._index, place)
        for number, call in enumerate(message.calls):
            stack = self._waiting.setdefault(call.id, [])
            if not stack or stack[-1].exchange is not exchange:
                if stack and stack[-1].frozen is None:
                    stack[-1].frozen = stack[-1].exchange.end
                stack.append(_Waiting(exchange))
            stack[-1].calls.append((number, call.name))

    def _answer(self, message: Message, place: Place) -> None:
        """Give a result to the nearest call that is open to it."""
        call_id = message.tool_call_id or ""
        stack = self._waiting.get(call_id)
        replaceable = None if is_made_up(message) else self._replaceable.get(call_id)
        nearest = (-stack[-1].exchange.index, stack[-1].calls[0][0]) if stack else None
        if replaceable and (nearest is None or replaceable[0][:2] < nearest):
            *_, seq, waiting = heappop(replaceable)
            self.orphans.append(seq)
            waiting.answered(place.end)
        elif stack:
            waiting = stack[-1]
            number, _name = waiting.calls.popleft()
            waiting.answered(place.end)
            if not waiting.calls:
                stack.pop()
            if is_made_up(message):
                entry = (-waiting.exchange.index, number, place.seq, waiting)
                heappush(self._replaceable.setdefault(call_id, []), entry)
            elif not stack:
                del self._waiting[call_id]
        else:
            self.orphans.append(place.seq)
