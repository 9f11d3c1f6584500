"""How well the size of the next request is known beforehand, on recorded sessions.

Each session is walked through as it went: before each request only what was known then is
used, and the request's true size comes from the usage that its provider reported. Requests
behind a compaction or a branch are left out, and so are those before the fourth usage record.

Constants were set on the sessions of one half (each agent's first, third, …); a line that
says "other half" is of the rest alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.recorded import Call, Recorded
from minutebook.messages import Message, OtherPart, TextPart, ThinkPart
from minutebook.records import Usage
from minutebook.tokens.belief import believe
from minutebook.tokens.calibration import (
    Calibration,
    Observation,
    calibrate,
    fit,
    next_size,
)
from minutebook.tokens.estimate import estimate_json, estimate_message
from minutebook.tokens.media import estimate_media
from minutebook.tokens.usage import all_input

RECORDS_MIN = 3
"""From this many usage records on a prediction counts."""


@dataclass(frozen=True, kw_only=True)
class Covered:
    """A usage record that was believed (as `context.Counted`)."""

    usage: Usage
    messages: int


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The size of one request, beforehand and truly."""

    true: int
    size: int
    """By the calibration."""
    spread: int
    plain: int
    """By the last usage and a quarter of the characters of what came after it."""
    new: int
    """How much of the true size was new since the last usage."""

    @property
    def error(self) -> float:
        """The size's error, as a share."""
        return abs(self.size - self.true) / self.true

    @property
    def error_of_new(self) -> float:
        """The same of the part that is new."""
        return abs(self.size - self.true) / max(1, abs(self.new))


@dataclass(frozen=True, kw_only=True)
class Walked:
    """What one session gave."""

    session: Recorded
    reported: bool
    """Whether it is of the half that no constant was set on."""
    predictions: list[Prediction]
    line: Calibration
    """As it stands at the end."""
    grown: int
    """By how much the requests grew, between compactions and branches."""
    grown_hidden: int
    """The same, estimated with the family's line and no usage at all."""
    grown_plain: int
    """The same by a quarter of the characters."""

    @property
    def growth_error(self) -> float:
        """The error of the growth with usage hidden, with its sign, as a share."""
        return self.grown_hidden / (self.grown or 1) - 1


def walk_all(sessions: Iterable[Recorded]) -> list[Walked]:
    """Walk through each session, the second, fourth, … of each agent as the other half."""
    counts: dict[str, int] = {}
    walked = []
    for session in sessions:
        number = counts[session.agent] = counts.get(session.agent, 0) + 1
        walked.append(walk(session, reported=number % 2 == 0))
    return walked


def walk(session: Recorded, *, reported: bool) -> Walked:
    """Predict each request of a session from what was known before it."""
    messages = session.messages
    estimates = [estimate_message(message) for message in messages]
    counted: list[Covered] = []
    carried: tuple[Observation, ...] = ()
    line = fit((), session.model)
    predictions = []
    for index, call in enumerate(session.calls):
        if not call.follows:
            # A compaction begins a new log; what was observed goes along in its record.
            counted, carried = [], line.observations
        line = calibrate(counted, messages, estimates, model=call.usage.model, carried=carried)
        if counted and index >= RECORDS_MIN:
            before = session.calls[index - 1]
            predictions.append(_predict(session, estimates, counted, line, before, call))
        reply = line.tokens(estimates[call.before], 1)
        found = believe(call.usage, seen=0, reply=reply)
        if found.usage is not None:
            counted.append(Covered(usage=found.usage, messages=call.after))
    grown, hidden, plain = _growth(session, estimates)
    return Walked(
        session=session,
        reported=reported,
        predictions=predictions,
        line=line,
        grown=grown,
        grown_hidden=hidden,
        grown_plain=plain,
    )


def _predict(
    session: Recorded,
    estimates: Sequence[int],
    counted: Sequence[Covered],
    line: Calibration,
    before: Call,
    call: Call,
) -> Prediction:
    history = session.messages[: call.before]
    size = next_size(counted, history, estimates[: call.before], fixed=0, calibration=line)
    true = all_input(call.usage) or 1
    characters = sum(map(count_characters, history[before.after :]))
    return Prediction(
        true=true,
        size=size.tokens,
        spread=size.spread,
        plain=before.usage.token_count + characters // 4,
        new=true - counted[-1].usage.token_count,
    )


