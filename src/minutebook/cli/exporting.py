"""`export`: what would be sent, spelled for a provider; and which formats can be read."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from minutebook.cli.opening import Opened, reading
from minutebook.cli.options import ConversationOption, JsonOption, PartialOption, PathArgument
from minutebook.cli.rendering import Page, emit_json, to_json
from minutebook.errors import StoreError
from minutebook.formats.reading import FORMATS
from minutebook.providers.view import make_view
from minutebook.store.disk import Disk, write_all
from minutebook.store.logfile import translated


class Wire(StrEnum):
    """The shapes that an export can have."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


ToOption = Annotated[Wire, typer.Option("--to", help="Whose API it is spelled for.")]
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
    """Print what would be sent, as a provider takes it.

    The JSON is valid for the provider's API: each call is answered, nothing is blank. For
    openai it is the list of messages, for anthropic an object with system and messages.
    """
    with reading(path, conversation=conversation) as opened:
        request = _request(opened, to, full=full, model=model, partial=partial)
    if out is None:
        emit_json(request)
    else:
        _write(out, to_json(request))


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
            write_all(disk, descriptor, text.encode("utf-8") + b"\n")
            disk.fsync(descriptor)
        finally:
            disk.close(descriptor)


def formats(json: JsonOption = False) -> None:
    """List the formats that can be read."""
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
                ]
            }
        )
        return
    page = Page()
    for form in FORMATS:
        page.heading(form.name, form.description)
        page.line(f"known by {form.looks_for}", indent=2)
