"""What holds for the view of any history whatever."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import clean
from minutebook.messages import Message, OtherPart, ThinkPart
from minutebook.providers import (
    validate_anthropic,
    validate_chat,
    validate_gemini,
    validate_responses,
)
from minutebook.providers.view import View, make_view, marked, sent_ids
from tests.providers.histories import (
    CROWDED,
    HISTORIES,
    NUMBERED,
    REPLIES,
    bodies,
    body,
    numbered,
    texts_of,
    valid_histories,
)

KIMI = "moonshotai/kimi-k2.6"
PROMPTS = st.sampled_from([None, "", " ", "You are an agent.", "half \ud83d"])


def anthropic_messages(view: View) -> list[Any]:
    """Give the messages of the view's Anthropic request."""
    messages = view.to_anthropic()["messages"]
    assert isinstance(messages, list)
    return messages


@given(PROMPTS, st.one_of(HISTORIES, CROWDED, REPLIES))
def test_every_view_keeps_the_rules_of_openai(prompt: str | None, history: list[Message]) -> None:
    """Whatever was stored, Chat Completions would take it."""
    view = make_view(prompt, history)

    assert validate_chat.violations(view.to_openai()) == []
    assert validate_chat.violations(view.to_openai(model=KIMI), kimi=True) == []


@given(PROMPTS, st.one_of(HISTORIES, CROWDED, REPLIES))
def test_every_view_keeps_the_rules_of_anthropic(
    prompt: str | None, history: list[Message]
) -> None:
    """Whatever was stored, Messages would take it, and roles alternate without being joined."""
    request = make_view(prompt, history).to_anthropic()

    messages = request["messages"]
    assert validate_anthropic.violations(messages, system=request.get("system")) == []
    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    assert ("system" in request) is bool(prompt and prompt.strip())


@given(PROMPTS, st.one_of(HISTORIES, CROWDED, REPLIES))
def test_every_view_keeps_the_rules_of_responses(
    prompt: str | None, history: list[Message]
) -> None:
    """Whatever was stored, Responses would take it."""
    request = make_view(prompt, history).to_responses()

    assert validate_responses.violations(request) == []
    assert ("instructions" in request) is bool(prompt and prompt.strip())


@given(PROMPTS, st.one_of(HISTORIES, CROWDED, REPLIES))
def test_every_view_keeps_the_rules_of_gemini(prompt: str | None, history: list[Message]) -> None:
    """Whatever was stored, Gemini would take it, also a model that checks signatures."""
    view = make_view(prompt, history)

    assert validate_gemini.violations(view.to_gemini(model="gemini-2.5-pro")) == []
    signed = view.to_gemini(model="google/gemini-3-pro-preview")
    assert validate_gemini.violations(signed, signed=True) == []
    assert ("systemInstruction" in signed) is bool(prompt and prompt.strip())


@given(st.one_of(HISTORIES, CROWDED), st.integers(1, 4), st.booleans())
def test_a_view_grows_only_at_its_end(history: list[Message], step: int, with_seq: bool) -> None:
    """Promise 8: all but the last message that was sent begin the next request, byte for byte."""
    if with_seq:
        history = numbered(history)
    sent: dict[str, list[str]] = {}
    settled: frozenset[tuple[int, str]] = frozenset()
    for stop in [*range(0, len(history), step), len(history)]:
        view = make_view("prompt", history[:stop], settled=settled)
        now = {
            "openai": bodies(view.to_openai()),
            "kimi": bodies(view.to_openai(model=KIMI)),
            "anthropic": bodies(anthropic_messages(view)),
            "responses": bodies(view.to_responses()["input"]),
            "gemini": bodies(view.to_gemini()["contents"]),
            "gemini 3": bodies(view.to_gemini(model="gemini-3-pro")["contents"]),
        }
        for provider, before in sent.items():
            kept = before[:-1]
            assert now[provider][: len(kept)] == kept
        sent = now
        assert settled <= marked(view)
        settled = marked(view)


