"""What was reported teaches how a model counts; what is new is estimated by it."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import Message, assistant, replace, tool, user
from minutebook.records import Usage
from minutebook.tokens.calibration import (
    CONSTANT_MAX,
    CONSTANT_MIN,
    LARGE_TOKENS,
    LEARNED_MAX,
    OBSERVATIONS_MAX,
    SLOPE_MAX,
    SLOPE_MIN,
    SPREAD_TOKENS_UNKNOWN,
    SPREAD_UNKNOWN,
    SWITCHED_SPREAD,
    Calibration,
    Observation,
    Size,
    calibrate,
    ended_reasoning,
    fit,
    hidden_tokens,
    next_size,
    observe,
    read_learned,
)
from minutebook.tokens.estimate import estimate_message
from minutebook.tokens.families import family_of

OBSERVATIONS = st.lists(
    st.builds(Observation, st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(0, 50)),
    max_size=80,
)
MODELS = st.sampled_from([None, "gpt-5.4", "claude-opus-4-5", "claude-opus-4-7", "llama-4", "x"])


@dataclass(frozen=True)
class Covered:
    """A usage record and how many messages it covers, as the context gives them."""

    usage: Usage
    messages: int


class Conversation:
    """A session whose provider counts by a line of its own, and holds what we don't see."""

    def __init__(
        self, slope: float, constant: float, *, model: str | None, hidden: int = 0
    ) -> None:
        self.slope, self.constant, self.model, self.hidden = slope, constant, model, hidden
        self.history: list[Message] = []
        self.counted: list[Covered] = []

    def true(self, start: int, end: int) -> int:
        """Count some messages as the provider does."""
        estimate = sum(map(estimate_message, self.history[start:end]))
        return round(self.slope * estimate + self.constant * (end - start))

    def ask(self, *messages: Message, reply: Message, **counts: Any) -> int:
        """Send messages, take the reply and its usage; give the request's size."""
        self.history += messages
        before = len(self.history)
        size = self.hidden + self.true(0, before)
        self.history.append(reply)
        output = counts.pop("output", self.true(before, before + 1))
        usage = Usage(
            token_count=counts.pop("token_count", size + output),
            input=size,
            output=output,
            model=self.model,
            **counts,
        )
        self.counted.append(Covered(usage, len(self.history)))
        return size

    @property
    def estimates(self) -> list[int]:
        return [estimate_message(message) for message in self.history]

    def line(self, **options: Any) -> Calibration:
        options.setdefault("model", self.model)
        return calibrate(self.counted, self.history, self.estimates, **options)

    def size(self, line: Calibration | None = None, fixed: int = 0) -> Size:
        return next_size(
            self.counted,
            self.history,
            self.estimates,
            fixed=fixed,
            calibration=line or self.line(),
        )


def work(number: int) -> Message:
    """Make a tool's result whose length goes up and down."""
    return tool(f"c{number}", "some words of output, and more of them. " * (1 + number * 7 % 40))


def run(conversation: Conversation, turns: int) -> None:
    """Go through some tool calls."""
    conversation.ask(user("do it"), reply=assistant("I begin."))
    for number in range(turns):
        conversation.ask(work(number), reply=assistant(f"Step {number} is done, on to the next."))


@given(OBSERVATIONS, MODELS)
def test_a_fit_stays_within_bounds_and_is_the_same_each_time(
    found: list[Observation], model: str | None
) -> None:
    """Whatever is observed, no line leaves the bounds, and none is off by less than nothing."""
    line = fit(found, model)
    assert SLOPE_MIN <= line.slope <= SLOPE_MAX
    assert CONSTANT_MIN <= line.constant <= CONSTANT_MAX
    assert line.error >= 0
    assert line.spread >= 0
    assert line.spread_tokens >= 0
    assert len(line.observations) <= OBSERVATIONS_MAX
    assert fit(tuple(found), model) == line


@given(OBSERVATIONS)
def test_what_was_learned_goes_through_a_record(found: list[Observation]) -> None:
    """A compaction's record holds the newest observations, as plain JSON."""
    line = fit(found)
    kept = tuple(one for one in line.observations if one.estimate >= 0)[-LEARNED_MAX:]
    assert read_learned(line.learned()) == kept


@pytest.mark.parametrize(
    "value", [None, 5, "x", {}, [1, 2, 3], [[1, 2]], [[1, 2, 0]], [[1, -2, 1]], [["1", 2, 3]]]
)
def test_a_record_of_another_form_teaches_nothing(value: object) -> None:
    """What somebody else wrote there is passed over."""
    assert read_learned(value) == ()


