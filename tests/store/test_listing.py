"""A list of sessions says what opening each of them would say, with its index and without."""

import asyncio
import errno
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.codec import encode_line, frame
from minutebook.context import fold
from minutebook.errors import StoreError
from minutebook.lines import Scanner
from minutebook.messages import Message, replace, user
from minutebook.opening import open_session
from minutebook.records import Batch, Usage
from minutebook.store.disk import Disk
from minutebook.store.listing import BYTES_A_TOKEN, INDEX, Listed, list_sessions
from minutebook.testing.disks import Call, WatchedDisk
from tests.damage import DAMAGED, LOG
from tests.playing import FileHome, Player
from tests.strategies import RECORDS, STORIES, Do

LOG_NAME = "context.jsonl"
LINE = encode_line(replace(user("hello there"), seq=1))


class Playing(Player):
    """A player that only plays: what a session must be is another test's to say."""

    def check(self) -> None:
        """Compare nothing."""

    check_all = check


def make(root: Path, name: str, log: bytes = LINE) -> Path:
    """Make a session that was written long ago."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "context.jsonl").write_bytes(log)
    settle(root)
    return folder


def settle(root: Path) -> None:
    """Let all below a folder be older than any clock's tick."""
    for path in [*root.rglob("*"), root]:
        os.utime(path, ns=(10**18, path.lstat().st_mtime_ns - 10**13), follow_symlinks=False)


def one(root: Path, *, disk: Disk | None = None, cached: bool = False) -> Listed:
    """List a root that holds one session."""
    (found,) = list_sessions(os.fspath(root), disk=disk, cached=cached)
    return found


def slow(log: bytes) -> tuple[int, int]:
    """Count messages and tokens by folding the whole log."""
    scanner = Scanner()
    context = fold([*scanner.feed(log), *scanner.finish()])
    return len(context.history), context.token_count


def assert_counted(log: bytes) -> None:
    """List a session, and compare with a slow full count."""
    with tempfile.TemporaryDirectory() as root:
        make(Path(root), "s", log)
        found = one(Path(root))
    messages, tokens = slow(log)
    assert (found.messages, found.bytes) == (messages, len(log))
    assert 0 <= found.tokens - tokens <= len(log) // BYTES_A_TOKEN


@settings(max_examples=150)
@given(DAMAGED)
def test_a_damaged_log_is_counted_as_it_opens(log: bytes) -> None:
    """Torn, glued, zeroed, half a batch: as many messages as there are."""
    assert_counted(log)


@settings(max_examples=100)
@given(st.lists(RECORDS, max_size=12))
def test_a_log_of_any_records_is_counted_as_it_opens(records: list[object]) -> None:
    """Records of every kind, usage that is not believed, counts of an empty history."""
    assert_counted(b"".join(encode_line(r) for r in records if not isinstance(r, Batch)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "log",
    [
        LINE + b'{"role":"_usage","token_count":"many"}\n' + LINE,
        LINE + b'{"role":"_usage","token_count":5}\n{"role":"_usage","token_count":0}\n' + LINE,
        LINE + b'{"role":"_usage","token_count":-5}\n',
        b'{"role":"_batch","n":1}\n' + LINE,
        b'{"role":"_batch","n":1,"bytes":0,"hash":"x"}\n' + LINE,
        frame([LINE, frame([LINE, LINE])]),
        frame([LINE, LINE]).replace(b"hello", b"jello"),
        frame([LINE, LINE])[:-20],
        frame([LINE, LINE])[:-1],
        b'{"role":"user","content":{"role":"odd"}}\n' + LINE,
        b"\xef\xbb\xbf" + LINE.replace(b"\n", b"\r\n") + b"\n\n" + LINE[:-1],
        LINE + b"\0" * 40 + b"\n" + LINE,
        LINE[:-1] + LINE,
        b'{"role":"user","content":"half \\ud83d","seq":1}\n',
        b"",
    ],
)
def test_what_is_not_usual_is_counted_slowly(log: bytes) -> None:
    """Whatever the quick look cannot tell."""
    assert_counted(log)


@settings(max_examples=20)
@given(STORIES)
def test_a_session_is_counted_as_it_is(story: list[Do]) -> None:
    """After any operations of our own."""

    async def play(folder: Path) -> tuple[int, int, int]:
        await Playing(FileHome(folder)).play(story)
        async with open_session(folder, mode="r") as session:
            context = session.context
            return len(context.history), context.token_count, len(session.rotations())

    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "s").mkdir()
        (Path(root) / "s" / "context.jsonl").touch()
        messages, tokens, rotations = asyncio.run(play(Path(root) / "s"))
        found = one(Path(root))
        assert (found.messages, found.rotations, found.problem) == (messages, rotations, "")
        assert found.tokens >= tokens


