"""How one model counts beside our estimate, learned from what its provider reported. Pure.

Two usage records with nothing but new messages between them tell what these cost. From such
observations a line is fitted: so many tokens for each token of our estimate, and so many for
each message. It begins as the model's family says (see `families`), moves as usage arrives,
and stays within bounds; how far it was off is part of it. All of it follows from the log, so
a restart gives the same values, and what a compaction leaves behind goes along in its record
(`Calibration.learned`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, structs

from minutebook.messages import Message, ThinkPart
from minutebook.records import Usage
from minutebook.tokens.estimate import estimate_part
from minutebook.tokens.families import Family, family_of
from minutebook.tokens.usage import all_input
from minutebook.turns import origin_of

OBSERVATIONS_MAX = 64
"""How many of the newest observations count: enough for a spread, and a fit in about a
millisecond. Older ones are no worse, only less like what comes next."""

LEARNED_MAX = 24
"""How many of them go along in the record of a compaction."""

SLOPE_MIN, SLOPE_MAX = 0.5, 3.0
"""No vocabulary is further from o200k: measured between 0.99 and 1.6, classical Chinese and
scripts that the estimate knows little of may double that."""

CONSTANT_MIN, CONSTANT_MAX = -8.0, 200.0
"""What a message may cost beside its estimate: not less than the estimate's own overhead, and
as much as the reminders that some agents slip in behind every result."""

PRIOR_WEIGHT = 2.0
"""How many observations the family's line counts for."""

CONSTANT_SCALE = 20.0
"""How far, in tokens a message, the constant may lie from the family's as easily as the slope
may lie from its by itself."""

SMALL_TOKENS = 8
"""What is added for each message to its estimate before an error is taken relative to it:
of a message of ten tokens two more or less say nothing."""

ERROR_MIN = 0.02
"""Errors are weighed against each other down to this size; below, all fit equally well."""

LARGE_TOKENS = 1_000
"""From this size on what is new is judged by shares, below it by tokens: a reminder of 300
tokens that nobody told us of is much beside a short result and nothing beside a long one."""

SPREAD_UNKNOWN = 0.25
"""The spread of large parts before any was observed: the factor of a vocabulary that nothing
is known of, and the estimate's own 90th percentile on single texts (3 to 14 %)."""

SPREAD_TOKENS_UNKNOWN = 100
"""The spread of small parts before any was observed: about a reminder."""

SPREAD_WEIGHT = 2
"""How many observations the two before this count for, each."""

SWITCHED_SPREAD = 0.15
"""What a count by another model's provider may be off by after it was converted."""

_ROUNDS = 8
"""How often the fit is weighed anew. The line moves by under a thousandth after six."""


class Counted(Protocol):
    """A usage record, and how many messages it covers (`context.Counted`)."""

    @property
    def usage(self) -> Usage:
        """What the record says."""
        ...

    @property
    def messages(self) -> int:
        """How many messages of the history stand before the record."""
        ...


class Observation(Struct, frozen=True, gc=False):
    """What some messages cost, by a provider's word and by our estimate."""

    tokens: int
    estimate: int
    messages: int


class Calibration(Struct, frozen=True, kw_only=True):
    """How a model counts beside our estimate."""

    model: str | None
    slope: float
    """Tokens for each token of our estimate."""
    constant: float
    """Tokens for each message, beside those that the estimate has for it."""
    error: float = SPREAD_UNKNOWN
    """By what share the cost of new messages was off, at the median."""
    spread: float = SPREAD_UNKNOWN
    """The same at the 90th percentile, of parts of at least `LARGE_TOKENS`."""
    spread_tokens: int = SPREAD_TOKENS_UNKNOWN
    """By how many tokens smaller parts were off, at the 90th percentile."""
    observations: tuple[Observation, ...] = ()
    """What it was fitted to, oldest first."""

    def tokens(self, estimate: int, messages: int) -> int:
        """Give what messages of that estimate cost; never below 0."""
        return max(0, round(self.slope * estimate + self.constant * messages))

    def estimate(self, tokens: int, messages: int) -> int:
        """Give the estimate of as many messages that cost *tokens*: `tokens` turned around.

        So a budget in a provider's tokens can be held against estimates; rounded down.
        """
        return max(0, int((tokens - self.constant * messages) / self.slope))

    def off(self, tokens: int) -> int:
        """Give how far *tokens* that `tokens` gave may be off to either side."""
        if tokens <= 0:
            return 0
        share = round(self.spread * tokens)
        return share if tokens >= LARGE_TOKENS else max(share, self.spread_tokens)

    def learned(self) -> list[list[int]]:
        """Give what was observed as JSON, for the record of a compaction; see `read_learned`."""
        return [
            [one.tokens, one.estimate, one.messages] for one in self.observations[-LEARNED_MAX:]
        ]


