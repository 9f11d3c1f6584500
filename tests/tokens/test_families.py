"""What a model's name tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.tokens.families import UNKNOWN, family_of


@given(st.none() | st.text(max_size=40))
def test_any_name_has_a_family(name: str | None) -> None:
    """A name of any form gives a factor that can be worked with."""
    assert 0.5 < family_of(name).slope < 2


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("openai/gpt-5.4", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("codex-mini-latest", "o200k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("gpt-4-turbo", "cl100k_base"),
        ("GPT-3.5-Turbo", "cl100k_base"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("Qwen/Qwen2.5-Coder-32B", "qwen3"),
        ("qwen3-max", "qwen3"),
        ("meta-llama/llama-4-maverick", None),
        ("claude-opus-4-5", None),
        ("gemini-3-pro", None),
        ("o10", None),
        ("", None),
        (None, None),
    ],
)
def test_a_public_vocabulary_is_known_by_its_model(name: str | None, encoding: str | None) -> None:
    """Those that OpenAI, Meta and Alibaba have published; of others none is guessed."""
    assert family_of(name).encoding == encoding


@pytest.mark.parametrize(
    ("name", "is_new", "ends"),
    [
        ("claude-3-opus-20240229", False, True),
        ("claude-sonnet-4-5-20250929", False, True),
        ("claude-opus-4-20250514", False, True),
        ("claude-opus-4-5-20251101", False, False),
        ("anthropic/claude-opus-4.6", False, False),
        ("claude-sonnet-4.6", False, False),
        ("claude-opus-4-7", True, False),
        ("claude-sonnet-5", True, False),
        ("claude-haiku-5-20270101", True, False),
        ("claude-instant", False, True),
    ],
)
def test_claudes_are_told_apart_by_version(name: str, *, is_new: bool, ends: bool) -> None:
    """A date is no version; the vocabulary changed at 4.7, what becomes of thinking at 4.5."""
    family = family_of(name)
    assert (family.slope > 1.4) is is_new
    assert family.reasoning_ends_with_turn is ends


def test_a_model_that_nobody_knows_counts_like_the_estimate() -> None:
    """Nothing is made up."""
    assert family_of("brand-new-9b") is UNKNOWN
    assert (UNKNOWN.slope, UNKNOWN.constant) == (1.0, 0.0)
