"""Turns, exchanges and legal cuts: how messages of a history belong together. Pure.

Everything here is judged from the messages alone and takes time linear in their number (but
for a logarithm in how many calls of one id are open at once).
Positions are indices into the history given; ends are exclusive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from msgspec import Struct

from minutebook.messages import Message, TextPart

_CHECKPOINT = re.compile(r"<system>CHECKPOINT \d+</system>")
_SUMMARY_LEAD = (
    "<system>Previous context has been compacted. Here is the compaction output:</system>"
)
_IMPORT_LEAD = "<system>The user has imported context"
_SYSTEM_LEAD = "<system>"
_INJECTION_LEADS = (
    "<system-reminder>",
    "<notification>",
    "<notification ",
    "<task-notification>",
    "<task-notification ",
)
"""How Kimi CLI begins the user messages that no user wrote. Read from its version 1.49; it
takes the injections for such only if they stand alone in a message of one part."""


class Pairing(Struct, frozen=True, kw_only=True):
    """Which result answers which call. A call is (message index, index of the call in it)."""

    results: dict[tuple[int, int], int]
    """The index of the tool message that answers a call."""
    orphans: frozenset[int]
    """Tool messages that answer nothing: no call of that id was open before them, or a
    real result has taken the place of this made-up one."""
    open: tuple[tuple[int, int], ...]
    """Calls without any result, in order; those of turns that were given up long ago too."""
    made_up: dict[tuple[int, int], int]
    """Where a call has a made-up result: its index, also when a real one came later."""


class Exchange(Struct, frozen=True, kw_only=True):
    """An assistant message with calls, all their results, and whatever stands between."""

    start: int
    """The index of the assistant message."""
    end: int
    """One more than the index of its last result; of the message itself if it has none."""


def origin_of(message: Message) -> str:
    """Say who really wrote a message, as one of `messages.Origin` where that fits.

    The `origin` key decides alone where there is one: text that looks like a marker never
    overrides it. Without the key a role other than user names its own origin (so `system`
    and unknown roles stand for themselves), and of the user messages those that begin with
    one of Kimi CLI's markers are what the marker says.
    """
    if message.origin is not None:
        return message.origin
    if message.role != "user":
        return message.role
    return _marked_origin(message)


def _marked_origin(message: Message) -> str:
    """Judge a user message without `origin` by the marker at its beginning."""
    parts = message.parts
    first = parts[0] if parts else None
    if not isinstance(first, TextPart):
        return "user"
    lead = first.text.lstrip()
    if not lead.startswith("<"):
        return "user"
    alone = len(parts) == 1
    if alone and _CHECKPOINT.fullmatch(lead.rstrip()):
        return "checkpoint"
    if alone and lead.startswith(_INJECTION_LEADS):
        return "injection"
    if lead.startswith(_SUMMARY_LEAD):
        return "summary"
    if lead.startswith(_IMPORT_LEAD):
        return "import"
    if lead.startswith(_SYSTEM_LEAD):
        return "notice"
    return "user"


def is_real_user(message: Message) -> bool:
    """Tell whether a person wrote this message: role and origin are both `user`."""
    return message.role == "user" and origin_of(message) == "user"


def is_made_up(message: Message) -> bool:
    """Tell whether a result was written by a recovery and not by the tool.

    Only the `origin` key says so: a tool message whose origin is something else than `tool`.
    """
    return message.role == "tool" and message.origin not in {None, "tool"}


def turns(history: Sequence[Message]) -> list[range]:
    """Give the turns: each a real user message and all up to the next one.

    What stands before the first real user message belongs to no turn.
    """
    starts = [index for index, message in enumerate(history) if is_real_user(message)]
    return [range(start, end) for start, end in pairwise([*starts, len(history)])]


def pair(history: Sequence[Message]) -> Pairing:
    """Find out which tool message answers which call.

    Ids repeat within one log (Kimi CLI counts `Shell:0` anew), so a result belongs to the
    nearest message before it that has an open call of that id, and there to the first one.
    Calls without an id are paired by position in the same way: all of them have the id "".
    To a real result, a call that has only a made-up one (see `is_made_up`) is open still.
    """
    results: dict[tuple[int, int], int] = {}
    made_up: dict[tuple[int, int], int] = {}
    orphans: set[int] = set()
    # For each id, heaps of (-message index, call index): the smallest is the nearest call.
    unanswered: dict[str, list[tuple[int, int]]] = {}
    replaceable: dict[str, list[tuple[int, int]]] = {}
    for index, message in enumerate(history):
        if message.role == "assistant":
            for number, call in enumerate(message.calls):
                heappush(unanswered.setdefault(call.id, []), (-index, number))
        elif message.role == "tool":
            call_id = message.tool_call_id or ""
            heaps = [
                unanswered.get(call_id),
                None if is_made_up(message) else replaceable.get(call_id),
            ]
            nearest = min(filter(None, heaps), default=None)
            if nearest is None:
                orphans.add(index)
                continue
            minus, number = heappop(nearest)
            key = (-minus, number)
            if key in results:
                orphans.add(results[key])
            results[key] = index
            if is_made_up(message):
                made_up[key] = index
                heappush(replaceable.setdefault(call_id, []), (minus, number))
    left = sorted((-minus, number) for heap in unanswered.values() for minus, number in heap)
    return Pairing(results=results, orphans=frozenset(orphans), open=tuple(left), made_up=made_up)


def exchanges(history: Sequence[Message], pairing: Pairing | None = None) -> list[Exchange]:
    """Give one exchange for each assistant message that has calls, in order of `start`.

    A result that came late lies behind other messages: then the exchange covers those too,
    and exchanges may overlap. A *pairing* that is at hand saves working it out again.
    """
    found = pair(history) if pairing is None else pairing
    ends = {
        index: index + 1
        for index, message in enumerate(history)
        if message.role == "assistant" and message.calls
    }
    for (index, _), result in found.results.items():
        ends[index] = max(ends[index], result + 1)
    return [Exchange(start=start, end=end) for start, end in ends.items()]


def cuts(history: Sequence[Message], pairing: Pairing | None = None) -> list[int]:
    """Give every position from 0 to `len(history)` at which no exchange is split.

    A cut at n has the messages before index n on its left and the rest on its right.
    """
    ends = {exchange.start: exchange.end for exchange in exchanges(history, pairing)}
    legal = []
    reach = 0
    for position in range(len(history) + 1):
        if reach <= position:
            legal.append(position)
        reach = max(reach, ends.get(position, 0))
    return legal


def open_calls(history: Sequence[Message]) -> tuple[tuple[int, int], ...]:
    """Give the calls that no message of the history answers, as `Pairing.open` does."""
    return pair(history).open
