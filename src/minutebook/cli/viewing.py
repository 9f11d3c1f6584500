"""The command `view`: sessions on a page of the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from minutebook.cli.wording import say
from minutebook.config.reading import load_config

PathOption = Annotated[
    Path | None,
    typer.Argument(
        metavar="PATH|ROOT",
        help="A session, another agent's file, or a folder with sessions in it. Without it: the "
        "homes of the agents on this machine.",
        show_default=False,
    ),
]
ListenOption = Annotated[
    str,
    typer.Option(
        "--listen", metavar="HOST:PORT", help="An address of this machine; port 0 takes a free one."
    ),
]
OpenOption = Annotated[
    bool | None,
    typer.Option(
        "--open/--no-open",
        help="Open the page in the browser; if not said, where there is a desktop.",
        show_default=False,
    ),
]
WriteOption = Annotated[
    bool, typer.Option("--allow-write", help="Let the page revert, undo, pin and compact.")
]


def view(
    path: PathOption = None,
    *,
    listen: ListenOption = "127.0.0.1:0",
    open_: OpenOption = None,
    allow_write: WriteOption = False,
) -> None:
    """Show sessions on a page of the browser.

    What fills the window, what is stored beside what is sent, what a compaction did, where one
    can go back to. The address has a token and can be reached from this machine alone. Nothing
    is changed without --allow-write. Needs the extra `viewer`.
    """
    # Here, since the viewer shows what the commands print and imports them for it.
    from minutebook.viewer.places import Places
    from minutebook.viewer.serving import serve

    def listens(url: str) -> None:
        say(f"viewing on {url}")
        if has_desktop() if open_ is None else open_:
            webbrowser.open(url)

    serve(Places(path), load_config(None, near=Path()), listen, listens, allow_write=allow_write)


def has_desktop() -> bool:
    """Tell whether a person sits before this terminal who would see a browser's window."""
    drawn = sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    return bool(drawn) and sys.stderr.isatty()
