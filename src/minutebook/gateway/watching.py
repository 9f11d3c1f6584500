"""The viewer at `/ui` of the gateway: its own sessions, to look at.

It has a token of its own, made at each start and told on the terminal: who may send requests to
models through the gateway need not be one who may read what all of them say. Nothing is changed
here, since the gateway is each session's one writer.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from msgspec import Struct

from minutebook.config.values import Config
from minutebook.gateway.settings import Settings
from minutebook.store.disk import FOLDER_MODE

BASE = "/ui"
TOKEN_BYTES = 32


class Ui(Struct, frozen=True, kw_only=True):
    """The viewer's application, and what its first address has to carry."""

    app: Any
    token: str

    @property
    def first(self) -> str:
        """The path to begin with."""
        return f"{BASE}/?token={self.token}"


def make_ui(settings: Settings) -> Ui | None:
    """Make the viewer, if the settings ask for it.

    Raises:
        ConfigError: If they do, and the extra is not installed.
    """
    if not settings.ui:
        return None
    from minutebook.viewer.app import make_app
    from minutebook.viewer.places import Places

    root = Path(settings.root)
    root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    cookie = f"minutebook_ui_{settings.address[1]}"
    return Ui(
        app=make_app(Places(root), Config(), token=token, cookie=cookie, base=BASE), token=token
    )


def is_for_ui(path: str) -> bool:
    """Tell whether a request is the viewer's to answer."""
    return path == BASE or path.startswith(f"{BASE}/")