@pytest.mark.parametrize("size", [40, 100, 399, 400])
def test_the_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A line may lie across any of them."""
    monkeypatch.setattr("minutebook.store.rewriting.PIECE_BYTES", size)
    assert_counted(LOG)


@settings(max_examples=60)
@given(st.data())
def test_with_its_index_a_list_is_the_same(data: st.DataObject) -> None:
    """Whatever has changed since: appended, replaced, retitled, gone, come, or the index itself."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("a", "b/c", "b/d", "e"):
            make(root, name)
        for _ in range(3):
            _change(root, data.draw(st.sampled_from(CHANGES)), data)
            plain = list_sessions(os.fspath(root), cached=False)
            assert list_sessions(os.fspath(root)) == plain
            assert list_sessions(os.fspath(root)) == plain


CHANGES = ("append", "replace", "title", "rotation", "move", "remove", "index", "log", "wait")


def _change(root: Path, what: str, data: st.DataObject) -> None:
    logs = sorted(root.rglob("context.jsonl"))
    log = data.draw(st.sampled_from(logs)) if logs else make(root, "new") / "context.jsonl"
    index = root / INDEX
    match what:
        case "append":
            log.write_bytes(log.read_bytes() + LINE)
        case "replace":
            (log.parent / "x").write_bytes(LINE.replace(b"hello", b"HELLO"))
            (log.parent / "x").rename(log)
        case "title":
            (log.parent / "x").write_text('{"id": "s", "title": "a title", "agent": "an agent"}')
            (log.parent / "x").rename(log.parent / "session.json")
        case "rotation":
            (log.parent / "context_3.jsonl").write_bytes(b"")
        case "move":
            log.parent.rename(root / f"moved-{log.stat().st_ino}")
        case "log":
            log.unlink()
        case "remove":
            for path in log.parent.iterdir():
                path.unlink()
            log.parent.rmdir()
        case "index" if index.exists():
            old = index.read_bytes()
            index.write_bytes(data.draw(st.sampled_from([b"", b"x", old[:-3], b"0" + old[1:]])))
        case _:
            settle(root)


def test_with_its_index_no_log_is_read(tmp_path: Path) -> None:
    """Nor any folder; and the index is not written again."""
    for number in range(5):
        make(tmp_path, f"a/s{number}")
    settle(tmp_path)
    first = list_sessions(os.fspath(tmp_path))
    disk = WatchedDisk()

    assert list_sessions(os.fspath(tmp_path), disk=disk) == first
    assert [call.file for call in disk.named("open", "create", "rename")] == [INDEX]


def test_what_is_listed_is_what_one_looks_for(tmp_path: Path) -> None:
    """The one last written first, each with title, agent, time, messages, tokens and size."""
    told = replace(user("<system>CHECKPOINT 0</system>"), seq=1, origin=None)
    asked = replace(user("  Mend the\n build, please. " + "It is broken. " * 20), seq=2)
    lines = [encode_line(told), encode_line(replace(user("x"), origin="notice", seq=3))]
    count = encode_line(Usage(token_count=700, content="700"))
    old = make(tmp_path, "deep/old", frame([*lines, encode_line(asked)]) + count + LINE)
    new = make(tmp_path, "new", LINE)
    (new / "session.json").write_text('{"id": "n", "title": "A title", "agent": "an agent"}')
    (new / "context_1.jsonl").write_bytes(b"")
    os.utime(old / "context.jsonl", (1_000, 1_000))
    told_so_far: list[int] = []

    first, second = list_sessions(os.fspath(tmp_path), progress=told_so_far.append)

    assert (first.path, first.title, first.agent) == ("new", "A title", "an agent")
    assert (first.messages, first.tokens, first.rotations) == (1, len(LINE) // 4, 1)
    assert second.path == "deep/old"
    assert second.title == ("Mend the build, please. " + "It is broken. " * 20)[:80].strip()
    assert (second.messages, second.tokens, second.modified) == (4, 700 + len(LINE) // 4, 1_000)
    assert told_so_far == [1, 2]
    assert (tmp_path / INDEX).stat().st_mode & 0o777 == 0o600


def test_kimis_spelling_is_read_too(tmp_path: Path) -> None:
    """It puts a blank behind each colon in some of its records."""
    make(
        tmp_path, "s", b'{"role": "_usage", "token_count": 9}\n{"role": "user", "content": "hi"}\n'
    )
    assert (one(tmp_path).title, one(tmp_path).messages) == ("hi", 1)


def make_pipe(log: Path) -> None:
    """Put a named pipe in the place of a log; who opens it would wait for ever."""
    log.unlink()
    os.mkfifo(log)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda log: log.unlink(), "context.jsonl is missing"),
        (lambda log: (log.unlink(), log.mkdir()), "context.jsonl is not a plain file"),
        (make_pipe, "context.jsonl is not a plain file"),
        (
            lambda log: (log.rename(log.parent / "x"), log.symlink_to("x")),
            "context.jsonl is not a plain file",
        ),
        (
            lambda log: log.write_bytes(b"x\n" * 3),
            "context.jsonl has 3 damaged lines and no message",
        ),
    ],
)
def test_what_cannot_be_read_is_listed_with_its_problem(
    tmp_path: Path, spoil: Callable[[Path], object], problem: str
) -> None:
    """And the others are listed all the same."""
    make(tmp_path, "good")
    bad = make(tmp_path, "bad")
    (bad / "context_1.jsonl").write_bytes(LINE)
    spoil(bad / "context.jsonl")
    for cached in (True, True, False):
        found = {item.path: item for item in list_sessions(os.fspath(tmp_path), cached=cached)}
        assert (found["bad"].problem, found["bad"].messages) == (problem, 0)
        assert (found["good"].problem, found["good"].messages) == ("", 1)


