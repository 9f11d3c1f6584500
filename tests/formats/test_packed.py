"""Packed transcripts."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats import packed
from minutebook.formats.packed import MAGIC, unpacked

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@given(st.binary(max_size=200))
def test_packed_bytes_come_back(data: bytes) -> None:
    """Whole ones whole, plain ones as they are."""
    assert unpacked(zstd.compress(b"x" + data), path="f") == b"x" + data
    assert unpacked(b"x" + data, path="f") == b"x" + data


@given(st.binary(max_size=40))
def test_damage_is_our_own_error(data: bytes) -> None:
    """Or it gives what there is; nothing else is raised."""
    found: bytes | FormatError
    try:
        found = unpacked(MAGIC + data, path="f")
    except FormatError as error:
        found = error

    assert isinstance(found, bytes) or found.path == "f"


def test_a_stream_that_is_cut_off_gives_its_beginning() -> None:
    """As much as can be read of it."""
    data = bytes(range(256)) * 4096
    whole = zstd.compress(data)

    found = unpacked(whole[: len(whole) // 2], path="f")

    assert data.startswith(found)


def test_more_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file can claim to be very long."""
    monkeypatch.setattr(packed, "UNPACKED_BYTES_MAX", 1 << 20)

    with pytest.raises(FormatError, match="more than 1048576 bytes"):
        unpacked(zstd.compress(bytes(3 << 20)), path="f")


def test_a_rotation_of_ours_is_not_read_by_itself() -> None:
    """It may share its beginning with another one."""
    with pytest.raises(FormatError, match="open the session's folder"):
        unpacked(zstd.compress(b'{"bytes":5,"hash":"crc32:0"}\n'), path="f")
