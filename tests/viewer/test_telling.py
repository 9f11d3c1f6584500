"""Messages as pages show them."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    assistant,
    call,
    replace,
    tool,
    user,
)
from minutebook.viewer import telling
from minutebook.viewer.telling import (
    PIECE_CHARACTERS_MAX,
    Block,
    Room,
    blocks,
    excerpt,
    fold,
    picture_of,
    readable,
    same,
    tell,
)
from tests.strategies import MESSAGES

LINES = st.lists(st.sampled_from(["a", "```", "```py", "", "  ```", "b\tc", "\u2028", "x" * 50]))
TEXTS = LINES.map("\n".join)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def joined(found: tuple[Block, ...]) -> str:
    return "".join(block.text for block in found)


@given(text=TEXTS)
def test_all_blocks_together_are_the_text(text: str) -> None:
    """Fences included."""
    assert joined(tuple(blocks(text))) == text


@given(text=TEXTS, lines=st.integers(0, 10))
def test_shown_and_folded_together_are_the_text(text: str, lines: int) -> None:
    """And no more lines are shown than was asked for."""
    shown, folded, count = fold(tuple(blocks(text)), lines)

    assert joined(shown) + joined(folded) == text
    few = len(text) <= telling.UNFOLDED_CHARACTERS
    assert few or not folded or joined(shown).count("\n") <= lines
    assert bool(folded) == bool(count)


def test_code_stands_by_itself() -> None:
    """From fence to fence; a fence that is never closed goes to the end."""
    assert list(blocks("a\n```py\nx\n```\nb")) == [
        Block("a\n"),
        Block("```py\nx\n```\n", code=True),
        Block("b"),
    ]
    assert list(blocks("```\nx")) == [Block("```\nx", code=True)]


@given(messages=st.lists(MESSAGES, max_size=8), room=st.integers(0, 200))
def test_a_page_has_no_more_text_than_there_is_room(messages: list[Message], room: int) -> None:
    """And says how much is not there."""
    left = Room(room)
    told = [tell(message, left) for message in messages]

    pieces = [piece for one in told for piece in one.pieces]
    texts = [joined((*piece.shown, *piece.folded)) for piece in pieces]
    assert sum(map(len, texts)) <= room
    for message, one in zip(messages, told, strict=True):
        there = sum(len(joined((*piece.shown, *piece.folded))) + piece.more for piece in one.pieces)
        assert there >= len(message.text) - message.text.count("\n")


def test_a_very_long_line_is_cut() -> None:
    """A part is shown, a part is folded, the rest stands on the message's own page."""
    (piece,) = tell(tool("c", "x" * 1_000_000), Room(), tool="read").pieces

    assert len(joined(piece.shown)) == telling.FOLDED_CHARACTERS
    assert len(joined((*piece.shown, *piece.folded))) == PIECE_CHARACTERS_MAX
    assert piece.more == 1_000_000 - PIECE_CHARACTERS_MAX
    assert piece.kind == "result"


def test_a_message_with_very_many_parts_is_cut() -> None:
    """It says how many more it has."""
    calls = [call(str(number), "run") for number in range(60)]
    told = tell(assistant("a", tool_calls=calls), Room())

    assert len(told.pieces) == telling.PIECES_MAX
    assert told.left_out == 11


def test_who_wrote_a_message_is_told_where_the_role_does_not() -> None:
    """A summary is a user's message by its role."""
    assert tell(replace(user("x"), origin="summary", seq=4), Room()).origin == "summary"
    assert tell(replace(user("x"), seq=4), Room()).origin == ""
    assert tell(replace(user("x"), seq=4), Room()).seq == 4


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"data:image/png;base64,{PNG}", "image/png"),
        (f"data:image/svg+xml;base64,{PNG}", None),
        (f"data:text/html;base64,{PNG}", None),
        (f'data:image/svg+xml" onload="x;base64,{PNG}', None),
        ("data:image/png;base64,broken!", None),
        ("https://elsewhere.example/a.png", None),
        ("javascript:alert(1)", None),
    ],
)
def test_only_pictures_of_the_log_are_shown(url: str, expected: str | None) -> None:
    """Of types that cannot hold a script; nothing is fetched from elsewhere."""
    found = picture_of(ImagePart(MediaUrl(url)))

    assert (found and found[0]) == expected
    (piece,) = tell(user(ImagePart(MediaUrl(url))), Room()).pieces
    assert piece.kind == ("picture" if expected else "other")


def test_other_parts_are_named() -> None:
    """A text is no picture, and an unknown part has its type."""
    assert picture_of(TextPart("x")) is None
    (piece,) = tell(user((OtherPart({"type": "memo", "x": 1}),)), Room()).pieces
    assert "memo" in piece.title


def test_arguments_are_laid_out() -> None:
    """Where they are JSON; else they stay as the model wrote them."""
    assert readable('{"a":[1]}') == '{\n  "a": [\n    1\n  ]\n}'
    assert readable('{"a":') == '{"a":'
    assert readable("[" * 30_000) == "[" * 30_000
    assert readable("[" * 15_000) == "[" * 15_000


@given(text=st.text())
def test_an_excerpt_is_one_short_line(text: str) -> None:
    """Whatever the text."""
    found = excerpt(text)

    assert "\n" not in found
    assert len(found) <= telling.EXCERPT_CHARACTERS + 1


@given(one=MESSAGES)
def test_a_message_is_the_same_as_itself(one: Message) -> None:
    """Also if its calls have other ids, which a view makes unique."""
    other = replace(
        one,
        tool_calls=tuple(call(f"{had.id}_2", had.name, had.arguments) for had in one.calls) or None,
    )

    assert same(one, other)
    assert not same(one, replace(one, content="something else entirely"))
