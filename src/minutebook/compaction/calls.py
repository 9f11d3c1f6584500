"""Read tool calls: what kind of thing each does, to which files, and to what end. Pure.

Tools are recognised by the words in their names and by their arguments, never by a list of
products: `ReadFile`, `read_file`, `mcp__fs__read` and `str_replace_editor` with the command
`view` all read. What is not recognised is kind `other`, and still has its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from minutebook.compaction.shell import patched_files, read_command
from minutebook.messages import ToolCall

RECALL_TOOL = "recall_history"
"""The tool that brings earlier messages back: what it gives was said before, and is no news."""

SUBJECT_CHARS_MAX = 120
"""How long the few words about a call may be."""

NOTE_CHARS_MAX = 100
"""How long the quoted line of a change may be."""

VALUES_CHARS_MAX = 60_000
"""How much of a call's argument values is looked at for names."""

_PATH_KEYS = (
    "path", "file_path", "filepath", "file", "filename", "file_name", "target_file",
    "notebook_path", "relative_path", "relative_workspace_path", "uri", "target", "paths", "files",
)  # fmt: skip
_COMMAND_KEYS = ("command", "cmd", "script", "code", "commands", "shell_command", "input")
_SUBJECT_KEYS = (
    "pattern", "query", "url", "regex", "q", "sql", "name", "title", "description", "prompt",
    "message", "subject",
)  # fmt: skip
_NEW_KEYS = (
    "new_string", "newText", "new_str", "new", "replacement", "content", "file_text", "text",
    "insert_text", "code_edit", "new_source", "diff", "patch", "input",
)  # fmt: skip
_OLD_KEYS = ("old_string", "oldText", "old_str", "old")
_EDITOR_COMMANDS = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
_KIND_WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("todo", frozenset(("todo", "todos", "plan", "todolist", "checklist"))),
    ("edit", frozenset(("edit", "replace", "insert", "multiedit", "patch", "modify", "diff"))),
    ("delete", frozenset(("delete", "remove", "unlink"))),
    ("move", frozenset(("move", "rename"))),
    ("write", frozenset(("write", "create", "save", "append"))),
    ("search", frozenset(("grep", "search", "find", "glob", "list", "ls", "tree"))),
    ("fetch", frozenset(("fetch", "web", "browse", "browser", "http", "download", "crawl"))),
    ("read", frozenset(("read", "view", "open", "cat", "show", "load", "get"))),
)
_RUN = "bash shell sh exec execute run terminal command cmd console python ipython powershell"
_RUN_WORDS = frozenset(_RUN.split())
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NEEDS_PATH = frozenset(("edit", "delete", "move", "write", "read"))


class Act(Struct, frozen=True, gc=False):
    """What one tool call does."""

    tool: str
    kind: str
    """`run`, `read`, `write`, `edit`, `delete`, `move`, `search`, `fetch`, `todo`, `other`."""
    subject: str
    """A few words on what it was called with: the path, the command, the pattern."""
    uses: tuple[tuple[str, str], ...]
    """(use, path) of the files it touches; uses as in `phrases.USES`."""
    note: str
    """The first new line of a change, as it was written; empty for other kinds."""
    values: str
    """The argument values, one a line; names of arguments are left out."""
    key: str
    """Equal for two calls that ask for the same thing."""
    arguments: Mapping[str, Any]
    """The decoded arguments; empty if they are no JSON object."""
    ran: bool = False
    """It ran a command whose output tells whether it worked."""
    shows: bool = False
    """It ran a command that only prints or searches files: what is printed is theirs."""


def act_of(call: ToolCall) -> Act:
    """Read one call. Never raises, whatever the arguments are."""
    arguments = decode(call.arguments)
    kind = _kind(call.name, arguments)
    uses: tuple[tuple[str, str], ...] = ()
    subject, ran, shows = "", False, False
    if kind == "run":
        reading = read_command(command_of(arguments))
        subject, uses, shows = reading.main, reading.uses, reading.shows
        ran = not shows
    elif kind == "edit" and (patch := _patch(arguments)):
        uses = patched_files(patch) or tuple((kind, path) for path in _paths(arguments))
        subject = " ".join(path for _, path in uses)
    elif kind in _NEEDS_PATH or kind == "search":
        paths = _paths(arguments)
        uses = tuple((kind, path) for path in paths if kind != "search" or "." in path[1:])
        subject = "" if kind == "search" else " ".join(paths)
    values = _values(arguments, call.arguments)
    if not subject and kind != "todo":
        subject = _first_text(arguments, _SUBJECT_KEYS) or " ".join(_paths(arguments)) or values
    return Act(
        tool=call.name,
        kind=kind,
        subject=shorten(subject, SUBJECT_CHARS_MAX),
        uses=uses,
        note=_note(kind, arguments),
        values=values,
        key=_key(call, kind, subject, arguments),
        arguments=arguments,
        ran=ran,
        shows=shows,
    )


