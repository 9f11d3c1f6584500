"""Codex rollouts, damaged as they are found, and mended."""

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.formats.codex import read
from minutebook.formats.mending.codex import mend
from minutebook.formats.source import Source
from minutebook.formats.writers.codex import WRITER
from minutebook.providers.view import UNKNOWN_OUTCOME
from minutebook.records import Record
from minutebook.turns import pair
from tests.formats.writers.written import ABOUT, conversations


def line(**payload: Any) -> bytes:
    """Write an item's line."""
    told = {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}
    return json.dumps(told).encode() + b"\n"


CALL = {"type": "function_call", "call_id": "a", "name": "shell", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "ok"}


@given(conversations(maker="openai", times=True))
def test_a_sound_rollout_stays_byte_for_byte(records: list[Record]) -> None:
    """What we write needs no mending."""
    data = WRITER.write(records, ABOUT).data
    assert mend(data).data == data


@settings(max_examples=60)
@given(conversations(maker="openai", times=True), st.integers(0, 10_000))
def test_a_damaged_one_is_sound_afterwards(records: list[Record], seed: int) -> None:
    """Each call has an output, each output a call, and there is nothing more to do."""
    random = Random(seed)
    first, *rest = WRITER.write(records, ABOUT).data.splitlines(keepends=True)
    kept = [first, *(one for one in rest if random.random() < 0.8)]
    mended = mend(b"".join(kept))

    assert mend(mended.data).actions == ()
    items = [json.loads(one)["payload"] for one in mended.data.splitlines()]
    calls = [one["call_id"] for one in items if str(one.get("type")).endswith("_call")]
    outputs = [one["call_id"] for one in items if str(one.get("type")).endswith("_output")]
    assert set(calls) == set(outputs)
    assert pair(read(Source(mended.data), 0).sent).open == ()


def test_what_is_missing_is_marked_and_what_nobody_asked_for_is_told() -> None:
    """Directly behind the call; the words of an orphan are kept."""
    data = (
        line(**OUTPUT)
        + line(**CALL)
        + line(type="custom_tool_call", call_id="b", name="p", input="x")
    )
    mended = mend(data)
    items = [json.loads(one)["payload"] for one in mended.data.splitlines()]
    assert [item["type"] for item in items] == [
        "message",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
    ]
    assert items[0]["content"][0]["text"].endswith("ok")
    assert items[-1]["output"] == UNKNOWN_OUTCOME
    assert len(mended.actions) == 3
    assert mend(mended.data).actions == ()


@given(st.binary(max_size=120))
def test_any_bytes_are_taken(data: bytes) -> None:
    """Nothing is raised."""
    assert mend(mend(data).data).actions == ()
