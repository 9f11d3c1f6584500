"""Single messages that are too large lose their middle, and nothing else."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.budget import Policy
from minutebook.compaction.clip import clip, clipped
from minutebook.compaction.keep import CLIPPED_TOKENS_MIN
from minutebook.compaction.phrases import CHINESE, ENGLISH
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    assistant,
    replace,
    tool,
    user,
)
from minutebook.tokens.estimate import estimate_text
from tests.compaction.conversations import SHARED, case_history, lines, numbered, step

MARK = re.compile(r"\[… (\d+) characters were left out here; record (\d+) holds the whole …\]")
LETTERS = st.sampled_from(
    ["a", "é", "e\u0301", "猫", "👨‍👩‍👧", "👍🏽", "🇵🇹", "\ud83d\ude80", " ", "\n", "\r\n"]
)


def goal(target: int, limit: int = 1_000_000) -> Goal:
    """Give a goal for English messages."""
    return Goal(policy=Policy(), phrases=ENGLISH, target=target, limit=limit, room=target)


def draft(*messages: Message, pins: frozenset[int] = frozenset()) -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages), pins=pins))


@given(st.lists(LETTERS, max_size=3_000).map("".join), st.integers(20, 400))
def test_a_cut_is_counted_and_falls_between_characters(text: str, tokens: int) -> None:
    """Head, tail and the number left out make up the whole; nothing joined is torn apart."""
    message = replace(user(text), seq=7)

    copy = clipped(message, tokens, ENGLISH)

    if estimate_text(text) <= tokens:
        assert copy == message
        return
    assert copy.elided == "clip"
    head, chars, record, tail = MARK.split(copy.text)
    head, tail = head.removesuffix("\n"), tail.removeprefix("\n")
    assert record == "7"
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + int(chars) == len(text)
    for cut in (text[len(head) :], tail):
        first = cut[:1]
        assert not unicodedata.combining(first or "a")
        assert first not in {"\u200d", "\ude80", "🏽"}


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6), st.integers(150, 4_000))
def test_results_are_bounded_together(sizes: list[int], target: int) -> None:
    """A batch reaches the target as a batch, unless all of it is at the smallest size."""
    results = [tool(f"c{at}", lines(count)) for at, count in enumerate(sizes)]
    before = draft(user("go"), *results)

    after, detail = clip(before, goal(target))

    assert detail
    assert after.tokens <= before.tokens
    for old, new in zip(before.items, after.items, strict=True):
        assert new is old or new.tokens < old.tokens
        assert new is not old or old.tokens <= max(CLIPPED_TOKENS_MIN, target) + 10
    if target > (CLIPPED_TOKENS_MIN + 10) * len(sizes) + 20:
        assert after.tokens <= target


@pytest.mark.skipif(not (SHARED / "cases").exists(), reason="the shared cases are not there")
def test_c020_a_batch_of_five_is_bounded_as_a_batch() -> None:
    """Five results of 13 000 characters fit a window of 6 000 tokens after the cut."""
    text = case_history("C020")[-1].text[:13_000]
    calls = [call for at in range(5) for call in step(f"t{at}", "query", text)[0].calls]
    batch = [assistant(tool_calls=calls), *(tool(f"t{at}", text) for at in range(5))]

    after, _ = clip(draft(user("dump it"), *batch), goal(3_000))

    sizes = {item.tokens for item in after.items[2:]}
    assert after.tokens <= 3_000
    assert max(sizes) - min(sizes) <= 5


def test_a_second_cut_counts_what_the_first_one_left_out() -> None:
    """The number is that of the original, whose record the mark names."""
    message = replace(tool("c1", lines(400)), seq=3)

    twice = clipped(clipped(message, 2_000, ENGLISH), 300, ENGLISH)

    (chars, record), *more = MARK.findall(twice.text)
    head, tail = MARK.sub("\0", twice.text).split("\0")
    assert more == []
    assert record == "3"
    assert abs(int(chars) + len(head) + len(tail) - len(message.text)) < 200


def test_a_text_that_imitates_the_mark_is_not_counted() -> None:
    """Only a copy of ours, told by its `elided` key, has a mark that counts."""
    fake = ENGLISH.clipped.format(chars=10**9, record="record 3")
    message = replace(tool("c1", lines(100) + fake + lines(100)), seq=3)

    copy = clipped(message, 300, ENGLISH)

    assert max(int(chars) for chars, _ in MARK.findall(copy.text)) < len(message.text)


def test_short_parts_and_media_stay_whole() -> None:
    """An error mark before a long output is no text to be cut, and a picture stays."""
    picture = ImagePart(MediaUrl("https://example.org/a.png"))
    message = replace(tool("c1", [TextPart(lines(200)), picture], error=True), seq=3)

    copy = clipped(message, 300, ENGLISH)

    mark, text, image = copy.parts
    assert mark == message.parts[0]
    assert isinstance(text, TextPart)
    assert estimate_text(text.text) <= 300
    assert image is picture


def test_a_message_of_many_short_parts_stays() -> None:
    """Each is a remark; there is no middle to cut out."""
    before = draft(user([TextPart(f"part {at} " * 20) for at in range(40)]), user("go"))

    assert clip(before, goal(100, limit=100))[0] is before


def test_a_cut_moves_off_a_character_of_several_code_points() -> None:
    """Backward at the head, forward at the tail."""
    copy = clipped(replace(user("e\u0301\u0302" * 4_000), seq=1), 400, ENGLISH)

    head, _, _, tail = MARK.split(copy.text)
    assert head.endswith("e\u0301\u0302\n")
    assert tail.startswith("\ne\u0301\u0302")


def test_a_text_of_unequal_cost_is_cut_until_it_fits() -> None:
    """A cheap head before a dear tail needs more than one cut."""
    message = replace(tool("c1", "=" * 9_000 + "漢字仮名交" * 900), seq=3)

    assert estimate_text(clipped(message, 400, CHINESE).text) <= 400


def test_what_people_wrote_is_cut_for_the_target_only_above_their_share() -> None:
    """Answered messages shrink to a fifth of the room, unanswered ones only for the limit."""
    before = draft(user(lines(200)), assistant("ok"), user(lines(200, "new")))

    soft, _ = clip(before, goal(2_500))
    hard, _ = clip(before, goal(1_000, limit=1_000))

    assert [item is old for item, old in zip(soft.items, before.items, strict=True)] == [
        False,
        True,
        True,
    ]
    assert 400 <= soft.items[0].tokens <= 510
    assert hard.tokens <= 1_000
    assert hard.items[2].message.elided == "clip"


def test_pins_are_never_cut() -> None:
    """Neither for the target nor for the limit."""
    before = draft(user(lines(200)), assistant("ok"), pins=frozenset([1]))

    after, detail = clip(before, goal(100, limit=100))

    assert after is before
    assert detail == "no single message is too large"


def test_replies_and_summaries_are_cut_for_the_limit() -> None:
    """When nothing else is left to cut."""
    told = Message(role="user", content=lines(100), origin="summary")
    before = draft(told, assistant(lines(100)), user("go"))

    soft, _ = clip(before, goal(500))
    hard, _ = clip(before, goal(500, limit=500))

    assert soft is before
    assert [item.message.elided for item in hard.items] == ["clip", "clip", ""]


def test_what_tags_protect_is_cut_last() -> None:
    """For the limit, when all else is cut."""
    history = numbered([user(lines(100)), assistant(lines(100)), user("go")])
    before = begin(Request(history=history, protected=frozenset([1])))

    soft, _ = clip(before, goal(300))
    some, _ = clip(before, goal(300, limit=before.tokens - 100))
    hard, _ = clip(before, goal(300, limit=400))

    assert soft is before
    assert [item.message.elided for item in some.items] == ["", "clip", ""]
    assert [item.message.elided for item in hard.items] == ["clip", "clip", ""]


def test_injections_are_cut_for_the_target_even_unanswered() -> None:
    """Down to the share of one message; the program will put them in again."""
    slipped = Message(role="user", content=lines(200), origin="injection")
    before = draft(user("go"), assistant("ok"), slipped, user("on"))

    after, _ = clip(before, goal(1_000))

    assert [item.message.elided for item in after.items] == ["", "", "clip", ""]
