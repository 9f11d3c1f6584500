"""Topic cuts: legal, complete, and where files, tools and words change."""

import random
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.topics import (
    Scale,
    divide,
    topic_cuts,
    units_of,
)
from minutebook.messages import Message, assistant, user
from minutebook.turns import cuts
from tests.compaction.conversations import histories, numbered, step

VOCABULARY = 40
"""So many words belong to one topic of the synthetic conversations."""


def topic(name: str, exchanges: int, chance: random.Random) -> list[Message]:
    """Make a stretch of work on one thing: its own words and files, beside common ones."""
    words = [f"{name}{number:02}word" for number in range(VOCABULARY)]
    common = ["we", "read", "the", "file", "and", "run", "test", "again", "see", "what", "says"]
    messages = [user(" ".join(chance.sample(words, 6) + common))]
    for number in range(exchanges):
        said = " ".join(chance.sample(words, 5) + chance.sample(common, 5))
        path = f"src/{name}/{chance.choice(words)}.py"
        output = "\n".join(chance.choice(words) for _ in range(20))
        messages += step(f"{name}{number}", "read_file", output, said, path=path)
    return messages


def joined(names: Sequence[str], exchanges: int) -> tuple[list[Message], list[int]]:
    """Join stretches; give the messages and the indices at which a new one begins."""
    chance = random.Random(5)
    messages: list[Message] = []
    seams = []
    for name in names:
        seams.append(len(messages))
        messages += topic(name, exchanges, chance)
    return messages, seams[1:]


def test_every_seam_of_a_synthetic_conversation_is_found_exactly() -> None:
    """With as many cuts as seams, each cut is a seam."""
    messages, seams = joined(("billing", "parser", "deploy", "docs"), 12)

    assert topic_cuts(messages, 3) == seams


def test_seams_in_text_without_spaces_are_found() -> None:
    """Chinese is compared by pairs of characters."""
    first = ["修复登录页面的按钮颜色", "按钮颜色已经修改完成", "登录页面需要再检查一次"]
    second = ["优化数据库查询的速度", "数据库索引已经建立好了", "查询速度提高了三倍"]
    messages = [user(text) for text in first * 4 + second * 4]

    assert topic_cuts(messages, 1) == [12]


def test_a_cut_before_a_persons_message_is_worth_more() -> None:
    """Of two equal places the one where a person speaks wins."""
    same = [assistant("alpha beta gamma") for _ in range(6)]
    other = [assistant("delta epsilon zeta") for _ in range(6)]
    bridge = assistant("alpha beta gamma delta epsilon zeta")
    plain = [*same, bridge, *other]
    asked = [*same, bridge, user("delta epsilon zeta"), *other[1:]]

    assert topic_cuts(asked, 1) == [7]
    assert topic_cuts(plain, 1)[0] in {6, 7}


@given(histories(), st.integers(0, 12))
def test_cuts_are_legal_ascending_and_as_many_as_there_are(
    history: tuple[Message, ...], count: int
) -> None:
    """No cut splits an exchange, stands twice, or at either end."""
    legal = cuts(history)[1:-1]

    found = topic_cuts(history, count)

    assert found == sorted(set(found))
    assert set(found) <= set(legal)
    assert len(found) == min(count, len(legal))


@given(histories(), st.integers(1, 400))
def test_pieces_hold_every_message_once_in_order(history: tuple[Message, ...], room: int) -> None:
    """Division loses, repeats and moves nothing, and splits no exchange."""
    pieces = divide(history, [10] * len(history), room)

    assert [at for start, end in pieces for at in range(start, end)] == list(range(len(history)))
    assert {start for start, _ in pieces} <= set(cuts(history))


@given(histories(), st.integers(1, 400))
def test_pieces_fit_and_neighbours_do_not_fit_together(
    history: tuple[Message, ...], room: int
) -> None:
    """A piece is larger than the room only if it is one unit; no two could be one."""
    sizes = [10 + at % 7 for at in range(len(history))]
    pieces = divide(history, sizes, room)
    weights = [sum(sizes[start:end]) for start, end in pieces]
    whole = {(unit.start, unit.end) for unit in units_of(history)}

    assert all(
        weight <= room or piece in whole for piece, weight in zip(pieces, weights, strict=True)
    )
    assert all(first + second > room for first, second in pairwise(weights))


def test_nothing_is_divided_into_nothing() -> None:
    """An empty history has no pieces and no cuts; one unit has no cut."""
    assert divide([], [], 100) == []
    assert topic_cuts([], 3) == []
    assert topic_cuts([user("alone")], 3) == []


def test_messages_that_say_nothing_can_be_divided() -> None:
    """Without a single word every place is as good; the middle one is taken."""
    messages = numbered(user("") for _ in range(10))

    assert topic_cuts(messages, 1) == [5]
    assert Scale(messages, units_of(messages)).best_cut(0, 1) is None
