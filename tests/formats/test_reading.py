"""What a file is, and reading it from disk with what stands beside it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from minutebook.errors import FormatError, MinutebookError, StoreError
from minutebook.formats import reading, registry
from minutebook.formats.reading import FORMATS, read, read_source, recognise
from minutebook.formats.source import Source
from minutebook.formats.value import Format, Reading
from minutebook.messages import Message, user
from minutebook.records import Checkpoint
from tests.formats import test_cline_sdk, test_opencode, test_openhands, test_openhands_v0
from tests.formats.altered import holds
from tests.formats.specimens import FILES, TASK, document
from tests.formats.transcripts import dump, typed


@pytest.mark.parametrize("name", sorted(FILES))
def test_each_format_is_recognised_by_its_content(name: str) -> None:
    """By the content and with its evidence; the reader says the same."""
    source = Source(FILES[name], path="any.name")

    form, evidence = recognise(source)
    reading = form.read(source, 0)

    assert form.name == name
    assert (reading.format, reading.evidence) == (name, evidence)
    holds(reading)


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
    flat.write_bytes(FILES["kimi"])
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
    (tmp_path / "context.jsonl").write_bytes(FILES["kimi"])
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
    (tmp_path / "context.jsonl").write_bytes(FILES["kimi"])
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
    path.write_bytes(FILES["kimi"] + b"[" * 100_000 + b"\n")

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
    reading = read_source(Source(FILES["claude-code"]))

    assert reading.records.count(user("left")) == 0
    assert [item for item in reading.records if isinstance(item, Checkpoint)] == []
    left = dump([typed("u1", None, "a"), typed("u2", "u1", "b")])
    marks = [item.id for item in read_source(Source(left)).records if isinstance(item, Checkpoint)]
    assert marks == [0, 1]


def stored(folder: Path, files: dict[str, Any]) -> None:
    """Write values as files below a folder."""
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else document(value))


@pytest.mark.parametrize(
    ("main", "data"),
    [
        ("agents/main/wire.jsonl", FILES["kimi-code"]),
        ("api_conversation_history.json", FILES["anthropic"]),
        ("claude_messages.json", FILES["anthropic"]),
        ("s1.messages.json", FILES["cline-sdk"]),
    ],
)
def test_a_sessions_folder_is_its_main_file(tmp_path: Path, main: str, data: bytes) -> None:
    """Of each agent that gives a session a folder; other files there change nothing."""
    folder = tmp_path / "s1"
    stored(folder, {main: data, "a.json": {}, "z.jsonl": b"{}"})

    assert read(folder) == read(folder / main)


def test_events_in_a_folder_are_one_conversation(tmp_path: Path) -> None:
    """Each is a file of its own, named by its number; any of them names the conversation."""
    first = {f"first/event-{number:05d}-x.json": event
             for number, event in enumerate(test_openhands.WHOLE)}  # fmt: skip
    old = {f"old/events/{number}.json": event
           for number, event in enumerate(test_openhands_v0.WHOLE)}  # fmt: skip
    stored(tmp_path, {**first, **old})

    for folder, name in (("first", "openhands"), ("old/events", "openhands-v0")):
        found = read(tmp_path / folder)
        whole = read_source(Source(FILES[name]))
        assert (found.format, found.sent) == (name, whole.sent)
        assert found.left_out == whole.left_out


def test_a_conversation_of_events_has_its_state_beside_it(tmp_path: Path) -> None:
    """The folder of the state, or the state itself: both are the conversation."""
    events = {f"events/event-{number:05d}-x.json": event
              for number, event in enumerate(test_openhands.WHOLE)}  # fmt: skip
    stored(tmp_path, {"base_state.json": test_openhands.STATE, **events})

    found = read(tmp_path)

    assert found == read(tmp_path / "base_state.json")
    assert found.sent == read_source(Source(FILES["openhands"])).sent
    assert (found.session_id, found.cwd) == ("conv", "/w")


def test_a_session_in_a_storage_is_put_together(tmp_path: Path) -> None:
    """Messages by the session's file, parts by the messages': the same as in an export."""
    files: dict[str, Any] = {"session/p/ses_1.json": test_opencode.SESSION}
    for number, message in enumerate(test_opencode.WHOLE):
        own = message["info"]["id"]
        files[f"message/ses_1/{own}.json"] = message["info"]
        for place, part in enumerate(message["parts"]):
            files[f"part/{own}/prt_{number:02d}{place:02d}.json"] = part
    stored(tmp_path, files)

    found = read(tmp_path / "session/p/ses_1.json")
    export = read_source(Source(FILES["opencode"]))

    assert found.records == export.records
    assert found.left_out == export.left_out
    assert found.counts == export.counts


def test_what_stands_beside_a_session_is_read_with_it(tmp_path: Path) -> None:
    """A compaction's own file, and what is hidden of a history."""
    stored(
        tmp_path / "x",
        {
            "s1.messages.json": test_cline_sdk.DOCUMENT,
            "s1.compaction.json": test_cline_sdk.SIDECAR,
            "s1.json": test_cline_sdk.MANIFEST,
        },
    )
    stored(
        tmp_path / "7",
        {
            "api_conversation_history.json": TASK[:2],
            "ui_messages.json": [{"conversationHistoryDeletedRange": [0, 0]}],
        },
    )

    assert read(tmp_path / "x" / "s1.messages.json").counts["compactions"] == 1
    assert read(tmp_path / "x" / "s1.messages.json").title == "the title"
    assert [message.role for message in read(tmp_path / "7").sent] == ["assistant"]


