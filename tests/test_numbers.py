"""Numbers counted without keeping the messages are those that the context counts."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.context import Context
from minutebook.messages import Message
from minutebook.numbers import Numbers
from minutebook.records import Batch, Record
from tests.strategies import RECORDS

ALONE = RECORDS.filter(lambda record: not isinstance(record, Batch))
"""A checkpoint inside a batch does not count, and `flatten` gives no `_batch` records."""


@given(st.lists(ALONE, max_size=30))
def test_they_are_the_numbers_of_the_context(records: list[Record]) -> None:
    """Whatever stands in a log: each message's number, and both free ones after each record."""
    context, numbers, seqs = Context(), Numbers(), []

    for record in records:
        context.apply(record)
        seq = numbers.take(record)
        seqs += [seq] if isinstance(record, Message) else []
        assert isinstance(record, Message) or seq == 0
        assert numbers.following == context.next

    assert seqs == [message.seq for message in context.history]
