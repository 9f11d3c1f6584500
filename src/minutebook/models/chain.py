"""Have a summary written: by the first model that can, in parts if need be, or not at all.

What goes wrong is dealt with here and told in the result; nothing is raised but
cancellation. Each request is tried by the models of the chain in their order. A part that
none of them writes is covered by the digest; if none writes anything, there is no text, and
the caller takes the digest for the whole.

Nothing of an error's words, and nothing of a refused reply, ever comes into a request.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct, structs

from minutebook.compaction.material import shorten
from minutebook.compaction.phrases import Phrases
from minutebook.compaction.replies import Refusal, SummaryReply, check
from minutebook.compaction.task import (
    Capacity,
    Piece,
    SummaryRequest,
    SummaryTask,
    earlier_piece,
    merges,
    parts,
    piece_of,
    request_for,
    with_lead,
)
from minutebook.errors import ConfigError
from minutebook.messages import Message
from minutebook.models.retry import Retries, retry_after_seconds
from minutebook.models.summarizer import Summarizer
from minutebook.providers.overflow import Fault, classify
from minutebook.tokens.spent import Spent, spent

ESTIMATE_MARGIN = 0.15
"""Taken off a window at first: so far the estimate may be below the provider's count. Nine of ten
messages of agents are within 11 % of o200k."""

SMALLER = 0.6
"""To which share of its size a request is cut down that was refused as too large, or whose
reply did not come to its end."""

SMALLER_MAX = 3
"""How often in a row a request is cut down before the next model is asked."""

OUTPUT_TOKENS_LEAST = 256
"""A reply of less is no summary."""

FAILED_IN_A_ROW_MAX = 3
"""After so many requests without a summary a model is left alone for the rest of the task."""

_TOO_LARGE = frozenset(("context_overflow", "body_too_large", "output_reserve_too_big"))

Result = TypeVar("Result")

Digest = Callable[[Sequence[Message], int], str]
"""The built-in digest: messages and a budget in tokens to a text; empty if there is nothing
to tell."""

Judge = Callable[[SummaryTask, str], str]
"""Looks at a text for a task: why its source does not bear it out; empty if it does."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One call of a summariser, and what came of it."""

    model: str
    outcome: Literal["written", "refused", "failed"]
    """`refused`: there was a reply that is no summary. `failed`: there was none."""
    kind: str = ""
    """Of which kind the refusal (`replies.Kind`) or the failure (`overflow.Kind`) is."""
    reason: str = ""
    """For people: what was wrong, an error's own words among it. Goes into no request."""
    part: int = 1
    parts: int = 1
    merging: bool = False
    """Whether it was to merge the summaries of parts."""
    tokens: int = 0
    """The estimate of the request."""
    spent: Spent = Spent()


class Written(Struct, frozen=True, kw_only=True):
    """What came of a task."""

    text: str | None
    """The summary, without a lead; None if no model wrote anything that is one."""
    model: str = ""
    """Who wrote it; the last one, if several did."""
    attempts: tuple[Attempt, ...] = ()
    """All calls, in the order in which they ended."""
    parts: int = 0
    """In how many parts the record was covered, one if it was not divided; those by the digest
    among them."""
    rounds: int = 0
    """How many rounds of merging it took."""
    digested: tuple[tuple[int, int], ...] = ()
    """First and last record of each part that the digest covers."""

    @property
    def spent(self) -> Spent:
        """What all calls cost together, those that failed among them."""
        return sum((attempt.spent for attempt in self.attempts), Spent())

    @property
    def detail(self) -> str:
        """One sentence for a report."""
        calls = "1 call" if self.spent.calls == 1 else f"{self.spent.calls} calls"
        failed = [attempt for attempt in self.attempts if attempt.outcome != "written"]
        said = f"; {len(failed)} failed, the last: {failed[-1].reason}" if failed else ""
        if self.text is None:
            return f"no model wrote a summary in {calls}{said}"
        divided = f" in {self.parts} parts and {self.rounds} rounds" if self.parts > 1 else ""
        covered = f"; the digest covers {len(self.digested)} of them" if self.digested else ""
        return f"{self.model} wrote it{divided} with {calls}{covered}{said}"


