import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minutebook
from minutebook.gateway.asking import Asked, read_request
from minutebook.gateway.book import INDEX_NAME, KEY_NAME, Book, common_length
from minutebook.gateway.exchange import exchanging
from minutebook.gateway.replies import Reply
from minutebook.gateway.settings import make_settings


def book_in(root: Path, **values: Any) -> Book:
    told = {"upstream": {"openai": "http://x"}, "durability": "process", **values}
    made = Book(make_settings({**told, "root": str(root)}))
    made.start()
    return made


def asked(*texts: str) -> Asked:
    """Make a chat whose messages are the user's and the assistant's in turn."""
    roles = ["user", "assistant"] * len(texts)
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return read_request("chat", json.dumps({"model": "m", "messages": messages}).encode())


async def say(book: Book, *texts: str, reply: str = "", name: str = "", client: str = "k") -> str:
    """Have one exchange; give the session's name."""
    async with exchanging(book, asked(*texts), book.namespace(client), name) as exchange:
        assert exchange is not None
        if reply:
            message = minutebook.assistant(reply)
            await exchange.finish(Reply(messages=(message,), complete=reply[-1] != "…"))
        return exchange.session_id


async def texts(book: Book, session: str) -> list[str]:
    held = book.held.get(session)
    if held is not None and held.session is not None:
        return [one.text for one in held.session.history()]
    async with minutebook.open(book.root / session, mode="r") as opened:
        return [one.text for one in opened.history()]


def folders(root: Path) -> list[str]:
    return [one.name for one in root.iterdir() if one.is_dir()]


async def test_a_history_that_goes_on_is_one_session(tmp_path: Path) -> None:
    """Over a restart too, and for one client only."""
    book = book_in(tmp_path)
    first = await say(book, "a", reply="b")
    await book.close()
    book = book_in(tmp_path)

    again = await say(book, "a", "b", "c", reply="d")
    other = await say(book, "a", "b", "c", client="another")

    assert again == first
    assert other != first
    assert await texts(book, first) == ["a", "b", "c", "d"]
    await book.close()


async def test_a_changed_history_is_a_fork_and_both_go_on(tmp_path: Path) -> None:
    """Nothing of the first branch is overwritten."""
    book = book_in(tmp_path)
    first = await say(book, "a", reply="b")
    await say(book, "a", "b", "c", reply="d")

    second = await say(book, "a", "b", "other", reply="e")
    assert await say(book, "a", "b", "c", "d", "f", reply="g") == first
    assert await say(book, "a", "b", "other", "e", "h", reply="i") == second

    assert await texts(book, first) == ["a", "b", "c", "d", "f", "g"]
    assert await texts(book, second) == ["a", "b", "other", "e", "h", "i"]
    await book.close()


async def test_a_cut_history_is_a_revert(tmp_path: Path) -> None:
    """The same request again takes the place of the first; the full history holds both."""
    book = book_in(tmp_path)
    first = await say(book, "a", reply="b")
    assert await say(book, "a", reply="c") == first

    assert await texts(book, first) == ["a", "c"]
    full = book.held[first].open_session.history(full=True)
    assert [one.text for one in full if one.role == "assistant"] == ["b", "c"]
    await book.close()


async def test_a_reply_that_broke_off_is_marked_and_gives_way(tmp_path: Path) -> None:
    """The client never took it; it goes on from before."""
    book = book_in(tmp_path)
    first = await say(book, "a", reply="b…")
    (mark,) = book.held[first].open_session.context.tags.values()
    assert "partial" in mark

    assert await say(book, "a", "other", "c", reply="d") == first
    assert await texts(book, first) == ["a", "other", "c", "d"]
    await book.close()


async def test_a_named_session_is_one_whatever_its_history(tmp_path: Path) -> None:
    """Its requests wait for each other; the name is never a path; keys never share it."""
    book = book_in(tmp_path)
    name = "../../etc/passwd"
    first = await say(book, "a", reply="b", name=name)
    assert await say(book, "x", reply="y", name=name) == first
    assert await say(book, "a", name=name, client="another") != first

    assert await texts(book, first) == ["x", "y"]
    assert {one[:6] for one in folders(tmp_path)} == {"named-"}
    await book.close()


async def test_two_at_once_are_told_apart(tmp_path: Path) -> None:
    """A request that comes while another one of the session is under way is a fork."""
    book = book_in(tmp_path)
    first = await say(book, "a", reply="b")
    async with exchanging(book, asked("a", "b", "c"), book.namespace("k"), "") as exchange:
        assert exchange is not None
        assert exchange.session_id == first
        second = await say(book, "a", "b", "d", reply="e")
        await exchange.finish(Reply(messages=(minutebook.assistant("f"),), complete=True))

    assert second != first
    assert await texts(book, first) == ["a", "b", "c", "f"]
    assert await texts(book, second) == ["a", "b", "d", "e"]
    await book.close()


