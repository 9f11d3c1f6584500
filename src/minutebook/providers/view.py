"""The view: a history in an order that every provider takes, as an immutable value. Pure.

`make_view` decides what is sent; `chat`, `anthropic`, `responses` and `gemini` only spell it. What
it decides, for every provider alike:

- Each call is answered directly after its message, in the order of the calls; results that
  stand elsewhere are moved there. A missing result becomes a marked one, which says that the
  outcome is unknown. Results without a call, and second results of one, are left out.
- A result that came late takes its place at the call, unless a marked one was sent for it
  before (`settled`): then that one stays until the next compaction, and the real one stands
  as a note of ours where it arrived.
- Call ids are unique: of equal ones the first stays, later ones get the `seq` of their
  message behind them; a missing id is made from `seq` and position.
- The input of a custom tool's call, a text, is the value of `input` in an object.
- Arguments are the JSON text of an object. A fragment becomes `{}`; if such a call has no
  result, the marked one says that it was not run.
- Blank texts, parts of unknown kinds, thinking outside the assistant's messages, messages of
  unknown roles, and what is empty after that are left out. A reply of nothing but thinking
  is such a message. An empty result says that it is empty.
- Media in the assistant's and in system messages are named by a text; no API takes them there.
- Half surrogate pairs become U+FFFD.

Nothing depends on what comes later, except a result on its arrival: so between compactions
a view grows only at its end, given `settled`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, structs

from minutebook.codec import clean
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
    as_content,
)
from minutebook.providers import anthropic, cache_marks, chat, gemini, responses
from minutebook.providers.arguments import sendable, wrapped
from minutebook.providers.ids import UniqueIds
from minutebook.providers.media import MediaPart, placeholder
from minutebook.turns import Pairing, is_made_up, pair

UNKNOWN_OUTCOME = (
    "<system>ERROR: No result of this call was recorded, so its outcome is unknown: it may have "
    "run in whole, in part, or not at all. Look before you repeat it.</system>"
)
"""The marked result. It begins as Kimi CLI's failed results do."""

NOT_RUN = (
    "<system>ERROR: This call was not run: its arguments were cut off or are no JSON object. "
    "They are shown here as {}.</system>"
)
"""The marked result of a call whose arguments were not whole."""

NO_OUTPUT = "<system>The tool gave no output.</system>"
"""The stated form of an empty result."""

LATE_RESULT = "<system>A result has come in for the call {call} of {tool}:</system>"
"""What stands before a result that came after a marked one had been sent for it."""

_SPOKEN_ROLES = frozenset({"user", "assistant", "system", "developer"})
_MEDIA_ROLES = frozenset({"user", "tool"})

OUR_OWN = -1
"""Stands for the index of a marked result that no message of the history holds."""

Call = tuple[int, int]
"""A call's place: index of the message in the history, index of the call in it."""


class View(Struct, frozen=True, kw_only=True):
    """What the model is sent, before it is spelled for one provider. Make it with `make_view`."""

    system_prompt: str | None
    """None where there is none or it is blank."""
    messages: tuple[Message, ...]
    """Messages as they were wherever they could be sent so, with their `seq`."""
    marked: frozenset[tuple[int, str]] = frozenset()
    """See `marked`."""
    renamed: tuple[tuple[str, str], ...] = ()
    """The calls whose ids were changed: the id in the view, and in the history."""

    def to_openai(self, *, model: str = "") -> list[dict[str, Any]]:
        """Give the `messages` of an OpenAI Chat Completions request, system prompt first.

        For a Kimi model the thinking goes along, as Moonshot's API asks (see `chat`).
        """
        return chat.encode(self.system_prompt, self.messages, model=model)

    def to_anthropic(self, *, cache: bool = False) -> dict[str, Any]:
        """Give `system` (only if there is one) and `messages` of an Anthropic Messages request.

        With *cache* up to four blocks are marked for the prompt cache, where it pays: see
        `cache_marks`.
        """
        body = anthropic.encode(self.system_prompt, self.messages)
        return cache_marks.marked(body) if cache else body

    def to_responses(self) -> dict[str, Any]:
        """Give `instructions` (only if there are any) and `input` of an OpenAI Responses request.

        Send it with `store=False`: the conversation is kept here.
        """
        return responses.encode(self.system_prompt, self.messages)

    def to_gemini(self, *, model: str = "") -> dict[str, Any]:
        """Give `systemInstruction` (only if there is one) and `contents` of a Gemini request.

        Models from the third generation on check thought signatures: see `gemini`.
        """
        return gemini.encode(self.system_prompt, self.messages, model=model)