class World(Struct, frozen=True, kw_only=True):
    """What the chain needs of the world; tests put their own in its place."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """From 0 to 1, for the jitter."""
    now: Callable[[], float] = time.time
    """Seconds since 1970, for a `Retry-After` that is a date."""


async def write_summary(
    task: SummaryTask,
    summarizers: Sequence[Summarizer],
    *,
    digest: Digest,
    judge: Judge = lambda _task, _text: "",
    retries: Retries | None = None,
    on_attempt: Callable[[Attempt], None] = lambda _: None,
    world: World | None = None,
) -> Written:
    """Have the summary of *task* written by the first of *summarizers* that can.

    *digest* covers a part that none of them writes. *judge* refuses texts whose source does
    not bear them out, of a part as of the whole; such a call is tried again. *on_attempt* is
    told of each call as it ends; it must not raise. Cancelling it cancels every call under way
    and leaves nothing behind.
    """
    writing = _Writing(digest, judge, retries or Retries(), on_attempt, world or World())
    return await writing.run(task, [_Model(summarizer) for summarizer in summarizers])


class _Model:
    """A summariser of this task: what it is believed to take, and how it has done so far."""

    def __init__(self, summarizer: Summarizer) -> None:
        self.write = summarizer
        self.name = summarizer.name
        whole = summarizer.capacity
        self.capacity = structs.replace(
            whole, window_tokens=int(whole.window_tokens * (1 - ESTIMATE_MARGIN))
        )
        self.failed_in_a_row = 0
        self.down = False

    def learn(self, fault: Fault, request: SummaryRequest) -> None:
        """Believe in less, after a request was refused as too large."""
        believed = _smaller(request).window_tokens
        if fault.window_tokens is not None:
            told = int(fault.window_tokens * (1 - ESTIMATE_MARGIN))
            if fault.input_tokens:
                # The server counts more than we do: what we may send is less by as much.
                told = int(told * min(1.0, request.tokens / fault.input_tokens))
            believed = told
        window = min(believed, int(self.capacity.window_tokens * (1 - ESTIMATE_MARGIN)))
        self.capacity = structs.replace(self.capacity, window_tokens=window)


class _Smaller(Struct, frozen=True):
    """The request has to be made smaller."""

    window_tokens: int
    """What request and reply may take together now."""


class _Gate:
    """Lets some in at a time; after a rate limit, one."""

    def __init__(self, count: int) -> None:
        self._limit = count
        self._inside = 0
        self._waiting: list[asyncio.Future[None]] = []

    def narrow(self) -> None:
        self._limit = 1

    async def __aenter__(self) -> None:
        while self._inside >= self._limit:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        # No await in here: a cancelled caller must not leave its place taken.
        self._inside -= 1
        woken, self._waiting = self._waiting, []
        for turn in woken:
            if not turn.done():
                turn.set_result(None)


class _Writing:
    """The writing of one task."""

    def __init__(
        self,
        digest: Digest,
        judge: Judge,
        retries: Retries,
        on_attempt: Callable[[Attempt], None],
        world: World,
    ) -> None:
        self._digest = digest
        self._judge = judge
        self._retries = retries
        self._on_attempt = on_attempt
        self._world = world
        self._gate = _Gate(max(1, retries.parallel_max))
        self._attempts: list[Attempt] = []
        self._digested: list[tuple[int, int]] = []
        self._writer = ""
        self._parts = 0
        self._rounds = 0

    async def run(self, task: SummaryTask, models: Sequence[_Model]) -> Written:
        text = await self._write(task, models)
        return Written(
            text=text,
            model=self._writer if text is not None else "",
            attempts=tuple(self._attempts),
            parts=self._parts,
            rounds=self._rounds,
            digested=tuple(sorted(self._digested)) if text is not None else (),
        )

    async def _write(
        self, task: SummaryTask, models: Sequence[_Model], smaller: tuple[_Smaller, ...] = ()
    ) -> str | None:
        """Write a task with the first model that is not down, divided as its window asks."""
        alive = [model for model in models if not model.down]
        if not alive:
            return None
        model, others = alive[0], alive[1:]
        capacity = model.capacity
        if smaller:
            window = min(capacity.window_tokens, smaller[-1].window_tokens)
            capacity = structs.replace(capacity, window_tokens=window)
        try:
            if task.pieces:
                if len(merges(task, task.pieces, capacity)) > 1:
                    return await self._merge(task, task.pieces, alive, capacity)
            elif (divided := parts(task, capacity)) != [task]:
                return await self._write_parts(task, divided, alive, capacity)
            result = await self._try(task, model, capacity)
        except ConfigError as error:
            self._note(model, task, None, "failed", "bad_parameter", str(error), Spent())
            model.down = not smaller
            return await self._write(task, others)
        if isinstance(result, str):
            self._parts += not task.pieces
            return result
        if isinstance(result, _Smaller) and len(smaller) < SMALLER_MAX:
            return await self._write(task, alive, (*smaller, result))
        return await self._write(task, others)

    async def _write_parts(
        self,
        task: SummaryTask,
        divided: Sequence[SummaryTask],
        models: Sequence[_Model],
        capacity: Capacity,
    ) -> str | None:
        """Write the parts, and merge what they came to; None if no model wrote any."""
        found = await _all([self._write(part, models) for part in divided])
        if not any(text is not None for text in found):
            return None
        pieces = [piece] if (piece := earlier_piece(task)) else []
        for part, text in zip(divided, found, strict=True):
            told = text
            if text is None:
                told = self._digest(part.messages, part.budget_tokens)
                self._digested.append(part.span)
                self._parts += 1
            if told:
                pieces.append(piece_of(part, told))
        return await self._merge(task, pieces, models, capacity)

    async def _merge(
        self,
        task: SummaryTask,
        pieces: Sequence[Piece],
        models: Sequence[_Model],
        capacity: Capacity,
    ) -> str:
        """Merge pieces, in rounds, until one text is left; by rule where no model does."""
        while len(pieces) > 1:
            self._rounds += 1
            try:
                groups = merges(task, pieces, capacity)
            except ConfigError:
                groups = [structs.replace(task, messages=(), previous="", pieces=tuple(pieces))]
            pieces = await _all([self._merge_group(group, models) for group in groups])
        return pieces[0].text

    async def _merge_group(self, group: SummaryTask | Piece, models: Sequence[_Model]) -> Piece:
        if isinstance(group, Piece):
            return group
        text = await self._write(group, models)
        if text is None:
            messages = [_as_message(piece, group.phrases) for piece in group.pieces]
            text = self._digest(messages, group.budget_tokens) or shorten(
                "\n\n".join(piece.text for piece in group.pieces), group.budget_tokens
            )
        return piece_of(group, text)

    async def _try(
        self, task: SummaryTask, model: _Model, capacity: Capacity
    ) -> str | _Smaller | None:
        """Ask one model for one request, as often as the rules allow."""
        output: int | None = None
        fault: Fault | None = None
        for number in range(1, self._retries.attempts_max + 1):
            async with self._gate:
                if model.down:
                    return None
                request = request_for(task, capacity, output_tokens_max=output)
                output = request.output_tokens_max
                result = await self._call(task, model, request)
                if isinstance(result, str):
                    model.failed_in_a_row = 0
                    self._writer = model.name
                    return result
                fault = None
                if isinstance(result, Refusal):
                    if result.kind == "cut":
                        output = _more_output(request, capacity)
                        if output is None:
                            return _smaller(request)
                    continue
                fault, error = result
                if fault.kind == "output_reserve_too_big" and output > OUTPUT_TOKENS_LEAST:
                    output //= 2
                    continue
                if fault.kind in _TOO_LARGE:
                    model.learn(fault, request)
                    return _smaller(request)
                if not await self._wait(model, fault, error, number):
                    return None
        model.failed_in_a_row += 1
        model.down = fault is not None or model.failed_in_a_row >= FAILED_IN_A_ROW_MAX
        return None

    async def _wait(self, model: _Model, fault: Fault, error: Exception, number: int) -> bool:
        """Wait before the next attempt, if there is to be one; else give the model up."""
        if fault.kind == "rate_limit":
            self._gate.narrow()
        if fault.kind not in {"rate_limit", "transient", "unknown"} or (
            fault.kind == "rate_limit" and not fault.waiting_helps
        ):
            model.down = True
            return False
        if number == self._retries.attempts_max:
            return True
        chance = self._world.chance()
        asked = retry_after_seconds(error, now=self._world.now())
        if asked is not None and asked > self._retries.retry_after_seconds_max:
            model.down = True
            return False
        backoff = self._retries.backoff_seconds(number, chance)
        # What the server asks for is the least; a little more, so that not all come at once.
        await self._world.sleep(backoff if asked is None else asked * (1 + chance / 10))
        return True

    async def _call(
        self, task: SummaryTask, model: _Model, request: SummaryRequest
    ) -> str | Refusal | tuple[Fault, Exception]:
        """Make one call, note it down, and give the summary or what was wrong."""
        try:
            async with asyncio.timeout(self._retries.call_seconds_max):
                reply = _as_reply(await model.write(request))
        except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed attempt
            fault = classify(error)
            # A server that refused has done no work; of a call that broke off nobody knows.
            cost = Spent(calls=1, uncounted=0 if fault.status else 1)
            reason = f"{type(error).__name__}: {fault.told}" if fault.told else repr(error)
            self._note(model, task, request, "failed", fault.kind, reason, cost)
            return fault, error
        cost = spent(reply.usage) if reply.usage is not None else Spent(calls=1, uncounted=1)
        found = check(reply, request)
        if isinstance(found, str) and (doubt := self._judge(task, found)):
            found = Refusal(kind="doubtful", detail=doubt)
        if isinstance(found, Refusal):
            self._note(model, task, request, "refused", found.kind, found.detail, cost)
        else:
            self._note(model, task, request, "written", "", "", cost)
        return found

    def _note(
        self,
        model: _Model,
        task: SummaryTask,
        request: SummaryRequest | None,
        outcome: Literal["written", "refused", "failed"],
        kind: str,
        reason: str,
        cost: Spent,
    ) -> None:
        attempt = Attempt(
            model=model.name,
            outcome=outcome,
            kind=kind,
            reason=reason,
            part=task.part,
            parts=task.parts,
            merging=bool(task.pieces),
            tokens=request.tokens if request else 0,
            spent=cost,
        )
        self._attempts.append(attempt)
        self._on_attempt(attempt)


def _smaller(request: SummaryRequest) -> _Smaller:
    """Give what a request that did not work may take next time, its reply included."""
    return _Smaller(int((request.tokens + request.output_tokens_max) * SMALLER))


def _more_output(request: SummaryRequest, capacity: Capacity) -> int | None:
    """Give twice the room for the reply, as far as there is any; None if there isn't."""
    left = capacity.window_tokens - request.tokens
    wanted = min(2 * request.output_tokens_max, capacity.output_tokens_max, left)
    return wanted if wanted > request.output_tokens_max else None


def _as_reply(answered: object) -> SummaryReply:
    """Give what a summariser answered as a reply.

    Raises:
        TypeError: If it is neither a reply nor a text.
    """
    if isinstance(answered, str):
        return SummaryReply(text=answered)
    if not isinstance(answered, SummaryReply):
        raise TypeError(f"a summariser gives a SummaryReply or text, not {type(answered).__name__}")
    return answered


def _as_message(piece: Piece, phrases: Phrases) -> Message:
    """Give a piece as the summary message that the digest can read."""
    text = with_lead(piece.text, phrases, first=piece.first, last=piece.last, count=piece.count)
    return Message(role="user", content=text, origin="summary", seq=piece.last or None)


async def _all(jobs: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Run jobs side by side and give their results in order; all end before it does."""
    if len(jobs) == 1:
        return [await jobs[0]]
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(job) for job in jobs]
    return [job.result() for job in running]
