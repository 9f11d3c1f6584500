"""Where the agents that people use keep their sessions, and a list of what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from minutebook.errors import MinutebookError
from minutebook.formats.reading import read
from minutebook.store.listing import Listed, list_sessions
from minutebook.tokens.estimate import estimate_message

NEWEST = 100
"""How many files of one agent are listed; of people who use one daily, some months."""
LOOKED_INTO_BYTES = 8 << 20
"""A larger file is listed by its name and size alone: a list is not to take minutes."""


class Home(NamedTuple):
    """Where one agent keeps its sessions."""

    agent: str
    variable: str
    """What moves it elsewhere; empty for nothing."""
    folder: str
    """Below the user's home, where the variable isn't set."""
    files: str
    """What its sessions are called, below that."""


_TASKS = "*/User/globalStorage/{}/tasks/*/api_conversation_history.json"
"""Of an extension, in VS Code and the editors made of it."""
_EXTENSIONS = (
    ("cline", "saoudrizwan.claude-dev"),
    ("roo", "rooveterinaryinc.roo-cline"),
    ("kilo", "kilocode.kilo-code"),
)
_EDITORS = (("XDG_CONFIG_HOME", ".config"), ("", "Library/Application Support"))
"""Where editors keep what their extensions keep, on Linux and on macOS."""

HOMES = (
    Home("claude-code", "CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl"),
    Home("codex", "CODEX_HOME", ".codex", "sessions/*/*/*/rollout-*.jsonl"),
    Home("gemini-cli", "", ".gemini", "tmp/*/chats/session-*.json*"),
    Home("opencode", "", ".local/share/opencode", "storage/session/*/*.json"),
    Home("pi", "", ".pi/agent", "sessions/*/*.jsonl"),
    Home("kimi-code", "KIMI_CODE_HOME", ".kimi-code", "sessions/*/*/agents/main/wire.jsonl"),
    Home("cline-sdk", "", ".cline/data", "sessions/*/*.messages.json"),
    Home("openhands", "", ".openhands/conversations", "*/base_state.json"),
    *(
        Home(agent, variable, folder, _TASKS.format(extension))
        for agent, extension in _EXTENSIONS
        for variable, folder in _EDITORS
    ),
)
"""Agents that keep a session in a file of its own."""
DATABASES = (
    Home("opencode", "", ".local/share/opencode", "opencode.db"),
    Home("kilo", "", ".local/share/kilo", "kilo.db"),
)
"""Agents that keep all sessions in one database, out of which they export them."""
KIMI = Home("kimi", "KIMI_SHARE_DIR", ".kimi", "sessions")
"""Its sessions are folders as ours are."""


def at_home(progress: Callable[[int], object]) -> list[Listed]:
    """List the newest sessions of each agent, the one last written first, by their whole paths.

    Files of other kinds and such as cannot be read are listed with what was wrong. *progress*
    is told how many there are so far.
    """
    found: list[Listed] = []
    kimi = _folder(KIMI) / KIMI.files
    if kimi.is_dir():
        for listed in list_sessions(str(kimi), cached=False):
            found.append(_moved(listed, kimi))
            progress(len(found))
    for home in HOMES:
        for path in _newest(home):
            found.append(_listed(home.agent, path))
            progress(len(found))
    found += [_database(home.agent, path) for home in DATABASES for path in _newest(home)]
    return sorted(found, key=lambda listed: -listed.modified)


def _folder(home: Home) -> Path:
    return Path(os.environ.get(home.variable, "") or Path.home() / home.folder)


def _newest(home: Home) -> Iterator[Path]:
    """Give an agent's files, the newest first."""
    dated: list[tuple[float, Path]] = []
    for path in _folder(home).glob(home.files):
        try:
            dated.append((path.stat().st_mtime, path))
        except OSError:
            continue
    for _modified, path in sorted(dated, reverse=True)[:NEWEST]:
        yield path


def _database(agent: str, path: Path) -> Listed:
    """List a database as one row that says how to get at what is in it."""
    status = path.stat()
    return Listed(
        path=str(path),
        title="",
        agent=agent,
        modified=status.st_mtime,
        messages=0,
        tokens=0,
        bytes=status.st_size,
        rotations=0,
        problem=f"a database of sessions; read one with: {agent} export ID > FILE",
    )


def _moved(listed: Listed, root: Path) -> Listed:
    return Listed(
        path=str(root / listed.path),
        title=listed.title,
        agent=listed.agent or KIMI.agent,
        modified=listed.modified,
        messages=listed.messages,
        tokens=listed.tokens,
        bytes=listed.bytes,
        rotations=listed.rotations,
        problem=listed.problem,
    )


def _listed(agent: str, path: Path) -> Listed:
    """Say what is in a file, if it is not too large to be looked into for a list."""
    size, modified, problem, title = 0, 0.0, "", ""
    messages = tokens = 0
    try:
        status = path.stat()
        size, modified = status.st_size, status.st_mtime
        if size > LOOKED_INTO_BYTES:
            problem = "large; look into it with inspect"
        else:
            found = read(path)
            title, messages = found.title, len(found.sent)
            tokens = sum(map(estimate_message, found.sent))
    except OSError as error:
        problem = error.strerror or str(error)
    except MinutebookError as error:
        problem = str(error).partition(": ")[2].partition(";")[0]
    return Listed(
        path=str(path),
        title=title,
        agent=agent,
        modified=modified,
        messages=messages,
        tokens=tokens,
        bytes=size,
        rotations=0,
        problem=problem,
    )
