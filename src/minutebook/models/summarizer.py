"""Who writes summaries: any async callable from a request to a reply, with its window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import Capacity, SummaryRequest
from minutebook.errors import ConfigError

OUTPUT_TOKENS_UNKNOWN = 8_192
"""The longest reply of a summariser that doesn't say: what nearly all models can write."""

Write = Callable[[SummaryRequest], Awaitable[SummaryReply | str]]
"""The least that a summariser is. A plain text is a reply that ended well."""


@runtime_checkable
class Summarizer(Protocol):
    """A callable that writes summaries and says what it takes."""

    @property
    def name(self) -> str:
        """How reports and records call it: the model's name."""
        ...

    @property
    def capacity(self) -> Capacity:
        """Its window and its longest reply, as they are: nothing taken off for safety."""
        ...

    async def __call__(self, request: SummaryRequest) -> SummaryReply | str:
        """Write one summary. What goes wrong is raised as the provider's client raises it.

        The request has no tools, and none may be added. It is called again for retries: it
        does not retry by itself, or failed calls would cost in silence.
        """
        ...


class FunctionSummarizer:
    """Any async callable as a summariser. `as_summarizer` makes one."""

    def __init__(
        self,
        write: Write,
        *,
        window_tokens: int,
        output_tokens_max: int = OUTPUT_TOKENS_UNKNOWN,
        name: str = "",
    ) -> None:
        """Take the callable, and what its model takes: window and longest reply in tokens.

        Raises:
            ConfigError: If a number makes no sense.
        """
        self.name = name or str(getattr(write, "__name__", type(write).__name__))
        self.capacity = capacity_of(window_tokens, output_tokens_max)
        self._write = write

    async def __call__(self, request: SummaryRequest) -> SummaryReply | str:
        """Call it."""
        return await self._write(request)


def as_summarizer(value: Summarizer | Write, *, window_tokens: int | None = None) -> Summarizer:
    """Give a summariser; a bare callable gets *window_tokens* for its window.

    Raises:
        ConfigError: If it is no callable, or a bare one and no window is given.
    """
    if isinstance(value, Summarizer):
        return value
    if not callable(value):
        raise ConfigError("summarizer", f"{value!r} is no callable")
    if window_tokens is None:
        raise ConfigError(
            "summarizer window",
            "unknown; say how many tokens it takes: FunctionSummarizer(write, window_tokens=…)",
        )
    return FunctionSummarizer(value, window_tokens=window_tokens)


def capacity_of(window_tokens: int, output_tokens_max: int) -> Capacity:
    """Give a capacity from numbers that a user wrote.

    Raises:
        ConfigError: If one of them is not above 0.
    """
    for name, count in (("window", window_tokens), ("max_output", output_tokens_max)):
        if count <= 0:
            raise ConfigError(f"summarizer {name}", f"{count} tokens make no sense")
    return Capacity(window_tokens=window_tokens, output_tokens_max=output_tokens_max)


def small_windows(summarizers: list[Summarizer], trigger_tokens: int) -> list[str]:
    """Name each summariser that takes less than a session of *trigger_tokens* in one request.

    One sentence each, for a warning at the start: its summaries are written in parts and
    merged, which costs more calls.
    """
    return [
        f"{one.name} takes {one.capacity.window_tokens} tokens, less than the {trigger_tokens}"
        " at which this session is compacted: its summaries are written in parts"
        for one in summarizers
        if one.capacity.window_tokens < trigger_tokens
    ]
