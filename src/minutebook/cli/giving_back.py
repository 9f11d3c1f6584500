"""`compact --as`: a smaller session that the agent itself resumes, beside its own."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from uuid import uuid4

import typer
from msgspec import Struct

from minutebook.cli.kimi_index import digest_of, ensure_listed, folder_of_digest
from minutebook.cli.opening import Opened, reading
from minutebook.errors import StoreError
from minutebook.formats.writers.registry import writer_of
from minutebook.formats.writers.unfold import unfold
from minutebook.formats.writers.value import About
from minutebook.store.disk import FOLDER_MODE, Disk, write_all
from minutebook.store.logfile import translated


class Agent(StrEnum):
    """The agents that resume what is written for them."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    KIMI = "kimi"


AgentOption = Annotated[
    Agent | None,
    typer.Option(
        "--as",
        metavar="AGENT",
        help="Write a session that this agent resumes: "
        + ", ".join(Agent)
        + ". With --out, to that file.",
        show_default=False,
    ),
]


class Given(Struct, frozen=True, kw_only=True):
    """What was written for an agent."""

    agent: str
    file: str
    resume: str
    """The command line that resumes it."""
    lost: dict[str, int]
    """What the agent's form cannot hold, by name, with how many there are."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder for a session that is needed for an instant only."""
    with TemporaryDirectory(prefix="minutebook-") as folder:
        yield Path(folder) / "session"


def give_back(agent: Agent, session: Path, source: Opened, out: Path | None) -> Given:
    """Write a session of ours for an agent; where *source* lies, if it is that agent's own.

    Kimi CLI's list of folders gets the session's, where it is missing: see `kimi_index`.

    Raises:
        StoreError: If there is a file already, or it cannot be written.
    """
    name, now = str(uuid4()), time.time()
    cwd = _working_folder(agent, source)
    writer = writer_of(agent)
    assert writer is not None
    about = About(session_id=name, at=now, title=source.title, cwd=cwd, model=source.model)
    with reading(session) as opened:
        written = writer.write(unfold(opened.context), about)
    file = out or place_of(agent, source, cwd=cwd, session_id=name, at=now)
    if agent is Agent.KIMI and out is None:
        ensure_listed(_kimi_share(), cwd)
    write_new(file, written.data)
    return Given(agent=agent, file=str(file), resume=_resume(agent, name, cwd), lost=written.lost)


def place_of(agent: Agent, source: Opened, *, cwd: str, session_id: str, at: float) -> Path:
    """Say where an agent looks for a session: beside the source's, else in its home.

    Kimi CLI keeps those of a folder under the MD5 sum of its path, Claude Code under the path
    with every sign but letters and digits as a hyphen, Codex under the day.
    """
    path = source.path.absolute()
    moment = datetime.fromtimestamp(at, UTC)
    match agent:
        case Agent.KIMI:
            folder = _kimi_share() / "sessions" / digest_of(cwd)
            return folder / session_id / "context.jsonl"
        case Agent.CLAUDE_CODE:
            if source.format == agent:
                return path.with_name(f"{session_id}.jsonl")
            slug = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in cwd)
            return _home("CLAUDE_CONFIG_DIR", ".claude") / "projects" / slug / f"{session_id}.jsonl"
        case Agent.CODEX:
            above = [one for one in path.parents if one.name == "sessions"]
            known = source.format == agent and bool(above)
            root = above[0] if known else _home("CODEX_HOME", ".codex") / "sessions"
            file = f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"
            return root / f"{moment:%Y}" / f"{moment:%m}" / f"{moment:%d}" / file


def _working_folder(agent: Agent, source: Opened) -> str:
    """Say in which folder the agent is to go on: where the session was held, else here."""
    if agent is Agent.KIMI:
        sessions = _kimi_share() / "sessions"
        path = source.path.absolute()
        if sessions in path.parents:
            listed = folder_of_digest(_kimi_share(), path.relative_to(sessions).parts[0])
            if listed is not None:
                return listed
    told = source.reading.cwd if source.reading is not None else ""
    return os.path.normpath(told) if told else str(Path.cwd())


def told(lost: dict[str, int]) -> str:
    """Say what a target does not hold."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(lost.items()))


def _kimi_share() -> Path:
    return _home("KIMI_SHARE_DIR", ".kimi")


def _home(variable: str, name: str) -> Path:
    """Give an agent's home: where its variable says, else below the user's."""
    return Path(os.environ.get(variable) or Path.home() / name).absolute()


def _resume(agent: Agent, session_id: str, cwd: str) -> str:
    """Give the command line that goes on with a session, in its folder."""
    words = {
        Agent.CLAUDE_CODE: ["claude", "--resume", session_id],
        Agent.CODEX: ["codex", "resume", session_id],
        Agent.KIMI: ["kimi", "--session", session_id],
    }[agent]
    return f"cd {shlex.quote(cwd)} && {shlex.join(words)}"


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, 0600, with the folders above it.

    Raises:
        StoreError: If there is one, or it cannot be written.
    """
    disk = Disk()
    with translated(str(path)):
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        try:
            descriptor = disk.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            raise StoreError(
                "there is a file already", path=str(path), remedy="name another"
            ) from None
        try:
            write_all(disk, descriptor, data)
            disk.fsync(descriptor)
        finally:
            disk.close(descriptor)
        disk.fsync_folder(str(path.parent))