class Size(Struct, frozen=True, kw_only=True):
    """How large the next request is, and how sure that is."""

    tokens: int
    spread: int
    """How far the true size may be off to either side: nine times in ten it isn't."""
    counted: int
    """How much of it a provider counted."""
    source: str
    """`counted` if nothing is new since; `calibrated` if the rest is by a line that was
    fitted to this session; else `estimated`."""
    start: int = 0
    """The first message that is new since."""

    def straddles(self, bound: int) -> bool:
        """Tell whether it can't be said if the request reaches *bound*: count exactly then."""
        return self.tokens - self.spread < bound <= self.tokens + self.spread


def read_learned(value: object) -> tuple[Observation, ...]:
    """Read what `Calibration.learned` gave. What isn't of that form is passed over."""
    found = []
    for one in value if isinstance(value, list | tuple) else ():
        if isinstance(one, list | tuple) and len(one) == 3:
            numbers = [item for item in one if isinstance(item, int)]
            if len(numbers) == 3 and numbers[1] >= 0 and numbers[2] > 0:
                found.append(Observation(*numbers))
    return tuple(found[-LEARNED_MAX:])


def calibrate(
    counted: Sequence[Counted],
    history: Sequence[Message],
    estimates: Sequence[int],
    *,
    model: str | None = None,
    carried: Sequence[Observation] = (),
) -> Calibration:
    """Fit to what the log says: its usage records, its messages, and their estimates.

    *carried* is what was observed before the last compaction. Takes at most
    `OBSERVATIONS_MAX` records from the end on, so its cost doesn't grow with the log.
    """
    return fit((*carried, *observe(counted, history, estimates, model=model)), model)


def observe(
    counted: Sequence[Counted],
    history: Sequence[Message],
    estimates: Sequence[int],
    *,
    model: str | None = None,
) -> tuple[Observation, ...]:
    """Give what the newest usage records tell about the messages between them, oldest first.

    Left out are records that were counted by us (after a compaction), records of another
    model, and pairs with no message between them.
    """
    found: list[Observation] = []
    for index in range(len(counted) - 1, 0, -1):
        if len(found) == OBSERVATIONS_MAX or counted[index].usage.estimated:
            break
        before, after = counted[index - 1 : index + 1]
        if before.usage.estimated:
            break
        if not (of_model(before.usage, model) and of_model(after.usage, model)):
            continue
        start, base = _base(before, history)
        end, size = _request(after, history)
        if 0 <= start < end <= len(estimates):
            ended = ended_reasoning(counted[:index], history, start, end, model)
            found.append(Observation(size - base + ended, sum(estimates[start:end]), end - start))
    return tuple(reversed(found))


def fit(found: Sequence[Observation], model: str | None = None) -> Calibration:
    """Fit a line to observations, the newest `OBSERVATIONS_MAX` of them.

    Least absolute relative error, by least squares weighed anew some rounds: a reminder that
    nobody told us of, or reasoning that a provider dropped, is one error among many and does
    not bend the line, and nor does the family's line once many agree on another.
    """
    family = family_of(model)
    kept = tuple(one for one in found if one.messages > 0)[-OBSERVATIONS_MAX:]
    slope, constant = family.slope, family.constant
    if not kept:
        return Calibration(model=model, slope=slope, constant=constant)
    weights, drawn = [1.0] * len(kept), (1.0, 1.0)
    for _ in range(_ROUNDS):
        slope, constant = _least_squares(kept, weights, family, drawn)
        weights = [1 / max(_error(one, slope, constant), ERROR_MIN) for one in kept]
        drawn = (
            1 / max(abs(slope - family.slope), ERROR_MIN),
            1 / max(abs(constant - family.constant) / CONSTANT_SCALE, ERROR_MIN),
        )
    return _with_spread(Calibration(model=model, slope=slope, constant=constant, observations=kept))


