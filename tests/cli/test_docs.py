"""docs/cli.md says what the program does: its help, its JSON keys, its exit codes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minutebook
from minutebook.cli import app as program
from tests.cli.reference import MARK, PAGE, reference
from tests.cli.support import make_session, make_transcript, run_json

OPEN = {"by_role", "by_kind", "by_trigger", "by_step", "by_model", "counts"}
"""Values whose keys are names of what there is, not of the format."""


def documented() -> dict[str, set[str]]:
    """Read the keys of each command from the page."""
    keys: dict[str, set[str]] = {}
    page = PAGE.read_text(encoding="utf-8").partition("## JSON\n")[2].partition(MARK)[0]
    for section in page.split("\n### ")[1:]:
        heading, _, body = section.partition("\n")
        found = set(re.findall(r"^\| `([^`]+)` \|", body, flags=re.MULTILINE))
        for name in re.findall(r"`(\w+)`", heading):
            keys[name] = found
    return keys


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Give the path of every value that is no object and no list of objects."""
    if isinstance(value, dict) and prefix.rpartition(".")[2] not in OPEN:
        for key, inner in value.items():
            yield from paths(inner, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from paths(item, f"{prefix}[]")
    else:
        yield prefix


def outputs(folder: Path) -> dict[str, Any]:
    """Run every command that takes --json once, each list with something in it."""
    make_session(folder)
    with minutebook.open_sync(folder) as session:
        session.append(minutebook.user("and now?"))
        session.tag(2, "decision")
    found = {
        "checkpoint": run_json("checkpoint", folder, "--label", "here"),
        "pin": run_json("pin", folder, 2),
        "unpin": run_json("unpin", folder, 2),
        "show": run_json("show", folder),
        "compact": run_json("compact", folder),
        "revert": run_json("revert", folder, "--to", 7),
        "undo": run_json("undo", folder),
        "clear": run_json("clear", folder),
        "restore": run_json("restore", folder, 2),
        "fork": run_json("fork", folder, folder.parent / "fork"),
        "formats": run_json("formats"),
        "import": run_json("import", make_transcript(folder / "chat.json"), folder.parent / "new"),
    }
    (folder / "context.jsonl").chmod(0o644)
    for name in ("inspect", "checkpoints", "rotations", "verify", "gc"):
        found[name] = run_json(name, folder)
    found["sessions"] = run_json("sessions", folder.parent)
    found["stats"] = run_json("stats", folder.parent, "--by", "day")
    found["repair"] = run_json("repair", folder)
    return found


def test_every_json_key_is_documented_and_there(tmp_path: Path) -> None:
    """The page names exactly the keys that the commands print."""
    printed = {name: set(paths(value)) for name, value in outputs(tmp_path / "s").items()}
    for keys in printed.values():
        # A list that is empty in one place and has objects in another is a list of objects.
        keys -= {key for key in keys if any(other.startswith(f"{key}[].") for other in keys)}

    assert printed == documented()


def test_the_keys_that_programs_rely_on_are_there() -> None:
    """These were promised before anything was built."""
    keys = documented()

    assert keys["inspect"] >= {
        "format",
        "turns",
        "tokens.exact",
        "tokens.with_pending",
        "tokens.by_kind",
        "problems[].line",
        "problems[].what",
    }
    roots = {key.partition(".")[0].removesuffix("[]") for key in keys["inspect"]}
    assert roots >= {"messages", "checkpoints", "compactions", "rotations"}
    assert keys["compact"] >= {
        "before.tokens",
        "after.tokens",
        "before.messages",
        "after.messages",
        "steps[].name",
        "steps[].tokens_before",
        "steps[].tokens_after",
        "out",
        "rotation",
    }


def test_the_page_has_the_help_of_every_command() -> None:
    """What stands there is what --help prints; `python -m tests.cli.reference` writes it."""
    written = PAGE.read_text(encoding="utf-8").partition(MARK)[2]

    assert written == f"\n{reference()}"


def test_the_page_has_every_exit_code() -> None:
    """Each code that the program ends with is in the table."""
    page = PAGE.read_text(encoding="utf-8")

    for code in (0, program.ERROR, 2, program.INTERRUPTED, program.PIPE_CLOSED):
        assert f"| {code} |" in page
