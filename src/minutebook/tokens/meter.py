"""The size of a session's next request, kept at hand: what a session asks. Pure.

The values come from the log alone (see `calibration` and `belief`); a meter only remembers
the last fit, so that counting before a call costs what is new, and the last report that it
did not believe. After a restart a new meter gives the same sizes; a report that was doubted
just before is forgotten, and the next of its kind is doubted once more.
"""

from __future__ import annotations

from collections.abc import Sequence

from minutebook.messages import Message
from minutebook.records import Usage
from minutebook.tokens.belief import Belief, believe
from minutebook.tokens.calibration import (
    Calibration,
    Counted,
    Observation,
    Size,
    calibrate,
    next_size,
)

_Known = tuple[int, Usage | None, str | None, tuple[Observation, ...]]


class Meter:
    """Sizes for one session. Every method takes what the context says just now."""

    def __init__(self) -> None:
        """Begin with nothing learned."""
        self._known: _Known | None = None
        self._line: Calibration | None = None
        self._doubted: tuple[Usage, int] | None = None

    def line(
        self,
        counted: Sequence[Counted],
        history: Sequence[Message],
        estimates: Sequence[int],
        *,
        model: str | None,
        carried: Sequence[Observation] = (),
    ) -> Calibration:
        """Give how *model* counts here; fitted anew only when a usage record has come or gone."""
        last = counted[-1].usage if counted else None
        known = (len(counted), last, model, tuple(carried))
        if self._line is None or known != self._known:
            self._line = calibrate(counted, history, estimates, model=model, carried=carried)
            self._known = known
        return self._line

    def size(
        self,
        counted: Sequence[Counted],
        history: Sequence[Message],
        estimates: Sequence[int],
        *,
        fixed: int,
        model: str | None,
        carried: Sequence[Observation] = (),
    ) -> Size:
        """Give the size of a request that holds the whole history (`calibration.next_size`)."""
        line = self.line(counted, history, estimates, model=model, carried=carried)
        return next_size(counted, history, estimates, fixed=fixed, calibration=line)

    def judge(
        self,
        found: Usage | None,
        counted: Sequence[Counted],
        history: Sequence[Message],
        estimates: Sequence[int],
        *,
        fixed: int,
        reply: int = 0,
        window: int | None = None,
        carried: Sequence[Observation] = (),
    ) -> Belief:
        """Say whether a report on a request with the whole history is believed (`belief`).

        *reply* is the estimate of the reply that came with it, which *history* doesn't hold
        yet. Costs a walk over the estimates.
        """
        model = found.model if found is not None else None
        line = self.line(counted, history, estimates, model=model, carried=carried)
        size = next_size(counted, history, estimates, fixed=fixed, calibration=line)
        doubted, since = None, 0
        if self._doubted is not None and self._doubted[1] <= len(history):
            doubted, start = self._doubted
            since = line.tokens(sum(estimates[start:]), len(history) - start)
        belief = believe(
            found,
            seen=line.tokens(fixed + sum(estimates), len(history)),
            reply=line.tokens(reply, 1) if reply else 0,
            expected=size.tokens if size.counted else None,
            window=window,
            doubted=doubted,
            since=since,
        )
        self._doubted = None
        if found is not None and belief.usage is None:
            self._doubted = found, len(history)
        return belief
