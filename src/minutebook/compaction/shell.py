"""Read a shell command: which files it touches and what it mainly runs. Pure, no shell.

This is a reading for minutes, not a parser: quotes, pipes, here-documents and redirections
are understood as far as agents use them, and what is not understood touches no file.
"""

from __future__ import annotations

import re

from msgspec import Struct

COMMAND_CHARS_MAX = 6_000
"""How much of a command is read; what is longer is a here-document's body."""

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)(?:\n\s*\2\b|\Z)", re.DOTALL)
_PIECE = re.compile(
    r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|&&|\|\||[;|\n]|&(?!>)|[^'\"\\&|;\n]+|.", re.DOTALL
)
_WORD = re.compile(r"(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s'\"\\])+")
_WRITTEN = re.compile(r"(?<![0-9&>-])(?:1)?>{1,2}\s*(['\"]?)([^\s'\"&;|<>()]+)\1")
_DESCRIPTOR = re.compile(r"\d?>&\d|[&2]>\s*/dev/null")
_REDIRECTION = re.compile(r"\s*(?:[12&]?>{1,2}\s*\S+|<{1,3}-?\s*\S+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PATCH_FILE = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* (Move) to: (.+?)\s*$"
    r"|^\+\+\+ (?:b/)?([^\s]+)",
    re.MULTILINE,
)

_READING = "cat head tail less more nl bat wc xxd file stat jq"
_SEARCHING = "grep rg ag ack egrep fgrep"
_SHOWING = """
sed awk find fd ls tree diff which git-show git-diff git-log git-status git-branch git-blame
git-remote git-rev-parse
"""
_BEFORE = "sudo time nohup exec command env then do else ! ("
_SAYING = """
cd echo printf set export source . pwd true false sleep mkdir fi done esac if for while pushd popd
"""
_READERS = frozenset(_READING.split())
_SEARCHERS = frozenset(_SEARCHING.split())
_SHOWERS = _READERS | _SEARCHERS | frozenset(_SHOWING.split())
_PREFIXES = frozenset(_BEFORE.split())
_SILENT = frozenset(_SAYING.split())
_SEPARATORS = frozenset(("&&", "||", ";", "|", "\n", "&"))
_PATCH_USES = {"Add": "write", "Update": "edit", "Delete": "delete", "Move": "move"}


class Reading(Struct, frozen=True, gc=False):
    """What a command does, as far as its text tells."""

    main: str
    """The first command that does something, without `cd`, redirections and pipes behind it."""
    uses: tuple[tuple[str, str], ...]
    """(use, path) of the files that it names, in order."""
    shows: bool = False
    """The main command only prints or searches files: error words in its output are theirs."""


def read_command(command: str) -> Reading:
    """Read one command line or script."""
    text = command[:COMMAND_CHARS_MAX]
    if "*** Begin Patch" in text:
        return Reading("apply_patch", patched_files(command))
    text = _HEREDOC.sub(lambda found: f" {found[3]}\n", text)
    text = _DESCRIPTOR.sub(" ", text)
    uses: dict[tuple[str, str], None] = {}
    mains: list[str] = []
    after_pipe = False
    for simple, separator in _simple_commands(text):
        for written in _WRITTEN.finditer(simple):
            if not written[2].startswith("/dev/"):
                uses["write", written[2]] = None
        words = _words(_REDIRECTION.sub(" ", simple))
        if words:
            uses.update(dict.fromkeys(_uses(words)))
            if not after_pipe and words[0] not in _SILENT and words[0][0] != "#":
                mains.append(" ".join(words))
        after_pipe = separator == "|"
    main = mains[0] if mains else " ".join(text.split())
    return Reading(main, tuple(uses), shows=_program(main) in _SHOWERS)


def _program(main: str) -> str:
    """Name the program of a command, `git` with its subcommand."""
    words = [*main.split(maxsplit=2), "", ""]
    program = words[0].rpartition("/")[2]
    return f"git-{words[1]}" if program == "git" else program


def patched_files(patch: str) -> tuple[tuple[str, str], ...]:
    """Give (use, path) of the files that a patch names, in the forms that agents write."""
    found: dict[tuple[str, str], None] = {}
    for match in _PATCH_FILE.finditer(patch):
        kind, path = match[1] or match[3], match[2] or match[4] or match[5]
        if path and path != "/dev/null":
            found[_PATCH_USES.get(kind or "", "edit"), path] = None
    return tuple(found)


def _simple_commands(text: str) -> list[tuple[str, str]]:
    """Split at separators outside of quotes: (command, the separator after it)."""
    commands: list[tuple[str, str]] = []
    current: list[str] = []
    for piece in _PIECE.findall(text):
        if piece in _SEPARATORS:
            commands.append(("".join(current), piece))
            current = []
        else:
            current.append(piece)
    commands.append(("".join(current), ""))
    return [(command.strip(), separator) for command, separator in commands if command.strip()]


def _words(simple: str) -> list[str]:
    """Give a simple command's words, without quotes, assignments and prefixes before it."""
    words = [word.strip("'\"") for word in _WORD.findall(simple)]
    while words and (words[0] in _PREFIXES or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if len(words) > 2 and words[0] == "timeout":
        words = words[2:]
    return words


def _uses(words: list[str]) -> list[tuple[str, str]]:
    """Give (use, path) of a simple command's arguments."""
    program = words[0].rpartition("/")[2]
    rest = words[1:]
    if program == "git" and rest:
        program, rest = rest[0], rest[1:]
        if program not in {"rm", "mv"}:
            return []
    paths = [word for word in rest if _looks_like_file(word)]
    if program in _READERS:
        return [("read", path) for path in paths]
    if program == "sed":
        edits = any(word.startswith("-i") or word == "--in-place" for word in rest)
        return [("edit" if edits else "read", path) for path in paths[-1:]]
    if program in _SEARCHERS:
        # The first word that is no option is what is looked for.
        plain = [word for word in rest if not word.startswith("-")]
        return [("search", path) for path in paths if path in plain[1:]]
    if program == "rm":
        return [("delete", path) for path in paths]
    if program == "mv":
        return [("move", path) for path in paths[-1:]]
    if program in {"cp", "tee", "touch"}:
        return [("write", path) for path in paths[-1:]]
    return []


def _looks_like_file(word: str) -> bool:
    """Tell a path from an option, a pattern, or a program of `sed` and `awk`."""
    if word.startswith(("-", "$", "http", "/dev/")) or any(
        char in word for char in "*?|{}()<>,;=^"
    ):
        return False
    name = word.rpartition("/")[2]
    return ("." in name[1:] and not name.replace(".", "").isdigit() and len(name) > 2) or (
        "/" in word[:-1] and any(char.isalpha() for char in word) and not word.startswith("s/")
    )
