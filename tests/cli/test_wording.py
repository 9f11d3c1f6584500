"""Errors in the words of the command line."""

from pathlib import Path

import pytest

import minutebook
from minutebook.cli.wording import INSTEAD, say, sentence
from minutebook.errors import (
    CheckpointNotFound,
    ConfigError,
    InvalidMessage,
    LogChanged,
    SessionLocked,
    StoreError,
)


def test_remedies_are_what_a_person_can_type() -> None:
    """No error names a call of the library."""
    errors: list[BaseException] = [
        SessionLocked("s", pid=7, host="here"),
        LogChanged("it was replaced", path="s/context.jsonl"),
        CheckpointNotFound(9, [0, 1]),
        ConfigError("window", "0 is none"),
        StoreError("no such session", path="s", remedy="check the path, or open with create=True"),
        StoreError("gone", remedy="put it back; restore() brings back any rotation that is there"),
        StoreError("gone", remedy="put it back, or ask with partial=True for what is there"),
        StoreError("is read-only", path="s", remedy='the file system is; open with mode="r"'),
        StoreError("cannot lock", path="s", remedy='use another, or open with mode="r"'),
    ]

    for error in errors:
        text = sentence(error)
        for word in ("()", "=True", 'mode="', "lock_timeout", "session.context"):
            assert word not in text, text


def test_the_table_translates_what_the_library_says() -> None:
    """Each remedy in it is one that some module still gives."""
    package = Path(minutebook.__file__).parent
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
        if path.parent.name != "cli"
    )

    for words, _instead in INSTEAD:
        assert words.strip(";, ") in source


def test_a_locked_session_names_its_holder() -> None:
    """Path, process, host, and what works meanwhile."""
    text = sentence(SessionLocked("work/s", pid=7, host="here"))

    assert text.startswith("work/s: ")
    assert "process 7 on here" in text
    assert "inspect" in text


def test_options_are_named_as_they_are_typed() -> None:
    """A setting that is an option has its dashes; others stay."""
    assert sentence(ConfigError("target", "2 is no share")) == "--target: 2 is no share"
    assert sentence(ConfigError("steps", "none")) == "steps: none"


def test_the_systems_errors_are_one_line_too() -> None:
    """What the system refused, and of which file."""
    assert sentence(OSError(13, "Permission denied", "a/b")) == "a/b: permission denied"
    assert sentence(OSError("odd")) == "odd"
    assert sentence(OSError()) == "oSError"


def test_an_error_is_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a file put into it."""
    text = sentence(InvalidMessage("two\nlines \x1b[31m"))

    assert text == "two lines ␛[31m"
    say("a\nb")
    assert capsys.readouterr().err == "minutebook: a b\n"