def marked(view: View) -> frozenset[tuple[int, str]]:
    """Name the calls that the view answers with a marked result: (seq, call id).

    Once such a view was sent, these pairs belong into `settled` until the next compaction.
    The seq is that of the assistant's message; where the marked result is a made-up one of the
    history (see `turns.is_made_up`), it is that one's. The id is the one that the view gives
    the call, so a pair names one call and one result of it.
    """
    return view.marked


def sent_ids(view: View, api: Literal["openai", "responses", "anthropic"]) -> dict[str, str]:
    """Say which call of the history each call id of a request stands for: sent to stored.

    Where results are found by the ids of a request (a loop that runs the calls that it reads
    there), they have to be appended under the stored ones. Gemini is sent no ids.
    """
    spelled = {"openai": chat, "responses": responses, "anthropic": anthropic}[api].ids_of
    stored = dict(view.renamed)
    return {sent: stored.get(known, known) for known, sent in spelled(view.messages).items()}


def make_view(
    system_prompt: str | None,
    history: Sequence[Message],
    *,
    settled: Collection[tuple[int, str]] = (),
) -> View:
    """Bring a history into a form that every provider takes, by the rules of this module.

    *settled* are the pairs of `marked` of the views that were sent since the last compaction.
    A message without `seq` counts as one more than the message before it, the first as 1.
    Takes time linear in the history's length; a message that needs no change is not copied.
    """
    pairing = pair(history)
    calls = _Calls(history, pairing, frozenset(settled))
    messages: list[Message] = []
    for index, message in enumerate(history):
        if message.role == "tool":
            if index in calls.late:
                messages.append(calls.note(index))
        elif message.role in _SPOKEN_ROLES:
            kept = _spoken(message, calls.named(index))
            if kept is not None:
                messages.append(kept)
                messages.extend(calls.results(index))
    prompt = clean(system_prompt) if system_prompt and system_prompt.strip() else None
    return View(
        system_prompt=prompt,
        messages=tuple(messages),
        marked=frozenset(calls.marked),
        renamed=tuple(calls.renamed),
    )


class _Calls:
    """The calls of a history, their names in the view, and what answers each of them."""

    def __init__(
        self, history: Sequence[Message], pairing: Pairing, settled: frozenset[tuple[int, str]]
    ) -> None:
        self._history = history
        self._pairing = pairing
        self._settled = settled
        self._calls: dict[int, tuple[ToolCall, ...]] = {}
        self._seqs = _seqs(history)
        self._cut_off: set[Call] = set()
        self.renamed: list[tuple[str, str]] = []
        self.late: dict[int, Call] = {}
        """Results that may not take the place of a marked one: index to call."""
        self.marked: set[tuple[int, str]] = set()
        self._name_all()
        for key, result in pairing.results.items():
            stays = self._stays(key)
            if stays is not None:
                came = {result, pairing.made_up.get(key, result)} - {stays}
                self.late |= dict.fromkeys(came, key)

    def _name_all(self) -> None:
        ids = UniqueIds()
        for index, message in enumerate(self._history):
            if message.role != "assistant" or not message.calls:
                continue
            seq = self._seqs[index]
            named = []
            for number, call in enumerate(message.calls):
                wanted = clean(call.id) if call.id.strip() else f"call_{seq}_{number}"
                arguments = (
                    wrapped(call.arguments) if call.type == "custom" else sendable(call.arguments)
                )
                if not arguments.whole:
                    self._cut_off.add((index, number))
                function = Function(clean(call.name), arguments.text)
                call_id = ids.give(wanted, str(seq))
                if call_id != call.id:
                    self.renamed.append((call_id, call.id))
                named.append(ToolCall("function", call_id, function))
            self._calls[index] = tuple(named)

    def _stays(self, key: Call) -> int | None:
        """Say what was sent as the call's marked result and has to stay.

        None: nothing. `OUR_OWN`: our own text. Else the index of the made-up result.
        """
        index, number = key
        call_id = self._calls[index][number].id
        if (self._seqs[index], call_id) in self._settled:
            return OUR_OWN
        made_up = self._pairing.made_up.get(key)
        if made_up is not None and (self._seqs[made_up], call_id) in self._settled:
            return made_up
        return None

    def named(self, index: int) -> tuple[ToolCall, ...]:
        """Give the calls of a message as the view has them."""
        return self._calls.get(index, ())

    def results(self, index: int) -> Iterator[Message]:
        """Answer the calls of a message, in their order."""
        for number in range(len(self.named(index))):
            yield self._result((index, number))

    def _result(self, key: Call) -> Message:
        index, number = key
        call_id = self._calls[index][number].id
        found = self._stays(key)
        if found is None:
            found = self._pairing.results.get(key, OUR_OWN)
        if found == OUR_OWN:
            self.marked.add((self._seqs[index], call_id))
            text = NOT_RUN if key in self._cut_off else UNKNOWN_OUTCOME
            return Message("tool", text, tool_call_id=call_id, origin="notice")
        message = self._history[found]
        if is_made_up(message):
            self.marked.add((self._seqs[found], call_id))
        return _changed(message, _tidy(message) or NO_OUTPUT, call_id=call_id)

    def note(self, result: int) -> Message:
        """Give a late result as a note where it arrived."""
        index, number = self.late[result]
        call = self._calls[index][number]
        message = self._history[result]
        lead = TextPart(LATE_RESULT.format(call=call.id, tool=call.name))
        rest = _tidy(message) or NO_OUTPUT
        parts = (TextPart(rest),) if isinstance(rest, str) else rest
        return Message("user", (lead, *parts), origin="notice", at=message.at, seq=message.seq)


