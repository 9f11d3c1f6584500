"""What providers report as usage, brought into one record with disjoint buckets. Pure.

Which of a provider's counts lie inside of others:

| shape | cached input | reasoning |
| --- | --- | --- |
| OpenAI Chat, and those that speak it | inside `prompt_tokens` | inside `completion_tokens` |
| OpenAI Responses | inside `input_tokens` | inside `output_tokens` |
| Anthropic Messages, Bedrock Converse | beside `input_tokens` | inside `output_tokens` |
| Gemini | inside `promptTokenCount` | beside `candidatesTokenCount` |
| Ollama | not told | not told |

Some who speak a shape mean it otherwise. So where a report has a total, the total decides:
of the readings "inside" and "beside" the one that adds up to it is taken.

Sources: OpenAI's Chat and Responses references, Anthropic's Messages reference (also for its
`iterations`), Google's Gemini reference, Amazon's Converse reference, Ollama's. Names are
compared without case and underscores, so SDK objects and JSON read alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from minutebook.errors import InvalidMessage
from minutebook.records import Usage

TOKENS_MAX = 1 << 53
"""From here on a count is no count."""

CONTEXT_ITERATIONS = frozenset({"message", "fallbackmessage"})
"""Anthropic's kinds of iterations that read the context; `compaction` and `advisor_message`
are calls beside it."""

_WRAPPERS = ("usage", "usagemetadata")
_EVENTS = ("message", "response")
"""Where Anthropic's `message_start` and the Responses API's `response.completed` hold a reply."""

_INPUTS = ("prompttokens", "inputtokens", "prompttokencount", "promptevalcount")
_OUTPUTS = (
    "completiontokens",
    "outputtokens",
    "candidatestokencount",
    "responsetokencount",
    "evalcount",
)
_TOTALS = ("totaltokens", "totaltokencount")
_CACHE_READS = (
    "cachereadinputtokens",
    "cachedcontenttokencount",
    "cachedinputtokens",
    "promptcachehittokens",
    "cachedtokens",
)
_CACHE_WRITES = ("cachecreationinputtokens", "cachewriteinputtokens", "cachewritetokens")
_REASONINGS = (
    "thoughtstokencount",
    "reasoningoutputtokens",
    "reasoningtokens",
    "thinkingtokens",
)
_INPUT_DETAILS = ("prompttokensdetails", "inputtokensdetails")
_OUTPUT_DETAILS = ("completiontokensdetails", "outputtokensdetails")
_CACHE_BESIDE = ("cachereadinputtokens", "cachecreationinputtokens", "cachewriteinputtokens")


class Buckets(Struct, frozen=True, kw_only=True):
    """One report, in counts that add up: no token is in two of the first four."""

    input: int
    """Fresh input: neither read from the provider's cache nor written to it."""
    cache_read: int
    cache_write: int
    output: int
    """All output, reasoning too."""
    reasoning: int
    """The part of `output` that was thinking."""
    shape: str
    """`chat`, `responses`, `anthropic`, `gemini` or `ollama`: whose rules were followed."""

    @property
    def all_input(self) -> int:
        """The size of the request: fresh, read from the cache, written to it."""
        return self.input + self.cache_read + self.cache_write


def usage_record(
    value: object, *, model: str | None = None, keeps_reasoning: bool | None = None
) -> Usage:
    """Give the record of a provider's usage.

    *value* is a reply or its usage (an SDK's object or a mapping of the same shape), a
    `Usage`, or the size of the whole context in tokens. `token_count` is all input, cached
    or not, and what of the output stays: all of it, but no reasoning that isn't sent again.

    *keeps_reasoning* says whether it is. If it isn't said: at Anthropic and in the Responses
    API it is (the items go back with their cipher text), at Gemini and in Chat it isn't, but
    for Kimi's models, whose API asks for it.

    Of a report with Anthropic's `iterations` the last that read the context counts; what the
    others cost is in `spent.spent`.

    Raises:
        InvalidMessage: If it is of no known shape, or a count is negative or absurd.
    """
    if isinstance(value, Usage):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        tokens = _checked(value, "token_count")
        return Usage(token_count=tokens, content=_line(tokens), model=model)
    found = buckets(value)
    if keeps_reasoning is None:
        keeps_reasoning = keeps(found.shape, model)
    stays = found.output if keeps_reasoning else found.output - found.reasoning
    tokens = found.all_input + stays
    return Usage(
        token_count=tokens,
        content=_line(tokens),
        input=found.input,
        output=found.output,
        cache_read=found.cache_read,
        cache_write=found.cache_write,
        reasoning=found.reasoning,
        model=model,
    )


