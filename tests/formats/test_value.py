"""The three views of a reading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.source import Source
from minutebook.formats.value import LeftOut, Reading, Why, nothing_beside, only_one
from minutebook.messages import Message, user
from minutebook.records import Checkpoint, Record

HIDDEN: tuple[Why, ...] = ("compacted", "abandoned", "unsent")
FATES = st.lists(st.sampled_from(["sent", "blanked", *HIDDEN]), max_size=12)


def reading_of(fates: list[str]) -> Reading:
    """Make a reading in which message n has the n-th fate."""
    records: list[Record] = [Checkpoint(id=0)]
    left_out: list[LeftOut] = []
    whole: list[LeftOut] = []
    before = 0
    for number, fate in enumerate(fates):
        message = user(str(number))
        if fate in {"sent", "blanked"}:
            records.append(message if fate == "sent" else user("short"))
            if fate == "blanked":
                whole.append(LeftOut(message=message, before=before, why="blanked"))
            before += 1
        else:
            why = next(kind for kind in HIDDEN if kind == fate)
            left_out.append(LeftOut(message=message, before=before, why=why))
    return Reading(format="x", evidence="y", records=tuple(records), left_out=(*left_out, *whole))


@given(FATES)
def test_everything_is_every_message_in_the_order_of_writing(fates: list[str]) -> None:
    """Each view holds what it should, whole and in order."""
    reading = reading_of(fates)

    def texts(*wanted: str) -> list[str]:
        return [str(number) for number, fate in enumerate(fates) if fate in wanted]

    def said(messages: tuple[Message, ...]) -> list[str]:
        return [message.text for message in messages]

    assert said(reading.everything) == texts("sent", "blanked", *HIDDEN)
    assert said(reading.branch) == texts("sent", "blanked", "compacted", "unsent")
    assert said(reading.earlier) == texts("compacted")
    assert [text for text in said(reading.sent) if text != "short"] == texts("sent")
    assert len(reading.sent) == len(texts("sent", "blanked"))


def test_a_file_of_one_conversation_has_number_0() -> None:
    """Any other index is refused, and the message says so."""
    source = Source(b"", path="a/b.jsonl")

    only_one(source, 0)
    with pytest.raises(FormatError, match=r"a/b\.jsonl: there is no conversation 1"):
        only_one(source, 1)


def test_most_formats_are_one_file() -> None:
    """They need nothing that stands beside it."""
    assert nothing_beside(Source(b"{}", path="a/b.jsonl")) == ()