def next_size(
    counted: Sequence[Counted],
    history: Sequence[Message],
    estimates: Sequence[int],
    *,
    fixed: int,
    calibration: Calibration,
) -> Size:
    """Give the size of a request that holds the whole history.

    The last usage record is taken as it is, and what came after it by the calibration; less
    the reasoning of a turn that is over, where the provider drops it. A record of another
    model is converted by both families' factors, unless an earlier one is of this model. One
    that we wrote ourselves (after a compaction) is taken likewise, but with its spread.
    Without any, all is estimated: *fixed*, the estimate of system prompt and tools, too.
    """
    newest = _newest(counted, calibration.model)
    if newest is None:
        whole = fixed + sum(estimates)
        if family_of(calibration.model).reasoning_ends_with_turn:
            whole -= _earlier_thinking(history)
        tokens = calibration.tokens(whole, len(history))
        return Size(
            tokens=tokens,
            spread=calibration.off(tokens),
            counted=0,
            source="calibrated" if calibration.observations else "estimated",
        )
    usage, start = counted[newest].usage, counted[newest].messages
    tokens = calibration.tokens(sum(estimates[start:]), len(history) - start)
    base, spread = usage.token_count, calibration.off(tokens)
    if not of_model(usage, calibration.model):
        base = round(base * calibration.slope / family_of(usage.model).slope)
        spread += round(SWITCHED_SPREAD * base)
    elif usage.estimated:
        spread += calibration.off(base)
    else:
        base -= ended_reasoning(
            counted[: newest + 1], history, start, len(history), calibration.model
        )
    exact = not usage.estimated and of_model(usage, calibration.model)
    if exact and start == len(history):
        source = "counted"
    else:
        source = "calibrated" if calibration.observations else "estimated"
    base = max(0, base)
    return Size(
        tokens=base + tokens,
        spread=spread,
        counted=base if exact else 0,
        source=source,
        start=start,
    )


def hidden_tokens(
    counted: Sequence[Counted],
    estimates: Sequence[int],
    *,
    fixed: int,
    calibration: Calibration,
) -> int:
    """Give what requests hold that we were not told of: prompts and tools of the agent's own.

    From the earliest exact record of the model, where the least else is estimated. 0 if there
    is none, or if it counts less than we know of. *fixed* as in `next_size`.
    """
    for one in counted:
        usage = one.usage
        if not usage.estimated and of_model(usage, calibration.model):
            known = calibration.tokens(fixed + sum(estimates[: one.messages]), one.messages)
            return max(0, usage.token_count - known)
    return 0


def ended_reasoning(
    counted: Sequence[Counted],
    history: Sequence[Message],
    start: int,
    end: int,
    model: str | None,
) -> int:
    """Give the tokens of reasoning that the messages from *start* to *end* put an end to.

    Where the provider drops the reasoning of earlier turns, a user's message among these ends
    a turn, and the turn's reasoning is in no later request: as much as the usage records of
    the turn report, or, where they report none, what its thinking is estimated to take.
    """
    family = family_of(model)
    if not family.reasoning_ends_with_turn or not _has_user(history, start, end):
        return 0
    first = start
    while first > 0 and not _begins_turn(history[first - 1]):
        first -= 1
    reported = 0
    for one in reversed(counted):
        if one.messages <= first or one.usage.estimated:
            break
        reported += _reasoning_that_stays(one.usage)
    return reported or round(family.slope * _thinking(history, first, start))


def _has_user(history: Sequence[Message], start: int, end: int) -> bool:
    """Tell whether a turn begins between two places of the history."""
    return any(_begins_turn(message) for message in history[start:end])


def _begins_turn(message: Message) -> bool:
    """Tell a user's own message from notices and the like in a user's role.

    In recorded sessions of Codex those leave a turn's reasoning where it is.
    """
    return message.role == "user" and origin_of(message) in {"user", "import"}


def _thinking(history: Sequence[Message], start: int, end: int) -> int:
    """Give the estimate of the thinking between two places of the history."""
    return sum(
        estimate_part(part)
        for message in history[start:end]
        if message.role == "assistant"
        for part in message.parts
        if isinstance(part, ThinkPart)
    )


