"""The cases of public faults beside the repository, read into our records.

Their notation is one of its own (the `README.md` of the cases explains it); `Case.log` gives a
log of ours that says the same, its damage (torn lines, NUL bytes, byte-order mark, carriage
returns) kept where it was.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SHARED = Path(__file__).parents[1] / "../shared"
CLOSERS = ('"}]}', '"}', '"}}]}', "}]}", "]}", "}")
"""What a torn line of the notation may lack at its end."""


class Case(NamedTuple):
    """One case's folder."""

    folder: Path

    def raw(self, name: str = "log.jsonl") -> bytes:
        """Give a file of the case as it is."""
        return (self.folder / name).read_bytes()

    def json(self, name: str) -> Any:
        """Give a JSON file of the case."""
        return json.loads(self.raw(name))

    def log(self, name: str = "log.jsonl") -> bytes:
        """Give a log of the case as a log of ours."""
        return log_of(self.raw(name))


def case(case_id: str) -> Case:
    """Find a case; skip the test where the cases are not beside the repository."""
    folder = SHARED / "cases" / case_id
    if not folder.is_dir():
        pytest.skip(f"case {case_id} is not beside the repository")
    return Case(folder)


def log_of(raw: bytes) -> bytes:
    """Translate a log of the notation, line by line; messages are numbered anew from 1."""
    numbers = Numbers()
    return b"\n".join(_line(line, numbers) for line in raw.split(b"\n"))


class Numbers:
    """The `seq` that each message of the notation has got."""

    def __init__(self) -> None:
        """Begin at 1."""
        self.next = 1
        self.of_id: dict[str, int] = {}

    def take(self, message_id: str) -> int:
        """Give the next number."""
        number = self.next
        self.next += 1
        self.of_id.setdefault(message_id, number)
        return number


def records_of(event: dict[str, Any], numbers: Numbers) -> Iterator[dict[str, Any]]:
    """Translate one event into the JSON objects of our records."""
    kind = event["type"]
    if kind == "message":
        yield from _messages(event, numbers)
    elif kind == "checkpoint":
        yield {"role": "_checkpoint", "id": event["id"], "content": "checkpoint"}
    elif kind == "pin":
        seq = numbers.of_id[event["target"]]
        yield {"role": "_tag", "seq": seq, "content": "pins", "pin": True}
    elif kind == "system":
        yield {"role": "_system_prompt", "content": event["text"]}
    else:
        yield {"role": f"_{kind}", "content": kind, **_without(event, "type")}


def _messages(event: dict[str, Any], numbers: Numbers) -> Iterator[dict[str, Any]]:
    """Give the messages of one event: each tool result is one by itself, before the rest."""
    extra = _without(event, "type", "seq", "ts", "id", "role", "content", "usage", "provider")
    at = {"at": datetime.fromisoformat(event["ts"]).timestamp()} if "ts" in event else {}
    calls, parts = [], []
    for block in event["content"]:
        if block["type"] == "tool_result":
            content = [_part(inner) for inner in block["content"]]
            yield {
                "role": "tool",
                "content": content,
                "tool_call_id": block["tool_use_id"],
                **at,
                "seq": numbers.take(event["id"]),
            }
        elif block["type"] == "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False)
            function = {"name": block["name"], "arguments": arguments}
            calls.append({"type": "function", "id": block["id"], "function": function})
        else:
            parts.append(_part(block))
    if parts or calls:
        single = len(parts) == 1 and parts[0]["type"] == "text"
        content = parts[0]["text"] if single else parts
        more = {"tool_calls": calls} if calls else {}
        yield {
            "role": event["role"],
            "content": content,
            **more,
            **extra,
            **at,
            "seq": numbers.take(event["id"]),
        }


def _part(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "thinking":
        signature = {"encrypted": block["signature"]} if "signature" in block else {}
        return {"type": "think", "think": block["thinking"], **signature}
    if block["type"] == "image":
        source = block["source"]
        url = f"data:{source['media_type']};base64,{source['data']}"
        return {"type": "image_url", "image_url": {"url": url}}
    return block


def _line(line: bytes, numbers: Numbers) -> bytes:
    """Translate one line; what stands before and after its object stays."""
    begin = line.find(b"{")
    if begin < 0:
        return line
    before, body, after = line[:begin], line[begin:], b""
    if body.endswith(b"\r"):
        body, after = body[:-1], b"\r"
    try:
        event = json.loads(body)
    except ValueError:
        return before + _torn(body, numbers)
    found = [_encoded(record) for record in records_of(event, numbers)]
    return before + b"\n".join(found) + after


def _torn(body: bytes, numbers: Numbers) -> bytes:
    """Translate a line that is cut off inside of its text, and cut it off there again."""
    for closer in CLOSERS:
        try:
            event = json.loads(body + closer.encode())
        except ValueError:
            continue
        (record,) = records_of(event, numbers)
        text = json.dumps(record["content"])[:-1].encode()
        whole = _encoded(record)
        return whole[: whole.rindex(text) + len(text)]
    message = f"a torn line of an unknown kind: {body[:60]!r}"
    raise AssertionError(message)


def _encoded(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def _without(event: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in keys}
