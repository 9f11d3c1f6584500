"""How logs hang together: what is reachable, where a checkpoint lies, every message once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minutebook.lineage
from minutebook.context import Context, fold
from minutebook.errors import CheckpointNotFound
from minutebook.lineage import (
    FullHistory,
    Joined,
    NothingToUndo,
    find_checkpoint,
    full_history,
    join,
    last_rewrite,
    placed,
    rotations_named,
    walk,
)
from minutebook.lines import Entry
from minutebook.messages import Message, replace, user
from minutebook.records import (
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Lineage,
    Record,
    Revert,
    Rotated,
)


def log(*records: Record) -> Context:
    """Fold a log."""
    return fold(
        Entry(record, number * 10, number * 10 + 9) for number, record in enumerate(records)
    )


def said(seq: int | None, text: str = "", **changes: Any) -> Message:
    """Give a message."""
    return replace(user(text or f"m{seq}"), seq=seq, **changes)


class Logs:
    """Rotations to be loaded, and which were."""

    def __init__(self, rotations: dict[int, Context]) -> None:
        self.rotations = rotations
        self.loaded: list[int] = []

    def __call__(self, named: Rotated) -> Context | None:
        self.loaded.append(named.number)
        return self.rotations.get(named.number)


def clear(number: int) -> Clear:
    """Give the record of a clear that left rotation *number*."""
    return Clear(origin=Rotated(number))


@pytest.mark.parametrize(
    ("record", "numbers"),
    [
        (Compaction(id="c", parent=Rotated(4)), [4]),
        (Compaction(id="c"), []),
        (Revert(origin=Rotated(5)), [5]),
        (Revert(origin=Rotated(5), source=2), [5, 2]),
        (Revert(source=2), [2]),
        (Clear(origin=Rotated(3)), [3]),
        (Clear(), []),
        (Fork(source="s"), []),
    ],
)
def test_a_record_names_its_rotations(record: Lineage, numbers: list[int]) -> None:
    """The log that was left, and the one that what is kept came from."""
    assert [rotated.number for rotated in rotations_named(record)] == numbers


def test_the_lineage_is_walked_from_the_newest_rotation_down() -> None:
    """Each rotation is read once, also where records name it several times or in a circle."""
    logs = Logs(
        {
            2: log(clear(1)),
            3: log(clear(2), Revert(origin=Rotated(2), source=1)),
            1: log(clear(3)),
            9: log(),
        }
    )
    live = log(clear(3), Compaction(id="c", parent=Rotated(2)))

    found = list(walk(live, logs))

    assert [number for number, _ in found] == [3, 2, 1]
    assert logs.loaded == [3, 2, 1]
    assert all(context is logs.rotations[number] for number, context in found)


def test_a_missing_rotation_comes_as_none_and_hides_what_only_it_names() -> None:
    """The walk goes on with the rest."""
    assert list(walk(log(clear(3), clear(1)), Logs({2: log()}))) == [(3, None), (1, None)]


def test_the_walk_may_begin_with_a_part_of_the_lineage() -> None:
    """What was left after the place that one looks from is not reached."""
    logs = Logs({1: log(clear(4)), 2: log(), 4: log()})
    found = list(walk(log(clear(1), clear(2)), logs, records=1))

    assert [number for number, _ in found] == [1, 4]


def test_a_checkpoint_is_looked_for_in_the_live_log_first() -> None:
    """Then in the newest rotation that holds it."""
    old, middle = log(Checkpoint(id=0), Checkpoint(id=1)), log(said(1), Checkpoint(id=1), clear(1))
    logs = Logs({1: old, 2: middle})
    live = log(clear(2), Checkpoint(id=5))

    assert find_checkpoint(live, 5, logs).source is None
    assert logs.loaded == []
    found = find_checkpoint(live, 1, logs)
    assert (found.source, found.context, found.mark.messages) == (2, middle, 1)
    assert find_checkpoint(live, 0, logs).source == 1


@pytest.mark.parametrize("checkpoint", [-1, 7, True, "3", None, 1.0, 1 << 80])
def test_what_is_no_checkpoint_is_not_found(checkpoint: object) -> None:
    """Whatever is asked for, the answer names what is there."""
    live = log(clear(2), Checkpoint(id=1), Checkpoint(id=3))

    with pytest.raises(CheckpointNotFound) as raised:
        find_checkpoint(live, checkpoint, Logs({}))

    assert raised.value.known == (1, 3)
    assert raised.value.checkpoint is checkpoint


@pytest.mark.parametrize(
    "record",
    [
        clear(1),
        Compaction(id="c", parent=Rotated(1)),
        Revert(origin=Rotated(1)),
        Revert(origin=Rotated(1), source=3, reason="restore"),
        Revert(origin=Rotated(1), reason="dmail"),
        Revert(origin=Rotated(1), reason="repair"),
    ],
)
def test_the_last_rewrite_is_what_an_undo_takes_back(record: Lineage) -> None:
    """Undos that came after it are passed over, so that a second undo goes further back."""
    live = log(clear(9), record, Revert(reason="undo"), Fork(source="s"), Revert(reason="undo"))

    assert last_rewrite(live).record is record


@pytest.mark.parametrize("records", [[], [said(1)], [Fork(source="s")], [Revert(reason="undo")]])
def test_without_a_rewrite_there_is_nothing_to_undo(records: list[Record]) -> None:
    """Undos alone do not count either."""
    with pytest.raises(NothingToUndo, match="nothing was reverted"):
        last_rewrite(log(*records))


def told(found: FullHistory | Joined) -> list[tuple[int | None, str, bool]]:
    """Give number, text and state of each message."""
    return [(message.seq, message.text, message.active) for message in found.messages]


def test_full_history_has_each_message_once_in_order() -> None:
    """Messages of the live log are active, what was left is there too, copies are not."""
    first = log(said(1), said(2), said(3))
    second = log(said(4, "summary"), said(2), said(3), said(5), Revert(origin=Rotated(1)))
    live = log(clear(2), said(6), said(2))

    found = full_history(live, Logs({1: first, 2: second}))

    assert told(found) == [
        (1, "m1", False),
        (2, "m2", True),
        (3, "m3", False),
        (4, "summary", False),
        (5, "m5", False),
        (6, "m6", True),
    ]
    assert (found.missing, found.reached) == ((), {1, 2})


def test_the_original_wins_over_its_shortened_copies() -> None:
    """Whichever log is read first, and the state is that of the context."""
    short, shorter = said(1, "cut", elided="mask"), said(1, "c", elided="clip")
    first = log(said(1, "the whole"), said(2))
    second = log(short, said(3), Compaction(id="c", parent=Rotated(1)))
    live = log(Compaction(id="c", parent=Rotated(2)), shorter)

    found = full_history(live, Logs({1: first, 2: second}))

    assert told(found) == [(1, "the whole", True), (2, "m2", False), (3, "m3", False)]


def test_a_shortened_copy_without_its_original_is_better_than_nothing() -> None:
    """Where the rotation is gone, what is left is given, and what is missing is named."""
    found = full_history(
        log(Compaction(id="c", parent=Rotated(1)), said(1, "cut", elided="mask")), Logs({})
    )

    assert told(found) == [(1, "cut", True)]
    assert (found.missing, found.reached) == ((1,), {1})


def test_two_messages_with_one_number_both_stay() -> None:
    """Neither another text nor the same text twice in one log is taken for a copy."""
    first = log(said(1, "a"), said(1, "b"), said(1, "b"))
    live = log(clear(1), said(1, "b"), said(1, "c"), said(1, "c"))

    found = full_history(live, Logs({1: first}))

    assert sorted(told(found)) == [
        (1, "a", False),
        (1, "b", False),
        (1, "b", True),
        (1, "c", True),
        (1, "c", True),
    ]


# What Kimi CLI does with its logs: no lineage, a copy at each rewrite.

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 3)),
        st.tuples(st.just("revert"), st.integers(0, 6)),
        st.tuples(st.just("compact"), st.integers(0, 3)),
        st.tuples(st.just("clear"), st.just(0)),
    ),
    max_size=14,
)


def kimi(steps: Sequence[tuple[str, int]]) -> tuple[list[list[str]], list[str]]:
    """Play Kimi CLI: give its logs, oldest first, and everything ever said in order."""
    logs: list[list[str]] = [[]]
    everything: list[str] = []
    for name, count in steps:
        live = logs[-1]
        new: list[str] = []
        if name == "say":
            new = [f"m{len(everything) + number}" for number in range(count)]
            logs[-1] = [*live, *new]
        elif name == "revert":
            logs.append(live[:count])
        elif name == "compact":
            kept = live[max(0, len(live) - count) :]
            new = [f"summary {len(everything)}"]
            logs.append([*new, *kept])
            everything[len(everything) - len(kept) :] = [*new, *kept]
            continue
        else:
            logs.append([])
        everything += new
    return logs, everything


def joined(logs: Sequence[Sequence[Message]]) -> Joined:
    """Join logs that no lineage names, the newest of them live."""
    live = fold(Entry(message, 0, 0) for message in logs[-1])
    found = placed(full_history(live, Logs({})).messages, live.history)
    following: Sequence[Message] = live.history
    for older in reversed(logs[:-1]):
        if older:
            found = join(found, following, fold(Entry(m, 0, 0) for m in older).history)
            following = older
    return found


@given(STEPS)
def test_the_rotations_of_kimi_cli_are_joined_in_order(steps: list[tuple[str, int]]) -> None:
    """What each log repeats of the one before is there once, in the order in which it was said."""
    logs, everything = kimi(steps)

    found = joined([[Message("user", text) for text in texts] for texts in logs])

    texts = [message.text for message in found.messages]
    assert sorted(texts) == sorted(everything)
    assert {message.text for message in found.messages if message.active} == set(logs[-1])
    if all(name in {"say", "compact"} for name, _ in steps):
        assert texts == everything


def test_a_log_that_was_reverted_shares_its_beginning() -> None:
    """What was undone stands where it was said, before what came instead."""
    one, two, three, four = (Message("user", text) for text in ("one", "two", "three", "four"))

    found = joined([[one, two, three], [one, four]])

    assert [(message.text, message.active) for message in found.messages] == [
        ("one", True),
        ("two", False),
        ("three", False),
        ("four", True),
    ]


def test_a_log_that_was_compacted_shares_a_run_at_the_seam() -> None:
    """What the summary stands for comes before it."""
    messages = [Message("user", text) for text in "abcd"]
    summary, later = Message("user", "S"), Message("user", "e")

    found = joined([messages, [summary, *messages[2:], later]])

    assert "".join(message.text for message in found.messages) == "abScde"


def test_a_seam_may_repeat_itself() -> None:
    """The longest run counts, also where shorter ones begin alike."""
    a, b, c, s = (Message("user", text) for text in "abcS")

    found = joined([[c, a, a, b, a, a, b], [s, a, a, a, b, a, a, b, c]])

    assert "".join(message.text for message in found.messages) == "cSaaabaabc"


def test_lines_that_kimi_cli_wrote_again_are_known_again() -> None:
    """It drops our keys when it compacts a log of ours."""
    ours = [
        replace(user("a", pin=True), seq=4, at=3.0),
        replace(user("b"), seq=5, at=4.0, elided="mask"),
    ]
    theirs = [Message("user", "S"), Message("user", "b")]

    found = joined([ours, theirs])

    assert "".join(message.text for message in found.messages) == "aSb"


def test_a_log_is_joined_to_one_that_the_lineage_names() -> None:
    """What only it holds comes before the log that followed it, not before the live one."""
    first = [said(None, "a"), said(None, "b")]
    second = log(Message("user", "S"), Message("user", "b"), said(7, "c"))
    live = log(clear(2), said(8, "d"))
    full = full_history(live, Logs({2: second}))

    found = join(placed(full.messages, second.history), second.history, first)

    assert [(message.text, message.active) for message in found.messages] == [
        ("a", False),
        ("S", False),
        ("b", False),
        ("c", False),
        ("d", True),
    ]
    assert [message.text for message in found.places] == ["a", "b"]


def test_a_log_with_nothing_behind_it_comes_last() -> None:
    """Where the log after it is empty, its messages stand at the end."""
    full = (said(1), said(2))

    found = join(Joined(messages=full, places=(), start=2), (), [said(3)])

    assert [message.text for message in found.messages] == ["m1", "m2", "m3"]


def test_messages_of_a_log_are_found_in_the_full_history() -> None:
    """Copies are found by their original, others by their words."""
    full = (said(1, "the whole"), said(2, "x"), said(2, "y"))

    found = placed(full, [said(1, "cut", elided="mask"), said(2, "y", active=False), said(2, "z")])

    assert [message.text for message in found.places] == ["the whole", "y", "x"]


@pytest.mark.parametrize("texts", ["a" * 400, "ab" * 200, "a" * 399 + "b", "b" + "a" * 399])
def test_a_seam_is_found_in_linear_time(texts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of equal lines, of which each begins a run, are compared a few times a line only."""
    compared = 0

    class Word:
        """A message that counts how often it is compared."""

        def __init__(self, text: str) -> None:
            self.text = text

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return isinstance(other, Word) and self.text == other.text

        __hash__ = None  # type: ignore[assignment]

    monkeypatch.setattr(minutebook.lineage, "_words", lambda message: Word(message.text))
    messages = [Message("user", text) for text in texts]
    other = [Message("user", "S"), *messages[:399]]

    joined([messages, other])

    assert compared <= 8 * len(texts)
