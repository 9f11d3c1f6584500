"""A session's meter: the next request's size, and whether a report is believed."""

from dataclasses import dataclass

import pytest

from minutebook.messages import Message, assistant, tool, user
from minutebook.records import Usage
from minutebook.tokens import meter as module
from minutebook.tokens.calibration import Calibration, Observation, calibrate, next_size
from minutebook.tokens.estimate import estimate_message
from minutebook.tokens.meter import Meter
from minutebook.tokens.usage import usage_record

MODEL = "gpt-5.4"
LONG = "a line of output that a tool has written\n" * 400


@dataclass(frozen=True)
class Covered:
    """A usage record and how many messages it covers, as the context gives them."""

    usage: Usage
    messages: int


def said(size: int, output: int = 40) -> Usage:
    """Make the record of a request of that size."""
    return usage_record({"input_tokens": size, "output_tokens": output}, model=MODEL)


def sizes(history: list[Message]) -> list[int]:
    """Estimate each message."""
    return [estimate_message(message) for message in history]


def test_it_gives_what_the_log_gives() -> None:
    """A meter that was there all along and a new one agree with the functions it stands on."""
    old = Meter()
    history: list[Message] = []
    counted: list[Covered] = []
    carried = (Observation(130, 100, 1),)
    for number in range(6):
        history += [tool(f"c{number}", LONG[: 900 * number + 40]), assistant("done")]
        estimates = sizes(history)
        counted.append(Covered(said(3_000 + round(1.1 * sum(estimates))), len(history)))
        old.size(counted, history, estimates, fixed=0, model=MODEL, carried=carried)
    history.append(user("and now?"))
    estimates = sizes(history)
    line = calibrate(counted, history, estimates, model=MODEL, carried=carried)
    expected = next_size(counted, history, estimates, fixed=0, calibration=line)
    for one in (old, Meter()):
        found = one.size(counted, history, estimates, fixed=0, model=MODEL, carried=carried)
        assert found == expected


def test_it_fits_only_when_there_is_something_to_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages alone teach nothing; a usage record does, and so does one that is gone."""
    fits: list[int] = []

    def counting(counted: list[Covered], *rest: object, **options: object) -> Calibration:
        fits.append(len(counted))
        return Calibration(model=MODEL, slope=1, constant=0)

    monkeypatch.setattr(module, "calibrate", counting)
    meter = Meter()
    history: list[Message] = [user("go"), assistant("on it")]
    counted = [Covered(said(500), 2)]
    for _ in range(3):
        meter.size(counted, history, sizes(history), fixed=0, model=MODEL)
        history.append(tool("c", "x"))
    counted.append(Covered(said(600), 4))
    meter.size(counted, history, sizes(history), fixed=0, model=MODEL)
    meter.size(counted[:1], history, sizes(history), fixed=0, model=MODEL)
    meter.size(counted[:1], history, sizes(history), fixed=0, model="other")
    assert fits == [1, 2, 1, 1]


def test_reports_are_held_against_what_it_expects() -> None:
    """Missing, partial and doubled ones leave the estimate; a stream's first figure is mended."""
    meter = Meter()
    history = [user(LONG), assistant("on it"), tool("c", LONG)]
    estimates = sizes(history)
    counted = [Covered(said(20_000), 2)]
    expected = meter.size(counted, history, estimates, fixed=0, model=MODEL).tokens

    def judge(found: Usage | None, reply: int = 0) -> str:
        return meter.judge(
            found, counted, history, estimates, fixed=0, reply=reply, window=200_000
        ).doubt

    assert judge(None) == "missing"
    assert judge(said(300)) == "partial"
    assert judge(said(2 * expected)) == "doubled"
    assert judge(said(expected)) == ""
    assert judge(said(expected, 1), reply=400) == "reply"


def test_what_is_said_twice_is_believed() -> None:
    """The second report agrees with the first, and both with what came between."""
    meter = Meter()
    history: list[Message] = [user("go"), assistant("on it"), tool("c", "x")]
    counted = [Covered(said(9_000), 2)]
    first = meter.judge(said(120_000), counted, history, sizes(history), fixed=0)
    assert first.doubt == "absurd"
    history += [assistant("next"), tool("c", LONG)]
    again = meter.judge(said(124_000), counted, history, sizes(history), fixed=0)
    assert again.doubt == ""
    assert meter.judge(said(124_000), counted, history, sizes(history), fixed=0).doubt == "absurd"


def test_a_doubt_does_not_outlive_its_messages() -> None:
    """After a revert to before it, it is no report on what the history now holds."""
    meter = Meter()
    history: list[Message] = [user("go"), assistant("on it"), tool("c", "x")]
    counted = [Covered(said(9_000), 2)]
    meter.judge(said(120_000), counted, history, sizes(history), fixed=0)
    short = history[:2]
    assert meter.judge(said(120_000), counted, short, sizes(short), fixed=0).doubt == "absurd"
