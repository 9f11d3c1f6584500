"""A session as Markdown: for people, and nothing in it can act."""

import re

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.writers.markdown import WRITER
from minutebook.messages import Message, TextPart, assistant, call, tool, user
from minutebook.records import Record, Usage
from tests.formats.writers.written import ABOUT, PICTURE, conversations
from tests.strategies import RECORDS


def page(*records: Record) -> str:
    """Write a page."""
    return WRITER.write(records, ABOUT).data.decode()


@given(st.lists(RECORDS, max_size=10))
def test_any_records_can_be_written(records: list[Record]) -> None:
    """As strict UTF-8, and only what is lost has a count."""
    written = WRITER.write(records, ABOUT)

    assert written.data.decode("utf-8")
    assert all(count > 0 for count in written.lost.values())


@given(conversations())
def test_every_word_is_there(records: list[Record]) -> None:
    """Of all texts, calls and counts; media are named and counted as lost."""
    shown = page(*records)

    for record in records:
        if isinstance(record, Message):
            for part in record.parts:
                if isinstance(part, TextPart):
                    assert part.text in shown
            for made in record.calls:
                assert made.name in shown
        elif isinstance(record, Usage):
            assert f"{record.token_count} tokens" in shown
    pictures = sum(
        part is PICTURE for one in records if isinstance(one, Message) for part in one.parts
    )
    assert WRITER.write(records, ABOUT).lost.get("images", 0) == pictures


@given(st.text(st.sampled_from("`~ \n<#a"), max_size=40))
def test_no_text_of_others_gets_out_of_its_fence(text: str) -> None:
    """However many ticks it holds: the fence around it is longer than any run in it."""
    shown = page(user(f"x{text}x"))
    fence = re.search(r"^(`{3,})$", shown, re.MULTILINE)

    assert fence is not None
    inside = shown.partition(f"{fence[1]}\n")[2].rpartition(f"\n{fence[1]}")[0]
    assert inside == f"x{text}x"


def test_a_call_and_its_result() -> None:
    """The arguments as JSON, laid out, where they are; the result under the call's id."""
    shown = page(
        assistant("I look.", tool_calls=[call("c1", "read", '{"path": "a.py"}')]),
        assistant("", tool_calls=[call("c2", "sh", "not json")]),
        tool("c1", "text"),
    )

    assert 'Call of **read** `c1`\n\n```json\n{\n  "path": "a.py"\n}\n```' in shown
    assert "Call of **sh** `c2`\n\n```\nnot json\n```" in shown
    assert "## tool `c1`" in shown
