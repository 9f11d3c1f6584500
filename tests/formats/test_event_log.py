"""Messages put together from events, of which a condensation hides some."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.event_log import Entry, assemble, condensed
from minutebook.formats.items import Piece
from minutebook.formats.value import Reading
from minutebook.formats.views import arrange
from minutebook.messages import TextPart, call
from minutebook.records import Usage
from tests.formats.altered import behind, holds


def entry(text: str, group: str | None = None) -> Entry:
    piece = Piece(role="assistant" if group else "user", parts=(TextPart(text),))
    return Entry(piece=piece, group=group)


@given(
    st.lists(st.sampled_from([None, "a", "b"]), max_size=8),
    st.data(),
)
def test_every_entry_is_in_one_message(groups: list[str | None], draw: st.DataObject) -> None:
    """Whatever is sent, in whatever order, and whatever is on another branch."""
    entries = [entry(str(number), group) for number, group in enumerate(groups)]
    indices = list(range(len(entries)))
    view = draw.draw(st.permutations(indices))[: draw.draw(st.integers(0, len(entries)))]
    left = set(indices[: draw.draw(st.integers(0, len(entries)))])

    found = assemble(entries, view=view, left=left, usages={"a": Usage(token_count=1)})

    records, left_out = arrange(found.items, sent=found.sent, why=found.why)
    reading = Reading(format="x", evidence="y", records=tuple(records), left_out=left_out)
    holds(reading)
    assert found.firsts == sorted(found.firsts)
    said = [text for message in reading.everything for text in message.text.split("\n")]
    assert sorted(said) == sorted(map(str, indices))
    assert len(reading.everything) == groups.count(None) + len(set(groups) - {None})
    assert all(role == "assistant" for role in behind(reading))


def test_a_reply_of_which_an_event_is_hidden_is_shortened() -> None:
    """Its whole form stays on the branch."""
    entries = [
        Entry(piece=Piece(role="assistant", call=call("c1", "f")), group=7),
        Entry(piece=Piece(role="assistant", call=call("c2", "f")), group=7),
    ]

    found = assemble(entries, view=[1], left=(), usages={})

    (item,) = found.items
    assert item.whole is not None
    assert [len(item.whole.calls), found.sent, found.why] == [2, [0], {}]


def test_a_summary_stands_where_it_says() -> None:
    """In what is left; one without a place stands nowhere."""
    assert condensed([0, 1, 2, 3], {1, 2}, 9, 1) == [0, 9, 3]
    assert condensed([0, 1], {0, 1}, 9, 5) == [9]
    assert condensed([0, 1], {0}, 9, None) == [1]
    assert condensed([0, 1], (), None, 0) == [0, 1]
