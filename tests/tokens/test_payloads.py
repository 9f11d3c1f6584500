"""A few bytes out of a base64 payload."""

from base64 import b64encode, urlsafe_b64encode

from hypothesis import given
from hypothesis import strategies as st

from minutebook.tokens.payloads import (
    PAYLOAD_LENGTH,
    bytes_at,
    looks_like_base64,
    number,
    payload_start,
    size_bytes,
)


@given(st.binary(max_size=300), st.integers(0, 320), st.integers(1, 60), st.booleans())
def test_bytes_are_found_at_any_place(data: bytes, offset: int, count: int, safe: bool) -> None:
    """Whichever alphabet was used, and whatever stands before the payload."""
    encoded = (urlsafe_b64encode if safe else b64encode)(data).decode()
    assert bytes_at("data:x;base64," + encoded, 14, offset, count) == data[offset : offset + count]


@given(st.text(max_size=200), st.integers(0, 50))
def test_what_is_not_base64_gives_no_bytes_and_no_error(text: str, offset: int) -> None:
    """At most as many as were asked for."""
    assert len(bytes_at(text, 0, offset, 10)) <= 10


@given(st.binary(min_size=1, max_size=300))
def test_the_size_follows_from_the_length(data: bytes) -> None:
    """To the two bytes that the padding hides."""
    assert 0 <= size_bytes(b64encode(data).decode(), 0) - len(data) <= 2


def test_numbers_are_read_highest_byte_first() -> None:
    """Formats that write them the other way pass them turned."""
    assert number(b"\x01\x02") == 258


def test_a_data_uri_tells_where_its_payload_begins() -> None:
    """Only a base64 one has a payload."""
    assert payload_start("data:image/png;base64,AAAA") == 22
    assert payload_start("DATA:;BASE64,AAAA") == 13
    assert payload_start("data:text/plain,hello") == 0
    assert payload_start("https://example.org/a.png") == 0


def test_long_letters_and_digits_are_taken_for_base64() -> None:
    """Text with a space, one letter over and over, and short values are not."""
    payload = b64encode(bytes(range(256)) * 3).decode()
    assert looks_like_base64(payload)
    assert not looks_like_base64(payload[: PAYLOAD_LENGTH - 1])
    assert not looks_like_base64("a" * PAYLOAD_LENGTH)
    assert not looks_like_base64("a1 " * PAYLOAD_LENGTH)
