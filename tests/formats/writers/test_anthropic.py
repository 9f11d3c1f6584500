"""Anthropic's messages, written and read again."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from minutebook.formats.writers.anthropic import WRITER
from minutebook.records import Record
from tests.formats.writers.written import ABOUT, answered, back, conversations, survives
from tests.strategies import RECORDS

LOST = {"times", "added", "call_ids", "usages", "origins", "messages"}
"""What a whole conversation loses at most, and only by name."""


@given(conversations(maker="anthropic", times=True))
def test_a_conversation_comes_back(records: list[Record]) -> None:
    """Every message, call, result and usage that the target can hold; the rest is counted."""
    about = structs.replace(ABOUT, maker="anthropic")

    assert set(WRITER.write(records, about).lost) <= LOST
    assert answered(back(WRITER, records, about))


@given(conversations(maker="openai", times=True))
def test_thinking_of_another_maker(records: list[Record]) -> None:
    """It is left out where the target refuses it, and that is counted."""
    assert set(WRITER.write(records, ABOUT).lost) <= LOST | {"signatures", "thinking"}


@given(st.lists(RECORDS, max_size=10))
def test_any_records_can_be_written(records: list[Record]) -> None:
    """As a log may hold them after whatever it went through."""
    survives(WRITER, records)
