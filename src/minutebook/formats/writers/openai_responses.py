"""A request of OpenAI's Responses API: `instructions` and `input`. Pure.

Calls are answered in their order, ids are unique. Reasoning goes along with its cipher text, if
OpenAI made it, and is left out otherwise: the API refuses what it did not make. Items that the
API ran or compacted itself go along whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.formats.mapping import compact_json
from minutebook.formats.openai_responses import read
from minutebook.formats.writers.conversation import prompt_of, said, settled
from minutebook.formats.writers.items import Items
from minutebook.formats.writers.value import About, Writer, Written, checked
from minutebook.records import Record


def write(records: Sequence[Record], about: About) -> Written:
    """Write the request that would be sent."""
    items = Items(model=about.model, maker=about.maker)
    prompt = prompt_of(records)
    value: dict[str, Any] = {"model": about.model} if about.model else {}
    if prompt:
        value["instructions"] = prompt
    value["input"] = [item for one in settled(said(records)) for item in items.of(one)]
    data = compact_json(value).encode("utf-8", "replace") + b"\n"
    return checked(data, records, read)


WRITER = Writer(
    name="openai-responses",
    description="OpenAI Responses: an object with instructions and input, as its API takes them",
    write=write,
)
