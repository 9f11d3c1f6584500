"""Kimi CLI's list of the folders that it has worked in."""

import errno
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from minutebook.cli.kimi_index import FILE, digest_of, ensure_listed, folder_of_digest
from minutebook.errors import StoreError
from minutebook.store.disk import Disk

LISTED = {"path": "/a", "kaos": "local", "last_session_id": "x", "new": 1}
ELSEWHERE = {"path": "/w", "kaos": "ssh", "last_session_id": None}


def write(share: Path, content: Any) -> bytes:
    """Write the list; give its bytes."""
    (share / FILE).write_text(json.dumps(content))
    return (share / FILE).read_bytes()


def test_a_folder_is_found_by_its_sum(tmp_path: Path) -> None:
    """One of another machine, or an entry that is none, is not."""
    assert folder_of_digest(tmp_path, digest_of("/a")) is None
    write(tmp_path, {"work_dirs": [ELSEWHERE, 7, {"path": 8}, LISTED]})

    assert folder_of_digest(tmp_path, digest_of("/a")) == "/a"
    assert folder_of_digest(tmp_path, digest_of("/w")) is None


def test_a_folder_is_added_and_all_else_stays(tmp_path: Path) -> None:
    """Keys that we do not know too."""
    write(tmp_path, {"work_dirs": [LISTED, ELSEWHERE], "thinking": True})

    ensure_listed(tmp_path, "/w")

    content = json.loads((tmp_path / FILE).read_bytes())
    new = {"path": "/w", "kaos": "local", "last_session_id": None}
    assert content == {"work_dirs": [LISTED, ELSEWHERE, new], "thinking": True}
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_folder_that_is_listed_changes_nothing(tmp_path: Path) -> None:
    """Not a byte."""
    before = write(tmp_path, {"work_dirs": [LISTED]})
    ensure_listed(tmp_path, "/a")
    assert (tmp_path / FILE).read_bytes() == before


def test_the_first_one_makes_the_list(tmp_path: Path) -> None:
    """And the folder for it."""
    ensure_listed(tmp_path / "new", "/a")
    assert folder_of_digest(tmp_path / "new", digest_of("/a")) == "/a"


@pytest.mark.parametrize("damaged", [b"", b"[]", b'{"work_dirs": 1}', b"\xff", b"[" * 5_000])
def test_a_damaged_list_is_an_error_and_stays(tmp_path: Path, damaged: bytes) -> None:
    """Kimi CLI could not read it either."""
    (tmp_path / FILE).write_bytes(damaged)

    with pytest.raises(StoreError, match="damaged"):
        ensure_listed(tmp_path, "/a")

    assert (tmp_path / FILE).read_bytes() == damaged


def test_a_list_that_cannot_be_written_is_an_error_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of ours is left beside it."""
    before = write(tmp_path, {"work_dirs": []})

    def full(_disk: Disk, _source: str, _target: str) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(Disk, "rename", full)
    with pytest.raises(StoreError, match=FILE):
        ensure_listed(tmp_path, "/a")

    assert (tmp_path / FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
