"""What must hold of every reading, and values with something else in the place of a part."""

import json
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from minutebook.codec import encode_line
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import Message
from minutebook.records import Usage
from tests.formats.transcripts import JSON_VALUES

STRANGE = st.one_of(
    JSON_VALUES,
    st.sampled_from([1e300, 1 << 70, -1, "_usage", "\ud800", [], {}, {"type": "text"}, [[{}]]]).map(
        deepcopy
    ),
)


def holds(reading: Reading) -> None:
    """Check what must hold of every reading, whatever the bytes."""
    sent = reading.sent
    assert reading.format
    assert reading.evidence
    for record in reading.records:
        assert encode_line(record).endswith(b"\n")
    for message in reading.everything:
        assert encode_line(message).startswith(b'{"role":')
        assert not message.role.startswith("_")
    places = [item.before for item in reading.left_out if item.why != "blanked"]
    assert places == sorted(places)
    assert all(0 <= place <= len(sent) for place in places)
    whole = [item.before for item in reading.left_out if item.why == "blanked"]
    assert whole == sorted(set(whole))
    assert all(0 <= place < len(sent) for place in whole)
    assert len(reading.everything) == len(sent) + len(places)
    assert all(count > 0 for count in reading.counts.values())
    assert all(record.token_count > 0 for record in usages(reading))


def usages(reading: Reading) -> list[Usage]:
    """Give the usage records of what is sent."""
    return [record for record in reading.records if isinstance(record, Usage)]


def behind(reading: Reading) -> list[str]:
    """Name the role of what stands before each usage record: the reply that it belongs to."""
    roles = []
    before = ""
    for record in reading.records:
        if isinstance(record, Usage):
            roles.append(before)
        elif isinstance(record, Message):
            before = record.role
    return roles


def texts(messages: Iterable[Message]) -> list[str]:
    """Give the texts of messages."""
    return [message.text for message in messages]


def origins(messages: Iterable[Message]) -> list[str | None]:
    """Give who wrote messages."""
    return [message.origin for message in messages]


def line_source(values: Iterable[Any], **more: Any) -> Source:
    """Make a source of JSON Lines."""
    data = b"".join(json.dumps(value).encode("utf-8", "replace") + b"\n" for value in values)
    return Source(data, **{"path": "f.jsonl", "name": "f", **more})


def document_source(value: Any, **more: Any) -> Source:
    """Make a source of one JSON value."""
    data = json.dumps(value).encode("utf-8", "replace")
    return Source(data, **{"path": "f.json", "name": "f", **more})


@st.composite
def altered(draw: st.DrawFn, value: Any) -> Any:
    """Draw a value with up to three of its parts replaced, doubled, or taken out."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        value = _altered_once(draw, value)
    return value


def _altered_once(draw: st.DrawFn, value: Any) -> Any:
    """Change one part, somewhere on a walk from the root."""
    holder: Any = None
    key: Any = None
    part = value
    while isinstance(part, dict | list) and part and (holder is None or draw(st.integers(0, 5))):
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        holder, key = part, draw(st.sampled_from(keys))
        part = part[key]
    change = draw(st.sampled_from(["replace", "replace", "double", "remove"]))
    if holder is None:
        return draw(STRANGE)
    if change == "replace":
        holder[key] = draw(STRANGE)
    elif change == "remove":
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, deepcopy(part))
    return value
