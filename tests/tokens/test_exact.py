"""Exact counts, where the vocabulary is public and at hand."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import ConfigError
from minutebook.messages import ImagePart, MediaUrl, assistant, call, user
from minutebook.tokens.calibration import Size
from minutebook.tokens.estimate import estimate_message
from minutebook.tokens.exact import counter, counter_of, exact_message, exact_size

SURROGATES = st.text(st.characters(codec=None), max_size=60)


class Characters:
    """A counter of anybody's own: a token a character."""

    def count(self, text: str) -> int:
        return len(text)


def test_any_counter_will_do() -> None:
    """Texts, names and arguments are counted by it; what the wire adds and media by rule."""
    picture = ImagePart(MediaUrl("https://example.org/a.png"))
    message = assistant("hello", tool_calls=[call("1", "read", '{"path": "a"}')])
    bare = assistant("", tool_calls=[call("1", "", "")])
    assert exact_message(Characters(), message) - exact_message(Characters(), bare) == 5 + 4 + 13
    assert exact_message(Characters(), user([picture])) == estimate_message(user([picture]))


def test_only_what_is_new_is_counted_exactly() -> None:
    """The provider's count stands; the spread is what the wire may add."""
    history = [user("old"), assistant("old"), user("new " * 50), user("newer")]
    size = Size(tokens=1_100, spread=300, counted=1_000, source="calibrated", start=2)
    exact = exact_size(Characters(), size, history)
    assert exact.tokens == 1_000 + sum(exact_message(Characters(), one) for one in history[2:])
    assert (exact.spread, exact.counted, exact.source) == (6, 1_000, "counted")
    guessed = Size(tokens=1_100, spread=300, counted=0, source="estimated")
    assert exact_size(Characters(), guessed, history) is guessed
    sure = Size(tokens=1_000, spread=0, counted=1_000, source="counted", start=4)
    assert exact_size(Characters(), sure, history) is sure


def test_a_model_without_a_public_vocabulary_has_no_counter() -> None:
    """Then the calibrated estimate is the best there is, and the extra isn't asked for."""
    assert counter_of("claude-opus-4-7") is None
    assert counter_of(None) is None


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is asked for at the first count, not at the import."""
    monkeypatch.setitem(sys.modules, "quicktok", None)
    counter.cache_clear()
    with pytest.raises(ConfigError, match=r"minutebook\[tokens\]"):
        counter_of("gpt-4o")
    counter.cache_clear()


class TestWithTheExtra:
    @pytest.fixture(autouse=True)
    def extra(self) -> None:
        pytest.importorskip("quicktok", reason="the extra `tokens` is not installed")

    @pytest.mark.parametrize(
        ("text", "o200k", "cl100k"),
        [
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 8, 9),
        ],
    )
    def test_known_texts_have_their_known_counts(self, text: str, o200k: int, cl100k: int) -> None:
        """OpenAI's cookbook states these for its own program."""
        assert counter("o200k_base").count(text) == o200k
        assert counter("cl100k_base").count(text) == cl100k

    @given(SURROGATES)
    def test_no_text_makes_it_raise(self, text: str) -> None:
        """Lone surrogates, NUL and all else are counted; nothing but nothing is free."""
        assert (counter_of("gpt-5.4") or Characters()).count(text) >= (1 if text else 0)

    def test_a_lone_surrogate_counts_as_what_the_provider_gets(self) -> None:
        """A sign in its place; a pair of them is the character that it stands for."""
        count = counter("o200k_base").count
        assert count("a \ud800 b") == count("a \ufffd b")
        assert count("\ud83d\ude00") == count("\U0001f600")

    def test_special_tokens_names_are_text(self) -> None:
        """A message that quotes them isn't a control mark, and isn't refused."""
        for name in ("<|endoftext|>", "<|im_start|>", "<|begin_of_text|>"):
            assert counter("o200k_base").count(name) > 1

    @pytest.mark.parametrize("sign", [" ", "a", "\n", "0", "中", "\x00", "<|endoftext|>"])
    def test_a_megabyte_of_one_sign_is_counted(self, sign: str) -> None:
        """What other programs choke on takes no longer than its length."""
        text = sign * (1_000_000 // len(sign))
        assert 0 < counter("o200k_base").count(text) <= 1_000_000

    def test_the_estimate_is_near_the_exact_count(self) -> None:
        """For one ordinary message to a few percent."""
        message = user("The tests pass; next the documentation has to say so, line by line. " * 30)
        exact = exact_message(counter("o200k_base"), message)
        assert abs(estimate_message(message) / exact - 1) < 0.1

    def test_a_vocabulary_that_is_not_there_is_named(self) -> None:
        """The error says which."""
        with pytest.raises(ConfigError, match="nobody_base"):
            counter("nobody_base")