def keeps(shape: str, model: str | None) -> bool:
    """Tell whether reasoning goes back to the provider with the next request, by its shape."""
    if shape == "chat":
        return "kimi" in (model or "").lower()
    return shape != "gemini"


def all_input(usage: Usage) -> int | None:
    """Give the size of the request that a record reports; None if it doesn't tell."""
    if usage.input is None:
        return None
    return usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)


def buckets(value: object) -> Buckets:
    """Read a report (see `usage_record`) as it stands; counts of the context alone.

    Raises:
        InvalidMessage: If it is of no known shape, or a count is negative or absurd.
    """
    found = plain(value)
    passes = iterations(found)
    reads = [one for one in passes if plain_name(one.get("type")) in CONTEXT_ITERATIONS]
    return read_counts(reads[-1], anthropic=True) if reads else read_counts(found)


def read_counts(found: Mapping[str, object], *, anthropic: bool = False) -> Buckets:
    """Read the counts of a report with plain names; *anthropic* says that it is of that shape.

    Raises:
        InvalidMessage: If it is of no known shape, or a count is negative or absurd.
    """
    shape = "anthropic" if anthropic else _shape(found)
    total = _first(found, _TOTALS)
    given = _first(found, _INPUTS) or 0
    output = _first(found, _OUTPUTS) or 0
    inner = _inner(found, _INPUT_DETAILS)
    read = _first(found, _CACHE_READS) or _first(inner, _CACHE_READS) or 0
    write = _first(found, _CACHE_WRITES) or _first(inner, _CACHE_WRITES) or 0
    reasoning = _reasoning(found)
    output, reasoning = _whole_output(shape, given, output, reasoning, total)
    total_input = None if total is None else total - output
    read, write, beside = _cache(shape, given, read, write, total_input)
    return Buckets(
        input=given if beside else given - read - write,
        cache_read=read,
        cache_write=write,
        output=output,
        reasoning=reasoning,
        shape=shape,
    )


def merge(previous: Mapping[str, Any] | None, new: object) -> dict[str, Any]:
    """Take one more piece of a streamed reply: the usage so far and what *new* says of it.

    *new* is a chunk, an event, a usage or None. The rule: counts in one stream are
    cumulative, so of each count the larger is kept and none is ever added to another. A
    count that is missing, null, zero, negative or absurd says nothing. So a report that comes
    twice counts once, and zeros at the end take nothing back. Never raises.
    """
    merged = dict(previous or {})
    found = _mapping(usage_in(new))
    for name, value in found.items():
        kept = merged.get(name)
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int):
            # A field that was a list or held fields of its own is no count.
            known = kept if isinstance(kept, int) else 0 if kept is None else TOKENS_MAX
            if known < value < TOKENS_MAX:
                merged[name] = value
        elif isinstance(value, list | tuple):
            # Iterations: the list grows, and its last state is the final one.
            if len(value) >= (len(kept) if isinstance(kept, list | tuple) else 0):
                merged[name] = value
        elif not isinstance(value, str | float):
            inner = merge(kept if isinstance(kept, Mapping) else None, value)
            if inner:
                merged[name] = inner
    return merged


