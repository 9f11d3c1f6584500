"""Recorded sessions of other agents, read only as far as counting needs: messages and usage.

Of each file the requests are put together in the order in which they were sent, each with what
its provider counted. What was never written down (system prompts, tool schemas, reminders that
an agent slips in) is missing here too, and so is in every comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    call,
    replace,
)
from minutebook.records import Usage
from minutebook.tokens.usage import all_input, usage_record

Object = dict[str, Any]

UNTOLD_SHARE = 0.8
"""A request smaller than this share of the one before it follows a compaction that the file
doesn't tell of: Claude Code empties old results in silence."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the model."""

    usage: Usage
    """What the provider counted."""
    before: int
    """How many messages the request held."""
    after: int
    """How many there are with the reply."""
    follows: bool
    """Whether the request is the one before it, its reply, and new messages at the end."""


@dataclass
class Recorded:
    """One session, as it grows while it is read."""

    name: str
    agent: str
    model: str = ""
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    breaks: bool = True
    """Whether the next request doesn't continue the last one."""

    def add(self, message: Message) -> None:
        """Take a message that is part of the next request."""
        self.messages.append(message)

    def reply(self, message: Message, usage: Usage | None) -> None:
        """Take a reply, and what was counted for its request if anything was."""
        before = len(self.messages)
        self.messages.append(message)
        if usage is None or not usage.token_count:
            return
        size = all_input(usage) or 0
        last = (all_input(self.calls[-1].usage) or 0) if self.calls else 0
        follows = not self.breaks and size >= UNTOLD_SHARE * last
        self.calls.append(Call(usage=usage, before=before, after=before + 1, follows=follows))
        self.breaks = False


def recorded(folder: Path) -> Iterator[Recorded]:
    """Read the sessions of *folder* that carry usage, in order of their paths."""
    readers: tuple[tuple[str, str, Callable[[Path], Iterator[Recorded]]], ...] = (
        ("pi", "*.jsonl", read_pi),
        ("claude-code", "*.jsonl", read_claude_code),
        ("codex", "*.jsonl", read_codex),
        ("openhands", "v0_*.jsonl", read_openhands),
        ("opencode", "export_*.json", read_opencode),
    )
    for name, pattern, read in readers:
        for path in sorted((folder / name).glob(pattern)):
            for session in read(path):
                if session.calls:
                    yield session


def read_pi(path: Path) -> Iterator[Recorded]:
    """Read pi: a message a line; usage in disjoint buckets on each reply."""
    session = Recorded(path.stem, "pi")
    for record in objects(path):
        if record.get("type") in {"compaction", "branch_summary", "model_change"}:
            session.breaks = True
        message = record.get("message")
        if record.get("type") != "message" or not isinstance(message, dict):
            continue
        match message["role"]:
            case "assistant":
                _pi_reply(session, message)
            case "toolResult":
                session.add(
                    Message(
                        role="tool",
                        content=tuple(parts(message["content"])),
                        tool_call_id=message["toolCallId"],
                    )
                )
            case "user":
                session.add(Message(role="user", content=tuple(parts(message["content"]))))
            case "bashExecution":
                text = f"{message['command']}\n{message['output']}"
                session.add(Message(role="user", content=text))
            case _:
                pass
    yield session


def _pi_reply(session: Recorded, message: Object) -> None:
    """Take one reply; an aborted or failed one isn't sent again, and its usage is of no use."""
    counts = message["usage"]
    if message.get("stopReason") in {"aborted", "error"}:
        session.breaks = True
        return
    if session.model != message["model"]:
        session.model, session.breaks = message["model"], True
    usage = Usage(
        token_count=sum(counts[name] for name in ("input", "output", "cacheRead", "cacheWrite")),
        input=counts["input"],
        output=counts["output"],
        cache_read=counts["cacheRead"],
        cache_write=counts["cacheWrite"],
        model=message["model"],
    )
    session.reply(assistant(message["content"]), usage)


def read_claude_code(path: Path) -> Iterator[Recorded]:
    """Read Claude Code's main branch in file order: a block a line, replies by `message.id`.

    A reply whose lines hang under another reply than the last one begins a branch.
    """
    session = Recorded(path.stem, "claude-code")
    nodes: dict[str, Object] = {}
    replies: dict[str, list[Object]] = {}
    order: list[Object] = []
    for record in objects(path):
        if record.get("isSidechain") or record.get("uuid") in nodes:
            continue
        if uuid := record.get("uuid"):
            nodes[uuid] = record
        if record.get("type") == "assistant":
            lines = replies.setdefault(record["message"]["id"], [])
            lines.append(record)
            if len(lines) > 1:
                continue
        order.append(record)
    last = ""
    waiting: list[Object] = []
    for record in order:
        if record.get("subtype") in {"compact_boundary", "microcompact_boundary"}:
            session.breaks = True
        if record.get("type") != "assistant":
            waiting.append(record)
            continue
        message = record["message"]
        if message.get("model") == "<synthetic>":
            session.breaks = True
            continue
        for other in waiting:
            _claude_other(session, other)
        waiting = []
        if last and _claude_ancestor(nodes, record) != last:
            session.breaks = True
        last = message["id"]
        _claude_reply(session, replies[last])
    yield session


