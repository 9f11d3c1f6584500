"""`export`: what would be sent, spelled for a provider; and which formats can be read."""

from __future__ import annotations

import os
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from minutebook.cli.giving_back import told
from minutebook.cli.harmless import harmless
from minutebook.cli.opening import Opened, reading
from minutebook.cli.options import ConversationOption, JsonOption, PartialOption, PathArgument
from minutebook.cli.rendering import Page, emit_json, takes_unicode, to_json
from minutebook.cli.wording import say
from minutebook.errors import StoreError
from minutebook.formats.reading import FORMATS
from minutebook.formats.writers.registry import WRITERS, writer_of
from minutebook.formats.writers.unfold import unfold
from minutebook.formats.writers.value import About, Written
from minutebook.providers.view import make_view
from minutebook.records import SystemPrompt
from minutebook.store.disk import Disk, write_all
from minutebook.store.logfile import translated


class Wire(StrEnum):
    """The shapes that an export can have."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"
    KIMI = "kimi"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    MARKDOWN = "markdown"


WRITER_NAMES = {
    Wire.RESPONSES: "openai-responses",
    Wire.KIMI: "kimi",
    Wire.CLAUDE_CODE: "claude-code",
    Wire.CODEX: "codex",
    Wire.MARKDOWN: "markdown",
}
"""Who writes what is no plain list of messages."""

ToOption = Annotated[Wire, typer.Option("--to", help="Whose API, agent or eye it is for.")]
FullOption = Annotated[
    bool, typer.Option("--full", help="Everything ever written, what is no longer sent too.")
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model it is for; Kimi's get their thinking back.",
        show_default=False,
    ),
]
OutOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write it to a new file that only you can read.",
        show_default=False,
    ),
]


def export(
    path: PathArgument,
    to: ToOption,
    full: FullOption = False,
    model: ModelOption = "",
    out: OutOption = None,
    partial: PartialOption = False,
    conversation: ConversationOption = 0,
) -> None:
    """Print what would be sent, as a provider or an agent takes it.

    For openai, anthropic and responses it is valid for the API: each call is answered, nothing
    is blank. For openai it is the list of messages, for the others an object. For kimi,
    claude-code and codex it is a session file of that agent, for markdown a page for people.
    What the target cannot hold is told on the standard error stream.
    """
    with reading(path, conversation=conversation) as opened:
        if to in WRITER_NAMES:
            written = _written(opened, to, full=full, model=model, partial=partial)
            text = written.data.decode()
            if written.lost:
                say(f"not in {to}: {told(written.lost)}")
        else:
            request = _request(opened, to, full=full, model=model, partial=partial)
            text = to_json(request, ascii_only=out is None and not takes_unicode()) + "\n"
    if out is not None:
        _write(out, text)
    else:
        # What a file may hold must not steer a terminal.
        typer.echo(harmless(text) if sys.stdout.isatty() else text, nl=False)


def _written(opened: Opened, to: Wire, *, full: bool, model: str, partial: bool) -> Written:
    """Write the session as the target has it."""
    writer = writer_of(WRITER_NAMES[to])
    assert writer is not None
    records = unfold(opened.context)
    if full:
        prompts = [record for record in records if isinstance(record, SystemPrompt)]
        records = [*prompts, *opened.everything(partial=partial)]
    return writer.write(records, about(opened, model=model))


def about(opened: Opened, *, model: str = "") -> About:
    """Say what is known of a session that is written anew, under an id of its own."""
    return About(
        session_id=str(uuid4()),
        at=time.time(),
        title=opened.title,
        cwd=str(Path.cwd()),
        model=model or opened.model,
    )


def _request(opened: Opened, to: Wire, *, full: bool, model: str, partial: bool) -> Any:
    """Give the messages in the provider's shape."""
    context = opened.context
    history = opened.everything(partial=partial) if full else context.history
    view = make_view(context.system_prompt, history)
    if to is Wire.OPENAI:
        return view.to_openai(model=model or opened.model)
    return view.to_anthropic()


def _write(path: str, text: str) -> None:
    """Write a new file, 0600 from its first moment on."""
    disk = Disk()
    with translated(path):
        try:
            descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            raise StoreError("there is a file already", path=path, remedy="name another") from None
        try:
            write_all(disk, descriptor, text.encode("utf-8"))
            disk.fsync(descriptor)
        finally:
            disk.close(descriptor)


def formats(json: JsonOption = False) -> None:
    """List the formats that can be read and written."""
    if json:
        emit_json(
            {
                "formats": [
                    {
                        "name": form.name,
                        "description": form.description,
                        "looks_for": form.looks_for,
                    }
                    for form in FORMATS
                ],
                "written": [
                    {"name": writer.name, "description": writer.description} for writer in WRITERS
                ],
            }
        )
        return
    page = Page()
    for form in FORMATS:
        page.heading(form.name, form.description)
        page.line(f"known by {form.looks_for}", indent=2)
    page.heading("written by export", ", ".join(writer.name for writer in WRITERS))
