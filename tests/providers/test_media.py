"""What addresses say, and the texts that stand for media."""

import pytest

from minutebook.messages import AudioPart, ImagePart, MediaUrl, VideoPart
from minutebook.providers.media import (
    URL_CHARACTERS_SHOWN,
    address_of,
    data_of,
    is_http,
    placeholder,
)


@pytest.mark.parametrize(
    ("address", "media_type", "base64"),
    [
        ("data:image/png;base64,iVBORw0KGgo=", "image/png", "iVBORw0KGgo="),
        ("DATA:Image/PNG;charset=x;base64,AAAA", "image/png", "AAAA"),
        ("data:image/jpg;base64,AAAA", "image/jpeg", "AAAA"),
    ],
)
def test_a_data_uri_is_taken_apart(address: str, media_type: str, base64: str) -> None:
    """Its type comes in lower case and under its proper name."""
    assert data_of(address) == (media_type, base64)


@pytest.mark.parametrize(
    "address",
    [
        "data:image/png;base64,",
        "data:image/png;base64,AAA",
        "data:image/png;base64,AA AA",
        "data:image/png;base64,é===",
        "data:image/png,AAAA",
        "data:;base64,AAAA",
        "https://example.org/a.png",
    ],
)
def test_broken_data_is_none(address: str) -> None:
    """What a provider would refuse is not passed on."""
    assert data_of(address) is None


def test_an_address_that_can_be_fetched() -> None:
    """It is http with something behind it, and nothing that does not belong into an address."""
    assert is_http("https://example.org/a.png")
    assert is_http("HTTP://example.org")
    assert not any(
        is_http(address)
        for address in ("http://", "https://a b", "https://a\n", "ftp://a", "ms://a", "a.png", "")
    )


def test_every_kind_of_media_has_an_address() -> None:
    """The three kinds differ only in the name of the key."""
    link = MediaUrl("https://example.org/x")

    for part in (ImagePart(link), AudioPart(link), VideoPart(link)):
        assert address_of(part) == link.url


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("data:audio/ogg;base64,T2dnUw==", "audio/ogg"),
        ("data:,x", "no readable address"),
        (" ", "no readable address"),
        ("https://example.org/a b\nc", "https://example.org/a b c"),
        ("x" * 1000, "x" * URL_CHARACTERS_SHOWN),
    ],
)
def test_a_placeholder_says_what_was_there(address: str, said: str) -> None:
    """Its type if it carried the data, else its address, on one line and never too long."""
    assert placeholder(AudioPart(MediaUrl(address))) == f"[sound left out: {said}]"


def test_a_placeholder_names_the_kind() -> None:
    """So that the model knows what it does not see."""
    assert placeholder(ImagePart(MediaUrl("a.png"))) == "[picture left out: a.png]"
    assert placeholder(VideoPart(MediaUrl("a.mp4"))) == "[film left out: a.mp4]"