def _seqs(history: Sequence[Message]) -> list[int]:
    """Give every message's `seq`; where there is none, one more than the message before."""
    seqs = []
    seq = 0
    for message in history:
        seq = message.seq if message.seq is not None else seq + 1
        seqs.append(seq)
    return seqs


def _spoken(message: Message, calls: tuple[ToolCall, ...]) -> Message | None:
    """Give what is sent of a message that is no result; none if nothing is left of it."""
    content = _tidy(message)
    if not calls and not _says_something(content):
        return None
    return _changed(message, content, calls=calls)


def _says_something(content: str | tuple[Part, ...]) -> bool:
    """Tell whether there is more than thinking."""
    if isinstance(content, str):
        return bool(content)
    return any(not isinstance(part, (ThinkPart, OtherPart)) for part in content)


def _changed(
    message: Message,
    content: str | tuple[Part, ...],
    *,
    calls: tuple[ToolCall, ...] = (),
    call_id: str | None = None,
) -> Message:
    """Give the message with what is sent in place of what is stored; itself if that is equal."""
    same = (
        (content == message.content or not (content or message.content))
        and calls == message.calls
        and call_id == message.tool_call_id
    )
    if same:
        return message
    return structs.replace(message, content=content, tool_calls=calls or None, tool_call_id=call_id)


def _tidy(message: Message) -> str | tuple[Part, ...]:
    """Give the content without what cannot be sent; empty if nothing is left."""
    content = message.content
    if content is None or isinstance(content, str):
        return clean(content) if content and content.strip() else ""
    parts = tuple(part for part in (_sent(part, message.role) for part in content) if part)
    return as_content(parts) if len(parts) != len(content) else parts


def _sent(part: Part, role: str) -> Part | None:
    """Give a part as it is sent in a message of that role; none if it is left out."""
    match part:
        case TextPart(text=text):
            return _replaced_text(part, text)
        case ThinkPart():
            return _sent_thinking(part) if role == "assistant" else None
        case OtherPart():
            return part if role == "assistant" and is_redacted_thinking(part) else None
        case ImagePart() | AudioPart() | VideoPart():
            whole = _clean_media(part)
            return whole if role in _MEDIA_ROLES else TextPart(placeholder(whole))


def _replaced_text(part: TextPart, text: str) -> TextPart | None:
    if not text.strip():
        return None
    cleaned = clean(text)
    return part if cleaned == text else TextPart(cleaned)


def _sent_thinking(part: ThinkPart) -> ThinkPart | None:
    """Keep thinking; mended thinking loses its signature, which no longer fits it."""
    think, encrypted = clean(part.think), clean(part.encrypted or "")
    if not think.strip() and not encrypted:
        return None
    if think == part.think and encrypted == (part.encrypted or ""):
        return part
    return ThinkPart(think) if think.strip() else None


def is_redacted_thinking(part: Part) -> bool:
    """Tell whether a part is Anthropic's thinking in cipher text, which only it can read."""
    return isinstance(part, OtherPart) and anthropic.redacted(part) is not None


def _clean_media(part: MediaPart) -> MediaPart:
    """Give the part with an address that can be encoded."""
    match part:
        case ImagePart(image_url=link):
            return part if _is_clean(link) else ImagePart(_mended(link))
        case AudioPart(audio_url=link):
            return part if _is_clean(link) else AudioPart(_mended(link))
        case VideoPart(video_url=link):
            return part if _is_clean(link) else VideoPart(_mended(link))


def _is_clean(link: MediaUrl) -> bool:
    return link.url.isascii() or clean(link.url) == link.url


def _mended(link: MediaUrl) -> MediaUrl:
    return MediaUrl(clean(link.url), UNSET)