def test_what_beside_cannot_be_read_is_not_there(tmp_path: Path) -> None:
    """A folder, a pipe, and a file that is no JSON."""
    history = tmp_path / "api_conversation_history.json"
    history.write_bytes(FILES["anthropic"])
    plain = read(history)
    (tmp_path / "ui_messages.json").mkdir()
    os.mkfifo(tmp_path / "context_history.json")
    (tmp_path / "history_item.json").write_bytes(b"\x28\xb5\x2f\xfd")

    assert read(history) == plain


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"messages_path": "x"}, r"name the \.messages\.json beside it"),
        ({"agents": {"main": {}}}, r"name agents/main/wire\.jsonl beside it"),
        ({"sessionID": "s"}, r"name the session's own file in storage/session"),
        ([{"type": "say", "text": "a"}], r"name api_conversation_history\.json beside them"),
    ],
)
def test_a_file_of_a_session_that_is_not_its_log_says_which_is(value: Any, hint: str) -> None:
    """The one that a user may well name instead."""
    with pytest.raises(FormatError, match=hint):
        read_source(Source(document(value)))


def failing(*_: object) -> Any:
    """Stand for the code of another package."""
    raise ValueError("oh")


def strange(name: str) -> Format:
    """Make a format that fails."""
    return Format(name=name, description="d", looks_for="nothing", detect=failing, read=failing)


def test_what_another_packages_format_raises_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it looks, while it reads, and while it says what it needs."""
    reads = Format(name="x", description="d", looks_for="l", detect=lambda _: "e", read=failing)
    source = Source(b"hello", path="f")

    for form, what in ((strange("y"), "format y failed while it looked"), (reads, "format x")):
        plugins = registry.Plugins(formats=(form,))
        monkeypatch.setattr(registry, "plugins", lambda found=plugins: found)
        with pytest.raises(FormatError, match=what) as refused:
            read_source(source)
        assert refused.value.path == "f"
        assert "oh" in refused.value.what


def test_a_format_may_ask_for_ever_and_for_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is asked a few times, and a path that none can have names nothing."""
    seen: list[int] = []

    def asks(source: Source) -> tuple[str, ...]:
        seen.append(len(source.beside))
        return ("a\0b/c", "", "x/", f"{len(seen)}.txt")

    def takes(source: Source, _index: int) -> Reading:
        return Reading(format="x", evidence="e", records=(), title=",".join(source.beside))

    form = Format(name="x", description="d", looks_for="l", detect=lambda _: "e", read=takes,
                  beside=asks)  # fmt: skip
    monkeypatch.setattr(registry, "plugins", lambda: registry.Plugins(formats=(form,)))
    stored(tmp_path, {f"{number}.txt": b"x" for number in range(9)})
    (tmp_path / "own").write_bytes(b"hello")

    assert read(tmp_path / "own").title == "1.txt,2.txt,3.txt"
    assert len(seen) == 3


def test_our_own_errors_pass_through_a_format(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a format of another package they say what they say; nesting without end is one."""

    def refuses(_: Source) -> str | None:
        raise FormatError("no", path="theirs")

    def nests(_: Source) -> str | None:
        raise RecursionError

    path = tmp_path / "own"
    path.write_bytes(b"hello")
    for detect, what in ((refuses, "no"), (nests, "nested too deeply")):
        form = Format(name="x", description="d", looks_for="l", detect=detect, read=failing)
        plugins = registry.Plugins(formats=(form,))
        monkeypatch.setattr(registry, "plugins", lambda found=plugins: found)
        with pytest.raises(FormatError, match=what):
            read(path)


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no error of the file, so that it is found."""
    form = Format(name="x", description="d", looks_for="l", detect=lambda _: "e", read=failing)
    monkeypatch.setattr(reading, "FORMATS", (form,))
    monkeypatch.setattr(registry, "PARTICULAR", (form,))

    with pytest.raises(ValueError, match="oh"):
        read_source(Source(b"hello"))


def test_a_format_that_could_not_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no format took the file: it may have been the one."""
    broken = registry.Plugins(problems=("theirs (a:b) could not be loaded: oh",))
    monkeypatch.setattr(reading, "plugins", lambda: broken)

    with pytest.raises(FormatError, match=r"format theirs \(a:b\) could not be loaded: oh"):
        read_source(Source(b"hello"))


def test_reading_never_raises_but_our_errors_at_a_loop_of_links(tmp_path: Path) -> None:
    """A link to itself cannot be read."""
    path = tmp_path / "loop.jsonl"
    path.symlink_to(path)

    with pytest.raises(MinutebookError):
        read(path)