@given(st.floats(0.7, 2.0), st.floats(0, 60), MODELS)
def test_the_line_of_a_provider_is_found(slope: float, constant: float, model: str | None) -> None:
    """After thirty steps the next request's new part is known to a few percent."""
    conversation = Conversation(slope, constant, model=model, hidden=20_000)
    run(conversation, 30)
    line = conversation.line()
    conversation.history.append(work(31))
    size = conversation.size(line)
    end = len(conversation.history)
    new = conversation.true(end - 1, end)
    true = conversation.counted[-1].usage.token_count + new
    assert abs(size.tokens - true) <= 0.08 * new + 8
    assert size.source == "calibrated"


def test_a_session_begins_with_its_models_family() -> None:
    """Before the first usage a Claude's tokens are more than the estimate's, a GPT's as many."""
    claude, gpt = fit((), "claude-sonnet-4-5"), fit((), "gpt-5.4")
    assert claude.tokens(1_000, 0) > 1_200
    assert gpt.tokens(1_000, 0) == 1_000
    assert (claude.spread, claude.spread_tokens) == (SPREAD_UNKNOWN, SPREAD_TOKENS_UNKNOWN)
    conversation = Conversation(1, 0, model="gpt-5.4")
    conversation.history = [user("hello there"), assistant("hi")]
    size = conversation.size(fixed=700)
    assert size.tokens == 700 + sum(conversation.estimates)
    assert (size.counted, size.source) == (0, "estimated")
    claudes = conversation.size(fit((), "claude-opus-4-5"), fixed=700)
    assert claudes.tokens > size.tokens * 1.2


def test_one_surprise_does_not_bend_the_line() -> None:
    """A reminder of 20 000 tokens that nobody told us of is one error among many."""
    steady = [Observation(130 * n, 100 * n, 1) for n in range(1, 20)]
    line = fit([*steady[:9], Observation(22_000, 2_000, 1), *steady[9:]])
    assert abs(line.slope - 1.3) < 0.02
    assert line.error < 0.02


def test_the_spread_says_how_far_it_was_off() -> None:
    """Large parts by shares, small ones by tokens; surprises in one don't touch the other."""
    large = [
        Observation(round(2_000 * n * (1 + (-1) ** n * 0.1)), 2_000 * n, 1) for n in range(1, 32)
    ]
    line = fit(large)
    assert 0.05 < line.spread < 0.15
    assert line.spread_tokens == SPREAD_TOKENS_UNKNOWN
    assert line.off(10_000) == round(line.spread * 10_000)
    small = fit([Observation(40 if n % 2 else 340, 40, 1) for n in range(30)])
    assert 250 < small.spread_tokens < 350
    assert small.spread == SPREAD_UNKNOWN
    assert small.off(50) == small.spread_tokens
    assert small.off(0) == 0
    assert small.off(LARGE_TOKENS) == LARGE_TOKENS // 4


@given(st.integers(0, 10**6), st.integers(0, 1_000), OBSERVATIONS)
def test_a_budget_turned_into_estimates_is_kept(
    tokens: int, messages: int, found: list[Observation]
) -> None:
    """Messages whose estimate is in the turned budget cost no more than the budget."""
    line = fit(found)
    estimate = line.estimate(tokens, messages)
    if estimate:
        assert line.tokens(estimate, messages) <= tokens + 1


def test_nothing_new_is_counted_exactly() -> None:
    """Right after a usage record the next request is what the provider said, and no spread."""
    conversation = Conversation(1.3, 5, model="claude-opus-4-5", hidden=9_000)
    conversation.ask(user("hello"), reply=assistant("hi"))
    said = conversation.counted[-1].usage.token_count
    assert conversation.size() == Size(
        tokens=said, spread=0, counted=said, source="counted", start=2
    )


def test_records_of_ours_teach_nothing() -> None:
    """After a compaction the first record is an estimate: before it nothing counts."""
    conversation = Conversation(1.3, 5, model="claude-opus-4-5")
    run(conversation, 5)
    assert len(conversation.line().observations) == 5
    ours = Usage(token_count=500, estimated=True)
    conversation.counted.insert(3, Covered(ours, conversation.counted[2].messages))
    assert len(conversation.line().observations) == 2
    conversation.counted.append(Covered(ours, len(conversation.history)))
    assert conversation.line().observations == ()


