"""Kimi CLI's log, written and read again."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from minutebook.formats.kimi import read_native
from minutebook.formats.source import Source
from minutebook.formats.writers.kimi import WRITER
from minutebook.messages import Message, OtherPart, TextPart, replace, user
from minutebook.providers.view import UNKNOWN_OUTCOME
from minutebook.records import Record, Tag, Usage
from minutebook.turns import pair
from tests.formats.writers.written import ABOUT, answered, back, conversations
from tests.strategies import RECORDS

LOST: set[str] = set()
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
    assert set(WRITER.write(records, ABOUT).lost) <= LOST


@given(st.lists(RECORDS, max_size=10))
def test_any_records_can_be_written(records: list[Record]) -> None:
    """As a log may hold them after whatever it went through; open calls are answered."""
    written = WRITER.write(records, ABOUT)

    assert all(count > 0 for count in written.lost.values())
    if any(isinstance(record, Message) for record in records) and not written.lost.get("messages"):
        # By its own reader: a file of one system message may be anybody's.
        kept = read_native(Source(written.data), 0).sent
        assert len(pair(kept).results) == sum(
            len(message.calls) for message in kept if message.role == "assistant"
        )
        assert [message.text for message in kept if message.text != UNKNOWN_OUTCOME] == [
            message.text for message in records if isinstance(message, Message)
        ]


def test_what_kimi_cli_does_not_know_is_left_out() -> None:
    """Roles, parts, special records of ours; its own keys and ours stay."""
    given_records: list[Record] = [
        Message("developer", "be brief"),
        Message("robot", "beep"),
        replace(user((TextPart("look"), OtherPart({"type": "x"}))), at=5.0, seq=7),
        Tag(seq=7, pin=True),
        Usage(token_count=0),
    ]
    written = WRITER.write(given_records, ABOUT)
    kept = [record for record in back(WRITER, given_records).records if isinstance(record, Message)]

    assert [(message.role, message.text) for message in kept] == [
        ("system", "be brief"),
        ("user", "look"),
    ]
    assert b'"seq"' not in written.data
    assert b'"at":5.0' in written.data
    assert written.lost["messages"] == 1
    assert written.lost["unknown_parts"] == 1
    assert written.lost["other_records"] == 1
