import asyncio
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.gateway.asking import read_request
from minutebook.gateway.exchange import (
    as_overflow,
    counted,
    exchanging,
    in_order,
    nothing,
    spelled,
    violations,
)
from minutebook.gateway.replies import Reply
from minutebook.providers.overflow import classify
from minutebook.providers.view import make_view
from minutebook.testing.wire import openai_overflow
from tests.gateway.test_book import book_in, say

LONG = "some words of a long output\n" * 400
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]


def conversation(count: int) -> list[dict[str, Any]]:
    """Make an Anthropic conversation of so many calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it all."}]
    for n in range(count):
        call = {"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"path": f"f{n}"}}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"{n} {LONG}"}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
    return messages


def request(messages: list[dict[str, Any]], **more: Any) -> Any:
    body = {"model": "m", "max_tokens": 500, "tools": TOOLS, "messages": messages, **more}
    return read_request("messages", json.dumps(body).encode())


def everything(root: Path) -> bytes:
    """Give all that is on disk."""
    return b"".join(one.read_bytes() for one in root.rglob("*") if one.is_file())


async def bodies(root: Path, asked: list[Any], **values: Any) -> list[Any]:
    """Give what is sent for each request, None for the client's own bytes."""
    found = []
    book = book_in(root, **values)
    for one in asked:
        async with exchanging(book, one, book.namespace("k"), "") as exchange:
            assert exchange is not None
            found.append(None if exchange.body is None else json.loads(exchange.body))
            assert exchange.facts["compacted"] == exchange.rewritten
    await book.close()
    return found


async def test_what_is_sent_grows_only_at_its_end_between_compactions(tmp_path: Path) -> None:
    """C100: at most a few breaks; the same bytes after a restart; cache marks at the end."""
    asked = [request(conversation(n)) for n in range(12)]
    sent = [body for body in await bodies(tmp_path, asked, window=16_000) if body]

    breaks = sum(
        later["messages"][: len(earlier["messages"])] != earlier["messages"]
        for earlier, later in pairwise(sent)
    )
    assert sent
    assert breaks <= 3
    assert all("Do it all." in json.dumps(body) for body in sent)
    (again,) = await bodies(tmp_path, asked[-1:], window=16_000)
    assert again == sent[-1]


async def test_what_a_compaction_saves_is_noted_for_every_later_request(tmp_path: Path) -> None:
    """It counts once as a compaction, and is saved until the history goes back before it."""
    book = book_in(tmp_path, window=16_000)
    noted = []
    for count in (2, 5, 6, 12, 1):
        asked = request(conversation(count))
        async with exchanging(book, asked, book.namespace("k"), "") as exchange:
            assert exchange is not None
            noted.append(exchange.facts)
    await book.close()

    saved: list[Any] = [one["tokens_saved"] for one in noted]
    assert [one["compacted_now"] for one in noted] == [later > now for now, later in grown(saved)]
    assert saved[0] == saved[-1] == 0
    assert saved[3] > 0


def grown(numbers: list[Any]) -> list[tuple[Any, Any]]:
    return list(pairwise([0, *numbers]))


