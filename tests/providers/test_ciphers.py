"""Whose a cipher text is."""

import pytest

from minutebook.messages import Message, TextPart, ThinkPart, user
from minutebook.providers.ciphers import maker_of
from minutebook.providers.view import make_view


@pytest.mark.parametrize(
    ("cipher", "maker"),
    [("gAAAAABo", "openai"), ("gemini:AbC=", "gemini"), ("ErUB", "other"), ("", "other")],
)
def test_a_cipher_text_says_whose_it_is(cipher: str, maker: str) -> None:
    """As far as it does."""
    assert maker_of(cipher) == maker


def test_what_one_provider_wrote_goes_to_no_other() -> None:
    """Each refuses what it did not make; texts and calls stay."""
    parts = [
        part
        for cipher in ("gAAAAx", "gemini:c2ln", "ErUB")
        for part in (ThinkPart("hm", cipher), TextPart("so"))
    ]
    view = make_view(None, [user("go"), Message("assistant", tuple(parts)), user("on")])

    anthropic, responses, gemini = (
        str(view.to_anthropic()),
        str(view.to_responses()),
        str(view.to_gemini()),
    )
    assert ("ErUB" in anthropic, "gAAAAx" in anthropic, "c2ln" in anthropic) == (True, False, False)
    assert ("ErUB" in responses, "gAAAAx" in responses, "c2ln" in responses) == (False, True, False)
    assert ("ErUB" in gemini, "gAAAAx" in gemini, "'c2ln'" in gemini) == (False, False, True)
    assert "c2ln" not in str(view.to_openai())