def _earlier_thinking(history: Sequence[Message]) -> int:
    """Give the estimate of all thinking before the turn in progress."""
    last = len(history)
    while last > 0 and not _begins_turn(history[last - 1]):
        last -= 1
    return _thinking(history, 0, last)


def of_model(usage: Usage, model: str | None) -> bool:
    """Tell whether a record is of that model; one that names none may be of any."""
    return usage.model is None or model is None or usage.model == model


def _reasoning_that_stays(usage: Usage) -> int:
    """Give how much of a record's count is reasoning."""
    size = all_input(usage)
    if size is None or not usage.reasoning or not usage.output:
        return 0
    return usage.reasoning if usage.token_count >= size + usage.output else 0


def _base(counted: Counted, history: Sequence[Message]) -> tuple[int, int]:
    """Give up to which message a record counts, and how many tokens.

    Of a record whose output was not believed (its count is larger than what it reports) only
    the request counts.
    """
    usage, size = counted.usage, all_input(counted.usage)
    if size is not None and usage.token_count > size + (usage.output or 0):
        return _before_reply(counted.messages, history), size
    return counted.messages, usage.token_count


def _request(counted: Counted, history: Sequence[Message]) -> tuple[int, int]:
    """Give how many messages a record's request held, and its size.

    With the reply, if the record doesn't tell them apart.
    """
    size = all_input(counted.usage)
    if size is None:
        return counted.messages, counted.usage.token_count
    return _before_reply(counted.messages, history), size


def _before_reply(messages: int, history: Sequence[Message]) -> int:
    """Give how many messages stand before the reply that a record came with, if it did."""
    reply = 0 < messages <= len(history) and history[messages - 1].role == "assistant"
    return messages - 1 if reply else messages


def _newest(counted: Sequence[Counted], model: str | None) -> int | None:
    """Find the record to start from: the newest of the model, else the newest; None of none.

    Not from before a record of our own, which stands where a compaction has changed history.
    """
    for place in range(len(counted) - 1, -1, -1):
        if of_model(counted[place].usage, model):
            return place
        if counted[place].usage.estimated:
            break
    return len(counted) - 1 if counted else None


def _with_spread(line: Calibration) -> Calibration:
    """Give the calibration with how far it is off from what it was fitted to."""
    shares = [SPREAD_UNKNOWN] * SPREAD_WEIGHT
    tokens = [SPREAD_TOKENS_UNKNOWN] * SPREAD_WEIGHT
    for one in line.observations:
        given = line.tokens(one.estimate, one.messages)
        off = abs(one.tokens - given)
        if given >= LARGE_TOKENS:
            shares.append(off / given)
        else:
            tokens.append(off)
    errors = [_error(one, line.slope, line.constant) for one in line.observations]
    return structs.replace(
        line,
        error=sorted(errors)[len(errors) // 2],
        spread=sorted(shares)[len(shares) * 9 // 10],
        spread_tokens=sorted(tokens)[len(tokens) * 9 // 10],
    )


def _error(one: Observation, slope: float, constant: float) -> float:
    """Give by what share the line is off."""
    off = abs(one.tokens - slope * one.estimate - constant * one.messages)
    return off / (one.estimate + SMALL_TOKENS * one.messages)


def _least_squares(
    found: Sequence[Observation],
    weights: Sequence[float],
    family: Family,
    drawn: tuple[float, float],
) -> tuple[float, float]:
    """Solve for slope and constant within the bounds.

    The family's slope and constant count as `PRIOR_WEIGHT` observations, with the weights
    *drawn*.
    """
    xx = PRIOR_WEIGHT * drawn[0]
    nn = PRIOR_WEIGHT * drawn[1] / (CONSTANT_SCALE * CONSTANT_SCALE)
    xn, xy, ny = 0.0, xx * family.slope, nn * family.constant
    for one, weight in zip(found, weights, strict=True):
        x, n = one.estimate, one.messages
        share = weight / (x + SMALL_TOKENS * n) ** 2
        xx += share * x * x
        xn += share * x * n
        nn += share * n * n
        xy += share * x * one.tokens
        ny += share * n * one.tokens
    determinant = xx * nn - xn * xn
    solved = (xy * nn - ny * xn) / determinant, (xx * ny - xn * xy) / determinant
    return (
        min(max(solved[0], SLOPE_MIN), SLOPE_MAX),
        min(max(solved[1], CONSTANT_MIN), CONSTANT_MAX),
    )
