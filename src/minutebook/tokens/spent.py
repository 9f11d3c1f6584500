"""What calls of a model cost in tokens, added up: the compactor's own are metered with this.

A session's usage records say how large its context is; this says what was paid for, and the
two differ: a call that failed, a summary that was refused and a server-side compaction cost
tokens and leave nothing in the context. Pure.
"""

from __future__ import annotations

from msgspec import Struct

from minutebook.errors import InvalidMessage
from minutebook.records import Usage
from minutebook.tokens.usage import all_input, buckets, iterations, plain, read_counts


class Spent(Struct, frozen=True, kw_only=True):
    """Tokens that were paid for, in disjoint buckets."""

    calls: int = 0
    uncounted: int = 0
    """Calls of which the provider told nothing that can be read; what they cost is missing."""
    input: int = 0
    """Fresh input: neither read from the provider's cache nor written to it."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    """All output, reasoning too."""
    reasoning: int = 0
    """The part of `output` that was thinking."""

    def __add__(self, other: Spent) -> Spent:
        """Give what both cost together."""
        return Spent(
            calls=self.calls + other.calls,
            uncounted=self.uncounted + other.uncounted,
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )

    @property
    def tokens(self) -> int:
        """All of it, reasoning once."""
        return self.input + self.cache_read + self.cache_write + self.output

    def record(self) -> dict[str, int]:
        """Give it as the `usage` of a `_compaction` record; counts of 0 are left out."""
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: count for name, count in counts.items() if count}


def spent(value: object) -> Spent:
    """Give what one call cost, of its reply or its usage (see `usage.usage_record`).

    Of a report with Anthropic's `iterations` each one counts: those of a server-side
    compaction are in no other figure. A report that is missing or can't be read is an
    uncounted call. Never raises.
    """
    if isinstance(value, Usage):
        return _of_record(value)
    try:
        passes = [read_counts(one, anthropic=True) for one in iterations(plain(value))]
        found = passes or [buckets(value)]
    except InvalidMessage:
        return Spent(calls=1, uncounted=1)
    return Spent(
        calls=1,
        input=sum(one.input for one in found),
        cache_read=sum(one.cache_read for one in found),
        cache_write=sum(one.cache_write for one in found),
        output=sum(one.output for one in found),
        reasoning=sum(one.reasoning for one in found),
    )


def _of_record(usage: Usage) -> Spent:
    """Give what a usage record says that its request cost."""
    if all_input(usage) is None:
        return Spent(calls=1, uncounted=1)
    return Spent(
        calls=1,
        input=usage.input or 0,
        cache_read=usage.cache_read or 0,
        cache_write=usage.cache_write or 0,
        output=usage.output or 0,
        reasoning=usage.reasoning or 0,
    )
