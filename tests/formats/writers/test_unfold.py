"""A context as records."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.context import Context
from minutebook.formats.writers.unfold import unfold
from minutebook.messages import replace
from minutebook.records import Record
from tests.strategies import RECORDS


def folded(records: list[Record]) -> Context:
    """Fold records as a log has them."""
    context = Context()
    for number, record in enumerate(records):
        context.apply(record, number * 10, number * 10 + 9)
    return context


@given(st.lists(RECORDS, max_size=20))
def test_folding_what_was_unfolded_gives_the_same(records: list[Record]) -> None:
    """The conversation, its counts and its checkpoints."""
    context = folded(records)

    again = folded(unfold(context))

    assert [replace(message, pin=False) for message in again.history] == [
        replace(message, pin=False) for message in context.history
    ]
    assert again.pins == context.pins
    assert again.system_prompt == context.system_prompt
    assert again.usages == context.usages
    assert again.token_count_with_pending == context.token_count_with_pending
    assert [(mark.id, mark.messages, mark.label) for mark in again.checkpoints] == [
        (mark.id, mark.messages, mark.label) for mark in context.checkpoints
    ]