def test_what_was_carried_over_a_compaction_still_counts() -> None:
    """A new log begins with the old one's observations, and not with the family's line."""
    before = Conversation(2.0, 0, model="x")
    run(before, 12)
    carried = read_learned(before.line().learned())
    after = Conversation(2.0, 0, model="x")
    after.history = [user("a summary of it all " * 20)]
    after.counted = [Covered(Usage(token_count=123, estimated=True), 1)]
    line = after.line(carried=carried)
    assert abs(line.slope - 2.0) < 0.1
    after.history.append(work(3))
    size = after.size(line)
    assert size.tokens == 123 + line.tokens(estimate_message(work(3)), 1)
    assert (size.counted, size.source) == (0, "calibrated")
    assert size.spread >= line.off(123)


def test_each_model_is_learned_by_itself() -> None:
    """Pairs of two models tell nothing, and records of another model count for none."""
    conversation = Conversation(1.0, 0, model="gpt-5.4")
    run(conversation, 4)
    conversation.model, conversation.slope = "claude-opus-4-7", 1.6
    for number in range(3):
        conversation.ask(work(number), reply=assistant("done"))
    assert len(conversation.line(model="gpt-5.4").observations) == 4
    assert len(conversation.line(model="claude-opus-4-7").observations) == 2
    assert len(conversation.line(model=None).observations) == 7


def test_after_a_switch_the_last_count_is_converted() -> None:
    """To a model that the session was not with yet by both families' factors."""
    conversation = Conversation(1.0, 0, model="gpt-5.4", hidden=10_000)
    run(conversation, 3)
    said = conversation.counted[-1].usage.token_count
    size = conversation.size(conversation.line(model="claude-opus-4-5"))
    assert size.tokens == round(said * family_of("claude-opus-4-5").slope)
    assert (size.counted, size.source) == (0, "estimated")
    assert size.spread == round(SWITCHED_SPREAD * size.tokens)


def test_after_switching_back_the_models_own_count_is_taken() -> None:
    """What came since is estimated, whoever wrote it."""
    conversation = Conversation(1.0, 0, model="gpt-5.4", hidden=10_000)
    run(conversation, 3)
    mine = conversation.counted[-1]
    conversation.model = "claude-opus-4-5"
    conversation.ask(work(3), reply=assistant("done"))
    line = conversation.line(model="gpt-5.4")
    new = line.tokens(sum(conversation.estimates[mine.messages :]), 2)
    assert conversation.size(line).tokens == mine.usage.token_count + new
    ours = Covered(Usage(token_count=77, model="claude", estimated=True), mine.messages)
    conversation.counted.insert(len(conversation.counted) - 1, ours)
    size = conversation.size(line)
    assert size.counted == 0
    assert size.spread > 0


def test_a_reply_that_was_not_believed_is_no_ground_to_learn_from() -> None:
    """Its request's size is exact; so the reply counts to what is new until the next."""
    conversation = Conversation(1.3, 0, model="claude-opus-4-5")
    reply = assistant("a long reply, of which the stream's first figure was kept. " * 9)
    size = conversation.ask(user("go"), reply=reply, output=1, token_count=9_999)
    conversation.ask(work(1), reply=assistant("done"))
    found = observe(conversation.counted, conversation.history, conversation.estimates)
    assert [one.messages for one in found] == [2]
    assert found[0].tokens == conversation.counted[1].usage.input - size  # type: ignore[operator]


def test_records_of_one_number_teach_too() -> None:
    """Kimi CLI writes the whole size and no more, before a reply and after it."""
    history = [user("go"), assistant("on it"), work(1), assistant("done")]
    counted = [Covered(Usage(token_count=n), at) for n, at in ((50, 1), (60, 2), (60, 2), (460, 4))]
    estimates = [estimate_message(message) for message in history]
    assert observe(counted, history, estimates) == (
        Observation(10, estimates[1], 1),
        Observation(400, estimates[2] + estimates[3], 2),
    )


def test_the_newest_records_count() -> None:
    """However long a session is, what is learned is of its last requests."""
    conversation = Conversation(1.0, 0, model="x")
    run(conversation, OBSERVATIONS_MAX + 9)
    found = conversation.line().observations
    assert len(found) == OBSERVATIONS_MAX
    last = conversation.estimates[-2]
    assert found[-1].estimate == last