def test_what_the_system_refuses_is_listed_and_what_goes_away_is_not(tmp_path: Path) -> None:
    """A log or a folder without read access; a folder that is removed while the list is made."""
    for name in ("closed", "secret", "gone", "good"):
        make(tmp_path, name)

    def refuse(call: Call) -> None:
        if call.name == "open" and call.path.endswith("closed/context.jsonl"):
            raise PermissionError(errno.EACCES, "Permission denied")
        if call.name == "stat" and call.file == "secret":
            raise PermissionError(errno.EACCES, "Permission denied")
        if call.name == "stat" and call.file == "gone":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    found = list_sessions(os.fspath(tmp_path), disk=WatchedDisk(refuse), cached=False)

    problems = {item.path: item.problem for item in found}
    denied = "Permission denied"
    assert problems == {"closed": denied, "secret": denied, "good": ""}


def test_a_root_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """And one that is a link is the folder that it names."""
    with pytest.raises(StoreError, match="no such file"):
        list_sessions(os.fspath(tmp_path / "none"))
    make(tmp_path, "real/s")
    (tmp_path / "link").symlink_to("real")
    assert [item.path for item in list_sessions(os.fspath(tmp_path / "link"))] == ["s"]
    assert (tmp_path / "real" / INDEX).exists()


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    """So no session is listed twice, and none for ever."""
    folder = make(tmp_path, "s")
    (folder / "loop").symlink_to("..")
    assert [item.path for item in list_sessions(os.fspath(tmp_path))] == ["s"]


def test_a_name_that_is_no_text_is_listed_without_an_index(tmp_path: Path) -> None:
    """The index is JSON, and cannot hold it."""
    make(tmp_path, os.fsdecode(b"\xff"))
    assert one(tmp_path, cached=True).messages == 1
    assert not (tmp_path / INDEX).exists()


@pytest.mark.parametrize("step", ["create", "write", "rename"])
def test_where_no_index_can_be_written_the_list_goes_without(tmp_path: Path, step: str) -> None:
    """A read-only or a full disk; nothing of it is left behind."""
    make(tmp_path, "s")

    def refuse(call: Call) -> None:
        if call.name == step and INDEX in call.path:
            raise OSError(errno.ENOSPC, "No space left on device")

    assert one(tmp_path, disk=WatchedDisk(refuse), cached=True).messages == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_an_index_that_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    """Refused by the system, of another version, or no index at all but with a good sum."""
    make(tmp_path, "s")

    def refuse(call: Call) -> None:
        if call.name == "read" and call.file == INDEX:
            raise OSError(errno.EIO, "Input/output error")

    expected = one(tmp_path, cached=True)
    assert one(tmp_path, disk=WatchedDisk(refuse), cached=True) == expected
    for data in (b"[1,{}]", b"{}", b'[2,{"s":[0,[],0,true,[],null]}]'):
        (tmp_path / INDEX).write_bytes(b"%08x\n" % zlib.crc32(data) + data)
        assert one(tmp_path, cached=True) == expected


def test_a_folder_that_changed_just_now_is_looked_at_again(tmp_path: Path) -> None:
    """Its clock may tick too slowly to tell the next change from this one."""
    folder = make(tmp_path, "s")
    now = time.time_ns()
    os.utime(folder, ns=(now, now))
    assert one(tmp_path, cached=True).rotations == 0
    (folder / "context_1.jsonl").write_bytes(b"")
    os.utime(folder, ns=(now, now))
    assert one(tmp_path, cached=True).rotations == 1


def test_messages_are_what_they_are_called(tmp_path: Path) -> None:
    """Unknown roles are messages too, records that begin with _ are none."""
    log = encode_line(Message(role="oracle", content="x", seq=1)) + b'{"role":"_later"}\n'
    make(tmp_path, "s", log)
    assert one(tmp_path).messages == 1