def _claude_ancestor(nodes: Mapping[str, Object], record: Object) -> str:
    """Find the reply that a reply's first line hangs under."""
    mine = record["message"]["id"]
    seen = 0
    parent = nodes.get(record.get("parentUuid") or "")
    while parent is not None and seen < len(nodes):
        if parent.get("type") == "assistant" and parent["message"]["id"] != mine:
            return str(parent["message"]["id"])
        parent = nodes.get(parent.get("parentUuid") or "")
        seen += 1
    return ""


def _claude_reply(session: Recorded, lines: list[Object]) -> None:
    message = lines[-1]["message"]
    if session.model != message["model"]:
        session.model, session.breaks = message["model"], True
    content = [block for line in lines for block in line["message"]["content"]]
    session.reply(assistant(content), usage_record(message["usage"], model=session.model))


def _claude_other(session: Recorded, record: Object) -> None:
    """Take a user's line, tool results apart from the rest; and what an attachment says."""
    if record.get("type") == "attachment":
        text = "\n".join(sorted(texts(record["attachment"])))
        session.add(Message(role="user", content=text, origin="injection"))
    if record.get("type") != "user" or (
        record.get("isVisibleInTranscriptOnly") and not record.get("isCompactSummary")
    ):
        return
    content = record["message"]["content"]
    if isinstance(content, str):
        session.add(Message(role="user", content=content))
        return
    for block in content:
        if block.get("type") == "tool_result":
            session.add(
                Message(
                    role="tool",
                    content=tuple(parts(block.get("content") or "")),
                    tool_call_id=block["tool_use_id"],
                )
            )
    if rest := [block for block in content if block.get("type") != "tool_result"]:
        session.add(Message(role="user", content=tuple(parts(rest))))


def read_codex(path: Path) -> Iterator[Recorded]:
    """Read Codex: items of the Responses API, and after each reply its `token_count`.

    The items since the last count that the model wrote are one reply. A count that repeats
    the one before it, total and all, is a copy.
    """
    session = Recorded(path.stem, "codex")
    reply: list[Object] = []
    waiting: list[Object] = []
    total = -1
    for record in objects(path):
        payload = record.get("payload") or {}
        kind = payload.get("type")
        if record.get("type") == "turn_context" and session.model != payload.get("model"):
            session.model, session.breaks = payload["model"], True
        elif record.get("type") == "compacted" or kind in {"turn_aborted", "thread_rolled_back"}:
            session.breaks = True
        elif record.get("type") == "response_item":
            target = reply if kind in _CODEX_WRITTEN or _codex_said(payload) else waiting
            target.append(payload)
        elif kind == "token_count" and payload.get("info"):
            info = payload["info"]
            if info["total_token_usage"]["total_tokens"] == total:
                continue
            total = info["total_token_usage"]["total_tokens"]
            if reply:
                _codex_call(session, reply, waiting, info["last_token_usage"])
            else:
                session.breaks = True
            reply, waiting = [], []
    yield session


_CODEX_WRITTEN = {
    "reasoning",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
}


_CODEX_LEADS = ("<subagent_notification>", "<environment_context>", "<turn_aborted>", "# AGENTS.md")
"""How messages in a user's role begin that Codex writes by itself."""


def _codex_said(item: Object) -> bool:
    return item.get("type") == "message" and item.get("role") == "assistant"


def _codex_call(
    session: Recorded, reply: list[Object], waiting: list[Object], counts: Object
) -> None:
    """Take one call: what waited and isn't a result of this reply's calls came before it."""
    mine = {item.get("call_id") for item in reply} - {None}
    for item in waiting:
        if item.get("call_id") not in mine:
            session.add(_codex_message(item))
    content: list[Object] = []
    for item in reply:
        if item["type"] == "message":
            content += item["content"]
        elif item["type"] == "reasoning":
            content += [
                {"type": "thinking", "thinking": text} for text in texts(item.get("summary"))
            ]
        elif item["type"] != "web_search_call":
            arguments = item.get("arguments") or item.get("input") or ""
            content.append(
                {"type": "tool_use", "id": "x", "name": item.get("name", ""), "input": arguments}
            )
    session.reply(assistant(content), usage_record(counts, model=session.model))
    for item in waiting:
        if item.get("call_id") in mine:
            session.add(_codex_message(item))


def _codex_message(item: Object) -> Message:
    if "output" in item:
        output = item["output"]
        content = output if isinstance(output, str) else tuple(parts(output))
        return Message(role="tool", content=content, tool_call_id=item.get("call_id"))
    message = Message(
        role=item.get("role", "user"), content=tuple(parts(item.get("content") or ""))
    )
    if message.text.startswith(_CODEX_LEADS):
        return replace(message, origin="injection")
    return message


