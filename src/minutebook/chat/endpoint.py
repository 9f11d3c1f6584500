"""The model: an OpenAI-compatible endpoint or Anthropic's, each by its own SDK."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from minutebook.errors import ConfigError, MinutebookError
from minutebook.messages import Message
from minutebook.providers.replies import from_anthropic, from_openai
from minutebook.providers.view import View
from minutebook.tools.offer import Offer

REPLY_TOKENS = 4_096
"""What a reply may take, where nobody says otherwise."""


class EndpointError(MinutebookError):
    """The model could not be asked."""


class Answer(Struct, frozen=True):
    """A reply, and what the provider counted for it."""

    message: Message
    usage: object


class Endpoint(Protocol):
    """Asks one model."""

    def schemas(self, offers: Sequence[Offer]) -> list[dict[str, Any]]:
        """Give tools in the shape of the API."""
        ...

    async def ask(self, view: View, offers: Sequence[Offer]) -> Answer:
        """Send a view; what the SDK raises is raised."""
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...


class OpenAIEndpoint:
    """Chat Completions, of OpenAI or of a server that speaks like it."""

    def __init__(self, model: str, base_url: str | None) -> None:
        """Take the model's name; the key comes from `OPENAI_API_KEY`."""
        from openai import AsyncOpenAI

        self._model = model
        key = os.environ.get("OPENAI_API_KEY") or ("none" if base_url else None)
        self._client = AsyncOpenAI(base_url=base_url, api_key=key)

    def schemas(self, offers: Sequence[Offer]) -> list[dict[str, Any]]:
        """Give tools as Chat Completions takes them."""
        return [offer.to_openai() for offer in offers]

    async def ask(self, view: View, offers: Sequence[Offer]) -> Answer:
        """Send a view."""
        client: Any = self._client
        reply = await client.chat.completions.create(
            model=self._model,
            messages=view.to_openai(model=self._model),
            tools=self.schemas(offers),
            max_tokens=REPLY_TOKENS,
        )
        return Answer(from_openai(reply), reply.usage)

    async def close(self) -> None:
        """Give up connections."""
        await self._client.close()


class AnthropicEndpoint:
    """Anthropic Messages."""

    def __init__(self, model: str, base_url: str | None) -> None:
        """Take the model's name; the key comes from `ANTHROPIC_API_KEY`."""
        from anthropic import AsyncAnthropic

        self._model = model
        key = os.environ.get("ANTHROPIC_API_KEY") or ("none" if base_url else None)
        self._client = AsyncAnthropic(base_url=base_url, api_key=key)

    def schemas(self, offers: Sequence[Offer]) -> list[dict[str, Any]]:
        """Give tools as Messages takes them."""
        return [offer.to_anthropic() for offer in offers]

    async def ask(self, view: View, offers: Sequence[Offer]) -> Answer:
        """Send a view, marked for the prompt cache."""
        client: Any = self._client
        reply = await client.messages.create(
            model=self._model,
            max_tokens=REPLY_TOKENS,
            tools=self.schemas(offers),
            **view.to_anthropic(cache=True),
        )
        return Answer(from_anthropic(reply), reply.usage)

    async def close(self) -> None:
        """Give up connections."""
        await self._client.close()


def make_endpoint(
    model: str | None, base_url: str | None, api: str | None, environment: Mapping[str, str]
) -> Endpoint:
    """Make what asks the model that is named, or that the environment names.

    *api* is `openai` or `anthropic`; without it, models that begin with `claude` are Anthropic's.

    Raises:
        ConfigError: If no model or key is named, or the SDK is missing; it says what to set.
    """
    name = model or environment.get("MINUTEBOOK_MODEL", "")
    if not name:
        raise ConfigError("model", "none; give --model NAME, or set MINUTEBOOK_MODEL")
    spoken = api or ("anthropic" if name.rpartition("/")[2].startswith("claude") else "openai")
    variable = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}.get(spoken)
    if variable is None:
        raise ConfigError("api", f"{spoken!r} is none; there are openai and anthropic")
    if base_url is None and not environment.get(variable):
        raise ConfigError("key", f"none; set {variable}, or give --base-url of a server of yours")
    kind = AnthropicEndpoint if spoken == "anthropic" else OpenAIEndpoint
    try:
        return kind(name, base_url)
    except ImportError as error:
        raise ConfigError(
            "api", f"the package {error.name} is missing; install minutebook[{spoken}]"
        ) from error
