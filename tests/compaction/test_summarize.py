"""Older exchanges become one summary; what is newer stays word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from minutebook.budget import PRESETS, Policy
from minutebook.compaction.mask import mask
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.compaction.summarize import summarize
from minutebook.messages import Message, assistant, replace, tool, user
from minutebook.tokens.estimate import estimate_text
from tests.compaction.conversations import called, histories, lines, numbered, step

POLICY = Policy(keep_first=0)


def goal(target: int, policy: Policy = POLICY) -> Goal:
    """Give a goal, all of it room for messages."""
    return Goal(policy=policy, phrases=ENGLISH, target=target, limit=target * 4, room=target)


def draft(*messages: Message, pins: frozenset[int] = frozenset(), focus: str = "") -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages), pins=pins, focus=focus))


def work(count: int) -> list[Message]:
    """Give a turn of so many exchanges."""
    found: list[Message] = [user("Please make the tests of src/app.py pass")]
    for number in range(count):
        output = f"{lines(20)}\n{number} failed, 3 passed"
        found += step(f"c{number}", "bash", output, command=f"pytest tests/test_{number}.py")
    return [*found, assistant("All tests pass now, since parse_line keeps the last row.")]


def summary_of(result: Draft) -> Message:
    """Give the one summary of a draft."""
    (summary,) = [item.message for item in result.items if item.message.origin == "summary"]
    return summary


@given(histories(), st.integers(100, 4_000))
def test_there_is_one_summary_within_its_budget(history: tuple[Message, ...], target: int) -> None:
    """Earlier ones are in it; it stands where no exchange is split; it takes its share."""
    before = begin(Request(history=history))

    after, detail = summarize(before, goal(target))

    assert detail
    if after is before:
        return
    summary = summary_of(after)
    assert summary.role == "user"
    assert summary.seq is None
    assert estimate_text(summary.text) <= target * 0.5


def test_the_newest_part_reaches_back_as_far_as_it_fits() -> None:
    """What is kept takes what the summary leaves of the room, and not much less."""
    before = draft(*work(40))

    after, detail = summarize(before, goal(4_000))

    kept = [item for item in after.items if item.message.seq is not None]
    assert after.tokens <= 4_000
    assert sum(item.tokens for item in kept) > 2_000
    assert kept[0].message.text == "Please make the tests of src/app.py pass"
    assert [item.message.seq for item in kept[1:]] == list(range(82 - len(kept[1:]) + 1, 83))
    assert after.items[1].message is summary_of(after)
    assert detail.startswith(f"{82 - len(kept)} messages became a summary")


@pytest.mark.parametrize(("preset", "last"), [("kimi", 2), ("kilo", 3)])
def test_presets_keep_just_their_last_messages(preset: str, last: int) -> None:
    """The task, the summary, and the last messages with their results."""
    policy = changed(PRESETS[preset], keep_first=0)
    before = draft(*work(40))

    after, _ = summarize(before, goal(20_000, policy))

    roles = [item.message.role for item in after.items[2:]]
    assert [role for role in roles if role != "tool"] == ["assistant"] * last


def test_the_digest_reads_what_the_mask_has_hidden() -> None:
    """Facts come from the messages as they were before this compaction."""
    hidden = step("c0", "bash", f"{lines(100)}\nValueError: bad row 512", command="python run.py")
    before = draft(user("Run the whole thing please"), *hidden, *work(20))
    without, _ = mask(before, goal(1_000, Policy(verbatim_share=0.0)))

    after, _ = summarize(without, goal(1_200))

    assert without.items[2].message.elided == "mask"
    assert "- ValueError: bad row 512 (from `python run.py`" in summary_of(after).text


def test_pins_stay_before_the_summary() -> None:
    """A pinned result keeps its whole exchange, in its place."""
    before = draft(*work(40), pins=frozenset([5]))

    after, _ = summarize(before, goal(3_000))

    assert [item.message.seq for item in after.items[:4]] == [1, 4, 5, None]
    assert after.items[2].message is before.items[4].message


def test_a_summary_is_carried_on_and_not_told_again() -> None:
    """The second summary holds the facts of the first; the task is still the user's message."""
    first, _ = summarize(draft(*work(40)), goal(3_000))
    told = [replace(item.message, seq=at + 100) for at, item in enumerate(first.items)]
    new = step("n", "str_replace", "ok", path="src/new.py", old_str="a", new_str="keep_row(b)")
    history = [*told, user("Now the docs"), *new, *work(20)[1:]]

    second, _ = summarize(draft(*history), goal(3_000))

    text = summary_of(second).text
    assert "src/new.py" in text
    assert "pytest tests/test_3.py" in text
    assert "Please make the tests of src/app.py pass (record 1)" in text


def test_people_s_messages_over_their_budget_are_told_of() -> None:
    """The oldest and the newest stay, a notice names the others, the summary quotes them."""
    history: list[Message] = []
    for number in range(30):
        history += [user(f"Wish number {number} is this: {lines(3)}"), assistant(lines(3))]
    before = draft(*history)

    after, _ = summarize(before, goal(2_000))

    texts = [item.message.text for item in after.items]
    notice = next(item.message for item in after.items if item.message.origin == "notice")
    assert texts[0].startswith("Wish number 0 ")
    gone = {2 * at + 1 for at in range(30)} - {item.message.seq for item in after.items}
    assert notice.text.startswith(f"[{len(gone)} messages of the user, the first in record 3")
    assert f"Wish number {max(gone) // 2} " in summary_of(after).text
    assert texts.index(notice.text) == texts.index(summary_of(after).text) - 1


def test_the_focus_decides_what_has_room() -> None:
    """Of many equal lines those that speak of the focus are chosen."""
    history = [user("Look at all of the files please")]
    for number in range(200):
        name = f"module_{number}.py"
        history += step(f"c{number}", "read_file", "x = 1", path=f"src/{name}")
    before = [*history, assistant("All read.")]

    with_focus, _ = summarize(draft(*before, focus="module_3.py"), goal(1_500))
    without, _ = summarize(draft(*before), goal(1_500))

    assert "src/module_3.py" in summary_of(with_focus).text
    assert "src/module_3.py" not in summary_of(without).text


def test_nothing_older_means_no_summary() -> None:
    """The draft comes back as it was."""
    before = draft(user("fix it"), assistant("done"))

    after, detail = summarize(before, goal(4_000))

    assert after is before
    assert detail == "there is nothing older than what is kept"


def test_a_summary_without_room_is_none() -> None:
    """Rather nothing than a lead with nothing behind it."""
    before = draft(*work(3))

    after, detail = summarize(before, goal(60))

    assert after is before
    assert detail == "a summary does not fit into 30 tokens"


def test_a_late_result_does_not_put_the_summary_into_an_exchange() -> None:
    """It stands before the call whose result is in the newest part."""
    late = [assistant("I start it.", tool_calls=[called("slow", "bash", command="make")])]
    history = [user("Build it all please"), *late, *work(20), tool("slow", "built"), user("ok?")]

    after, _ = summarize(draft(*history), goal(1_500))

    calls = [item.message.seq for item in after.items if item.message.seq in {2, 44}]
    assert calls == [2, 44]
    assert after.items[1].message is summary_of(after)
