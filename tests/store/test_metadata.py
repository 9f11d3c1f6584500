"""`session.json`: small, replaced atomically, never needed."""

import errno
from pathlib import Path

import pytest

from minutebook.store.disk import Disk
from minutebook.store.metadata import BYTES_MAX, Metadata, load, save
from minutebook.testing.disks import FailAt, WatchedDisk

FULL = Metadata(
    id="s", title="t \u202e", created=1.5, agent="kimi", model="m", window=9, tags=("a", "b")
)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    """All fields, and a file that its owner alone may read."""
    save(Disk(), str(tmp_path), FULL)
    assert load(Disk(), str(tmp_path)) == (FULL, "")
    assert (tmp_path / "session.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["session.json"]


def test_a_missing_file_is_no_problem(tmp_path: Path) -> None:
    """There is nothing to say."""
    assert load(Disk(), str(tmp_path)) == (None, "")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b'{"id":"s","ti',
        b"\0" * 200,
        b"[1]",
        b'{"id":7}',
        b'{"title":"no id"}',
        b'{"id":"\xff"}',
        b"[" * 100_000,
        b'{"id":"s"}' + b" " * BYTES_MAX + b"}",
    ],
    ids=["empty", "torn", "zero", "array", "type", "no id", "bytes", "deep", "long"],
)
def test_a_damaged_file_is_reported_and_not_believed(tmp_path: Path, damage: bytes) -> None:
    """One sentence, which names the file."""
    (tmp_path / "session.json").write_bytes(damage)
    found, problem = load(Disk(), str(tmp_path))
    if damage.endswith(b" }"):
        assert found == Metadata(id="s")
    else:
        assert found is None
        assert problem.startswith("session.json is damaged")


def test_a_file_that_cannot_be_opened_or_read_is_reported(tmp_path: Path) -> None:
    """A symbolic link, and an error of the disk."""
    (tmp_path / "session.json").symlink_to(tmp_path / "elsewhere")
    found, problem = load(Disk(), str(tmp_path))
    assert (found, problem.startswith("session.json cannot be opened")) == (None, True)
    (tmp_path / "session.json").unlink()
    save(Disk(), str(tmp_path), FULL)
    found, problem = load(WatchedDisk(FailAt(1, errno.EIO)), str(tmp_path))
    assert (found, problem.startswith("session.json cannot be read")) == (None, True)


@pytest.mark.parametrize("at", range(7))
def test_a_failed_save_leaves_the_old_file(tmp_path: Path, at: int) -> None:
    """Whichever step fails, the file is the old one or the new one, whole."""
    save(Disk(), str(tmp_path), FULL)
    fault = FailAt(at, errno.EIO)
    changed = Metadata(id="s", title="other")
    try:
        save(WatchedDisk(fault), str(tmp_path), changed)
    except OSError:
        assert fault.hit is not None
        assert load(Disk(), str(tmp_path)) == (FULL, "")
    else:
        assert fault.hit is None
        assert load(Disk(), str(tmp_path)) == (changed, "")
    save(Disk(), str(tmp_path), changed)
    assert load(Disk(), str(tmp_path)) == (changed, "")