def test_reasoning_of_a_turn_that_is_over_takes_no_room() -> None:
    """OpenAI leaves it out of later requests: a user's message makes the request smaller."""
    conversation = Conversation(1.0, 0, model="gpt-5.4", hidden=30_000)
    conversation.ask(user("go"), reply=assistant("I think."), output=900, reasoning=890)
    conversation.ask(work(1), reply=assistant("I thought."), output=500, reasoning=480)
    said = conversation.counted[-1].usage.token_count
    conversation.history.append(work(2))
    assert conversation.size().tokens > said
    conversation.history.append(user("and now this"))
    new = sum(conversation.estimates[-2:])
    line = fit((), "gpt-5.4")
    assert conversation.size(line).tokens == said + new - 890 - 480
    kept = [Covered(one.usage, one.messages) for one in conversation.counted]
    assert ended_reasoning(kept, conversation.history, 4, 5, "gpt-5.4") == 0
    assert ended_reasoning(kept, conversation.history, 4, 6, "claude-opus-4-5") == 0
    notice = replace(user("a task has ended"), origin="notice")
    told = [*conversation.history[:4], notice, user("and this")]
    assert ended_reasoning(kept, told, 4, 5, "gpt-5.4") == 0
    assert ended_reasoning(kept, told, 5, 6, "gpt-5.4") == 890 + 480


def test_a_turns_reasoning_is_that_since_its_user_message() -> None:
    """Not an earlier turn's, not before a compaction, not what had never stayed."""
    history = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]
    stays = Usage(token_count=110, input=100, output=10, reasoning=7)
    gone = Usage(token_count=103, input=100, output=10, reasoning=7)
    plain = Usage(token_count=110)

    def ended(*counted: tuple[Usage, int]) -> int:
        return ended_reasoning([Covered(*one) for one in counted], history, 4, 5, "gpt-5.4")

    assert ended((stays, 2), (stays, 4)) == 7
    assert ended((stays, 4), (stays, 4)) == 14
    assert ended((stays, 4), (Usage(token_count=9, estimated=True), 4), (stays, 4)) == 7
    assert ended((gone, 4)) == 0
    assert ended((plain, 4)) == 0


def test_where_reasoning_is_not_told_its_text_is_estimated() -> None:
    """Claude before 4.5 drops the thinking of earlier turns and doesn't say how much it was."""
    model = "claude-sonnet-4-5"
    thought = assistant("Done.", thinking="First the tests, then the documentation. " * 20)
    bare = assistant("Done.")
    with_it = Conversation(1.27, 4, model=model)
    with_it.history = [user("go"), thought, user("next"), thought]
    without = Conversation(1.27, 4, model=model)
    without.history = [user("go"), bare, user("next"), thought]
    assert with_it.size().tokens == without.size().tokens
    estimate = estimate_message(thought) - estimate_message(bare)
    ended = ended_reasoning([], with_it.history, 2, 3, model)
    assert ended == round(family_of(model).slope * estimate)
    with_it.history.pop()
    with_it.history.append(tool("c", "x"))
    assert ended_reasoning([], with_it.history, 3, 4, model) == 0


def test_what_we_are_not_told_of_is_found() -> None:
    """From the earliest record: there the least else is estimated."""
    conversation = Conversation(1.0, 0, model="gpt-5.4", hidden=30_000)
    assert hidden_tokens([], [], fixed=0, calibration=fit(())) == 0
    run(conversation, 3)
    line = fit((), "gpt-5.4")
    hidden = hidden_tokens(conversation.counted, conversation.estimates, fixed=0, calibration=line)
    assert hidden == 30_000
    told = hidden_tokens(
        conversation.counted, conversation.estimates, fixed=30_400, calibration=line
    )
    assert told == 0
    ours = [Covered(Usage(token_count=5, estimated=True), 1)]
    assert hidden_tokens(ours, conversation.estimates, fixed=0, calibration=line) == 0


def test_only_near_a_bound_it_can_not_be_said() -> None:
    """Exact counting pays where the spread straddles the bound, and nowhere else."""
    size = Size(tokens=10_000, spread=300, counted=9_000, source="calibrated")
    assert [size.straddles(bound) for bound in (9_700, 9_701, 10_000, 10_300, 10_301)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    sure = Size(tokens=10_000, spread=0, counted=10_000, source="counted")
    assert not sure.straddles(10_000)
    assert not sure.straddles(10_001)
