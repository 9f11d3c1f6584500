"""Embeddings say what is near to the focus; each text is embedded once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.plan import Request
from minutebook.compaction.relevance import NEARNESS_WEIGHT, Relevance, cosine, relevance
from minutebook.messages import assistant, user
from tests.compaction.conversations import numbered

VECTORS = st.lists(st.floats(-9, 9), min_size=3, max_size=3)


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Count two letters."""
    return [[float(text.count("a")), float(text.count("b"))] for text in texts]


@given(VECTORS, VECTORS)
def test_a_cosine_is_even_and_bounded(one: list[float], other: list[float]) -> None:
    """Of nothing it is 0."""
    assert cosine(one, other) == pytest.approx(cosine(other, one))
    assert -1.000001 <= cosine(one, other) <= 1.000001
    assert cosine([0.0, 0.0, 0.0], other) == 0.0


def test_what_is_near_counts_more() -> None:
    """From once to three times as much; what points away counts as beside it."""
    near = Relevance("aaa", embed)

    assert near.factors(["aa", "bb", "ab"]) == pytest.approx(
        [1 + NEARNESS_WEIGHT, 1.0, 1 + NEARNESS_WEIGHT / 2**0.5]
    )
    assert Relevance("x", lambda texts: [[1.0] if t == "x" else [-1.0] for t in texts]).factors(
        ["y"]
    ) == [1.0]


def test_each_text_is_embedded_once() -> None:
    """The focus too; no text is no call."""
    asked: list[str] = []

    def counted(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return embed(texts)

    near = Relevance("aaa", counted)
    near.factors(["ab", "ab"])
    near.factors(["ab", "b"])
    near.factors([])

    assert asked == ["aaa", "ab", "b"]


def test_the_focus_is_what_was_spoken_and_said_last() -> None:
    """The caller's focus, the last request, the last reply; without any, nothing is compared."""
    history = numbered([user("old"), assistant("older"), user("new"), assistant("newer")])
    asked: list[str] = []

    def counted(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return embed(texts)

    near = relevance(Request(history=history, focus="the parser", embed=counted))
    assert near is not None
    near.factors(["a"])

    assert asked[0] == "the parser\nnew\nnewer"
    assert relevance(Request(history=history)) is None
    assert relevance(Request(history=(), embed=embed)) is None


@pytest.mark.parametrize(
    "said",
    [ValueError("no"), [[1.0]], [[1.0], [1.0, 2.0]], None],
    ids=["raises", "few", "odd", "none"],
)
def test_a_function_that_fails_has_said_nothing(said: Any) -> None:
    """No line is nearer than another, and nothing is raised."""

    def broken(_texts: Sequence[str]) -> Any:
        if isinstance(said, Exception):
            raise said
        return said

    assert Relevance("aaa", broken).factors(["ab"]) == [1.0]