def _growth(session: Recorded, estimates: Sequence[int]) -> tuple[int, int, int]:
    """Add up by how much the requests grew in each unbroken stretch: truly, and estimated."""
    family = fit((), session.model)
    true = hidden = characters = 0
    stretch: list[Call] = []
    for call in [*session.calls, None]:
        if call is not None and (call.follows or not stretch):
            stretch.append(call)
            continue
        first, last = stretch[0], stretch[-1]
        true += (all_input(last.usage) or 0) - (all_input(first.usage) or 0)
        for sign, end in ((-1, first.before), (1, last.before)):
            size = next_size(
                (), session.messages[:end], estimates[:end], fixed=0, calibration=family
            )
            hidden += sign * size.tokens
        characters += sum(map(count_characters, session.messages[first.before : last.before]))
        stretch = [] if call is None else [call]
    return true, hidden, characters // 4


def count_characters(message: Message) -> int:
    """Count a message's characters as the plain rule does: media by what they really cost."""
    count = sum(len(call.name) + len(call.arguments) for call in message.calls)
    for part in message.parts:
        if isinstance(part, TextPart):
            count += len(part.text)
        elif isinstance(part, ThinkPart):
            count += len(part.think)
        elif isinstance(part, OtherPart):
            count += 4 * estimate_json(part.data)
        else:
            count += 4 * estimate_media(part)
    return count


def print_sessions(walked: Sequence[Walked]) -> None:
    """Print a line for each session, for each agent, and for all."""
    print("size of the next request, and growth with usage hidden; errors in percent")
    print(f"{'':<34}{'':>9}|---- calibrated ----|  |- chars/4 -|    new part |  growth hidden")
    print(
        f"{'session':<34}{'requests':>9}{'median':>8}{'p95':>7}{'spread':>8}"
        f"{'median':>9}{'p95':>7}{'median':>11}{'ours':>9}{'c/4':>7}"
    )
    for one in walked:
        mark = "" if one.reported else "*"
        name = f"{one.session.agent} {one.session.name}"[:31] + mark
        grown = one.grown or 1
        growth = f"{100 * one.growth_error:>+9.0f}{100 * (one.grown_plain / grown - 1):>+7.0f}"
        print(f"{name:<34}{_line(one.predictions)}{growth}")
    for agent in dict.fromkeys(one.session.agent for one in walked):
        print(f"{f'all of {agent}':<34}{_line(_pool(walked, agent=agent))}")
    print(f"{'other half':<34}{_line(_pool(walked, reported=True))}")
    print(f"{'all sessions':<34}{_line(_pool(walked))}")
    print("* constants were set on these; spread: how many true sizes lie within it")


def _pool(walked: Sequence[Walked], *, agent: str = "", reported: bool = False) -> list[Prediction]:
    """Put together the predictions of an agent, or of the other half, or all."""
    return [
        found
        for one in walked
        if (not agent or one.session.agent == agent) and (one.reported or not reported)
        for found in one.predictions
    ]


def _line(found: Sequence[Prediction]) -> str:
    """Write the figures of some predictions."""
    if not found:
        return f"{0:>9}"
    ours = [one.error for one in found]
    plain = [abs(one.plain - one.true) / one.true for one in found]
    within = sum(abs(one.size - one.true) <= one.spread for one in found) / len(found)
    new = statistics.median(one.error_of_new for one in found)
    return (
        f"{len(found):>9}{100 * statistics.median(ours):>8.3f}{100 * quantile(ours):>7.2f}"
        f"{100 * within:>8.0f}{100 * statistics.median(plain):>9.3f}{100 * quantile(plain):>7.2f}"
        f"{100 * new:>11.1f}"
    )


def quantile(values: Sequence[float], share: float = 0.95) -> float:
    """Give the value that *share* of all stay below."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def targets(walked: Sequence[Walked]) -> list[tuple[str, float, float]]:
    """Give what is to be reached: a name, the figure, and the most that it may be, in percent."""
    rows: list[tuple[str, float, float]] = []
    for half, reported in (("", False), (", other half", True)):
        errors = [one.error for one in _pool(walked, reported=reported)]
        rows.append((f"next request, median{half}", 100 * statistics.median(errors), 0.3))
        rows.append((f"next request, p95{half}", 100 * quantile(errors), 2.0))
        new = [one.error_of_new for one in _pool(walked, agent="pi", reported=reported)]
        rows.append((f"new part on pi, median{half}", 100 * statistics.median(new), 12.0))
        growth = [abs(one.growth_error) for one in walked if one.reported or not reported]
        rows.append((f"growth, usage hidden, median{half}", 100 * statistics.median(growth), 15.0))
    return rows
