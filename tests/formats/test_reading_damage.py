"""Whatever is done to a file, it is read or refused by our own error."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.reading import FORMATS, read_source
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from tests.formats.altered import altered, document_source, holds, line_source
from tests.formats.specimens import FILES

SAMPLES = Path(__file__).parents[2] / "../shared/samples"
NAMES = {form.name for form in FORMATS}
SMALL_SAMPLES = (
    "claude-code/v2.0.76_short_with-summary.jsonl",
    "claude-code/v2.1.56_zh_plan-mode.jsonl",
    "cline-sdk/agentic.compaction.json",
    "codex/rollout_short.jsonl",
    "gemini-cli/session_json_small.json",
    "kimi-cli/fixtures_kimi-code-migration/with-tool-calls/context.jsonl",
    "kimi-code/agent-sessions_fixture/assistant_tools.jsonl",
    "kimi-code/vis_fixtures/sample-compaction/agents/main/wire.jsonl",
    "mini-swe-agent/v1_list_local.traj.json",
    "openai-chat/tau-bench_airline_one.json",
    "opencode/export_child-session.json",
    "openhands/v1_goal_events.jsonl",
    "pi/before-compaction.jsonl",
    "sharegpt/dummy_conversation.json",
    "swe-agent/function_calling.traj",
)
"""One of each format that there are samples of, none much larger than its part in the test."""
SAMPLE_BYTES_MAX = 300_000
"""Of a larger sample only the head is damaged, so that a try stays short."""


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw damage: pieces that are cut out, doubled, moved, or replaced by other bytes."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from([b"", b"\n", b"\0", b"null", b'"', b"[[", b'{"role":"_usage"}']),
                st.just(data[start:end] * 2),
            )
        )
        data = data[:start] + piece + data[end:]
    return data


def check(reading: Reading) -> None:
    """Check what must hold of every reading of one of our formats."""
    assert reading.format in NAMES
    holds(reading)


@given(st.sampled_from(sorted(FILES)).flatmap(lambda name: mutated(FILES[name])), st.integers(0, 2))
@settings(max_examples=400)
def test_damaged_files_are_read_or_refused(data: bytes, index: int) -> None:
    """Pieces of bytes that are gone, doubled or other ones, in a file of each format."""
    with suppress(FormatError):
        check(read_source(Source(data, path="f"), index=index))


@given(st.data(), st.sampled_from(sorted(FILES)))
@settings(max_examples=200)
def test_files_with_strange_values_are_read_or_refused(draw: st.DataObject, name: str) -> None:
    """Whole JSON, but with values that nobody expects: the same, whichever format takes it."""
    data = FILES[name]
    source = Source(data)
    lines = source.several_lines
    value = [json.loads(line) for line in data.splitlines()] if lines else json.loads(data)
    found = draw.draw(altered(value))
    strange = line_source(found if isinstance(found, list) else [found])

    with suppress(FormatError):
        check(read_source(strange if lines else document_source(found)))


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    """Bytes that are no session give the one error that lists what was looked for."""
    with pytest.raises(FormatError, match="no known format"):
        read_source(Source(data, path="f"))


@given(st.data(), st.sampled_from(SMALL_SAMPLES))
@settings(max_examples=80)
def test_damaged_samples_are_read_or_refused(draw: st.DataObject, name: str) -> None:
    """Real files, damaged: the same."""
    path = SAMPLES / name
    if not path.exists():
        pytest.skip("../shared/samples is not beside the repository")
    data = draw.draw(mutated(path.read_bytes()[:SAMPLE_BYTES_MAX]))

    with suppress(FormatError):
        check(read_source(Source(data)))
