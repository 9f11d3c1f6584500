"""`show` prints a conversation that can be read and does no harm."""

from pathlib import Path

import pytest

import minutebook
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
)
from tests.cli.support import make_session, make_transcript, run, run_json

NASTY = "\x1b]0;owned\x07 \x9b2J \u202egnp.exe \x00 end"


def test_each_message_has_its_number_and_each_checkpoint_its_id(tmp_path: Path) -> None:
    """What pin and revert take stands in front of what it means."""
    text = run("show", make_session(tmp_path / "s", turns=2)).stdout

    assert text.index("── checkpoint 0") < text.index("1 user") < text.index("── checkpoint 1")
    assert "  Please mend the function in src/part_0.py." in text
    assert '  → read {"path": "src/part_0.py"}' in text
    assert "3 tool  read" in text
    assert text.startswith("system prompt")


def test_long_results_are_folded(tmp_path: Path) -> None:
    """A result shows its first lines and how many more there are; --unfold shows it whole."""
    folder = make_session(tmp_path / "s", turns=1)

    folded = run("show", folder).stdout
    whole = run("show", folder, "--unfold").stdout

    assert "… 52 more lines" in folded
    assert folded.count("def part_0()") == 8
    assert whole.count("def part_0()") == 60


def test_one_long_line_is_cut(tmp_path: Path) -> None:
    """A single line that is a whole file does not fill the screen."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(minutebook.user("x" * 5_000))

    assert "… 4,600 more characters" in run("show", tmp_path / "s").stdout


def test_control_sequences_are_harmless(tmp_path: Path) -> None:
    """Texts, labels, names and arguments cannot steer the terminal, in JSON neither."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.set_system_prompt(NASTY)
        session.checkpoint(NASTY)
        session.append(
            minutebook.user(NASTY),
            minutebook.assistant(
                NASTY, tool_calls=[minutebook.call("a", NASTY, f'"{NASTY}"')], thinking=NASTY
            ),
            minutebook.tool("a", NASTY),
        )
    run("clear", tmp_path / "s")
    run("undo", tmp_path / "s")

    for words in (["show"], ["show", "--json"], ["show", "--full"], ["inspect"], ["checkpoints"]):
        shown = run(words[0], tmp_path / "s", *words[1:]).stdout
        assert not set(shown) & set("\x1b\x07\x9b\u202e\x00"), words
        assert "owned" in shown or words == ["inspect"]


def test_parts_that_are_no_text_are_named(tmp_path: Path) -> None:
    """Media and unknown parts stand in brackets; thinking has a line before it."""
    data = "data:image/png;base64," + "A" * 400
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(
            minutebook.user(
                [
                    TextPart("look"),
                    ImagePart(MediaUrl(data)),
                    AudioPart(MediaUrl("https://example.org/a.mp3")),
                    VideoPart(MediaUrl("https://example.org/b.mp4")),
                    OtherPart({"type": "hologram"}),
                ]
            ),
            minutebook.assistant([ThinkPart("I wonder."), TextPart("Well.")]),
        )

    text = run("show", tmp_path / "s").stdout
    media = run_json("show", tmp_path / "s")["messages"][0]["media"]

    assert "[image image/png;base64, 422 characters]" in text
    assert "[audio https://example.org/a.mp3]" in text
    assert "[video https://example.org/b.mp4]" in text
    assert "[part of the type 'hologram']" in text
    assert "  │ I wonder." in text
    assert len(media) == 4


def test_only_the_last_messages(tmp_path: Path) -> None:
    """--last counts from the end, and says how many stand before."""
    folder = make_session(tmp_path / "s", turns=3)

    text = run("show", folder, "--last", 5).stdout

    assert "… 7 messages before" in text
    assert "system prompt" not in text
    assert "── checkpoint 2" in text
    assert "── checkpoint 1" not in text
    assert [found["seq"] for found in run_json("show", folder, "--last", 2)["messages"]] == [11, 12]
    assert "messages before" not in run("show", folder, "--last", 50).stdout


def test_full_history_marks_what_is_no_longer_sent(tmp_path: Path) -> None:
    """After a revert everything is still there, in order, and marked."""
    folder = make_session(tmp_path / "s", turns=3)
    run("revert", folder, "--to", 1)

    messages = run_json("show", folder, "--full")["messages"]

    assert [found["seq"] for found in messages] == list(range(1, 13))
    assert [found["active"] for found in messages] == [True] * 4 + [False] * 8
    assert "no longer sent" in run("show", folder, "--full").stdout
    assert "no longer sent" not in run("show", folder).stdout


def test_full_history_needs_every_rotation(tmp_path: Path) -> None:
    """A missing one is an error with a remedy; --partial goes on without it."""
    folder = make_session(tmp_path / "s", turns=3)
    run("revert", folder, "--to", 1)
    (folder / "context_1.jsonl").unlink()

    assert "--partial" in run("show", folder, "--full", code=1).stderr
    assert len(run_json("show", folder, "--full", "--partial")["messages"]) == 4


def test_the_view_is_what_is_sent(tmp_path: Path) -> None:
    """A call without a result is answered in the view, and not in the log."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(
            minutebook.user("go"),
            minutebook.assistant("", tool_calls=[minutebook.call("a", "read")]),
        )

    assert len(run_json("show", tmp_path / "s")["messages"]) == 2
    assert len(run_json("show", tmp_path / "s", "--view")["messages"]) == 3


def test_pins_and_shortened_copies_are_marked(tmp_path: Path) -> None:
    """A pinned message says so, and so does one that a compaction shortened."""
    folder = make_session(tmp_path / "s", turns=12)
    run("pin", folder, 2)
    run("compact", folder, "--target", "0.9", "--window", 9_000)

    text = run("show", folder).stdout
    messages = run_json("show", folder)["messages"]

    assert "pinned" in text
    assert [found["seq"] for found in messages if found["pinned"]] == [2]
    shortened = [found for found in messages if found["elided"]]
    assert not shortened or "shortened by mask" in text


def test_tags_stand_beside_their_message(tmp_path: Path) -> None:
    """In each kind of view, as JSON too, and with nothing in them that steers the terminal."""
    folder = make_session(tmp_path / "s", turns=2)
    with minutebook.open_sync(folder) as session:
        session.tag(2, "decision", f"a{NASTY}")

    for options in ((), ("--full",), ("--view",), ("--last", 9)):
        text = run("show", folder, *options).stdout
        assert "#decision, #a" in text
        assert "\x1b" not in text
    messages = run_json("show", folder)["messages"]
    assert [len(message["tags"]) for message in messages[:3]] == [0, 2, 0]


def test_another_agents_file_and_an_empty_one(tmp_path: Path) -> None:
    """A transcript shows like a session; nothing to show is said."""
    assert "1 user" in run("show", make_transcript(tmp_path / "chat.json")).stdout
    with minutebook.open_sync(tmp_path / "s") as session:
        session.checkpoint()
    run("clear", tmp_path / "s")
    assert "no messages" in run("show", tmp_path / "s").stdout


@pytest.mark.parametrize("options", [["--full", "--view"], ["--last", "0"], ["--last", "x"]])
def test_options_that_make_no_sense_are_wrong_usage(tmp_path: Path, options: list[str]) -> None:
    """They end with 2 and change nothing."""
    run("show", make_session(tmp_path / "s", turns=1), *options, code=2)
