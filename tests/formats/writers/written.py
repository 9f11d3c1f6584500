"""Conversations that a target can hold whole, and what must hold of every written session."""

from typing import Any

from hypothesis import strategies as st

from minutebook.formats.reading import read_source
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.formats.writers.value import About, Writer
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    ThinkPart,
    assistant,
    call,
    replace,
    tool,
    user,
)
from minutebook.records import Record, SystemPrompt, Usage
from minutebook.turns import pair
from tests.formats.altered import holds

ABOUT = About(
    session_id="1b2c3d4e-0000-4000-8000-000000000000",
    at=1767323045.0,
    title="the title",
    cwd="/w",
    model="m-1",
)
PICTURE = ImagePart(MediaUrl("data:image/png;base64,iVBORw0KGgo="))
CIPHERS = {"anthropic": "EqRk", "openai": "gAAAAABo"}
"""A signature or cipher text of each maker."""
WORDS = st.text(st.sampled_from('ab 修\n"\\`<{\u2028'), min_size=1, max_size=12).map(
    lambda text: f"x{text}x"
)
ARGUMENTS = st.sampled_from(["{}", '{"path": "src/a.py"}', '{"n":[1,2.5,null,"修"]}'])


@st.composite
def conversations(draw: st.DrawFn, maker: str = "", *, times: bool = False) -> list[Record]:
    """Draw turns in which every call is answered; thinking is that of *maker*.

    Each reply is counted, and none follows another without a result or a user between.
    """
    records: list[Record] = [SystemPrompt(content="be kind")] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        said = TextPart(draw(WORDS))
        records.append(user((said, PICTURE) if draw(st.booleans()) else said.text))
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"c{number + at}" for at in range(draw(st.integers(1, 3)))]
            number += len(ids)
            records += _reply(draw, maker, ids)
            for made in draw(st.permutations(ids)):
                shown = (TextPart("seen"), PICTURE) if draw(st.booleans()) else draw(WORDS)
                records.append(tool(made, shown, error=draw(st.booleans())))
        records += _reply(draw, maker, [])
    if not times:
        return records
    at = 1767323045.0
    dated: list[Record] = []
    for record in records:
        at += draw(st.integers(0, 5000)) / 1000
        dated.append(replace(record, at=at) if isinstance(record, Message) else record)
    return dated


def _reply(draw: st.DrawFn, maker: str, ids: list[str]) -> list[Record]:
    """Draw a reply with calls of these ids, and its usage."""
    parts: list[Any] = [TextPart(draw(WORDS))]
    if maker and draw(st.booleans()):
        parts.insert(0, ThinkPart(draw(WORDS), CIPHERS[maker]))
    calls = [
        call(made, draw(st.sampled_from(["read", "Shell_2"])), draw(ARGUMENTS)) for made in ids
    ]
    counts = [draw(st.integers(1, 9)) for _ in range(4)]
    usage = Usage(
        token_count=sum(counts[:3]),
        content=f"{sum(counts[:3])} tokens",
        input=counts[0],
        output=counts[1],
        cache_read=counts[2],
    )
    return [assistant(tuple(parts), tool_calls=calls), usage]


def back(writer: Writer, records: list[Record], about: About = ABOUT) -> Reading:
    """Write records and read them again; check what must hold of every written session."""
    written = writer.write(records, about)
    assert written == writer.write(records, about)
    assert all(count > 0 for count in written.lost.values())
    reading = read_source(Source(written.data, path="f", name="f"))
    holds(reading)
    assert reading.problems == ()
    assert not reading.left_out
    return reading


def survives(writer: Writer, records: list[Record]) -> None:
    """Whatever the records: nothing raises, and what can be read again holds together.

    A file of nothing that the target can hold is no session any more.
    """
    written = writer.write(records, ABOUT)
    assert all(count > 0 for count in written.lost.values())
    if any(isinstance(record, Message) for record in records) and not written.lost.get("messages"):
        assert answered(back(writer, records))


def answered(reading: Reading) -> bool:
    """Tell whether each call is answered, and nothing else is."""
    pairing = pair(reading.sent)
    return not pairing.open and not pairing.orphans


def said(messages: Any) -> list[Any]:
    """Give what messages say, whoever wrote them and when."""
    return [
        (message.role, message.parts, message.tool_call_id,
         [(made.id, made.name, made.type) for made in message.calls])
        for message in messages
        if isinstance(message, Message)
    ]  # fmt: skip


def counted(records: Any) -> list[tuple[int | None, ...]]:
    """Give the usage records as numbers."""
    return [
        (record.token_count, record.input, record.output, record.cache_read)
        for record in records
        if isinstance(record, Usage)
    ]
