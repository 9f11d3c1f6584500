"""`chat`: a plain chat with tools, whose whole conversation is a session."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from minutebook.cli.wording import say

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model; or MINUTEBOOK_MODEL."),
]
UrlOption = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="A server of yours, or a gateway.")
]
ApiOption = Annotated[
    str | None,
    typer.Option(
        "--api",
        metavar="API",
        help="openai or anthropic; without it, claude models are Anthropic's.",
    ),
]
WindowOption = Annotated[
    int | None,
    typer.Option("--window", metavar="TOKENS", min=1, help="Where the model's is not known."),
]
ResumeOption = Annotated[
    Path | None, typer.Option("--resume", metavar="PATH", help="Go on with this session.")
]
FolderOption = Annotated[
    Path, typer.Option("--folder", metavar="DIR", help="Where tools read, write and run.")
]
AllowOption = Annotated[
    str,
    typer.Option(
        "--allow", metavar="TOOLS", help="Of read, write and run those that need not be asked for."
    ),
]


def chat(
    *,
    model: ModelOption = None,
    base_url: UrlOption = None,
    api: ApiOption = None,
    window: WindowOption = None,
    resume: ResumeOption = None,
    folder: FolderOption = Path(),
    allow: AllowOption = "",
) -> None:
    """Talk to a model that reads, writes and runs in a folder.

    Each of these is asked for unless it is allowed. The conversation is a session below
    ./sessions, compacted when it is due; /help lists what can be typed. Ctrl-C ends what is
    under way, and at the prompt the chat. Needs the extra `openai` or `anthropic`.
    """
    from minutebook.chat.endpoint import make_endpoint
    from minutebook.chat.terminal import hold

    endpoint = make_endpoint(model, base_url, api, os.environ)
    path = resume or Path("sessions") / time.strftime("chat-%Y%m%d-%H%M%S")
    hold(
        endpoint,
        path,
        folder,
        allowed=frozenset(allow.replace(",", " ").split()),
        model=model or os.environ.get("MINUTEBOOK_MODEL") or None,
        window=window,
    )
    say(f"the session is in {path}; go on with: minutebook chat --resume {path}")
