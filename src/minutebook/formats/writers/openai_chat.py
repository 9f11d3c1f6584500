"""OpenAI's chat messages: an object with `messages`, valid as a request. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.formats.mapping import compact_json
from minutebook.formats.openai_chat import read
from minutebook.formats.writers.conversation import prompt_of
from minutebook.formats.writers.value import About, Writer, Written, checked
from minutebook.messages import Message
from minutebook.providers.view import make_view
from minutebook.records import Record


def write(records: Sequence[Record], about: About) -> Written:
    """Write what would be sent to the API of *about*'s model, by the rules of the view."""
    messages = [record for record in records if isinstance(record, Message)]
    view = make_view(prompt_of(records), messages)
    value: dict[str, Any] = {"model": about.model} if about.model else {}
    value["messages"] = view.to_openai(model=about.model)
    data = compact_json(value).encode("utf-8", "replace") + b"\n"
    return checked(data, records, read)


WRITER = Writer(
    name="openai-chat",
    description="OpenAI chat: an object with messages, as its API takes them",
    write=write,
)