def usage_in(reply: object) -> object:
    """Find the usage in a reply, a chunk or an event; what holds none is given as it is."""
    if not isinstance(reply, Mapping):
        for holder in (reply, getattr(reply, "message", None), getattr(reply, "response", None)):
            for name in ("usage", "usage_metadata"):
                if getattr(holder, name, None) is not None:
                    return getattr(holder, name)
        return reply
    found = {plain_name(name): item for name, item in reply.items()}
    for name in _WRAPPERS:
        if name in found:
            return found[name]
    for name in _EVENTS:
        inner = found.get(name)
        if isinstance(inner, Mapping) and "usage" in inner:
            return inner["usage"]
    return reply


def iterations(found: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Give Anthropic's iterations of a report with plain names; none for another shape."""
    value = found.get("iterations")
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [plain(one) for one in value]


def plain(value: object) -> dict[str, object]:
    """Give the fields of a report, or of the usage inside of a reply, by their plain names."""
    return {plain_name(name): item for name, item in _mapping(usage_in(value)).items()}


def plain_name(name: object) -> str:
    """Give a name as it is compared: without case and underscores."""
    return str(name).replace("_", "").lower()


def _shape(found: Mapping[str, object]) -> str:
    """Tell whose rules a report follows.

    Raises:
        InvalidMessage: If it has no count of input.
    """
    if "prompttokens" in found:
        return "chat"
    if "prompttokencount" in found:
        return "gemini"
    if "promptevalcount" in found:
        return "ollama"
    if "inputtokens" in found:
        beside = any(name in found for name in (*_CACHE_BESIDE, "cachecreation", "iterations"))
        return "anthropic" if beside else "responses"
    names = ", ".join(sorted(found)) or "nothing in it"
    raise InvalidMessage(f"usage of an unknown shape: {names}")


def _whole_output(
    shape: str, given: int, output: int, reasoning: int, total: int | None
) -> tuple[int, int]:
    """Settle whether reasoning lies inside of the output; give all output, and reasoning."""
    beside = shape == "gemini" or reasoning > output
    if total is not None and reasoning and total in {given + output, given + output + reasoning}:
        beside = total == given + output + reasoning
    return (output + reasoning if beside else output), reasoning


def _cache(
    shape: str, given: int, read: int, write: int, total: int | None
) -> tuple[int, int, bool]:
    """Settle whether cached input lies beside the input; give both counts, and whether.

    *total* is what the report's total leaves for all input. What lies inside can't be more
    than all; OpenAI's count of writes is "unadjusted" and may overlap its reads.
    """
    beside = shape == "anthropic" or read > given
    cached = read + write
    if total is not None and cached and total in {given, given + cached}:
        beside = total == given + cached
    if not beside:
        read = min(read, given)
        write = min(write, given - read)
    return read, write, beside


def _reasoning(found: Mapping[str, object]) -> int:
    """Read the count of reasoning, wherever it stands."""
    return _first(found, _REASONINGS) or _first(_inner(found, _OUTPUT_DETAILS), _REASONINGS) or 0


def _inner(found: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """Give the details under the first of *names* that is there."""
    for name in names:
        if found.get(name) is not None:
            return {plain_name(key): item for key, item in _mapping(found[name]).items()}
    return {}


def _first(found: Mapping[str, object], names: Sequence[str]) -> int | None:
    """Read the first of *names* that is there and not null."""
    for name in names:
        if found.get(name) is not None:
            return _checked(found[name], name)
    return None


def _mapping(value: object) -> Mapping[str, object]:
    """Give the fields of a mapping, a pydantic model, a struct, or any plain object."""
    if isinstance(value, Mapping):
        return {str(name): item for name, item in value.items()}
    if isinstance(value, Struct):
        return structs.asdict(value)
    dump = getattr(value, "model_dump", None)
    fields = dump() if callable(dump) else getattr(value, "__dict__", None)
    return {str(name): item for name, item in dict(fields or {}).items()}


def _line(tokens: int) -> str:
    """Give the one readable line of a record."""
    return f"{tokens} tokens"


def _checked(value: object, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < TOKENS_MAX:
        return value
    raise InvalidMessage(f"usage: {name} is {value!r}, not a number of tokens")