def read_openhands(path: Path) -> Iterator[Recorded]:
    """Read OpenHands' evaluation output, a session a line: the whole completion at each action."""
    for number, line in enumerate(objects(path)):
        session = Recorded(f"{path.stem} {number}", "openhands")
        seen: set[str] = set()
        for event in line["history"]:
            metadata = event.get("tool_call_metadata")
            response = metadata["model_response"] if metadata else None
            if event.get("action") == "system":
                session.add(Message(role="system", content=event["args"]["content"]))
            elif event.get("action") == "condensation":
                session.breaks = True
            elif event.get("action") and response and response["id"] not in seen:
                seen.add(response["id"])
                session.model = response["model"]
                said = response["choices"][0]["message"]
                session.reply(
                    Message(
                        role="assistant",
                        content=said.get("content") or "",
                        tool_calls=tuple(
                            call(one["id"], one["function"]["name"], one["function"]["arguments"])
                            for one in said.get("tool_calls") or ()
                        ),
                    ),
                    usage_record(response["usage"], model=session.model),
                )
            elif event.get("source") == "user" and event.get("action") == "message":
                session.add(Message(role="user", content=event["args"]["content"]))
            elif event.get("observation") and response:
                session.add(
                    Message(
                        role="tool",
                        content=event.get("content") or "",
                        tool_call_id=metadata["tool_call_id"],
                    )
                )
        yield session


def read_opencode(path: Path) -> Iterator[Recorded]:
    """Read an export of opencode: a step is a message, its calls and their results in one part."""
    export = json.loads(path.read_text("utf-8"))
    session = Recorded(path.stem, "opencode")
    for entry in export["messages"]:
        info = entry["info"]
        if any(part["type"] == "compaction" for part in entry["parts"]) or info.get("error"):
            session.breaks = True
        if info["role"] == "user":
            said = [part["text"] for part in entry["parts"] if part["type"] == "text"]
            session.add(Message(role="user", content="\n".join(said)))
            continue
        if info.get("summary") is True or info.get("mode") == "compaction":
            session.breaks = True
        if session.model != info["modelID"]:
            session.model, session.breaks = info["modelID"], True
        _opencode_step(session, info, entry["parts"])
        if info.get("summary") is True:
            session.breaks = True
    yield session


def _opencode_step(session: Recorded, info: Object, found: list[Object]) -> None:
    content: list[Object] = []
    results: list[Message] = []
    for part in found:
        if part["type"] == "text":
            content.append(part)
        elif part["type"] == "reasoning":
            content.append({"type": "thinking", "thinking": part["text"]})
        elif part["type"] == "tool":
            state = part["state"]
            content.append(
                {
                    "type": "tool_use",
                    "id": part["callID"],
                    "name": part["tool"],
                    "input": state["input"],
                }
            )
            output = state.get("output", state.get("error", ""))
            results.append(Message(role="tool", content=output, tool_call_id=part["callID"]))
    counts = info["tokens"]
    cache = counts["cache"]
    whole = (
        counts["input"] + cache["read"] + cache["write"] + counts["output"] + counts["reasoning"]
    )
    usage = Usage(
        token_count=whole,
        input=counts["input"],
        output=counts["output"] + counts["reasoning"],
        cache_read=cache["read"],
        cache_write=cache["write"],
        reasoning=counts["reasoning"],
        model=info["modelID"],
    )
    session.reply(assistant(content), usage)
    for result in results:
        session.add(result)


def objects(path: Path) -> Iterator[Object]:
    """Read the JSON objects of a file, also two on one line; broken rests are passed over."""
    decoder = json.JSONDecoder(strict=False)
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        position = 0
        while position < len(line):
            try:
                value, position = decoder.raw_decode(line, position)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value
            while position < len(line) and line[position].isspace():
                position += 1


def assistant(content: list[Object]) -> Message:
    """Make a reply of Anthropic's blocks, or of pi's and the Responses API's, which are alike."""
    calls: list[ToolCall] = []
    rest: list[Object] = []
    for block in content:
        if block["type"] in {"tool_use", "toolCall"}:
            given = block.get("input", block.get("arguments"))
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            calls.append(call(block["id"], block["name"], text))
        else:
            rest.append(block)
    return Message(role="assistant", content=tuple(parts(rest)), tool_calls=tuple(calls) or None)


def parts(content: str | list[Object]) -> Iterator[Part]:
    """Bring content blocks of any of these agents into parts."""
    if isinstance(content, str):
        yield TextPart(content)
        return
    for block in content:
        kind = block.get("type")
        if kind in {"text", "input_text", "output_text"}:
            yield TextPart(block["text"])
        elif kind == "thinking":
            yield ThinkPart(block["thinking"], block.get("signature"))
        elif kind in {"image", "input_image"}:
            yield ImagePart(MediaUrl(_image_url(block)))
        else:
            yield OtherPart(block)


def _image_url(block: Object) -> str:
    if "image_url" in block:
        return str(block["image_url"])
    source = block.get("source") or block
    media = source.get("media_type") or source.get("mimeType") or "image/png"
    return f"data:{media};base64,{source.get('data', '')}"


def texts(value: object) -> Iterator[str]:
    """Walk all strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
