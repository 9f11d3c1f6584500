import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway.frames import Frame, FrameReader
from minutebook.gateway.replies import Assembler, Reply, whole_reply
from minutebook.testing import wire
from minutebook.testing.scripted import Answer, Call

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)
ANSWERS = st.builds(
    Answer,
    text=TEXTS,
    thinking=st.just("") | TEXTS,
    calls=st.lists(st.builds(Call, name=st.just("f"), arguments=st.just('{"a":"é"}'))).map(tuple),
)
KNOWN: dict[str, Any] = {"model": "m", "input_tokens": 7, "number": 1}


def assembled(api: Any, events: list[str], count: int | None = None) -> tuple[Assembler, Reply]:
    made = Assembler(api)
    for event in events[:count]:
        for frame in FrameReader().feed(event.encode()):
            made.feed(frame)
    return made, made.reply()


@given(ANSWERS)
def test_a_stream_and_a_whole_reply_are_the_same(answer: Answer) -> None:
    """For Chat and for Anthropic: messages and usage."""
    chat = wire.openai_completion(answer, **KNOWN)
    message = wire.anthropic_message(answer, **KNOWN)
    pairs: list[tuple[Any, Any, list[str]]] = [
        ("chat", chat, list(wire.openai_events(answer, **KNOWN, with_usage=True))),
        ("messages", message, list(wire.anthropic_events(answer, **KNOWN))),
    ]
    for api, body, events in pairs:
        whole = whole_reply(api, json.dumps(body).encode())
        made, streamed = assembled(api, events)

        assert made.done
        assert whole.complete
        assert streamed.complete
        assert streamed.messages == whole.messages
        assert streamed.usage == whole.usage


@given(ANSWERS, st.integers(0, 20))
def test_a_stream_that_breaks_off_is_partial(answer: Answer, count: int) -> None:
    """What there is of it can be written, and it is not called complete before its end."""
    for api, events in (
        ("chat", list(wire.openai_events(answer, **KNOWN, with_usage=False))),
        ("messages", list(wire.anthropic_events(answer, **KNOWN))),
    ):
        made, reply = assembled(api, events, count)

        assert made.done == (count >= len(events))
        if count < len(events) - 2:
            assert not reply.complete


@given(st.sampled_from(["chat", "messages", "responses"]), st.text(max_size=40), st.binary())
def test_what_is_no_reply_gives_none(api: Any, text: str, body: bytes) -> None:
    """Nothing is raised for any bytes."""
    made = Assembler(api)
    made.feed(Frame(b"", "", text))
    made.feed(Frame(b"", "", json.dumps({"type": text, "choices": text, "delta": 3})))

    assert not made.reply().messages
    assert not whole_reply(api, body).messages


def test_a_response_is_taken_from_its_last_event() -> None:
    """Its output, its usage and its id, by which the next request names it."""
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "hello", "annotations": []}],
    }
    response = {"id": "resp_1", "output": [item], "usage": {"input_tokens": 1, "output_tokens": 1}}
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "hel"}
    events = [
        f"data: {json.dumps(delta)}\n\n",
        f"data: {json.dumps({'type': 'response.completed', 'response': response})}\n\n",
    ]

    _, partial = assembled("responses", events, 1)
    made, reply = assembled("responses", events)

    assert (partial.messages[0].text, partial.complete) == ("hel", False)
    assert made.done
    assert (reply.messages[0].text, reply.response_id) == ("hello", "resp_1")
    assert whole_reply("responses", json.dumps(response).encode()) == reply


def test_a_second_choice_makes_a_stream_opaque() -> None:
    """The log holds one answer; nothing is guessed about others."""
    event = {"choices": [{"index": 1, "delta": {"content": "b"}}]}
    _, reply = assembled("chat", [f"data: {json.dumps(event)}\n\n"])

    assert reply.opaque
