"""Histories for the tests of the providers: any at all, and valid ones."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st

from minutebook.messages import (
    AudioPart,
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
    assistant,
    call,
    replace,
    tool,
    user,
)

PICTURE = "data:image/png;base64,iVBORw0KGgo="
SOUND = "data:audio/wav;base64,UklGRg=="

TEXTS = st.one_of(
    st.sampled_from(
        [
            "fix the build",
            "",
            " \n",
            "half \ud83d and \udc88, whole \ud83d\ude80",
            "ends with space \n",
            "<system>ERROR: it broke</system>",
            "<system>CHECKPOINT 3</system>",
            "\u00a0\u2028",
        ]
    ),
    st.text(max_size=5),
)
ADDRESSES = st.sampled_from(
    [
        PICTURE,
        SOUND,
        "data:image/svg+xml;base64,PHN2Zz4=",
        "data:image/svg+xml,<svg/>",
        "data:image/png;base64,a",
        "data:image/jpg;base64,iVBORw0KGgo=",
        "data:audio/ogg;base64,T2dnUw==",
        "data:video/mp4;base64,AAAA",
        "https://example.org/a.png",
        "https://example.org/\ud83d.png",
        "http://",
        "ms://file-1",
        "file.png",
        "",
    ]
)
LINKS = st.builds(MediaUrl, ADDRESSES)
OTHERS = st.sampled_from(
    [
        {"type": "hologram", "payload": "zzz"},
        {"type": "redacted_thinking", "data": "UkVEQUNU"},
        {"type": "redacted_thinking", "data": 7},
        {"type": "redacted_thinking", "data": "\ud83d"},
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
        {},
    ]
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ThinkPart, TEXTS, st.sampled_from([None, "", "sigA==", "sig\ud83d"])),
    st.builds(ImagePart, LINKS),
    st.builds(AudioPart, LINKS),
    st.builds(VideoPart, LINKS),
    st.builds(OtherPart, OTHERS),
)
CONTENTS = st.one_of(st.none(), TEXTS, st.lists(PARTS, max_size=4).map(tuple))
IDS = st.sampled_from(
    ["", " ", "a", "a", "b", "a-2", "a-1", "Shell:0", "Shell_0", "é", "\ud83d", "x" * 60]
)


def replace_kind(made: ToolCall, kind: str) -> ToolCall:
    """Give a call of a custom tool's, whose arguments are any text, or of a function."""
    return ToolCall(kind, made.id, made.function)


ARGUMENTS = st.sampled_from(
    [
        "{}",
        '{"path": "a.py", "n": 1.50}',
        '{"command": "rm -rf build/tm',
        "[1]",
        '"text"',
        "null",
        "",
        None,
        '{"a": "x\ny"}',
        '{"a": "\\ud83d"}',
        '{"\ud83d": 1}',
        '{"a": NaN}',
        '{"a": 1e999}',
        "[" * 5000,
    ]
)
CALLS = st.builds(
    lambda kind, made: replace_kind(made, kind),
    st.sampled_from(["function", "function", "custom"]),
    st.builds(
        call, IDS, st.sampled_from(["Shell", "", "odd name!", "$web_search", "n" * 200]), ARGUMENTS
    ),
)
MESSAGES = st.one_of(
    st.builds(
        Message,
        role=st.sampled_from(["user", "system", "developer", "oracle", ""]),
        content=CONTENTS,
        name=st.sampled_from([None, "bob", "b o b", "\ud83d"]),
    ),
    st.builds(
        lambda content, calls: Message("assistant", content, tool_calls=tuple(calls) or None),
        CONTENTS,
        st.lists(CALLS, max_size=3),
    ),
    st.builds(
        lambda content, call_id, origin: Message(
            "tool", content, tool_call_id=call_id, origin=origin
        ),
        CONTENTS,
        st.one_of(st.none(), IDS),
        st.sampled_from([None, "tool", "notice"]),
    ),
)


def numbered(history: list[Message]) -> list[Message]:
    """Give each message its number, with gaps, as a log does."""
    return [replace(message, seq=3 * index + 1) for index, message in enumerate(history)]


HISTORIES = st.lists(MESSAGES, max_size=10)
"""Anything that a log may hold, numbered or not."""

NUMBERED = HISTORIES.map(numbered)

CROWDED = st.lists(
    st.one_of(
        st.just(user("go on")),
        st.builds(
            lambda ids: assistant("", tool_calls=[call(call_id, "f") for call_id in ids]),
            st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=2),
        ),
        st.builds(
            lambda call_id, origin, text: Message(
                "tool", text, tool_call_id=call_id, origin=origin
            ),
            st.sampled_from(["a", "b", ""]),
            st.sampled_from(["tool", "notice"]),
            st.sampled_from(["one", "two"]),
        ),
    ),
    max_size=9,
).map(numbered)
"""Few ids, many calls and results: everything that can go wrong in answering."""

CIPHERS = [None, "s", "gAAAAx", "gemini:c2ln"]
"""Nobody's, Anthropic's perhaps, OpenAI's, Gemini's."""

REPLIES = st.lists(
    st.one_of(
        st.just(user("go on")),
        st.builds(
            Message,
            st.just("assistant"),
            st.lists(
                st.one_of(
                    st.builds(TextPart, st.sampled_from(["so", "so \n", " "])),
                    st.builds(ThinkPart, st.sampled_from(["hm", ""]), st.sampled_from(CIPHERS)),
                    st.just(OtherPart({"type": "redacted_thinking", "data": "UkVEQUNU"})),
                ),
                max_size=3,
            ).map(tuple),
        ),
    ),
    max_size=4,
)
"""Replies that think at every place, and how they end."""

WORDS = st.sampled_from(["fix it", "done", "the log says: 5 failed", "现在开始", "🚀"])


@st.composite
def valid_histories(draw: st.DrawFn) -> list[Message]:
    """Draw a history that every provider takes as it is: every call answered in place."""
    history: list[Message] = []
    count = 0
    for _ in range(draw(st.integers(1, 4))):
        history.append(user(draw(WORDS)))
        for _ in range(draw(st.integers(0, 3))):
            size = draw(st.integers(1, 3))
            ids = [f"call_{count + number}" for number in range(size)]
            count += size
            calls = [call(call_id, "read", '{"path": "a"}') for call_id in ids]
            said = draw(st.one_of(st.just(""), WORDS))
            history.append(assistant(said, tool_calls=calls))
            history.extend(tool(call_id, draw(WORDS)) for call_id in ids)
        history.append(assistant(draw(WORDS)))
    return numbered(history)


def body(value: object) -> str:
    """Encode a request's part as the bytes that would be compared by a cache."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def bodies(messages: list[Any]) -> list[str]:
    """Encode each message of a request by itself."""
    return [body(message) for message in messages]


def exhausted(value: object) -> object:
    """Walk through what a validator reads only when asked."""
    if isinstance(value, Mapping):
        return {key: exhausted(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [exhausted(inner) for inner in value]
    return value


def texts_of(content: object) -> list[str]:
    """Collect all texts of a message's stored content that are not blank."""
    parts = as_content(content) if isinstance(content, str | tuple) else ""
    if isinstance(parts, str):
        parts = (TextPart(parts),)
    return [part.text for part in parts or () if isinstance(part, TextPart) and part.text.strip()]
