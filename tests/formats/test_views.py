"""What is sent and what is not, from messages in the order of writing."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.value import Reading, Why
from minutebook.formats.views import Item, arrange, matched, total
from minutebook.messages import user
from minutebook.records import Usage
from minutebook.tokens.spent import Spent
from tests.formats.altered import holds, texts

KEYS = st.lists(st.sampled_from("abc"), max_size=9)


def longest(originals: list[str], copies: list[str]) -> int:
    """Measure the longest common subsequence, slowly."""
    table = [[0] * (len(copies) + 1) for _ in range(len(originals) + 1)]
    for row, original in enumerate(originals):
        for column, copy in enumerate(copies):
            best = max(table[row][column + 1], table[row + 1][column])
            table[row + 1][column + 1] = table[row][column] + 1 if original == copy else best
    return table[-1][-1]


@given(KEYS, KEYS)
def test_as_many_copies_as_can_be_have_their_original(
    originals: list[str], copies: list[str]
) -> None:
    """In rising order, each equal to its original, and none twice."""
    found = matched(originals, copies)

    pairs = [(place, key) for place, key in zip(found, copies, strict=True) if place is not None]
    places = [place for place, _ in pairs]
    assert places == sorted(set(places))
    assert all(originals[place] == key for place, key in pairs)
    assert len(pairs) == longest(originals, copies)


def test_many_equal_originals_cost_no_more_than_some() -> None:
    """Of very many equal ones the newest are considered, and all copies find one there."""
    found = matched(["a"] * 5000, ["a"] * 5000)

    places = [place for place in found if place is not None]
    assert len(places) == 64
    assert places == sorted(places)


@given(
    st.lists(st.sampled_from(["sent", "compacted", "abandoned", "unsent", "usage"]), max_size=12),
    st.randoms(use_true_random=False),
)
def test_every_message_is_in_one_of_the_views(fates: list[str], random: object) -> None:
    """Whatever order things are sent in, the places of the others never fall."""
    items: list[Item] = []
    why: dict[int, Why] = {}
    sent: list[int] = []
    for number, fate in enumerate(fates):
        if fate == "usage":
            items.append(Item(record=Usage(token_count=number + 1)))
            sent.append(number)
            continue
        whole = user(f"whole {number}") if number % 3 == 0 else None
        items.append(Item(record=user(str(number)), whole=whole))
        if fate == "sent":
            sent.append(number)
        elif fate in {"abandoned", "unsent"}:
            why[number] = "abandoned" if fate == "abandoned" else "unsent"
    random.shuffle(sent)  # type: ignore[attr-defined] # hypothesis gives a random.Random

    records, left_out = arrange(items, sent=sent, why=why, counted_from=4)

    reading = Reading(format="x", evidence="y", records=tuple(records), left_out=left_out)
    holds(reading)
    assert len(reading.everything) == sum(fate != "usage" for fate in fates)
    assert len(reading.branch) == sum(fate not in {"usage", "abandoned"} for fate in fates)
    counted = [record.token_count for record in records if isinstance(record, Usage)]
    assert all(count > 4 for count in counted)


def test_what_is_kept_stands_behind_the_summary_that_was_written_later() -> None:
    """The order of sending; what is left out stays in the order of writing."""
    items = [Item(record=user(text)) for text in ("a", "b", "c", "summary", "d")]

    records, left_out = arrange(items, sent=[3, 2, 4])

    reading = Reading(format="x", evidence="y", records=tuple(records), left_out=left_out)
    assert texts(reading.sent) == ["summary", "c", "d"]
    assert texts(reading.everything) == ["a", "b", "summary", "c", "d"]


def test_a_shortened_message_has_its_whole_form_beside_it() -> None:
    """Sent short, whole on the branch; one that is not sent at all is left out whole."""
    short = Item(record=user("…"), whole=user("all of it"))

    records, left_out = arrange([short, short], sent=[1])

    assert records == [user("…")]
    assert [(item.why, item.message.text, item.before) for item in left_out] == [
        ("compacted", "all of it", 0),
        ("blanked", "all of it", 0),
    ]


def test_estimates_cost_nothing() -> None:
    """What was counted is added up; a count of ours is no cost."""
    real = Usage(token_count=5, input=3, output=2)
    guess = Usage(token_count=99, estimated=True)

    assert total([real, guess, real]) == Spent(calls=2, input=6, output=4)
    assert total([guess]) is None
