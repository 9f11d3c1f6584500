"""Session ids are safe as names, and rotations are known by their numbers."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import StoreError
from minutebook.store.names import check_session_id, folder_of, rotation_name, rotation_number


@given(st.text(max_size=260))
def test_a_session_id_that_passes_is_one_path_component(session_id: str) -> None:
    """It names one entry of a folder, and nothing outside of it."""
    try:
        check_session_id(session_id)
    except StoreError:
        return
    assert os.path.normpath(session_id) == session_id
    assert Path("folder", session_id).name == session_id
    assert not any(ord(character) < 32 or character == "\x7f" for character in session_id)
    assert len(session_id.encode()) <= 200


@given(st.text(min_size=1, max_size=260))
def test_a_refused_session_id_is_shown_harmless(session_id: str) -> None:
    """The error stays one line, whatever was in the name."""
    with pytest.raises(StoreError) as caught:
        check_session_id(session_id + "\n")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "session_id",
    ["", ".", "..", "a/b", "/a", "a\\b", "a\0b", "a\nb", "a\x1b[31m", "\x85", "\ud83d", "a" * 201],
)
def test_a_session_id_that_is_no_safe_name_is_refused(session_id: str) -> None:
    """Separators, `..`, control characters, halves of characters, and more than 200 bytes."""
    with pytest.raises(StoreError):
        check_session_id(session_id)


@pytest.mark.parametrize("session_id", ["a", "...", ".hidden", "a b", "会话", "a" * 200, "~", "-"])
def test_other_session_ids_are_taken(session_id: str) -> None:
    """Spaces, dots and other scripts are fine."""
    assert check_session_id(session_id) == session_id


@given(st.integers(0, 10**18 - 1))
def test_a_rotations_name_gives_its_number(number: int) -> None:
    """Compressed or not, with leading zeros or not."""
    assert rotation_number(rotation_name(number)) == number
    assert rotation_number(f"context_{number}.jsonl.zst") == number
    assert rotation_number("context_007.jsonl") == 7


@pytest.mark.parametrize(
    "name",
    [
        "context.jsonl",
        "context_.jsonl",
        "context_-1.jsonl",
        "context_1.json",
        "context_1.jsonl.gz",
        "context_1.jsonl\n",
        "xcontext_1.jsonl",
        "context_sub_1.jsonl",
        "context_1234567890123456789.jsonl",
        "context_１.jsonl",
        "context.bad.jsonl",
    ],
)
def test_other_names_are_no_rotations(name: str) -> None:
    """Neither the log, nor a sub-agent's, nor a number without end."""
    assert rotation_number(name) is None


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("a/b", "a/b"),
        ("a/b/context.jsonl", "a/b"),
        ("context.jsonl", "."),
        ("a/context_1.jsonl", "a/context_1.jsonl"),
    ],
)
def test_a_path_to_the_log_means_its_folder(path: str, folder: str) -> None:
    """People name either."""
    assert folder_of(path) == folder
