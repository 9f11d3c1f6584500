"""Claude Code transcripts: `<session>.jsonl` in the folder of a project. Pure.

Each block of a reply is a line of its own, as Claude Code writes it, with the usage on each of
them. A summary that the conversation begins with follows a boundary, so that Claude Code takes
it for what it is. Thinking goes along with its signature, if Anthropic made it, and is left out
otherwise. The system prompt has no place: Claude Code sends its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid5

from minutebook.formats.claude_code import read
from minutebook.formats.mapping import compact_json
from minutebook.formats.writers.blocks import Block, Blocks
from minutebook.formats.writers.conversation import Said, said, settled, stamp
from minutebook.formats.writers.value import About, Writer, Written, checked
from minutebook.records import Record, Usage

VERSION = "2.1.14"
"""The version of Claude Code whose transcripts these are like."""
_NAMESPACE = UUID("5b1a2f0e-6c1d-5a53-9a44-6d696e757465")
"""Ours: the ids of lines are made from it, the session's id and their number."""
_UNNAMED_MODEL = "unknown"
_OWN_WORDS = frozenset({"user", "assistant", "tool", "summary"})
"""Origins of messages that are not marked as the client's own."""


def write(records: Sequence[Record], about: About) -> Written:
    """Write a transcript that Claude Code can resume."""
    lines = _Lines(about).of(settled(said(records)))
    data = b"".join(compact_json(line).encode("utf-8", "replace") + b"\n" for line in lines)
    return checked(data, records, read)


class _Lines:
    """The lines of a transcript: each hangs under the one before."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._blocks = Blocks(model=about.model, maker=about.maker)
        self._number = 0
        self._parent: str | None = None
        self._at = about.at
        self._callers: dict[str, str] = {}

    def of(self, conversation: Iterable[Said]) -> Iterator[dict[str, Any]]:
        """Give the lines of all messages; the title and the leaf stand behind them."""
        found = list(conversation)
        # Messages without a time have that of the one before, so that time never runs back.
        self._at = next((one.message.at for one in found if one.message.at is not None), self._at)
        for number, one in enumerate(found):
            message = one.message
            self._at = message.at if message.at is not None else self._at
            blocks = self._blocks.of(one)
            if not blocks:
                continue
            first_summary = number == 0 and message.role == "user" and message.origin == "summary"
            if message.role == "assistant":
                yield from self._reply(blocks, one.usage)
            elif message.role == "tool":
                yield self._result(blocks)
            elif first_summary:
                yield self._boundary()
                yield self._user(blocks, isVisibleInTranscriptOnly=True, isCompactSummary=True)
            elif message.role == "user" and (message.origin or "user") in _OWN_WORDS:
                yield self._user(blocks)
            else:
                yield self._user(blocks, isMeta=True)
        if self._about.title:
            about = {"customTitle": self._about.title, "sessionId": self._about.session_id}
            yield {"type": "custom-title", **about}

    def _reply(self, blocks: list[Block], usage: Usage | None) -> Iterator[dict[str, Any]]:
        """Give a line for each block; all name one message."""
        name = f"msg_{self._next_id().replace('-', '')}"
        calls = any(block["type"] == "tool_use" for block in blocks)
        about = {
            "model": (usage.model if usage is not None else "") or self._about.model,
            "id": name,
            "type": "message",
            "role": "assistant",
        }
        about["model"] = about["model"] or _UNNAMED_MODEL
        end = {
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": _counts(usage),
        }
        for block in blocks:
            line = self._line("assistant", message={**about, "content": [block], **end})
            if block["type"] == "tool_use":
                self._callers[block["id"]] = line["uuid"]
            yield line

    def _result(self, blocks: list[Block]) -> dict[str, Any]:
        caller = self._callers[blocks[0]["tool_use_id"]]
        message = {"role": "user", "content": blocks}
        return self._line("user", message=message, sourceToolAssistantUUID=caller)

    def _user(self, blocks: list[Block], **keys: Any) -> dict[str, Any]:
        alone = len(blocks) == 1 and blocks[0]["type"] == "text"
        content = blocks[0]["text"] if alone else blocks
        return self._line("user", message={"role": "user", "content": content}, **keys)

    def _boundary(self) -> dict[str, Any]:
        about = {"subtype": "compact_boundary", "isMeta": False, "level": "info"}
        return self._line(
            "system", content="Compacted", compactMetadata={"trigger": "manual"}, **about
        )

    def _line(self, kind: str, **keys: Any) -> dict[str, Any]:
        own = self._next_id()
        line = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._about.cwd,
            "sessionId": self._about.session_id,
            "version": self._about.agent_version or VERSION,
            "gitBranch": "",
            "type": kind,
            **keys,
            "uuid": own,
            "timestamp": stamp(self._at),
        }
        self._parent = own
        return line

    def _next_id(self) -> str:
        self._number += 1
        return str(uuid5(_NAMESPACE, f"{self._about.session_id}/{self._number}"))


def _counts(usage: Usage | None) -> dict[str, Any]:
    """Give a reply's usage; zeros where nothing was counted, since Claude Code reads it."""
    known = usage is not None and usage.input is not None and usage.output is not None
    counted = usage if usage is not None and known else Usage(token_count=0)
    return {
        "input_tokens": counted.input or 0,
        "cache_creation_input_tokens": counted.cache_write or 0,
        "cache_read_input_tokens": counted.cache_read or 0,
        "output_tokens": counted.output or 0,
    }


WRITER = Writer(
    name="claude-code",
    description="Claude Code: a transcript, below projects/<folder> in its home",
    write=write,
)