@given(st.one_of(HISTORIES, CROWDED))
def test_every_id_of_a_request_is_known_by_the_one_of_the_history(history: list[Message]) -> None:
    """Each id that is sent stands for one call, in order, and names it as it was stored."""
    view = make_view(None, history)
    stored = [
        made.id for message in history if message.role == "assistant" for made in message.calls
    ]

    chat = [made["id"] for item in view.to_openai() for made in item.get("tool_calls", ())]
    blocks = [block for message in anthropic_messages(view) for block in message["content"]]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    items = view.to_responses()["input"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert sent_ids(view, "openai") == dict(zip(chat, stored, strict=True))
    assert sent_ids(view, "anthropic") == dict(zip(uses, stored, strict=True))
    assert sent_ids(view, "responses") == dict(zip(calls, stored, strict=True))


@given(valid_histories())
def test_a_valid_history_is_sent_as_it_is(history: list[Message]) -> None:
    """No message is copied, no text, id or order changed, nothing marked."""
    view = make_view("prompt", history)

    assert all(sent is stored for sent, stored in zip(view.messages, history, strict=True))
    assert marked(view) == frozenset()
    assert view.to_openai() == [
        {"role": "system", "content": "prompt"},
        *map(plainly_encoded, history),
    ]


@given(valid_histories())
def test_anthropic_gets_a_valid_history_as_it_is(history: list[Message]) -> None:
    """Flattened, its blocks are the stored texts, calls and results, in their order."""
    flat: list[tuple[str, str, str]] = []
    for message in anthropic_messages(make_view("prompt", history)):
        for block in message["content"]:
            match block["type"]:
                case "text":
                    flat.append((message["role"], "", block["text"]))
                case "tool_use":
                    flat.append(("call", block["id"], body(block["input"])))
                case _:
                    flat.append(("tool", block["tool_use_id"], block["content"][0]["text"]))

    expected = []
    for stored in history:
        if stored.text:
            expected.append((stored.role, stored.tool_call_id or "", stored.text))
        expected += [("call", asked.id, asked.arguments) for asked in stored.calls]
    assert flat == expected


def plainly_encoded(message: Message) -> dict[str, Any]:
    """Encode a message of plain text and whole calls as the API reference shows it."""
    if message.role == "tool":
        return {
            "role": "tool",
            "tool_call_id": message.tool_call_id,
            "content": message.text,
        }
    item: dict[str, Any] = {"role": message.role, "content": message.text or None}
    if message.calls:
        item["tool_calls"] = [
            {
                "id": asked.id,
                "type": "function",
                "function": {"name": asked.name, "arguments": asked.arguments},
            }
            for asked in message.calls
        ]
    return item


@given(st.one_of(HISTORIES, CROWDED))
def test_a_view_of_a_view_is_the_same(history: list[Message]) -> None:
    """What has been brought into order needs nothing more."""
    messages = make_view(None, history).messages

    assert make_view(None, messages).messages == messages


@given(NUMBERED)
def test_no_word_of_a_known_role_is_lost(history: list[Message]) -> None:
    """Every text of user, assistant and system is found in both requests, in order."""
    view = make_view(None, history)
    expected = [
        clean(text)
        for message in history
        if message.role in {"user", "assistant", "system", "developer"}
        for text in texts_of(message.content)
    ]

    for request in (view.to_openai(), anthropic_messages(view)):
        whole = body(request)
        position = 0
        for text in expected:
            inside = body(text.rstrip())[1:-1]
            position = whole.find(inside, position)
            assert position >= 0
            position += len(inside)


@given(st.one_of(HISTORIES, REPLIES))
def test_signed_thinking_is_sent_byte_for_byte_or_not_at_all(history: list[Message]) -> None:
    """Each thinking block of a request is one that was stored, signature and all, in order."""
    stored = [
        (part.think, part.encrypted)
        for message in history
        if message.role == "assistant"
        for part in message.parts
        if isinstance(part, ThinkPart) and part.encrypted
    ]

    sent = [
        (block["thinking"], block["signature"])
        for message in anthropic_messages(make_view(None, history))
        for block in message["content"]
        if block["type"] == "thinking"
    ]

    remaining = iter(stored)
    assert all(block in remaining for block in sent)


@given(HISTORIES)
def test_the_same_history_gives_the_same_bytes(history: list[Message]) -> None:
    """Keys come in one order, and nothing is drawn or timed."""
    first, second = make_view("p", history), make_view("p", list(history))

    assert first == second
    assert body(first.to_openai()) == body(second.to_openai())
    assert body(first.to_anthropic()) == body(second.to_anthropic())


@given(HISTORIES)
def test_a_view_is_only_read(history: list[Message]) -> None:
    """Encoding for one provider changes nothing of what the other gets, nor of the history."""
    before = list(history)
    view = make_view(None, history)
    first = body(view.to_anthropic())
    view.to_openai()

    assert body(view.to_anthropic()) == first
    assert history == before
    assert not any(
        isinstance(part, OtherPart) and part.data.get("type") == "hologram"
        for message in view.messages
        for part in message.parts
    )
