"""The arguments and options that several commands share, with the words of their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SESSION = "A session's folder, or the context.jsonl in it."

PathArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="A session's folder, a context.jsonl, or another agent's file.",
        show_default=False,
    ),
]
SessionArgument = Annotated[Path, typer.Argument(metavar="PATH", help=SESSION, show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window",
        metavar="TOKENS",
        min=1,
        help="The model's context window, where the session does not know it.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model, in place of the one that the session names; says the window.",
        show_default=False,
    ),
]
ConversationOption = Annotated[
    int,
    typer.Option(
        "--conversation",
        metavar="N",
        min=0,
        help="Of a file that holds several conversations, the one to read; the first is 0.",
        show_default=False,
    ),
]
PartialOption = Annotated[
    bool,
    typer.Option("--partial", help="With --full: go on although a rotation is missing."),
]
