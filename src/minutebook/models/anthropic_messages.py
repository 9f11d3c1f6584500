"""A summariser on Anthropic's Messages API, by Anthropic's own SDK (extra `anthropic`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import Capacity, SummaryRequest
from minutebook.models.settings import endpoint, missing

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

TIMEOUT_SECONDS = 600.0
"""Stated, since without a stated time the SDK refuses long replies that aren't streamed. The
chain gives a call up before that."""


class AnthropicSummarizer:
    """Writes summaries over the Messages API. Make it where it is used; close it after."""

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        client: AsyncAnthropic | None = None,
    ) -> None:
        """Say which model, where, and what it takes.

        Args:
            model: The model's name; without it, `MINUTEBOOK_SUMMARY_MODEL`.
            base_url: The endpoint; without it, `MINUTEBOOK_SUMMARY_BASE_URL`, then the SDK's
                `ANTHROPIC_BASE_URL`, then Anthropic.
            api_key: Its key; without it, `MINUTEBOOK_SUMMARY_API_KEY`, then `ANTHROPIC_API_KEY`.
            window: The model's window in tokens; without it, what is known of the model.
            max_output: Its longest reply in tokens.
            client: A client to use as it is, in place of one made from the others. It stays
                the caller's to close.

        Raises:
            ConfigError: If the model or its window isn't known, or the extra is missing.
        """
        where = endpoint(
            model=model,
            base_url=base_url,
            api_key=api_key,
            window=window,
            max_output=max_output,
        )
        self.name = where.model
        self.capacity: Capacity = where.capacity
        self._own = client is None
        self._client = client or _client(where.base_url, where.api_key)

    async def __call__(self, request: SummaryRequest) -> SummaryReply:
        """Write one summary. Raises as the SDK does; one call, never repeated by itself."""
        message = await self._client.messages.create(
            model=self.name,
            max_tokens=request.output_tokens_max,
            system=request.system,
            messages=[{"role": "user", "content": request.user}],
            timeout=TIMEOUT_SECONDS,
        )
        return reply_of(message)

    async def close(self) -> None:
        """Close the connections, if the client is our own."""
        if self._own:
            await self._client.close()


def reply_of(message: Any) -> SummaryReply:
    """Give what a message says, that of a compatible server too: any field may be missing."""
    blocks = [
        (str(getattr(block, "type", "")), block)
        for block in getattr(message, "content", None) or ()
    ]
    return SummaryReply(
        text="\n".join(str(block.text or "") for kind, block in blocks if kind == "text"),
        finish=str(getattr(message, "stop_reason", None) or ""),
        usage=getattr(message, "usage", None),
        model=str(getattr(message, "model", None) or ""),
        calls=tuple(
            str(getattr(block, "name", None) or "?")
            for kind, block in blocks
            if kind.endswith("tool_use")
        ),
        thinking="\n".join(
            str(block.thinking or "") for kind, block in blocks if kind == "thinking"
        ),
    )


def _client(base_url: str | None, api_key: str | None) -> AsyncAnthropic:
    """Make a client that does not retry by itself: failed calls must be seen."""
    try:
        from anthropic import AsyncAnthropic
    except ImportError as error:
        raise missing("anthropic", error) from error
    return AsyncAnthropic(base_url=base_url, api_key=api_key, max_retries=0)
