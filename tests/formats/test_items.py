"""Items of the Responses API to pieces, and pieces to messages."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from minutebook.codec import encode_line
from minutebook.formats.items import COMPACTIONS, Piece, groups, joined, piece_of
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    OtherPart,
    TextPart,
    ThinkPart,
    assistant,
    call,
    replace,
    tool,
)
from tests.formats.transcripts import JSON_VALUES

KINDS = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
    "compaction",
    "other",
]
KEYS = [
    *["role", "content", "summary", "encrypted_content", "name", "namespace", "arguments"],
    *["call_id", "id", "output", "action", "input", "tools"],
]
ITEMS = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(KEYS), JSON_VALUES, max_size=5),
)


def made(item: dict[str, Any]) -> Piece:
    piece = piece_of(item)
    assert piece is not None
    return piece


@given(st.lists(ITEMS, min_size=1, max_size=6))
def test_any_items_become_messages_that_can_be_written(items: list[Any]) -> None:
    """Keys of unexpected types never raise, and every piece is in one group."""
    pieces = [made(item) for item in items]

    found = groups(pieces)

    assert [at for group in found for at in group] == list(range(len(pieces)))
    for group in found:
        message = joined([pieces[at] for at in group])
        assert encode_line(message).startswith(b'{"role":')
        assert len({pieces[at].role for at in group}) == 1


@given(JSON_VALUES)
def test_arguments_are_what_was_given_as_text(value: Any) -> None:
    """A text stays what it is; a value becomes JSON text; missing stays missing."""
    found = made({"type": "function_call", "call_id": "c", "name": "f", "arguments": value}).call
    assert found is not None

    if value is None or isinstance(value, str):
        assert found.function.arguments == value
    else:
        assert json.loads(found.arguments) == value
    bare = made({"type": "function_call", "call_id": "c", "name": "f"}).call
    assert bare is not None
    assert bare.function.arguments is UNSET


def test_a_reply_is_made_of_neighbours() -> None:
    """Reasoning, text and calls up to what is something else, or to a place that ends it."""
    items: list[Any] = [
        {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "e"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "ok"}],
        },
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
        {"type": "reasoning", "content": [{"text": "ah"}], "summary": [{"text": "no"}]},
    ]
    pieces: list[Piece | None] = [made(item) for item in items]
    pieces += [None, made(items[1])]

    found = groups(pieces)

    assert found == [[0, 1, 2], [3], [4], [6]]
    reply = joined([piece for piece in pieces[:3] if piece is not None])
    assert reply == assistant((ThinkPart("hm", "e"), TextPart("ok")), tool_calls=[call("c", "f")])
    assert joined([made(items[3])]) == tool("c", "done")
    assert made(items[4]).parts == (ThinkPart("ah"),)


@pytest.mark.parametrize(
    ("item", "name", "arguments", "kind"),
    [
        (
            {"type": "custom_tool_call", "name": "patch", "input": "*** a"},
            "patch",
            "*** a",
            "custom",
        ),
        (
            {"type": "local_shell_call", "action": {"command": ["ls"]}},
            "local_shell",
            '{"command":["ls"]}',
            "function",
        ),
        ({"type": "tool_search_call", "arguments": {"q": 1}}, "tool_search", '{"q":1}', "function"),
        (
            {"type": "function_call", "namespace": "mcp__s__", "name": "t", "arguments": ""},
            "mcp__s__t",
            "",
            "function",
        ),
    ],
)
def test_each_kind_of_call_has_its_name_and_arguments(
    item: dict[str, Any], name: str, arguments: str, kind: str
) -> None:
    """Custom tools take free text; those that the provider defines are named by their kind."""
    found = made({**item, "id": "i"}).call
    assert found is not None

    assert (found.name, found.arguments, found.type, found.id) == (name, arguments, kind, "i")


def test_a_result_is_text_parts_or_what_it_lists() -> None:
    """A list of contents, an old object with its content, or other keys as JSON text."""
    picture = {"type": "input_image", "image_url": "http://x"}

    def result(**keys: Any) -> Any:
        return joined([made({"type": "function_call_output", "call_id": "c", **keys})]).content

    assert result(output=[picture]) == (ImagePart(MediaUrl("http://x")),)
    assert result(output={"content": "a", "success": False}) == "a"
    assert result(output={"x": 1}) == '{"x":1}'
    assert result(output=None) == ""
    listed = made({"type": "tool_search_output", "call_id": "c", "tools": []})
    assert joined([listed]) == tool("c", '{"tools":[]}')


def test_contents_keep_what_has_no_place_in_ours() -> None:
    """Text of every kind, refusals, pictures, sounds; files and others stay whole."""
    sound = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
    file = {"type": "input_file", "file_id": "f"}
    content = [
        {"type": "input_text", "text": "a"},
        {"type": "refusal", "refusal": "no"},
        {"type": "input_image", "image_url": {"url": "http://x"}},
        sound,
        file,
    ]

    assert made({"role": "user", "content": content}).parts == (
        TextPart("a"),
        TextPart("no"),
        ImagePart(MediaUrl("http://x")),
        AudioPart(MediaUrl("data:audio/wav;base64,AA")),
        OtherPart(file),
    )
    assert made({"role": "user", "content": "a"}).parts == (TextPart("a"),)
    assert made({"role": "user", "content": None}).parts == ()


def test_a_compaction_is_an_opaque_summary_of_its_own() -> None:
    """It belongs to no reply; a search that the provider ran belongs to one."""
    item = {"type": "compaction", "encrypted_content": "zz"}
    search = {"type": "web_search_call", "status": "completed"}
    pieces = [made(search), made(item), made(search)]

    assert groups(pieces) == [[0], [1], [2]]
    assert joined([pieces[1]]) == replace(assistant((OtherPart(item),)), origin="summary")
    assert joined([pieces[0]]) == assistant((OtherPart(search),))
    assert all(made({"type": kind}).origin == "summary" for kind in COMPACTIONS)


def test_the_developer_is_the_system_and_snapshots_are_nothing() -> None:
    """Our roles; the state of files is no part of a conversation."""
    message = joined([made({"role": "developer", "content": "be kind"})])

    assert (message.role, message.content, message.origin) == ("system", "be kind", None)
    assert piece_of({"type": "ghost_snapshot", "ghost_commit": {}}) is None
