"""Tell a summary from what only stands in its place. Pure.

A model that is asked for a summary may answer with nothing, with its thinking, with a tool
call, with half of it, with a refusal, with the error of a gateway, with its own instruction,
or with more than there was. None of these may take the place of a conversation: `check`
gives the text that may, or says why there is none.

The rule of tags: a tag counts as markup where it opens or closes the reply or stands alone on
its line; anywhere else it is a word of the text. Between the first opening and the last
closing tag lies the summary, and only that is kept. An opening tag that is never closed
means that the reply broke off, and it is refused. Closing tags without an opening one are
taken away.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from minutebook.codec import clean
from minutebook.compaction.task import SummaryRequest, has_headings
from minutebook.tokens.estimate import estimate_text

Kind = Literal[
    "blank",
    "thinking",
    "tool call",
    "cut",
    "refusal",
    "error text",
    "copy",
    "not smaller",
    "doubtful",
]
"""Why a reply is no summary. `doubtful`: its source does not bear it out, which others judge."""

CUT_REASONS = frozenset(
    (
        "length",  # OpenAI Chat, and most that copy it
        "max_tokens",  # Anthropic; Gemini in capitals
        "max_output_tokens",  # OpenAI Responses, in incomplete_details
        "incomplete",  # OpenAI Responses, the status itself
        "model_length",  # Mistral
        "model_context_window_exceeded",  # Anthropic
        "length_limit",
        "token_limit",
    )
)
"""Reasons to end, in lower case, that mean: there was more to come."""

CALL_REASONS = frozenset(
    ("tool_calls", "tool_use", "function_call", "malformed_function_call", "pause_turn")
)
"""Reasons to end that mean: the model waits for a tool."""

REFUSAL_REASONS = frozenset(
    (
        "refusal",  # Anthropic
        "content_filter",  # OpenAI and Azure
        "content_filtered",
        "safety",  # Gemini, this and those below
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "guardrail_intervened",  # Bedrock
    )
)
"""Reasons to end that mean: the model or its provider would not."""

SHORT_CHARS = 400
"""Refusals and error texts are short. A longer reply that begins like one tells of one."""

COPIED_SHARE = 0.5
"""From this share of its word runs on that stand in the instruction, a reply is a copy."""

RUN_WORDS = 5
"""How many words are compared at a time: ordinary phrases are shorter."""

_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning|analysis)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_CODE_FENCE = re.compile(r"```[a-z]*\n(.*?)\n?```", re.DOTALL)
_TAG = re.compile(
    r"(?:\A|(?<=\n))[ \t]*<(/?)(?:summary|minutes)>[ \t]*(?=\n|\Z)"
    r"|\A\s*<(/?)(?:summary|minutes)>"
    r"|<(/?)(?:summary|minutes)>(?=(?:\s|</?(?:summary|minutes)>)*\Z)",
    re.IGNORECASE,
)
_CALL_TEXT = re.compile(
    r"<(?:\w+:)?\|?(?:tool_?calls?|function_calls?|function|invoke|tool_use)\b"
    r"|\[TOOL_CALLS?\]|<\|tool[_▁]calls?|<\|python_tag\|>",
    re.IGNORECASE,
)
_NAME_KEYS = ("tool", "name", "function", "tool_name", "function_name", "action", "recipient_name")
_ARGUMENT_KEYS = (
    "args", "arguments", "input", "parameters", "params", "action_input", "kwargs", "tool_input",
)  # fmt: skip
_REFUSED = re.compile(
    r"(?:i['’]?m |i am )?(?:very |so )?sorry\b|i (?:can(?:no|['’])t|am unable|am not able|won['’]t)"
    r"\b|as an ai\b|(?:很)?抱歉|对不起|我(?:无法|不能)|申し訳|desculpe|não posso|lo siento|no puedo"
    r"|je (?:suis désolé|ne peux pas)|(?:es )?tut mir leid|ich kann (?:das|dem|dabei|leider)"
    r"|извините|я не могу|mi dispiace|non posso",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:fatal |internal |api )?(?:error|exception)\s*(?:code\s*)?[:(\d]"
    r"|[\w.]*(?:Error|Exception)\b\s*[:(\[]"
    r"|(?:http(?:/\d(?:\.\d)?)?|status(?: code)?)\s*:?\s*[45]\d\d\b"
    r"|traceback \(most recent call last\)|<!doctype html|<html|<\?xml"
    r"|(?:[45]\d\d:? )?(?:internal server error|bad (?:gateway|request)|not found|forbidden"
    r"|unauthorized|service (?:temporarily )?unavailable|gateway time-?out"
    r"|upstream (?:timed out|connect error|error|request timeout)"
    r"|(?:request|connection|read) (?:timed out|refused|reset|error|timeout)|timed out|timeout"
    r"|too many requests|rate limit(?:ed| exceeded| reached)|overloaded|no healthy upstream"
    r"|context canceled|stream error)\s*(?:[.:;,({\[-]|\Z)",
    re.IGNORECASE,
)
_RUN = re.compile(r"[^\W_]+")
_HEADING = re.compile(r"#{1,6} .*")


class SummaryReply(Struct, frozen=True, kw_only=True):
    """What a summariser answered, whatever its provider calls things."""

    text: str
    """All text of the reply, joined; thinking left out where the provider tells it apart."""
    finish: str = ""
    """The provider's reason to end, as it spells it; empty if it gave none."""
    usage: Any = None
    """What the call used, as the provider reports it: an SDK's object, a mapping of the same
    shape, or a `Usage`; None where it isn't known."""
    model: str = ""
    """The model that the provider says has answered."""
    calls: tuple[str, ...] = ()
    """The names of the tools that it called."""
    refused: str = ""
    """The provider's own refusal text, where it has a place for one."""
    thinking: str = ""


