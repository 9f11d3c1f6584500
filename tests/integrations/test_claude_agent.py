import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minutebook
from minutebook.integrations.claude_agent import MinutebookStore
from tests.integrations.support import everything

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.sampled_from(["", "a", "好"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=5,
)
ENTRIES = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "summary", "claude_agent_entry", "text"])},
    optional={"message": VALUES, "content": VALUES, "n": VALUES},
)
KEY = {"project_key": "-work", "session_id": "s"}


def names(folder: Path) -> list[str]:
    """Give what a folder holds."""
    return [path.name for path in folder.iterdir()]


async def test_it_keeps_the_contracts_of_the_sdk() -> None:
    """The suite that the SDK has for stores passes."""
    testing = pytest.importorskip("claude_agent_sdk.testing", reason="needs the extra claude-agent")

    with tempfile.TemporaryDirectory() as root:
        made = iter(range(1_000))
        await testing.run_session_store_conformance(
            lambda: MinutebookStore(Path(root, str(next(made))))
        )


@given(batches=st.lists(st.lists(ENTRIES, max_size=3), max_size=3))
@settings(max_examples=20)
async def test_entries_come_back_as_they_went_in(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[dict[str, Any]]]
) -> None:
    """Whatever they hold."""
    store = MinutebookStore(tmp_path_factory.mktemp("c"))
    for batch in batches:
        await store.append(KEY, batch)

    assert (await store.load(KEY) or []) == [entry for batch in batches for entry in batch]


@pytest.mark.parametrize("name", ["..", ".", "", "a/../../b", "/etc", "a b", "好", "%2E"])
async def test_no_key_leads_out_of_the_root(tmp_path: Path, name: str) -> None:
    """And each key comes back as it was."""
    store = MinutebookStore(tmp_path / "root")
    key = {"project_key": name or "x", "session_id": "s" + name}

    await store.append({**key, "subpath": "a" + name}, [{"type": "user"}])
    await store.append(key, [{"type": "user"}])

    assert names(tmp_path) == ["root"]
    assert len(names(tmp_path / "root")) == 1
    assert await store.list_subkeys(key) == ["a" + name]
    listed = await store.list_sessions(key["project_key"])
    assert [one["session_id"] for one in listed] == ["s" + name]


async def test_an_entry_that_comes_again_is_written_once(tmp_path: Path) -> None:
    """A batch that is tried again changes nothing."""
    store = MinutebookStore(tmp_path)
    first = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Read it."}}
    second = {"type": "assistant", "uuid": "u2", "message": {"content": [{"text": "It is read."}]}}

    await store.append(KEY, [first])
    await store.append(KEY, [first, second, second])

    assert await store.load(KEY) == [first, second]
    assert await everything(tmp_path / "-work" / "s") == ["Read it.", "It is read."]


async def test_a_compaction_takes_nothing_from_what_is_resumed(tmp_path: Path) -> None:
    """Entries are given back from every log of the session."""
    store = MinutebookStore(tmp_path)
    entries = [
        {"type": kind, "uuid": f"{kind}{number}", "message": {"content": f"line {number}\n" * 300}}
        for number in range(8)
        for kind in ("user", "assistant")
    ]
    await store.append(KEY, entries)
    async with minutebook.open(tmp_path / "-work" / "s", window=40_000) as book:
        assert (await book.compact(target=0.1)).changed

    assert await store.load(KEY) == entries
