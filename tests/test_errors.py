"""Each error carries its facts, and a sentence that says what, where, and what to do."""

import pytest

from minutebook import errors
from minutebook.errors import (
    CheckpointNotFound,
    CompactionFailed,
    CompactionVetoed,
    ConfigError,
    ContextOverflow,
    FormatError,
    InvalidMessage,
    LogChanged,
    MinutebookError,
    SessionLocked,
    StoreError,
)

EVERY = [
    StoreError("no space", path="/s/context.jsonl", remedy="free some"),
    SessionLocked("/s", pid=7, host="box"),
    LogChanged("it was cut", path="/s/context.jsonl"),
    CheckpointNotFound(9, [0, 1]),
    InvalidMessage("a role is missing"),
    ContextOverflow(tokens=9, limit=5, parts={"system": 7, "tools": 2}),
    CompactionFailed("the summary is empty"),
    CompactionVetoed("not now", hook="guard"),
    FormatError("no JSON", path="/f", line=3, byte=40),
    ConfigError("window", "is not known"),
]


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
def test_every_error_is_ours_and_fits_on_one_line(error: MinutebookError) -> None:
    """One root catches them all, and the command line prints one line."""
    assert isinstance(error, MinutebookError)
    assert str(error)
    assert "\n" not in str(error)


def test_every_error_of_the_module_is_tried_here() -> None:
    """An error that is added gets its row above."""
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, MinutebookError)
    }

    assert defined - {MinutebookError} == {type(error) for error in EVERY}


def test_a_store_error_names_path_and_remedy() -> None:
    """Where a fact is missing, its part of the sentence is too."""
    assert str(EVERY[0]) == "/s/context.jsonl: no space; free some"
    assert str(StoreError("no space")) == "no space"
    error = StoreError("no space", path="/p", remedy="r")
    assert (error.what, error.path, error.remedy) == ("no space", "/p", "r")


def test_a_locked_session_names_its_holder_where_it_is_known() -> None:
    """Without a process id it is just another process; without a host it is this one."""
    known, local, unknown = (
        SessionLocked("/s", pid=7, host="box"),
        SessionLocked("/s", pid=7),
        SessionLocked("/s"),
    )
    assert "process 7 on box" in str(known)
    assert "process 7 on this host" in str(local)
    assert "another process" in str(unknown)
    assert (known.pid, known.host, unknown.pid) == (7, "box", None)


def test_a_changed_log_says_whether_our_lines_are_in_it() -> None:
    """The one thing that a caller has to know before trying again."""
    assert "nothing of ours was written" in str(LogChanged("cut"))
    written = LogChanged("cut", written=True)
    assert "our lines are in the log" in str(written)
    assert written.written


def test_a_missing_checkpoint_lists_those_that_are_there() -> None:
    """As ranges, whatever their order."""
    error = CheckpointNotFound(9, [7, 0, 1, 2, 4, 5])
    assert "0-2, 4-5, 7" in str(error)
    assert (error.checkpoint, error.known) == (9, (7, 0, 1, 2, 4, 5))
    assert "has none" in str(CheckpointNotFound("x"))


def test_an_overflow_names_what_takes_the_room_largest_first() -> None:
    """Kinds that take nothing are left out; a hint replaces the general advice."""
    error = ContextOverflow(tokens=9, limit=5, parts={"tools": 2, "system": 7, "media": 0})
    assert "9 tokens do not fit into 5 (system 7, tools 2)" in str(error)
    assert "raise the window" in str(error)
    hinted = ContextOverflow(tokens=9, limit=5, parts={}, hint="drop a tool")
    assert str(hinted).endswith("drop a tool")
    assert (error.tokens, error.limit, error.parts["system"]) == (9, 5, 7)


def test_a_failed_compaction_says_that_nothing_was_changed() -> None:
    """Failed or vetoed: log and context are as before."""
    assert str(CompactionFailed("empty")) == "compaction failed: empty; nothing was changed"
    veto = CompactionVetoed("not now", hook="guard")
    assert str(veto) == "compaction vetoed by guard: not now; nothing was changed"
    assert "vetoed:" in str(CompactionVetoed("no"))
    assert (veto.reason, veto.hook, CompactionFailed("x").reason) == ("not now", "guard", "x")


def test_a_format_error_says_where() -> None:
    """As `path:line: what (byte n)`, as far as it is known."""
    error = FormatError("no JSON", path="/f", line=3, byte=40)
    assert str(error) == "/f:3: no JSON (byte 40)"
    assert str(FormatError("no JSON")) == "no JSON"
    assert str(FormatError("no JSON", line=2)) == "2: no JSON"
    assert (error.what, error.path, error.line, error.byte) == ("no JSON", "/f", 3, 40)


def test_a_config_error_names_the_setting() -> None:
    """First the setting, then what is wrong with it."""
    error = ConfigError("window", "is not known")
    assert str(error) == "window: is not known"
    assert (error.setting, error.what) == ("window", "is not known")
    assert InvalidMessage("w").what == "w"