async def test_an_exchange_waits_for_the_disk_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for what is new with its checkpoint, once for the reply."""
    waits: list[int] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, counting(getattr(os, name), waits))
    book = book_in(tmp_path, durability="disk")
    await say(book, "a", reply="b")
    waits.clear()

    await say(book, "a", "b", "c", reply="d")

    assert len(waits) == 2
    await book.close()


def counting(sync: Any, waits: list[int]) -> Any:
    def counted_sync(descriptor: int) -> None:
        waits.append(descriptor)
        sync(descriptor)

    return counted_sync


async def test_begun_together_all_end_before_the_first_failure_is_raised() -> None:
    """So nothing is written behind the back of who was told that it failed."""
    ended: list[str] = []

    async def fail() -> None:
        raise ValueError("no")

    async def late() -> None:
        await asyncio.sleep(0)
        ended.append("late")

    with pytest.raises(ValueError, match="no"):
        await in_order(nothing(), fail(), late())

    assert ended == ["late"]
    assert await in_order(nothing(), nothing(), nothing()) == (None, None, None)


async def test_a_fork_uses_the_compaction_of_its_beginning(tmp_path: Path) -> None:
    """A prefix is made smaller once, for every request that begins with it."""
    long, more = conversation(10), conversation(11)
    branch = [
        *long,
        *conversation(11)[-2:-1],
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c10", "content": "another"}],
        },
    ]
    _, one, two = await bodies(
        tmp_path, [request(long), request(more), request(branch)], window=30_000
    )

    assert one is not None
    assert two["messages"][:3] == one["messages"][:3]


async def test_an_unknown_item_is_a_doubt(tmp_path: Path) -> None:
    """The request goes through untouched, however large."""
    messages = conversation(10)
    messages[0]["content"] = [{"type": "container_upload", "file_id": "f"}]
    book = book_in(tmp_path, window=16_000)
    async with exchanging(book, request(messages), "n", "") as exchange:
        assert exchange is not None
        assert exchange.body is None
        assert exchange.doubts == ["unknown item"]
        assert not await exchange.overflowed({"error": {"code": "context_length_exceeded"}})
    await book.close()


async def test_an_overflow_is_mended_once(tmp_path: Path) -> None:
    """By a harder compaction; any other error changes nothing."""
    error = {"error": {"message": "prompt is too long: 30001 tokens > 16000 maximum"}}
    book = book_in(tmp_path)
    async with exchanging(book, request(conversation(10)), "n", "") as exchange:
        assert exchange is not None
        assert exchange.body is None
        assert await exchange.overflowed(error)
        assert exchange.body is not None
        assert len(exchange.body) < 60_000
        assert not await exchange.overflowed(error)
    await book.close()


def test_too_much_room_for_the_reply_is_an_overflow_of_the_input() -> None:
    """The room is the client's choice."""
    error = openai_overflow(15_202, 1_000, 16_000)

    fault = classify(as_overflow(error))

    assert classify(error).kind == "output_reserve_too_big"
    assert (fault.kind, fault.window_tokens) == ("context_overflow", 16_000)
    assert as_overflow("else") == "else"


async def test_counting_counts_what_would_be_sent(tmp_path: Path) -> None:
    """And changes nothing; where nothing was compacted it is the client's own request."""
    book = book_in(tmp_path, window=16_000)
    asked = request(conversation(10))
    assert counted(book, asked, "n", "") is None
    async with exchanging(book, asked, "n", "") as exchange:
        assert exchange is not None
        sent = exchange.body
        await exchange.finish(Reply(messages=(minutebook.assistant("x"),), complete=True))
    more = [
        *conversation(10),
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "y"},
    ]

    body = counted(book, request(more), "n", "")

    assert sent is not None
    assert body is not None
    messages = json.loads(body)["messages"]
    assert messages[: len(json.loads(sent)["messages"])] == json.loads(sent)["messages"]
    assert "y" in json.dumps(messages[-1])
    await book.close()


async def test_a_secret_is_not_written_and_still_sent(tmp_path: Path) -> None:
    """Also once the request is made of the log."""
    secret = "sk-test-0000000000000000000000000000FAKE"
    messages = conversation(10)
    messages[0]["content"] = f"Use the key {secret} for it."
    (sent,) = await bodies(
        tmp_path, [request(messages, system=f"key {secret}")], window=16_000, redact=True
    )

    assert secret in json.dumps(sent["messages"])
    written = everything(tmp_path)
    assert secret.encode() not in written
    assert b"[redacted:provider-key#" in written


@pytest.mark.parametrize("api", ["chat", "messages"])
def test_the_clients_last_cache_mark_serves_what_is_sent(api: Any) -> None:
    """It stands on the last block; OpenAI has none."""
    mark = {"type": "ephemeral"}
    block = {"type": "text", "text": "x", "cache_control": mark}
    raw = json.dumps({"messages": [{"role": "user", "content": [block]}]}).encode()
    asked = read_request(api, raw)
    view = make_view(None, [minutebook.user("a"), minutebook.assistant("b"), minutebook.user("c")])

    messages = spelled(asked, view)

    assert violations(asked, messages) == []
    assert ("cache_control" in json.dumps(messages)) == (api == "messages")
