"""Old tool outputs become stubs; what is new, unseen, pinned or small stays."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.budget import Policy
from minutebook.compaction.mask import mask
from minutebook.compaction.phrases import ALL, ENGLISH, Phrases
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.compaction.stubs import OUTPUT_TOKENS_MIN
from minutebook.messages import Message, assistant, replace, tool, user
from tests.compaction.conversations import called, histories, lines, numbered, step


def goal(
    target: int, verbatim: float = 0.4, phrases: Phrases = ENGLISH, policy: Policy | None = None
) -> Goal:
    """Give a goal, all of it room for messages."""
    policy = policy or Policy(verbatim_share=verbatim)
    return Goal(policy=policy, phrases=phrases, target=target, limit=target * 4, room=target)


def draft(*messages: Message, pins: frozenset[int] = frozenset()) -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages), pins=pins))


def reads(count: int, rows: int = 60) -> list[Message]:
    """Read so many different files, and say so."""
    found: list[Message] = []
    for number in range(count):
        found += step(f"c{number}", "read_file", lines(rows), path=f"src/{number}.py")
    return [*found, assistant("All read.")]


def masked(before: Draft, after: Draft) -> list[int]:
    """Give the records of the outputs that were set aside."""
    return [
        new.message.seq or 0
        for new, old in zip(after.items, before.items, strict=True)
        if new is not old
    ]


@given(histories(), st.integers(0, 4_000), st.sampled_from(ALL))
def test_only_outputs_change_and_each_becomes_smaller(
    history: tuple[Message, ...], target: int, phrases: Phrases
) -> None:
    """Order, numbers and all other messages stay; a stub names the record that has the whole."""
    before = begin(Request(history=history))

    after, detail = mask(before, goal(target, phrases=phrases))

    assert detail
    for new, old in zip(after.items, before.items, strict=True):
        if new is old:
            continue
        assert old.message.role == "tool"
        assert old.tokens >= OUTPUT_TOKENS_MIN
        assert new.tokens < old.tokens
        assert new.message.elided == "mask"
        assert phrases.record.format(n=old.message.seq) in new.message.text


def test_the_oldest_go_first_and_no_more_than_needed() -> None:
    """Three of eight outputs are enough."""
    before = draft(user("read"), *reads(8))

    after, detail = mask(before, goal(before.tokens - 1_500))

    assert masked(before, after) == [3, 5, 7]
    assert detail == "3 old tool outputs were set aside"


def test_what_a_huge_output_frees_brings_others_back() -> None:
    """The small ones before it need not have gone."""
    small, huge = reads(2), step("big", "bash", lines(900), command="make")
    before = draft(user("read"), *small, *huge, assistant("done"))

    after, _ = mask(before, goal(4_000))

    assert masked(before, after) == [8]


def test_the_newest_part_stays_verbatim() -> None:
    """As much of it as the policy's share of the room."""
    before = draft(user("read"), *reads(8))

    after, _ = mask(before, goal(2_000, verbatim=0.9))

    assert masked(before, after) == [3, 5, 7, 9, 11, 13]


def test_unseen_pinned_small_and_masked_outputs_stay() -> None:
    """Each for its own reason, even if nothing else can be set aside."""
    stub = replace(tool("s", lines(60)), elided="mask")
    history = [user("go"), assistant(tool_calls=[called("s", "bash")]), stub]
    history += [*step("p", "bash", lines(60)), *step("t", "bash", "short"), assistant("hm")]
    history += step("u", "bash", lines(60))
    before = draft(*history, pins=frozenset([5]))

    after, detail = mask(before, goal(10, verbatim=0.0))

    assert after is before
    assert detail == "no tool output is old and large enough to be set aside"


def test_the_newest_part_may_be_given_in_tokens() -> None:
    """In place of the share."""
    before = draft(user("read"), *reads(8))
    newest = sum(item.tokens for item in before.items[-5:])

    after, _ = mask(before, goal(10, policy=Policy(verbatim_tokens=newest)))

    assert masked(before, after) == [3, 5, 7, 9, 11, 13]


def test_excluded_tools_keep_their_outputs() -> None:
    """Named exactly as they are called."""
    history = [*step("a", "plan", lines(60)), *step("b", "bash", lines(60)), assistant("Done.")]
    before = draft(*history)

    after, _ = mask(before, goal(10, policy=Policy(verbatim_share=0.0, exclude_tools=("plan",))))

    assert masked(before, after) == [4]


def test_a_mask_that_frees_little_is_not_worth_a_break_of_the_cache() -> None:
    """Unless it reaches the target by it."""
    history = [user(lines(400)), *step("a", "bash", lines(12)), assistant("Done.")]
    before = draft(*history)
    policy = Policy(verbatim_share=0.0)

    after, detail = mask(before, goal(1_000, policy=policy))
    enough, _ = mask(before, goal(before.tokens - 60, policy=policy))

    assert after is before
    assert detail.startswith("setting old tool outputs aside would free only ")
    assert masked(before, enough) == [3]


def test_what_tags_protect_stays_whole() -> None:
    """Like a pin."""
    request = Request(
        history=numbered([*step("a", "bash", lines(60)), assistant("Done.")]),
        protected=frozenset([2]),
    )
    before = begin(request)

    assert mask(before, goal(10, verbatim=0.0))[0] is before
