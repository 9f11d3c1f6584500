"""What the gateway is set to, and which requests it lets in. Pure."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from minutebook.budget import preset
from minutebook.errors import ConfigError

TOKEN_HEADER = "x-minutebook-token"  # noqa: S105 - the header's name


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gateway's settings; `checked` makes sure that they make sense."""

    upstream: dict[str, str]
    """Name to base URL. `openai` and `anthropic` serve the paths of their APIs; every name
    serves the paths below `/NAME/`."""
    root: str = "minutebook-gateway"
    listen: str = "127.0.0.1:8377"
    token: str = ""
    hosts: tuple[str, ...] = ()
    """Host names besides the address itself by which clients may call the gateway."""
    sessions: bool = True
    """False: a bare pass-through that keeps nothing."""
    window: int | None = None
    """In tokens; None for what is known of the model."""
    preset: str = "default"
    durability: Literal["disk", "process"] = "disk"
    redact: bool = False
    ask_usage: bool = False
    metrics: bool = False
    """Whether `/metrics` is answered; needs the extra `metrics`."""
    ui: bool = False
    """Whether `/ui` shows the sessions; needs the extra `viewer`."""
    body_bytes_max: int = 64 << 20
    header_bytes_max: int = 64 << 10
    requests_max: int = 512
    seconds_max: float = 600
    """How long an upstream may be silent."""
    open_sessions_max: int = 256

    @property
    def address(self) -> tuple[str, int]:
        """Give host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    def checked(self) -> Settings:
        """Give the settings back.

        Raises:
            ConfigError: If one makes no sense.
        """
        if not self.upstream:
            raise ConfigError("upstream", "none is named; say --upstream openai=https://HOST")
        for name, url in self.upstream.items():
            parts = urlsplit(url)
            if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query:
                raise ConfigError("upstream", f"{name}: {url!r} is no http address")
            if not name.replace("-", "").replace("_", "").isalnum() or name in _OURS:
                raise ConfigError("upstream", f"{name!r} cannot be a name")
        host, _, port = self.listen.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            raise ConfigError("listen", f"{self.listen!r} is not HOST:PORT")
        if not is_loopback(self.address[0]) and not self.token:
            raise ConfigError("token", f"{self.listen} can be reached by others; name a token")
        for name in ("body_bytes_max", "header_bytes_max", "requests_max", "open_sessions_max"):
            if getattr(self, name) < 1:
                raise ConfigError(name, "must be at least 1")
        if self.seconds_max <= 0:
            raise ConfigError("seconds_max", "must be more than 0")
        if self.window is not None and self.window < 1:
            raise ConfigError("window", "must be at least 1 token")
        preset(self.preset)
        return self


_OURS = frozenset(("v1", "sessions", "health", "ready", "metrics", "ui"))


def make_settings(values: Mapping[str, Any]) -> Settings:
    """Make settings of a configuration's values.

    Raises:
        ConfigError: If one is unknown, of a wrong type, or makes no sense.
    """
    try:
        made = msgspec.convert(dict(values), Settings)
    except msgspec.ValidationError as error:
        raise ConfigError("gateway", str(error)) from error
    return made.checked()


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(settings: Settings, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Say why a request may not come in: status and message; None if it may.

    Host and Origin are checked against other sites and names that point here; the token, where
    one is set, is compared in constant time.
    """
    if not _is_known(settings, headers.get("host", "")):
        return 403, "the Host header names another host; allow it with --host"
    origin = headers.get("origin")
    if origin is not None and not _is_known(settings, urlsplit(origin).netloc):
        return 403, "requests of other sites are refused"
    if settings.token:
        given = headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(given.encode(), settings.token.encode()):
            return 401, f"the header {TOKEN_HEADER} is missing or wrong"
    return None


def _is_known(settings: Settings, netloc: str) -> bool:
    host = (urlsplit(f"//{netloc}").hostname or "") if _is_netloc(netloc) else ""
    return bool(host) and (
        is_loopback(host) or host == settings.address[0] or host in settings.hosts
    )


def _is_netloc(netloc: str) -> bool:
    try:
        return urlsplit(f"//{netloc}").netloc == netloc and "@" not in netloc
    except ValueError:
        return False