class Refusal(Struct, frozen=True, kw_only=True):
    """Why a reply is not taken for a summary."""

    kind: Kind
    detail: str
    """One phrase for people. It quotes nothing of the reply."""


def check(reply: SummaryReply, request: SummaryRequest) -> str | Refusal:
    """Give the summary that a reply holds, or the reason why it holds none. Never raises."""
    ended = _by_reason(reply)
    if ended is not None:
        return ended
    text = str(clean(reply.text)).replace("\r\n", "\n")
    bare = _THOUGHT.sub("", text).strip()
    if not _says_something(bare):
        thought = _says_something(text) or _says_something(reply.thinking)
        if thought:
            return Refusal(kind="thinking", detail="the reply was only thinking")
        return Refusal(kind="blank", detail="the reply was empty")
    inner = _without_tags(bare)
    if inner is None:
        return Refusal(kind="cut", detail="an opening tag was never closed")
    wrapped = _CODE_FENCE.fullmatch(inner)
    inner = wrapped[1].strip() if wrapped else inner
    return _by_text(inner, request) or inner


def _by_reason(reply: SummaryReply) -> Refusal | None:
    """Judge a reply by what its provider says about it."""
    # An enumeration's member may be spelled with the enumeration's name.
    reason = reply.finish.strip().lower().rpartition(".")[2]
    if reply.calls or reason in CALL_REASONS:
        return Refusal(kind="tool call", detail="the model called a tool")
    if reason in CUT_REASONS:
        return Refusal(kind="cut", detail=f"the reply was cut off ({reply.finish.strip()})")
    if reply.refused.strip() or reason in REFUSAL_REASONS:
        return Refusal(kind="refusal", detail="the model refused")
    if reason == "error":
        return Refusal(kind="error text", detail="the provider ended the reply with an error")
    return None


def _by_text(text: str, request: SummaryRequest) -> Refusal | None:
    """Judge the text that would be kept."""
    if not _says_something(_without_headings(text)):
        return Refusal(kind="blank", detail="the reply had nothing below its headings")
    found = _as_json(text)
    if _is_call(found) or _CALL_TEXT.match(text) or _ends_with_call(text):
        return Refusal(kind="tool call", detail="the reply was a tool call in text")
    if isinstance(found, Mapping) and ("error" in found or found.get("type") == "error"):
        return Refusal(kind="error text", detail="the reply was an error message")
    if len(text) <= SHORT_CHARS and not has_headings(text, request.task.phrases):
        if _ERROR.match(text):
            return Refusal(kind="error text", detail="the reply was an error message")
        if _REFUSED.match(text):
            return Refusal(kind="refusal", detail="the model refused")
    if _copied_share(text, request.own_text) >= COPIED_SHARE:
        return Refusal(kind="copy", detail="the reply repeats the instruction")
    tokens, before = estimate_text(text), request.task.replaces_tokens
    if tokens >= before:
        detail = f"{tokens} tokens are not smaller than the {before} that they replace"
        return Refusal(kind="not smaller", detail=detail)
    return None


def _says_something(text: str) -> bool:
    """Tell whether there is a letter or a number in a text."""
    return any(unicodedata.category(char)[0] in "LN" for char in text)


def _without_headings(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not _HEADING.fullmatch(line.strip()))


def _without_tags(text: str) -> str | None:
    """Give the text between the tags around it, by this module's rule; None if it broke off."""
    tags = [(found, _closes(found)) for found in _TAG.finditer(text)]
    opening = next((found for found, closes in tags if not closes), None)
    closing = next((found for found, closes in reversed(tags) if closes), None)
    if opening is not None:
        if closing is None or closing.start() < opening.end():
            return None
        text = text[opening.end() : closing.start()]
    return _TAG.sub("", text.strip()).strip()


def _closes(tag: re.Match[str]) -> bool:
    return any(tag.groups())


def _as_json(text: str) -> Any:
    """Decode a text that is JSON as a whole; None if it isn't."""
    if text[:1] not in "{[":
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _is_call(value: Any) -> bool:
    """Tell whether a JSON value is a call: it names something, and what to give it."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_call, value))
    if not isinstance(value, Mapping):
        return False
    if "tool_calls" in value or "function_call" in value or value.get("type") == "tool_use":
        return True
    inner = value.get("function")
    if isinstance(inner, Mapping):
        return _is_call(inner)
    named = any(isinstance(value.get(key), str) for key in _NAME_KEYS)
    return named and any(key in value for key in _ARGUMENT_KEYS)


def _ends_with_call(text: str) -> bool:
    """Tell whether the last paragraph is a call: the model gave up writing and went to work."""
    last = text.rpartition("\n\n")[2].strip()
    wrapped = _CODE_FENCE.fullmatch(last)
    last = wrapped[1].strip() if wrapped else last
    return bool(_CALL_TEXT.match(last)) or _is_call(_as_json(last))


def _copied_share(text: str, instruction: str) -> float:
    """Give the share of a text's word runs that stand in the instruction, headings left out."""
    said = _runs(_without_headings(text))
    return len(said & _runs(instruction)) / len(said) if said else 0.0


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.lower() for word in _RUN.findall(text)]
    return {tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)}
