"""The oldest exchanges are left out, whole, and a notice says so."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.budget import Policy
from minutebook.compaction.phrases import CHINESE, ENGLISH, Phrases
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.compaction.window import last_resort, window
from minutebook.messages import Message, assistant, tool, user
from tests.compaction.conversations import called, histories, lines, numbered, step

POLICY = Policy(keep_first=1, keep_last=2)
HALF = Policy(keep_first=1, keep_last=2, window_step="half")


def goal(
    target: int, policy: Policy = POLICY, limit: int = 10_000, phrases: Phrases = ENGLISH
) -> Goal:
    """Give a goal, all of it room for messages."""
    return Goal(policy=policy, phrases=phrases, target=target, limit=limit, room=target)


def draft(*messages: Message) -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages)))


def work(count: int) -> Draft:
    """Begin a compaction of one turn of so many exchanges, of about 190 tokens each."""
    found: list[Message] = [user("Please do it all")]
    for number in range(count):
        found += step(f"c{number}", "bash", lines(15), command=f"make part{number}")
    return draft(*found, assistant("Done."))


def records(result: Draft) -> list[int | None]:
    """Give the numbers of what stands there, None for the notice."""
    return [item.message.seq for item in result.items]


@given(histories(), st.integers(0, 3_000), st.sampled_from([POLICY, HALF]))
def test_what_is_left_out_is_counted_in_the_notice(
    history: tuple[Message, ...], target: int, policy: Policy
) -> None:
    """The rest stays as it was, in order."""
    before = begin(Request(history=history))

    after, detail = window(before, goal(target, policy))

    assert detail
    gone = len(before.items) - sum(seq is not None for seq in records(after))
    if not gone:
        assert after is before
        return
    (notice,) = [item.message for item in after.items if item.message.seq is None]
    assert notice.origin == "notice"
    assert notice.text.startswith(f"[{gone} messages were left out here")


def test_as_much_goes_as_the_target_needs() -> None:
    """The oldest exchanges, after the first message that the policy keeps."""
    before = work(10)

    after, detail = window(before, goal(before.tokens - 500))

    assert records(after) == [1, None, *range(8, 23)]
    assert detail == "6 of the oldest messages were left out"
    assert after.items[1].message.text == (
        "[6 messages were left out here, records 2 to 7: 3 from the assistant, 3 tool results."
        " They are kept word for word and can be asked back by record number.]"
    )


def test_half_goes_whatever_the_target_needs() -> None:
    """Half of what may go, rounded up to whole exchanges."""
    before = work(10)

    after, _ = window(before, goal(before.tokens - 1, HALF))

    assert records(after) == [1, None, *range(12, 23)]


def test_half_goes_on_while_the_limit_is_exceeded() -> None:
    """Leaving out half and being refused would help nobody."""
    before = work(10)

    after, _ = window(before, goal(100, HALF, limit=1_000))

    assert after.tokens <= 1_100
    assert len(after.items) < 12


def test_a_late_result_takes_its_call_along() -> None:
    """The notice stands where no exchange is split."""
    slow = assistant("I start it.", tool_calls=[called("slow", "bash", command="make")])
    history = [user("Build it all"), slow, assistant(lines(30)), tool("slow", lines(30))]

    after, _ = window(draft(*history, assistant("Built."), user("ok?")), goal(100))

    assert records(after) == [1, None, 5, 6]


def test_nothing_to_leave_out() -> None:
    """People's messages within their budget and the ends stay."""
    before = draft(user("Please do it all"), assistant("Done."))

    assert window(before, goal(1)) == (before, "there is nothing that may be left out")


def test_the_last_resort_leaves_out_the_ends_too() -> None:
    """But not the task, the summary, or what waits for an answer."""
    told = Message(role="user", content="told", origin="summary")
    history = [assistant("Hi."), user("Please do it all"), told, assistant(lines(90))]
    before = draft(*history, assistant("x"), user("and?"))

    after, _ = last_resort(before, goal(200))

    assert records(after) == [None, 2, 3, 5, 6]


def test_the_last_resort_without_a_task() -> None:
    """There may be none."""
    before = draft(assistant(lines(90)), assistant("x"))

    assert records(last_resort(before, goal(100))[0]) == [None, 2]


def test_the_notice_is_in_the_conversation_s_language() -> None:
    """Chinese here; a role that is not known counts among the others."""
    odd = Message(role="narrator", content=lines(30))

    after, _ = window(draft(user("请修复"), odd, assistant("好")), goal(60, phrases=CHINESE))

    assert after.items[1].message.text == (
        "[此处略去 1 条消息，记录 2 至 2：其他 1 条。原文逐字保留，可按记录号取回。]"
    )


def test_the_last_resort_keeps_what_is_marked() -> None:
    """Pins and protecting tags alike."""
    history = numbered([user("Please do it all"), *[assistant(lines(30))] * 4, assistant("x")])
    before = begin(
        Request(history=history, pins=frozenset([2]), protected=frozenset([4])),
    )

    after, _ = last_resort(before, goal(100))

    assert [item.message.seq for item in after.items if item.message.seq] == [1, 2, 4]
