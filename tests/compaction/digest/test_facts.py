"""Facts add up: a later one about the same thing replaces or adds to the earlier one."""

from minutebook.compaction.digest.facts import QUOTES_MAX, Command, Facts, FileUse, Quote, add_quote
from minutebook.compaction.phrases import USES


def test_what_is_covered_grows_to_both_sides() -> None:
    """First and last record, and the number of messages."""
    facts = Facts()

    facts.cover(7, 9, 3)
    facts.cover(2, 4, 2)

    assert (facts.first, facts.last, facts.count) == (2, 9, 5)


def test_uses_of_a_file_add_up() -> None:
    """Its last record counts, and the last note that there was."""
    facts = Facts()

    facts.use_file("edit", "a.py", 3, "x = 1")
    facts.use_file("read", "a.py", 5)
    facts.use_file("edit", "a.py", 7)

    counts = [0] * len(USES)
    counts[USES.index("edit")], counts[USES.index("read")] = 2, 1
    assert facts.files == {"a.py": FileUse("a.py", tuple(counts), 7, "x = 1")}


def test_runs_of_a_command_add_up() -> None:
    """The last outcome stays, good or bad."""
    facts = Facts()

    facts.run("make", 3, "exit code 1", failed=True)
    facts.run("make", 5, "", failed=False)

    assert facts.commands == {"make": Command("make", 2, 1, 5, "")}


def test_an_error_is_resolved_by_the_same_thing_working() -> None:
    """Once; a later error of the same source is open again."""
    facts = Facts()

    facts.work("make", 1)
    facts.fail("make", "error: a", 3)
    facts.work("other", 4)
    facts.work("make", 5)
    facts.work("make", 9)
    assert facts.errors["make"].resolved == 5

    facts.fail("make", "error: b", 11)
    assert (facts.errors["make"].text, facts.errors["make"].resolved) == ("error: b", 0)


def test_names_are_counted_apart_by_who_wrote_them() -> None:
    """The last place and record are remembered; text has no place of its own."""
    facts = Facts()

    facts.meet(["a_b"], 3, place="a.py", own=False)
    facts.meet(["a_b"], 5, place="", own=True)
    facts.meet(["a_b"], 4, place="b.py", own=True)

    stat = facts.names["a_b"]
    assert (stat.uses, stat.sights, stat.record, stat.place) == (2, 1, 5, "b.py")


def test_the_same_words_stand_once() -> None:
    """Where they were said last."""
    quotes = [Quote("a", 1), Quote("b", 2)]

    add_quote(quotes, Quote("a", 3))

    assert quotes == [Quote("b", 2), Quote("a", 3)]


def test_quotes_are_bounded() -> None:
    """The weakest of the older half goes first."""
    quotes: list[Quote] = []
    for number in range(QUOTES_MAX):
        add_quote(quotes, Quote(f"q{number}", number, weight=number != 5))

    add_quote(quotes, Quote("last", 999))

    assert len(quotes) == QUOTES_MAX
    assert "q5" not in {quote.text for quote in quotes}
    assert quotes[-1].text == "last"
