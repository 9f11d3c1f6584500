"""What a file is, reading it from disk, and that nothing in a file raises but our errors."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.codec import encode_line
from minutebook.errors import FormatError, StoreError
from minutebook.formats.reading import FORMATS, read, read_source, recognise
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import Message, user
from minutebook.records import Checkpoint, SystemPrompt
from tests.formats.transcripts import answer, boundary, dump, said, summary, typed, use, words

SAMPLES = Path(__file__).parents[2] / "../shared/samples"
NATIVE = encode_line(SystemPrompt(content="p")) + b'{"role":"user","content":"a","seq":1}\n'
KIMI = b'{"role": "_checkpoint", "id": 0}\n{"role":"user","content":"a"}\n'
CLAUDE = dump(
    [
        typed("u1", None, "task"),
        boundary("b1", "u1"),
        summary("s1", "b1"),
        said("a1", "s1", "m1", words("b"), usage={"output_tokens": 3}),
        said("a2", "a1", "m1", use("t1")),
        said("a3", "a2", "m1", use("t2")),
        answer("r2", "a3", "t2"),
        answer("r1", "a2", "t1"),
        typed("u2", "a1", "left"),
        {"type": "last-prompt", "leafUuid": "r1"},
    ]
)
TASK = [
    {"role": "user", "content": [words("a")], "ts": 1, "condenseParent": "X"},
    {"role": "assistant", "content": [use("t1")]},
    {"role": "user", "content": [words("so far")], "isSummary": True, "condenseId": "X"},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": []}]},
]
CHAT = [
    {"role": "system", "content": "p"},
    {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "content": "done"},
]
FILES = {
    "native": NATIVE,
    "kimi": KIMI,
    "claude-code": CLAUDE,
    "anthropic": json.dumps(TASK, indent=1).encode(),
    "openai-chat": json.dumps({"messages": CHAT}).encode() + b"\n" + json.dumps(CHAT).encode(),
}


def check(reading: Reading) -> None:
    """Check what must hold of every reading, whatever the bytes."""
    assert reading.format in FILES
    assert reading.evidence
    sent = reading.sent
    for record in reading.records:
        line = encode_line(record)
        assert line.endswith(b"\n")
        assert not isinstance(record, Message) or not record.role.startswith("_")
    places = [item.before for item in reading.left_out if item.why != "blanked"]
    assert places == sorted(places)
    assert all(0 <= place <= len(sent) for place in places)
    assert len(reading.everything) == len(sent) + len(places)
    assert len(reading.branch) == len(sent) + len(reading.earlier)
    assert all(count > 0 for count in reading.counts.values())


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


@given(st.sampled_from(sorted(FILES)).flatmap(lambda name: mutated(FILES[name])), st.integers(0, 2))
@settings(max_examples=300)
def test_damaged_files_are_read_or_refused(data: bytes, index: int) -> None:
    """Whatever happened to a file, it gives a reading that holds, or our own error."""
    with suppress(FormatError):
        check(read_source(Source(data, path="f"), index=index))


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    """Bytes that are no session give the one error that lists what was looked for."""
    with pytest.raises(FormatError, match="no known format"):
        read_source(Source(data, path="f"))


@given(st.data())
@settings(max_examples=40)
def test_damaged_samples_are_read_or_refused(draw: st.DataObject) -> None:
    """Real files, damaged: the same."""
    paths = [
        "kimi-cli/fixtures_kimi-code-migration/with-tool-calls/context.jsonl",
        "openai-chat/tau-bench_airline_one.json",
        "claude-code/v2.0.76_short_with-summary.jsonl",
        "claude-code/v2.1.56_zh_plan-mode.jsonl",
        "cline-sdk/agentic.compaction.json",
    ]
    path = SAMPLES / draw.draw(st.sampled_from(paths))
    if not path.exists():
        pytest.skip("../shared/samples is not beside the repository")
    data = draw.draw(mutated(path.read_bytes()))

    with suppress(FormatError):
        check(read_source(Source(data)))


@pytest.mark.parametrize("name", sorted(FILES))
def test_each_format_is_recognised_by_its_content(name: str) -> None:
    """By the content and with its evidence; the reader says the same."""
    source = Source(FILES[name], path="any.name")

    form, evidence = recognise(source)
    reading = form.read(source, 0)

    assert form.name == name
    assert (reading.format, reading.evidence) == (name, evidence)
    check(reading)


def test_the_registry_names_each_format_once() -> None:
    """Each has what a list of formats shows."""
    assert sorted(form.name for form in FORMATS) == sorted(FILES)
    assert all(form.description and form.looks_for for form in FORMATS)


def test_an_unknown_format_lists_what_was_looked_for() -> None:
    """Every format is named, and what the file seems to be."""
    with pytest.raises(FormatError) as unknown:
        read_source(Source(b"hello", path="f"))
    assert all(form.looks_for in unknown.value.what for form in FORMATS)
    with pytest.raises(FormatError, match="the file is empty"):
        read_source(Source(b" \n"))
    with pytest.raises(FormatError, match=r"event log, name the context\.jsonl"):
        read_source(Source(b'{"type": "metadata", "protocol_version": "1.10"}\n'))


def test_a_file_is_read_from_disk(tmp_path: Path) -> None:
    """Its name is the session's, but for names that all files of an agent have."""
    flat = tmp_path / "1b2c.jsonl"
    flat.write_bytes(KIMI)
    history = tmp_path / "task-7" / "api_conversation_history.json"
    history.parent.mkdir()
    history.write_bytes(FILES["anthropic"])

    assert read(flat).session_id == "1b2c"
    assert read(flat).sent == (Message(role="user", content="a"),)
    assert read(history).session_id == "task-7"
    assert read(history).format == "anthropic"


