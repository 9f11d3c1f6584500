"""Messages as Anthropic's content blocks."""

from typing import Any

from minutebook.formats.writers.blocks import Blocks
from minutebook.formats.writers.conversation import Said
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    assistant,
    call,
    tool,
    user,
)
from minutebook.records import Usage
from tests.formats.writers.written import PICTURE


def blocks(*messages: Message, usage: Usage | None = None, maker: str = "") -> list[Any]:
    """Spell messages one after the other; give the blocks of the last one."""
    speller = Blocks(model="m", maker=maker)
    return [speller.of(Said(message, usage)) for message in messages][-1]


def test_pictures_by_data_by_link_and_by_name() -> None:
    """Sounds, and pictures of kinds that are not taken, are named by a text."""
    link = ImagePart(MediaUrl("https://example.org/a.png"))
    odd = ImagePart(MediaUrl("data:image/tiff;base64,AAAA"))
    sound = AudioPart(MediaUrl("data:audio/wav;base64,AAAA"))
    found = blocks(user((TextPart("look"), PICTURE, link, odd, sound)))

    assert [block["type"] for block in found] == ["text", "image", "image", "text", "text"]
    assert found[1]["source"]["media_type"] == "image/png"
    assert found[2]["source"] == {"type": "url", "url": "https://example.org/a.png"}


def test_thinking_goes_along_if_anthropic_signed_it() -> None:
    """As the reply's model says, else the session's; what nobody signed is left out."""
    thought = assistant((ThinkPart("hm", "EqRk"), TextPart("yes")))
    hidden = assistant((OtherPart({"type": "redacted_thinking", "data": "EqRk"}), TextPart("yes")))
    claude = Usage(token_count=9, model="claude-sonnet-4-5")

    assert [block["type"] for block in blocks(thought, usage=claude)] == ["thinking", "text"]
    assert [block["type"] for block in blocks(thought, maker="anthropic")] == ["thinking", "text"]
    assert [block["type"] for block in blocks(thought)] == ["text"]
    assert [block["type"] for block in blocks(hidden)] == ["redacted_thinking", "text"]
    plain = assistant((ThinkPart("hm"), TextPart("yes")))
    assert [block["type"] for block in blocks(plain, maker="anthropic")] == ["text"]


def test_ids_and_names_are_of_the_allowed_alphabet() -> None:
    """And a result names the id that its call was given."""
    asked = assistant("", tool_calls=[call("a b!", "f g", '{"x": 1}')])
    (made,) = blocks(asked)
    (result,) = blocks(asked, tool("a b!", "done"))

    assert made["input"] == {"x": 1}
    assert made["id"].replace("_", "").isalnum()
    assert result["tool_use_id"] == made["id"]
    assert result["content"] == "done"
    assert "is_error" not in result


def test_a_result_of_several_parts_and_a_failed_one() -> None:
    """A list, unless it is one text; failure is told."""
    asked = assistant("", tool_calls=[call("c", "f")])
    (pictured,) = blocks(asked, tool("c", (TextPart("seen"), PICTURE)))
    (failed,) = blocks(asked, tool("c", "no such file", error=True))
    (empty,) = blocks(asked, tool("c", ""))

    assert [block["type"] for block in pictured["content"]] == ["text", "image"]
    assert failed["is_error"]
    assert empty["content"] == ""
