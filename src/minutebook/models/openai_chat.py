"""A summariser on an OpenAI-compatible endpoint, by OpenAI's own SDK (extra `openai`).

Not streamed: a whole reply always carries its usage, whereas in a stream it has to be asked
for, and not every server knows how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import Capacity, SummaryRequest
from minutebook.errors import ConfigError
from minutebook.models.settings import KEY_VARIABLE, endpoint, missing

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
"""What the limit of a reply is called: by OpenAI, whose newer models refuse the older name,
and by others, of whom many know only that one."""


class OpenAISummarizer:
    """Writes summaries over Chat Completions. Make it where it is used; close it after."""

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        client: AsyncOpenAI | None = None,
    ) -> None:
        """Say which model, where, and what it takes.

        Args:
            model: The model's name; without it, `MINUTEBOOK_SUMMARY_MODEL`.
            base_url: The endpoint; without it, `MINUTEBOOK_SUMMARY_BASE_URL`, then the SDK's
                `OPENAI_BASE_URL`, then OpenAI.
            api_key: Its key; without it, `MINUTEBOOK_SUMMARY_API_KEY`, then `OPENAI_API_KEY`.
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
        official = self._client.base_url.host.endswith("openai.com")
        self._limit_name = LIMIT_NAMES[0 if official else 1]

    async def __call__(self, request: SummaryRequest) -> SummaryReply:
        """Write one summary. Raises as the SDK does; one call, never repeated by itself.

        But for one thing: a server that refuses the name of the limit is asked once more with
        the other name, which is then kept.
        """
        from openai import BadRequestError

        try:
            completion = await self._create(request)
        except BadRequestError as error:
            if self._limit_name not in str(error) or not _is_unknown_name(str(error)):
                raise
            self._limit_name = LIMIT_NAMES[1 - LIMIT_NAMES.index(self._limit_name)]
            completion = await self._create(request)
        return reply_of(completion)

    async def close(self) -> None:
        """Close the connections, if the client is our own."""
        if self._own:
            await self._client.close()

    async def _create(self, request: SummaryRequest) -> Any:
        limit: dict[str, Any] = {self._limit_name: request.output_tokens_max}
        return await self._client.chat.completions.create(
            model=self.name,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.user},
            ],
            **limit,
        )


def reply_of(completion: Any) -> SummaryReply:
    """Give what a completion says, that of a compatible server too: any field may be missing."""
    choices = getattr(completion, "choices", None)
    choice = choices[0] if choices else None
    message = getattr(choice, "message", None)
    calls = [getattr(call, "function", None) for call in getattr(message, "tool_calls", None) or ()]
    old_call = getattr(message, "function_call", None)
    return SummaryReply(
        text=_text(getattr(message, "content", None)),
        finish=str(getattr(choice, "finish_reason", None) or ""),
        usage=getattr(completion, "usage", None),
        model=str(getattr(completion, "model", None) or ""),
        calls=tuple(
            str(getattr(function, "name", None) or "?")
            for function in [*calls, *([old_call] if old_call else [])]
        ),
        refused=str(getattr(message, "refusal", None) or ""),
        thinking=_text(
            getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
        ),
    )


def _text(content: object) -> str:
    """Give content as text; some servers answer with a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in parts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _is_unknown_name(text: str) -> bool:
    """Tell a parameter that is not known from one whose value is wrong."""
    lower = text.lower()
    return any(
        word in lower for word in ("unsupported", "unrecognized", "unknown", "not supported")
    )


def _client(base_url: str | None, api_key: str | None) -> AsyncOpenAI:
    """Make a client that does not retry by itself: failed calls must be seen."""
    try:
        from openai import AsyncOpenAI, OpenAIError
    except ImportError as error:
        raise missing("openai", error) from error
    try:
        return AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0)
    except OpenAIError as error:
        raise ConfigError(
            "summarizer key", f"none; give one, or set {KEY_VARIABLE} (any text for a local server)"
        ) from error
