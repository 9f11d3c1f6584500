import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minutebook
from minutebook.errors import InvalidMessage
from minutebook.integrations.openai_agents import MinutebookSession, items_of, messages_of
from tests.integrations.scripted import agents_model

agents = pytest.importorskip("agents", reason="needs the extra agents")

Item = dict[str, Any]
LONG = "a text that is long enough to be written down once only, whatever holds it"


def said(text: str, **more: object) -> Item:
    """Make the item of a model's text, as the API gives it."""
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {"type": "message", "role": "assistant", "id": "m1", "content": content, **more}


def called(number: int) -> Item:
    arguments = json.dumps({"path": f"{LONG} {number}"})
    head = {"type": "function_call", "call_id": f"c{number}", "name": "read"}
    return {**head, "arguments": arguments, "id": f"f{number}", "status": "completed"}


def answered(number: int, text: str) -> Item:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": text}


TEXTS = st.sampled_from(["", "hello", "好", LONG, '{"a": 1}'])
ITEMS = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, TEXTS),
    st.builds(lambda text: {"role": "assistant", "content": text}, TEXTS),
    st.builds(said, TEXTS),
    st.builds(called, st.integers(0, 3)),
    st.builds(answered, st.integers(0, 3), TEXTS),
    st.builds(
        lambda text: {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": text},
        TEXTS,
    ),
    st.just({"type": "web_search_call", "id": "w", "status": "completed", "action": {"q": LONG}}),
    st.just({"type": "ghost_snapshot", "id": "g"}),
    st.just({"type": "of_tomorrow", "openai_agents_items": 0, "inner": {"openai_agents_items": 0}}),
)
BATCHES = st.lists(ITEMS, max_size=5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), BATCHES),
        st.tuples(st.just("pop"), st.none()),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("get"), st.none() | st.integers(-1, 6)),
    ),
    max_size=10,
)


@given(items=BATCHES)
def test_messages_give_the_very_items_back(items: list[Item]) -> None:
    """Whatever an item holds, also what no message has a place for."""
    assert [item for message in messages_of(items) for item in items_of(message)] == items


@given(steps=STEPS)
@settings(max_examples=40)
async def test_it_does_what_the_sessions_of_the_sdk_do(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    """Step by step the same answers as those of SQLiteSession, and no word is ever lost."""
    folder = tmp_path_factory.mktemp("s")
    theirs = agents.SQLiteSession("s")
    written: list[Item] = []
    async with minutebook.open(folder, durability="process") as book:
        ours = MinutebookSession(book)
        for step, value in steps:
            if step == "add":
                written += value
                await theirs.add_items(value)
                await ours.add_items(value)
            elif step == "pop":
                assert await ours.pop_item() == await theirs.pop_item()
            elif step == "clear":
                await theirs.clear_session()
                await ours.clear_session()
            else:
                assert await ours.get_items(value) == await theirs.get_items(value)
        assert await ours.get_items() == await theirs.get_items()
        kept = [item for message in book.history(full=True) for item in items_of(message)]
    theirs.close()

    assert [item for item in written if item not in kept] == []


async def test_a_batch_with_a_wrong_item_writes_nothing(tmp_path: Path) -> None:
    """All of a batch is written, or none."""
    async with minutebook.open(tmp_path / "s") as book:
        with pytest.raises(InvalidMessage, match="item 1"):
            await MinutebookSession(book).add_items([{"role": "user", "content": "a"}, {"b": 1}])

        assert book.context.history == ()
        assert book.context.checkpoints == ()


async def test_a_long_text_is_written_once(tmp_path: Path) -> None:
    """The items that are kept beside a message name its texts and do not repeat them."""
    async with minutebook.open(tmp_path / "s") as book:
        await MinutebookSession(book).add_items([said(LONG), called(1)])

    assert (tmp_path / "s" / "context.jsonl").read_text().count(LONG) == 2


async def test_it_is_compacted_when_it_is_due_and_keeps_every_word(tmp_path: Path) -> None:
    """What is given fits the window, calls and results stay together, the log has it all."""
    async with minutebook.open(tmp_path / "s", window=4_000) as book:
        session = MinutebookSession(book)
        for number in range(12):
            await session.add_items([{"role": "user", "content": f"Read part {number}."}])
            await session.add_items([called(number), answered(number, f"line {number}\n" * 200)])
            await session.add_items([said(f"I have read part {number}.")])
        items = await session.get_items()
        full = "".join(message.text for message in book.history(full=True))

        assert book.used < 4_000
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert calls == results
    assert all(f"line {number}\n" * 200 in full for number in range(12))


async def test_it_is_compacted_if_that_is_forced(tmp_path: Path) -> None:
    """Without `force` only when due; without a window not at all."""
    async with minutebook.open(tmp_path / "s", window=100_000) as book:
        session = MinutebookSession(book)
        for number in range(8):
            await session.add_items([called(number), answered(number, "line\n" * 2_000)])
        await session.run_compaction({"force": False})
        before = book.context.lineage
        await session.run_compaction({"force": True})

        assert before == ()
        assert len(book.context.lineage) == 1
    async with minutebook.open(tmp_path / "t") as book:
        await MinutebookSession(book).run_compaction({"force": True})


async def test_the_limit_of_the_settings_holds(tmp_path: Path) -> None:
    """An explicit limit goes before it."""
    async with minutebook.open(tmp_path / "s") as book:
        session = MinutebookSession(book)
        session.session_settings = agents.SessionSettings(limit=1)
        await session.add_items([{"role": "user", "content": str(n)} for n in range(3)])

        assert [item["content"] for item in await session.get_items()] == ["2"]
        assert len(await session.get_items(2)) == 2


async def test_the_runner_takes_it(tmp_path: Path) -> None:
    """A second run, with the log opened anew, is sent all of the first."""
    model = agents_model(["first answer", "second answer"])
    agent = agents.Agent(name="a", model=model)
    for words in ("one", "two"):
        async with minutebook.open(tmp_path / "s") as book:
            session = MinutebookSession(book)
            assert isinstance(session, agents.memory.Session)
            await agents.Runner.run(agent, words, session=session)

    texts = json.dumps(model.inputs[1])
    assert "one" in texts
    assert "first answer" in texts
    assert "two" in texts
