"""The report of a compaction."""

from msgspec import structs

import minutebook
from minutebook.budget import limits, preset
from minutebook.cli import compacted
from minutebook.compaction.plan import Plan


def test_what_is_kept_is_counted() -> None:
    """Word for word, pinned, newest in a row, shortened, and new."""
    history = tuple(
        structs.replace(minutebook.user(f"message {seq}"), seq=seq) for seq in range(1, 7)
    )
    short = structs.replace(history[2], content="…", elided="clip")
    plan = Plan(
        history=(minutebook.user("summary"), history[1], short, history[4], history[5]),
        steps=(),
        tokens_before=9,
        tokens_after=5,
        left_out=(1, 4),
        shortened=(3,),
    )
    outcome = compacted.Outcome(
        plan=plan,
        bounds=limits(preset("default"), window=100, max_output=None, fixed=0),
        history=history,
        pins=frozenset({2}),
        tags={1: ("a", "b"), 3: ("b",), 5: ("a",), 6: ("a",)},
        before={},
        after={},
    )

    assert compacted.kept_of(outcome) == {
        "whole": 3,
        "pinned": 1,
        "newest": 2,
        "user": 3,
        "shortened": 1,
        "new": 1,
    }

    assert compacted.tags_of(outcome) == [
        {"tag": "a", "whole": 2, "shortened": 0, "left_out": 1},
        {"tag": "b", "whole": 0, "shortened": 1, "left_out": 1},
    ]
    assert compacted._tag({"whole": 2, "shortened": 0, "left_out": 1}) == (
        "2 word for word, 1 left out"
    )


def test_a_step_says_what_it_frees_and_what_it_adds() -> None:
    """The ledger is added beside a summary."""
    step = {"name": "ledger", "tokens_before": 6_000, "tokens_after": 8_000, "detail": "x"}

    assert compacted._step(step) == ("ledger", "+2,000", "x")
    assert compacted._step({**step, "tokens_after": 1_000})[1] == "-5,000"
    assert compacted._step({**step, "tokens_after": 6_000})[1] == "0"
