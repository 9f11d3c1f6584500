"""Cline's newer store to records."""

import json
from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.cline_sdk import beside, detect, read
from minutebook.formats.cline_sidecar import prefix_hash
from minutebook.formats.value import Reading
from minutebook.records import SystemPrompt
from minutebook.tokens.spent import Spent
from tests.formats.altered import altered, document_source, holds, origins, texts, usages

Entry = dict[str, Any]
METRICS = {"inputTokens": 50, "outputTokens": 5, "cacheReadTokens": 30, "cacheWriteTokens": 8}


def entry(name: str, role: str, *blocks: Any, **keys: Any) -> Entry:
    return {"id": name, "role": role, "content": [*blocks], "ts": 1767323045000, **keys}


def words(text: str) -> Entry:
    return {"type": "text", "text": text}


MESSAGES = [
    entry("m1", "user", words("task"), {"type": "file", "path": "a.py", "content": "x = 1"}),
    entry("m2", "assistant", words("ok"),
          {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
          metrics=METRICS, modelInfo={"id": "m-1"}),
    entry("m3", "user", {"type": "tool_result", "tool_use_id": "c1", "content": "done"}),
    entry("m4", "assistant", words("bye"), metrics=METRICS),
    entry("m5", "user", words("go on")),
]  # fmt: skip
DOCUMENT = {
    "version": 1,
    "updated_at": "2026-01-02T03:05:05Z",
    "agent": "lead",
    "sessionId": "s1",
    "system_prompt": "be kind",
    "messages": MESSAGES,
}
SUMMARY = {"role": "user", "content": [words("so far")], "metadata": {"kind": "compaction_summary"}}
SIDECAR = {
    "version": 1,
    "source_message_count": 4,
    "source_prefix_hash": prefix_hash(MESSAGES[:4]),
    "messages": [SUMMARY, {**MESSAGES[3], "metrics": None}],
    "system_prompt": "be short",
}
MANIFEST = {
    "cwd": "/w",
    "model": "m-0",
    "started_at": "2026-01-02T03:04:00Z",
    "metadata": {"title": "the title", "fork": {"forkedFromSessionId": "s0"}},
}


def of(document: Any = DOCUMENT, **files: Any) -> Reading:
    found = {
        name.replace("_", ".") + ".json": json.dumps(value).encode()
        for name, value in files.items()
    }
    reading = read(document_source(document, path="x/s1.messages.json", beside=found), 0)
    holds(reading)
    return reading


@given(altered({"document": DOCUMENT, "sidecar": SIDECAR, "manifest": MANIFEST}))
def test_any_values_are_read_or_are_no_session(value: Any) -> None:
    """Keys of unexpected types never raise, in any of the files."""
    given_files = value if isinstance(value, dict) else {}
    document = given_files.get("document")
    if detect(document_source(document)):
        of(document, s1_compaction=given_files.get("sidecar"), s1=given_files.get("manifest"))


def test_a_session_is_its_messages_and_its_manifest() -> None:
    """Files become texts with their content; Cline's input has in it what was cached."""
    reading = of(s1=MANIFEST)

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert texts(reading.sent) == ["task\n[file a.py]\nx = 1", "ok", "done", "bye", "go on"]
    assert origins(reading.sent) == [None, "assistant", "tool", "assistant", None]
    assert [(item.input, item.cache_read, item.cache_write) for item in usages(reading)] == [
        (12, 30, 8), (12, 30, 8),
    ]  # fmt: skip
    assert reading.spent == Spent(calls=2, input=24, output=10, cache_read=60, cache_write=16)
    assert reading.counts == {"message_ids": 5}
    assert (reading.session_id, reading.parent_session, reading.cwd) == ("s1", "s0", "/w")
    assert (reading.title, reading.model, reading.started) == ("the title", "m-1", 1767323045.0)


def test_a_compaction_that_fits_says_what_is_sent() -> None:
    """Its summary, the messages that it kept, and what came after; the rest is older."""
    reading = of(s1_compaction=SIDECAR)

    assert reading.records[0] == SystemPrompt(content="be short")
    assert texts(reading.sent) == ["so far", "bye", "go on"]
    assert origins(reading.sent)[0] == "summary"
    assert texts(reading.earlier) == ["task\n[file a.py]\nx = 1", "ok", "done"]
    assert len(reading.everything) == 6
    assert usages(reading) == []
    assert reading.counts["compactions"] == 1
    assert reading.problems == ()


def test_a_compaction_that_does_not_fit_is_not_used() -> None:
    """And a problem; one that is broken is none."""
    reading = of(s1_compaction={**SIDECAR, "source_prefix_hash": "sha256:0"})

    assert reading.records == of().records
    assert [problem.kind for problem in reading.problems] == ["sidecar"]
    assert of(s1_compaction=[5]).problems == ()


def test_a_message_that_a_compaction_changed_is_another_one() -> None:
    """Both are there: the one as it was, and the one that is sent."""
    changed = {**MESSAGES[0], "content": [words("task, in short")]}
    reading = of(s1_compaction={**SIDECAR, "messages": [changed]})

    assert texts(reading.sent) == ["task, in short", "go on"]
    assert texts(reading.earlier)[0] == "task\n[file a.py]\nx = 1"


def test_a_compacted_file_is_read_as_it_is() -> None:
    """As older versions wrote it: what was before is not there."""
    notice = {**MESSAGES[0], "metadata": {"kind": "compaction"}}
    reading = of({**DOCUMENT, "messages": [notice, SUMMARY]})

    assert origins(reading.sent) == [None, "summary"]
    assert reading.counts["compactions"] == 2
    assert detect(document_source(SIDECAR)) == (
        "an object with the keys version, source_message_count and messages"
    )


def test_what_is_asked_for_and_what_is_not_taken() -> None:
    """By the store's own names; objects without the store's keys are others."""
    assert beside(document_source(DOCUMENT, path="x/s1.messages.json")) == (
        "s1.json",
        "s1.compaction.json",
    )
    assert beside(document_source(DOCUMENT, path="x/other.json")) == ()
    assert beside(document_source(DOCUMENT, path="x/[a].messages.json")) == ()
    assert detect(document_source({"messages": MESSAGES})) is None
    assert detect(document_source({**DOCUMENT, "version": "1"})) is None
    assert detect(document_source({"version": 1, "messages": []})) is None
    nameless = {key: value for key, value in DOCUMENT.items() if key != "sessionId"}
    assert read(document_source(nameless, name="s9.messages"), 0).session_id == "s9"
    with pytest.raises(FormatError, match="no conversation 1"):
        read(document_source(DOCUMENT), 1)
