"""The command `serve`: the gateway between an agent and its provider."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from minutebook.cli.wording import say
from minutebook.errors import ConfigError
from minutebook.gateway.serving import serve as run_gateway
from minutebook.gateway.settings import Settings, is_loopback, make_settings

UpstreamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--upstream",
        metavar="NAME=URL",
        help="Where requests go; `openai` and `anthropic` serve those APIs. May be repeated.",
        show_default=False,
    ),
]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="Where sessions are kept.", show_default=False),
]
ListenOption = Annotated[
    str | None,
    typer.Option(
        "--listen", metavar="HOST:PORT", help="127.0.0.1:8377 if not said.", show_default=False
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="A TOML file with a table [gateway].", show_default=False
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="MINUTEBOOK_GATEWAY_TOKEN",
        help="What clients have to send in x-minutebook-token; needed beyond loopback.",
        show_default=False,
    ),
]
HostOption = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="NAME", help="A host name to allow.", show_default=False),
]
WindowOption = Annotated[
    int | None,
    typer.Option("--window", metavar="TOKENS", help="The models' window.", show_default=False),
]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="Keep secrets out of what is written.")
]
MetricsOption = Annotated[
    bool, typer.Option("--metrics", help="Answer /metrics for Prometheus; needs the extra.")
]
UiOption = Annotated[
    bool, typer.Option("--ui", help="Show the sessions at /ui, to look at; needs the extra viewer.")
]
BareOption = Annotated[
    bool, typer.Option("--no-sessions", help="Pass everything through and keep nothing.")
]


def serve(
    upstream: UpstreamOption = None,
    *,
    root: RootOption = None,
    listen: ListenOption = None,
    config: ConfigOption = None,
    token: TokenOption = None,
    host: HostOption = None,
    window: WindowOption = None,
    redact: RedactOption = False,
    metrics: MetricsOption = False,
    ui: UiOption = False,
    no_sessions: BareOption = False,
) -> None:
    """Serve agents over HTTP and send on what fits.

    Stands between an agent and its provider; the agent changes only its base URL. Speaks
    OpenAI Chat Completions, OpenAI Responses and Anthropic Messages. Each conversation is kept
    as a session, and what is sent on fits the window. The client's own key goes upstream and
    is kept nowhere.
    """
    settings = settings_of(
        config,
        upstream=upstreams(upstream or []),
        root=None if root is None else str(root),
        listen=listen,
        token=token,
        hosts=tuple(host or ()) or None,
        window=window,
        redact=redact or None,
        metrics=metrics or None,
        ui=ui or None,
        sessions=False if no_sessions else None,
    )
    if not is_loopback(settings.address[0]):
        say(f"{settings.listen} can be reached by others; they need the token")
    names = ", ".join(sorted(settings.upstream))

    def listens(first: str) -> None:
        say(f"serving on http://{settings.listen} for {names}")
        if first:
            say(f"the sessions are at http://{settings.listen}{first}")

    run_gateway(settings, listens)


def upstreams(words: list[str]) -> dict[str, str] | None:
    """Read NAME=URL words; None if there are none.

    Raises:
        ConfigError: If a word is something else.
    """
    found = {}
    for word in words:
        name, equals, url = word.partition("=")
        if not (name and equals and url):
            raise ConfigError("upstream", f"{word!r} is not NAME=URL")
        found[name] = url
    return found or None


def settings_of(config: Path | None, **said: Any) -> Settings:
    """Make the settings of a file and what the command line says, which wins.

    Raises:
        ConfigError: If one makes no sense.
        OSError: If the file cannot be read.
    """
    values: dict[str, Any] = {"upstream": {}}
    if config is not None:
        try:
            table = tomllib.loads(config.read_text(encoding="utf-8")).get("gateway", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError("config", f"{config}: {error}") from error
        if not isinstance(table, dict):
            raise ConfigError("config", f"{config}: gateway is no table")
        values |= table
    values |= {name: value for name, value in said.items() if value is not None}
    return make_settings(values)
