"""Codex rollouts: `rollout-<time>-<id>.jsonl`. Pure.

What the model is sent stands in items; what users and the model said stands in events too, since
Codex shows a resumed session from them. The first line says whose session it is, a line of its
own which model answers from there on. That line names the most careful policies there are,
since those of the session that was read are not ours to pass on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minutebook.formats.codex import read
from minutebook.formats.mapping import compact_json
from minutebook.formats.writers.conversation import Said, prompt_of, said, settled, stamp
from minutebook.formats.writers.items import Items
from minutebook.formats.writers.value import About, Writer, Written, checked
from minutebook.messages import TextPart
from minutebook.records import Record, Usage
from minutebook.turns import is_real_user

VERSION = "0.119.0"
"""The version of Codex whose rollouts these are like."""
_TOTALS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)


def write(records: Sequence[Record], about: About) -> Written:
    """Write a rollout that Codex can resume."""
    lines = [_meta(prompt_of(records), about), *_Lines(about).of(settled(said(records)))]
    data = b"".join(compact_json(line).encode("utf-8", "replace") + b"\n" for line in lines)
    return checked(data, records, read)


def _meta(prompt: str, about: About) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "id": about.session_id,
        "timestamp": stamp(about.at),
        "cwd": about.cwd,
        "originator": "minutebook",
        "cli_version": about.agent_version or VERSION,
        "source": "cli",
        "model_provider": "openai",
    }
    if prompt:
        payload["base_instructions"] = {"text": prompt}
    return {"timestamp": stamp(about.at), "type": "session_meta", "payload": payload}


class _Lines:
    """The lines of a rollout, one message after the other; holds the sums of tokens."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._items = Items(model=about.model, maker=about.maker)
        self._at = about.at
        self._model = ""
        self._totals = dict.fromkeys(_TOTALS, 0)

    def of(self, conversation: Iterator[Said]) -> Iterator[dict[str, Any]]:
        """Give the lines of all messages, and the title behind them."""
        found = list(conversation)
        # Messages without a time have that of the one before, so that time never runs back.
        self._at = next((one.message.at for one in found if one.message.at is not None), self._at)
        models = [one.usage.model for one in found if one.usage is not None and one.usage.model]
        yield from self._turn(next(iter(models), self._about.model))
        for one in found:
            yield from self._message(one)
        if self._about.title:
            yield self._event("thread_name_updated", thread_name=self._about.title)

    def _turn(self, model: str) -> Iterator[dict[str, Any]]:
        """Give the line that names the model, if another one answers than before."""
        if not model or model == self._model:
            return
        self._model = model
        careful = {
            "approval_policy": "untrusted",
            "sandbox_policy": {"type": "read-only"},
            "summary": "auto",
        }
        yield self._line("turn_context", {"cwd": self._about.cwd, "model": model, **careful})

    def _message(self, one: Said) -> Iterator[dict[str, Any]]:
        message = one.message
        self._at = message.at if message.at is not None else self._at
        if one.usage is not None:
            yield from self._turn(one.usage.model or "")
        for item in self._items.of(one):
            yield self._line("response_item", item)
            if item["type"] == "message" and item["role"] == "assistant":
                text = "\n".join(content["text"] for content in item["content"])
                yield self._event("agent_message", message=text)
        if is_real_user(message) and any(isinstance(part, TextPart) for part in message.parts):
            yield self._event("user_message", message=message.text, images=[])
        if one.usage is not None:
            yield from self._tokens(one.usage)

    def _tokens(self, usage: Usage) -> Iterator[dict[str, Any]]:
        """Give the count of a call. What was written to a cache is fresh input here."""
        if usage.input is None or usage.output is None:
            return
        cached = usage.cache_read or 0
        sent = usage.input + cached + (usage.cache_write or 0)
        counts = (sent, cached, usage.output, usage.reasoning or 0, sent + usage.output)
        last = dict(zip(_TOTALS, counts, strict=True))
        self._totals = {name: count + last[name] for name, count in self._totals.items()}
        info = {"total_token_usage": self._totals, "last_token_usage": last}
        yield self._event("token_count", info=info)

    def _event(self, kind: str, **keys: Any) -> dict[str, Any]:
        return self._line("event_msg", {"type": kind, **keys})

    def _line(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": stamp(self._at), "type": kind, "payload": payload}


WRITER = Writer(
    name="codex",
    description="Codex: a rollout, below sessions/<year>/<month>/<day> in its home",
    write=write,
)