def test_the_index_picks_a_conversation(tmp_path: Path) -> None:
    """The first by default; the number of all is told."""
    path = tmp_path / "many.jsonl"
    first, second = [{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")

    assert read(path).sent[0].text == "a"
    assert read(path, index=1).sent[0].text == "b"
    assert read(path).counts == {"conversations": 2}
    with pytest.raises(FormatError, match="no conversation 2: the file holds 2"):
        read(path, index=2)


def test_a_sessions_directory_is_its_log_and_what_stands_beside(tmp_path: Path) -> None:
    """Title, rotations and sub-agents come from the neighbours, for the log's own path too."""
    (tmp_path / "context.jsonl").write_bytes(KIMI)
    (tmp_path / "state.json").write_text('{"custom_title": "the title"}')
    for name in (
        "context_1.jsonl",
        "context_007.jsonl.zst",
        "context_x.jsonl",
        "context_sub_1.jsonl",
    ):
        (tmp_path / name).touch()
    (tmp_path / "subagents" / "a1").mkdir(parents=True)

    reading = read(tmp_path)

    assert reading == read(tmp_path / "context.jsonl")
    assert (reading.format, reading.title) == ("kimi", "the title")
    assert reading.session_id == tmp_path.name
    assert reading.counts == {"rotations": 2, "subagents": 2}
    (tmp_path / "session.json").write_text('{"title": "ours"}')
    assert read(tmp_path).title == "ours"


def test_broken_neighbours_do_not_matter(tmp_path: Path) -> None:
    """A state that is torn, a folder, or a number gives no title."""
    (tmp_path / "context.jsonl").write_bytes(KIMI)
    (tmp_path / "state.json").write_text("[")
    (tmp_path / "session.json").mkdir()

    assert read(tmp_path).title == ""


def test_an_empty_log_is_an_empty_session(tmp_path: Path) -> None:
    """A session that was opened and never written to."""
    (tmp_path / "context.jsonl").touch()

    reading = read(tmp_path)

    assert (reading.format, reading.records) == ("native", ())
    assert reading.evidence == "an empty log of a session"


def test_a_directory_without_a_log_says_what_it_has(tmp_path: Path) -> None:
    """Rotations, other files, or nothing."""
    with pytest.raises(FormatError, match="it holds no session"):
        read(tmp_path)
    for name in ("a.jsonl", "b.jsonl", "c.json", "d.json"):
        (tmp_path / name).touch()
    with pytest.raises(
        FormatError, match=r"name one of its files \(a\.jsonl, b\.jsonl, c\.json, \.\.\.\)"
    ):
        read(tmp_path)
    for name in ("context_2.jsonl", "context_10.jsonl"):
        (tmp_path / name).touch()
    with pytest.raises(FormatError, match=r"the newest is context_10\.jsonl"):
        read(tmp_path)


def test_what_cannot_be_read_is_our_error(tmp_path: Path) -> None:
    """A missing path, a name that no system takes, and a pipe, which would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for path in (tmp_path / "none", Path("a\0b"), pipe):
        with pytest.raises(StoreError) as refused:
            read(path)
        assert refused.value.path == str(path)


def test_deep_nesting_is_damage(tmp_path: Path) -> None:
    """A line that nests without end is a bad line, and a whole file of it no session."""
    path = tmp_path / "deep.jsonl"
    path.write_bytes(KIMI + b"[" * 100_000 + b"\n")

    assert [problem.kind for problem in read(path).problems] == ["bad"]
    path.write_bytes(b"[" * 1_000_000)
    with pytest.raises(FormatError, match="no known format"):
        read(path)


def test_values_nested_as_deep_as_the_decoder_goes(tmp_path: Path) -> None:
    """Each depth is read, or refused by our own error."""
    path = tmp_path / "deep.json"
    for depth in (100, *range(900, 1100, 7)):
        deep = b"[" * depth + b"]" * depth
        block = b'{"type":"tool_use","id":"a","name":"f","input":' + deep + b"}"
        path.write_bytes(b'[{"role":"assistant","content":[' + block + b"]}]")
        try:
            (message,) = read(path).sent
        except FormatError:
            assert depth > 100
        else:
            assert len(message.calls) == 1


def test_a_real_user_turn_has_its_checkpoint() -> None:
    """So that revert is useful at once."""
    reading = read_source(Source(CLAUDE))

    assert reading.records.count(user("left")) == 0
    assert [item for item in reading.records if isinstance(item, Checkpoint)] == []
    left = dump([typed("u1", None, "a"), typed("u2", "u1", "b")])
    marks = [item.id for item in read_source(Source(left)).records if isinstance(item, Checkpoint)]
    assert marks == [0, 1]
