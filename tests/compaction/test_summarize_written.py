"""A summary from outside takes the digest's place for what it covers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.budget import Policy
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Draft, Goal, Request, Written, begin
from minutebook.compaction.summarize import summarize
from minutebook.messages import Message, assistant, replace, user
from minutebook.turns import pair
from tests.compaction.conversations import histories, lines, numbered, step

TEXT = "The parser was fixed. The tests pass."
WORK = numbered(
    [
        user("Please make the tests of src/app.py pass"),
        *[m for at in range(20) for m in step(f"c{at}", "bash", lines(20), command=f"make t{at}")],
        assistant("All done."),
    ]
)


def goal(room: int, **more: object) -> Goal:
    """Give a goal with that room."""
    policy = Policy(keep_first=0, **more)  # type: ignore[arg-type]  # fields
    return Goal(policy=policy, phrases=ENGLISH, target=room, limit=room * 4, room=room)


def draft(written: Written, history: tuple[Message, ...] = WORK) -> Draft:
    """Begin a compaction with a summary from outside."""
    return begin(Request(history=history, summary=written))


def covering(last: int, text: str = TEXT, **more: bool) -> Written:
    """Give a summary of the records up to one."""
    return Written(text=text, covers=frozenset(range(1, last + 1)), **more)


def summaries(result: Draft) -> list[str]:
    """Give the texts of all summaries, in order."""
    return [item.message.text for item in result.items if item.message.origin == "summary"]


def kept(result: Draft) -> list[int]:
    """Give the records that stayed."""
    return [item.message.seq for item in result.items if item.message.seq is not None]


def test_it_is_used_as_it_stands() -> None:
    """Without our headings no line is put before it."""
    after, detail = summarize(draft(covering(42)), goal(2_000))

    assert summaries(after) == [TEXT]
    assert after.tokens <= 2_000
    assert "messages became a summary of 13 tokens" in detail


def test_one_with_our_headings_gets_the_line_that_it_is_known_by() -> None:
    """And keeps one that it has."""
    text = "## Task\n- Fix it. (record 1)"
    after, _ = summarize(draft(covering(42, text)), goal(2_000))
    (told,) = summaries(after)
    again, _ = summarize(draft(covering(42, told)), goal(2_000))

    assert told.startswith("Minutes of records 1 to 42. This message stands for 42 earlier")
    assert told.endswith(text)
    assert summaries(again) == [told]


def test_the_newest_of_what_it_covers_stays_where_there_is_room() -> None:
    """Twice told is better than once."""
    after, _ = summarize(draft(covering(42)), goal(2_000))

    assert kept(after)[-1] == 42
    assert len(kept(after)) > 5


def test_what_a_person_approved_replaces_all_that_it_covers() -> None:
    """But the task, and the newest messages that the policy keeps."""
    written = covering(42, approved=True)

    after, _ = summarize(draft(written), goal(10_000))

    assert kept(after) == [1, 40, 41, 42]


def test_the_digest_tells_what_it_does_not_cover() -> None:
    """What came after it behind it, what came before it before it."""
    middle = Written(text=TEXT, covers=frozenset(range(12, 22)))

    after, _ = summarize(draft(middle), goal(900, summary_share=0.9))

    first, own, second = summaries(after)
    assert own == TEXT
    assert first.startswith("Minutes of records 2 to 11. ")
    assert second.startswith("Minutes of records 22 to ")


def test_earlier_summaries_that_it_does_not_cover_become_coarser() -> None:
    """They are folded into one before it, with the records that they tell of."""
    old = [
        Message(
            role="user", content=f"Old minutes {at} are these, in short", origin="summary", seq=at
        )
        for at in (1, 2)
    ]
    history = (*old, *(replace(message, seq=(message.seq or 0) + 2) for message in WORK))
    written = Written(text=TEXT, covers=frozenset(range(3, 45)))

    after, _ = summarize(draft(written, history), goal(1_500))

    folded, own = summaries(after)
    assert own == TEXT
    assert folded.startswith("Minutes of records 1 to 2. ")
    assert "Old minutes 1" in folded
    assert "Old minutes 2" in folded


def test_a_low_score_is_not_used_unless_approved() -> None:
    """The digest takes its place, and the report says why."""
    false = "- `wrong_name` has 77 lines\n- `other_name` too"
    strict = goal(2_000, score_min=0.5)

    after, detail = summarize(draft(covering(42, false)), strict)
    approved, _ = summarize(draft(covering(42, false, approved=True)), strict)
    lenient, _ = summarize(draft(covering(42, false)), goal(2_000))

    assert detail.startswith("the summary that was given scores 0.00, of 0.50 at least")
    assert summaries(after)[0].startswith("Minutes of records ")
    assert summaries(approved) == [false]
    assert summaries(lenient) == [false]
    assert summaries(summarize(draft(covering(42)), strict)[0]) == [TEXT]


def test_an_empty_one_is_not_used() -> None:
    """Blank text stands for nothing (case C027)."""
    after, detail = summarize(draft(covering(42, " \n")), goal(2_000))

    assert detail.startswith("the summary that was given is empty; ")
    assert summaries(after)[0].startswith("Minutes of records ")


def test_a_rest_that_does_not_fit_changes_nothing() -> None:
    """The steps behind this one do what has to be done."""
    old = replace(user("x" * 30), origin="summary", seq=1)
    history = (old, *(replace(message, seq=(message.seq or 0) + 1) for message in WORK))
    huge = Written(text="word " * 400, covers=frozenset([2, 3]))

    after, detail = summarize(draft(huge, history), goal(60))

    assert summaries(after) or "does not fit" in detail


@given(histories(), st.data(), st.integers(100, 3_000), st.booleans())
@settings(max_examples=80)
def test_no_exchange_is_split_whatever_it_covers(
    history: tuple[Message, ...],
    data: st.DataObject,
    room: int,
    approved: bool,
) -> None:
    """And what stays keeps its order."""
    seqs = [message.seq or 0 for message in history]
    covers = data.draw(st.sets(st.sampled_from(seqs))) if seqs else set()
    written = Written(text=TEXT, covers=frozenset(covers), approved=approved)

    after, detail = summarize(draft(written, history), goal(room))

    there = {item.message.seq for item in after.items}
    assert detail
    assert kept(after) == sorted(kept(after))
    for (head, _), result in pair(history).results.items():
        assert (history[head].seq in there) == (history[result].seq in there)