async def test_named_requests_wait(tmp_path: Path) -> None:
    """Many at once end in one order, none lost."""
    book = book_in(tmp_path)
    await asyncio.gather(*(say(book, "a", reply=f"{n}", name="s") for n in range(5)))

    (held,) = book.held.values()
    full = held.open_session.history(full=True)
    assert {one.text for one in full if one.role == "assistant"} == set("01234")
    await book.close()


@pytest.mark.parametrize("lost", [1, 2, 3])
async def test_an_index_that_lost_its_end_loses_nothing(tmp_path: Path, lost: int) -> None:
    """What the log has beyond it is reverted and written again."""
    book = book_in(tmp_path)
    first = await say(book, "a", reply="b")
    await say(book, "a", "b", "c", reply="d")
    await book.close()
    path = tmp_path / INDEX_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-lost]) + lines[-lost][:5])

    book = book_in(tmp_path)
    assert await say(book, "a", "b", "c", "d", "e", reply="f") == first

    assert await texts(book, first) == ["a", "b", "c", "d", "e", "f"]
    await book.close()


async def test_sessions_beyond_the_limit_are_closed_and_found_again(tmp_path: Path) -> None:
    """The one that was not used for longest goes first."""
    book = book_in(tmp_path, open_sessions_max=2)
    names = [await say(book, text, reply="r") for text in "abcd"]

    assert list(book.held) == names[2:]
    assert await say(book, "a", "r", "more") == names[0]
    await book.close()


async def test_a_root_belongs_to_one_process(tmp_path: Path) -> None:
    """The second one is told so, and what is there stays."""
    book = book_in(tmp_path)
    session = await say(book, "a", reply="b")
    with pytest.raises(minutebook.StoreError, match="another process"):
        book_in(tmp_path)
    await book.close()

    again = book_in(tmp_path)
    assert await say(again, "a", "b", "c") == session
    await again.close()


async def test_a_bad_line_of_the_index_is_stepped_over(tmp_path: Path) -> None:
    """The others count."""
    book = book_in(tmp_path)
    session = await say(book, "a", reply="b")
    await book.close()
    path = tmp_path / INDEX_NAME
    path.write_bytes(b"\xff\n{}\n" + path.read_bytes() + b'{"torn')

    again = book_in(tmp_path)
    assert await say(again, "a", "b", "c") == session
    await again.close()


async def test_files_are_private(tmp_path: Path) -> None:
    """The key and the index are their owner's alone; the index has no text in it."""
    root = tmp_path / "root"
    book = book_in(root)
    await say(book, "a very telling text", reply="b")
    await book.close()

    assert (root / KEY_NAME).stat().st_mode & 0o077 == 0
    assert (root / INDEX_NAME).stat().st_mode & 0o077 == 0
    assert b"telling" not in (root / INDEX_NAME).read_bytes()


ITEMS = st.lists(st.sampled_from([b"a", b"b"]), max_size=9)


@given(ITEMS, ITEMS)
def test_the_common_length(one: list[bytes], other: list[bytes]) -> None:
    """As a walk from the beginning finds it."""
    parted = (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])

    assert common_length(one, other) == next(parted, min(len(one), len(other)))


async def test_what_is_remembered_of_a_request_changes_no_link(tmp_path: Path) -> None:
    """A request is hashed alike, whatever came before it."""
    book = book_in(tmp_path)
    requests = [asked(*words) for words in ("abc", "abd", "ab", "abdef", "x", "abc")]

    for one in requests:
        fresh = Book(book.settings)
        fresh._key = book._key
        assert book.history(one, "n") == fresh.history(one, "n")
    await book.close()


async def test_what_is_remembered_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number and by bytes."""
    monkeypatch.setattr("minutebook.gateway.book.RECENT_MAX", 3)
    book = book_in(tmp_path)
    for number in range(9):
        book.history(asked(f"{number}"), "n")
    assert len(book._recent) == 3
    monkeypatch.setattr("minutebook.gateway.book.RECENT_BYTES_MAX", 10)
    book.history(asked("a"), "n")

    assert (len(book._recent), book._recent_total, book._recent_bytes) == (0, 0, {})
    await book.close()


STEPS = st.lists(
    st.tuples(st.lists(st.sampled_from("ab"), min_size=1, max_size=5), st.sampled_from("ab")),
    min_size=1,
    max_size=5,
)


@settings(max_examples=15, deadline=None)
@given(STEPS)
async def test_whatever_clients_send_the_log_is_what_they_sent(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[str], str]]
) -> None:
    """After any requests, each session ends with the history and the reply of its last one."""
    book = book_in(tmp_path_factory.mktemp("root"))
    last: dict[str, list[str]] = {}
    for history, reply in steps:
        session = await say(book, *history, reply=reply)
        last[session] = [*history, reply]
        assert await texts(book, session) == last[session]
    for session, expected in last.items():
        assert await texts(book, session) == expected
    await book.close()