def values_of(call: ToolCall) -> str:
    """Give a call's argument values, one a line; the names of arguments are left out."""
    return _values(decode(call.arguments), call.arguments)


def _values(arguments: Mapping[str, Any], text: str) -> str:
    return "\n".join(_leaves(arguments)) if arguments else text[:VALUES_CHARS_MAX]


def decode(arguments: str) -> dict[str, Any]:
    """Give a call's arguments as a mapping; empty if they are no JSON object."""
    try:
        value = msgspec.json.decode(arguments) if arguments else {}
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}
    return value if isinstance(value, dict) else {}


def command_of(arguments: Mapping[str, Any]) -> str:
    """Give the command line of a call that runs something; empty if there is none."""
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value:
            words = [str(word) for word in value]
            # ["bash", "-lc", "…"]: the shell around the command says nothing.
            if len(words) == 3 and words[1] in {"-c", "-lc"}:
                return words[2]
            return " ".join(words)
    return ""


def shorten(text: str, chars_max: int) -> str:
    """Give a text on one line, cut at its end with an ellipsis if it is longer."""
    line = " ".join(text[: chars_max * 8].split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1].rstrip()}…"


def _kind(tool: str, arguments: Mapping[str, Any]) -> str:
    """Say what kind of thing a call does."""
    last = re.split(r"__|[.:/]", tool)[-1] or tool
    words = {word.lower() for word in _NAME_WORD.findall(last)}
    command = arguments.get("command")
    has_path = any(key in arguments for key in _PATH_KEYS)
    if isinstance(command, str) and has_path and command in _EDITOR_COMMANDS:
        return _EDITOR_COMMANDS[command]
    if _patch(arguments):
        return "edit"
    if words & _RUN_WORDS and command_of(arguments):
        return "run"
    if "task" in words and words & {"create", "update"}:
        return "todo"
    for kind, names in _KIND_WORDS:
        if words & names and (kind not in _NEEDS_PATH or has_path):
            return kind
    if not has_path and any(key in arguments for key in ("command", "cmd")):
        return "run"
    if isinstance(arguments.get("todos"), list):
        return "todo"
    if has_path:
        return "write" if any(key in arguments for key in _NEW_KEYS) else "read"
    return "other"


def _patch(arguments: Mapping[str, Any]) -> str:
    """Give the patch among the arguments' values; empty if there is none."""
    for key in ("input", "patch", "diff", "patch_text", "patchText"):
        value = arguments.get(key)
        if isinstance(value, str) and ("*** Begin Patch" in value or "\n+++ " in value):
            return value
    return ""


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    """Give the paths that the arguments name, in order, each once."""
    found: dict[str, None] = {}
    for key in _PATH_KEYS:
        value = arguments.get(key)
        for item in value if isinstance(value, list) else [value]:
            inner = item.get("path") if isinstance(item, dict) else item
            if isinstance(inner, str) and inner.strip() and "\n" not in inner:
                found[inner.strip()] = None
    return list(found)


def _first_text(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Give the first argument of those keys that is a text."""
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _note(kind: str, arguments: Mapping[str, Any]) -> str:
    """Quote the first line of a change that was not there before."""
    if kind not in {"edit", "write"}:
        return ""
    scope: Mapping[str, Any] = arguments
    for key in ("edit", "edits"):
        inner = arguments.get(key)
        first = inner[0] if isinstance(inner, list) and inner else inner
        if isinstance(first, dict):
            scope = first
    new = _first_text(scope, _NEW_KEYS)
    old = set(_first_text(scope, _OLD_KEYS).splitlines())
    is_patch = bool(_patch(arguments))
    for line in new[: SUBJECT_CHARS_MAX * 40].splitlines():
        if is_patch and (not line.startswith("+") or line.startswith("+++")):
            continue
        text = line[1:] if is_patch else line
        if line not in old and sum(map(str.isalnum, text)) >= 6:
            return shorten(text.replace("`", "'"), NOTE_CHARS_MAX)
    return ""


def _leaves(value: object) -> Iterator[str]:
    """Give the values of decoded arguments as texts, keys left out, bounded in all."""
    waiting: list[object] = [value]
    left = VALUES_CHARS_MAX
    while waiting and left > 0:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
        elif item is not None and not isinstance(item, bool):
            text = str(item)[:left]
            left -= len(text)
            yield text


def _key(call: ToolCall, kind: str, subject: str, arguments: Mapping[str, Any]) -> str:
    """Give a text that is equal for calls that ask for the same thing."""
    if kind == "run":
        return f"run {subject}"
    if kind in {"edit", "write", "delete", "move"}:
        return f"change {subject}"
    items = sorted((name, str(value)) for name, value in arguments.items())
    return f"{call.name} {items}" if items else f"{call.name} {call.arguments}"
