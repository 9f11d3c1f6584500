"""Anthropic's content blocks to parts, calls and results."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from minutebook.codec import decode_line, encode_line
from minutebook.formats.blocks import call_of, content_of, part_of, result_of, sort_blocks
from minutebook.messages import ImagePart, MediaUrl, OtherPart, TextPart, ThinkPart, call, tool
from tests.formats.transcripts import JSON_VALUES

KINDS = ["text", "thinking", "redacted_thinking", "image", "tool_use", "tool_result", "document"]
BLOCKS = st.one_of(
    JSON_VALUES,
    st.builds(
        lambda kind, rest: {**rest, "type": kind},
        st.sampled_from(KINDS),
        st.dictionaries(
            st.sampled_from(
                [
                    "text",
                    "thinking",
                    "data",
                    "source",
                    "id",
                    "tool_use_id",
                    "name",
                    "input",
                    "content",
                ]
            ),
            JSON_VALUES,
            max_size=4,
        ),
    ),
)


@given(st.one_of(st.lists(BLOCKS, max_size=5), JSON_VALUES), st.sampled_from(["user", "assistant"]))
def test_no_block_is_lost_and_all_can_be_written(content: Any, role: str) -> None:
    """Whatever its shape, a block becomes a part, a call or a result that a log can hold."""
    sorted_blocks = sort_blocks(content, role=role)

    given_blocks = content if isinstance(content, list) else [content]
    count = len(sorted_blocks.parts) + len(sorted_blocks.calls) + len(sorted_blocks.results)
    assert count == sum(block is not None and block != "" for block in given_blocks)
    for result in sorted_blocks.results:
        assert decode_line(encode_line(result)) is not None
    assert not sorted_blocks.results or role == "user"
    assert not sorted_blocks.calls or role == "assistant"


@given(JSON_VALUES)
def test_arguments_are_the_input_as_text(value: Any) -> None:
    """A call's arguments parse to the input; a text stays what the stream left of it."""
    arguments = call_of({"id": "a", "name": "f", "input": value}).arguments

    assert arguments == value if isinstance(value, str) else json.loads(arguments) == value


def test_a_call_without_input_has_no_arguments() -> None:
    """Missing is not the same as empty."""
    assert call_of({"id": 1, "name": "f"}).function.arguments is UNSET
    assert call_of({"id": "a", "name": "f", "input": {}}) == call("a", "f", "{}")


def test_thinking_keeps_its_signature() -> None:
    """Thinking without text keeps its signature; redacted thinking is told from it."""
    assert part_of({"type": "thinking", "thinking": "hm", "signature": "s"}) == ThinkPart("hm", "s")
    assert part_of({"type": "thinking", "thinking": "", "signature": "s"}) == ThinkPart("", "s")
    assert part_of({"type": "thinking", "thinking": "hm"}) == ThinkPart("hm")

    redacted = {"type": "redacted_thinking", "data": "c2Vj"}

    assert part_of(redacted) == OtherPart(redacted)


def test_images_are_addresses_and_documents_stay_whole() -> None:
    """Base64 becomes a data URI; what has no place in ours is kept as it was."""
    inline = {"type": "base64", "media_type": "image/webp", "data": "AAAA"}
    bare = {"type": "base64", "data": "AAAA"}
    document = {"type": "document", "source": {"type": "base64", "data": "JVBE"}}

    assert part_of({"type": "image", "source": inline}) == ImagePart(
        MediaUrl("data:image/webp;base64,AAAA")
    )
    assert part_of({"type": "image", "source": bare}) == ImagePart(
        MediaUrl("data:image/png;base64,AAAA")
    )
    assert part_of({"type": "image", "source": {"type": "url", "url": "http://x"}}) == ImagePart(
        MediaUrl("http://x")
    )
    assert part_of({"type": "image", "source": {"type": "file"}}) == OtherPart(
        {"type": "image", "source": {"type": "file"}}
    )
    assert part_of(document) == OtherPart(document)
    assert part_of("plain") == TextPart("plain")
    assert part_of(3) == OtherPart({"type": "unknown", "value": 3})


def test_a_failed_result_says_so() -> None:
    """An error is marked as Kimi CLI marks it, once."""
    failed = {"tool_use_id": "a", "content": "no such file", "is_error": True}
    marked = {**failed, "content": "<system>ERROR: gone</system>"}

    assert result_of(failed) == tool("a", "no such file", error=True)
    assert result_of(failed).text.startswith("<system>ERROR: ")
    assert result_of(marked) == tool("a", "<system>ERROR: gone</system>")
    assert result_of({**failed, "is_error": False}) == tool("a", "no such file")


def test_a_result_may_hold_a_list_or_nothing() -> None:
    """Texts and pictures of a result stay in order; no content is empty text."""
    picture = {"type": "image", "source": {"type": "url", "url": "http://x"}}
    content = [{"type": "text", "text": "a"}, picture]

    assert result_of({"tool_use_id": "a", "content": content}) == tool(
        "a", (TextPart("a"), ImagePart(MediaUrl("http://x")))
    )
    assert result_of({"tool_use_id": "a"}) == tool("a", "")
    assert content_of([{"type": "text", "text": "a"}, None, ""]) == "a"


def test_c009_results_and_text_of_one_message_are_told_apart() -> None:
    """Case C009: the result goes to its call, and the rule beside it stays a user's words."""
    rule = "RULE: never touch table billing"
    content = [{"type": "text", "text": rule}, {"type": "tool_result", "tool_use_id": "tu_old"}]

    found = sort_blocks(content, role="user")

    assert found.results == (tool("tu_old", ""),)
    assert found.parts == (TextPart(rule),)
