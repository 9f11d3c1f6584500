from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minutebook
from minutebook.integrations.mirror import Mirror

LISTS = st.lists(
    st.lists(
        st.builds(
            lambda role, text: {"role": role, "content": text},
            st.sampled_from(["user", "assistant"]),
            st.sampled_from(["a", "b", "好", ""]),
        ),
        max_size=4,
    ),
    max_size=5,
)


@given(lists=LISTS)
@settings(max_examples=40)
async def test_each_list_is_sent_as_it_is_and_no_word_is_lost(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[dict[str, Any]]]
) -> None:
    """Also when a list is not the one before with something added."""
    folder = tmp_path_factory.mktemp("m")
    mirror = Mirror(folder, durability="process")
    for messages in lists:
        assert await mirror.fitted(messages) == list(range(len(messages)))
    async with minutebook.open(folder) as book:
        full = {(message.role, message.text) for message in book.history(full=True)}

    assert full == {(one["role"], one["content"]) for messages in lists for one in messages}


async def test_only_what_is_new_is_written_with_a_checkpoint_before_each_call(
    tmp_path: Path,
) -> None:
    """A list that grows is written once, also by another process later."""
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    await Mirror(tmp_path).fitted(messages[:1], system="Be short.")
    await Mirror(tmp_path).kept(messages)
    await Mirror(tmp_path).fitted(messages)

    async with minutebook.open(tmp_path) as book:
        assert [message.text for message in book.context.history] == ["one", "two"]
        assert len(book.context.checkpoints) == 2
        assert book.context.system_prompt == "Be short."


async def test_a_long_list_is_compacted_and_followed_on(tmp_path: Path) -> None:
    """What is shortened is given anew, the rest by its index; the next call adds to it."""
    mirror = Mirror(tmp_path, window=4_000)
    messages: list[dict[str, Any]] = []
    sent: list[int | dict[str, Any]] = []
    for number in range(12):
        call = {"name": "read", "arguments": "{}"}
        calls = [{"type": "function", "id": f"c{number}", "function": call}]
        messages += [
            {"role": "user", "content": f"Read part {number}."},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * 200},
            {"role": "assistant", "content": "I have read it."},
        ]
        sent = await mirror.fitted(messages)

    assert sent[-1] == len(messages) - 1
    assert len([one for one in sent if isinstance(one, int)]) < len(messages)
    async with minutebook.open(tmp_path, mode="r", window=4_000) as book:
        assert book.used < 4_000
        full = [message.text for message in book.history(full=True)]
    assert all(f"line {number}\n" * 200 in full for number in range(12))
