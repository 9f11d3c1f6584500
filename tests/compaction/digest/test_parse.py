"""A summary of ours is read back by the templates that wrote it; any other line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.facts import LISTED, Facts, Quote
from minutebook.compaction.digest.gather import gather
from minutebook.compaction.digest.parse import read_summary
from minutebook.compaction.digest.render import render
from minutebook.compaction.phrases import ALL, ENGLISH, Phrases
from minutebook.messages import Message, assistant, user
from tests.compaction.conversations import histories, numbered, step

SESSION = numbered(
    [
        user("Fix the parser please\nand run the tests"),
        *step("a", "read_file", "def read_all(): ...", path="src/app.py"),
        *step("b", "edit", "ok", path="src/app.py", old_string="a", new_string="keep_row(b); c"),
        *step("c", "bash", "3 failed, 2 passed", command="pytest -q"),
        *step("d", "bash", "Exit code: 2\nerror: bad row", command="make `all`"),
        *step("e", "bash", "5 passed", command="pytest -q"),
        *step("f", "bash", "ValueError: worse; much", command="python run.py"),
        *step("g", "TodoWrite", "ok", todos=[{"content": "write docs", "status": "pending"}]),
        user("Never touch main.py. And then go on"),
        assistant("The problem is in keep_row. So the table of rows is kept. Next: the docs."),
    ]
)


def read(text: str, *, seq: int = 99, task: Quote | None = None) -> Facts:
    """Read a summary into new facts."""
    facts = Facts(task=task)
    read_summary(Message(role="user", content=text, origin="summary", seq=seq), facts)
    return facts


def words(quotes: list[Quote]) -> list[tuple[str, int]]:
    """Give the words of some quotes and their records."""
    return [(quote.text, quote.record) for quote in quotes]


@pytest.mark.parametrize("phrases", ALL, ids=["en", "zh", "neutral"])
def test_what_was_written_is_read_back(phrases: Phrases) -> None:
    """Every fact of every section, in every language."""
    facts = gather(SESSION)

    again = read(render(facts, 10_000, phrases))

    assert again.task is not None
    assert facts.task is not None
    assert (again.task.text, again.task.record) == (facts.task.text, facts.task.record)
    assert again.files == facts.files
    assert again.commands.keys() == {"pytest -q", "make 'all'", "python run.py"}
    assert again.commands["pytest -q"] == facts.commands["pytest -q"]
    errors = {error.text: error.resolved for error in again.errors.values()}
    assert errors == {"error: bad row": 0, "ValueError: worse; much": 0}
    for section in ("rules", "focus", "requests"):
        assert words(getattr(again, section)) == words(getattr(facts, section))
    assert again.open == facts.open
    assert again.open[0].weight == LISTED
    assert words(again.decisions) == words(facts.decisions)
    assert (again.first, again.last, again.count) == (1, 17, 17)
    assert again.earlier == []
    assert set(again.names) == set(facts.names) - {"all"}


@given(histories(), st.sampled_from(ALL), st.integers(60, 2_000))
def test_any_digest_of_ours_is_read_back_and_written_again(
    history: tuple[Message, ...], phrases: Phrases, budget: int
) -> None:
    """Twice read and written it says the same: facts are carried on, not told anew."""
    text = render(gather(history), budget, phrases)
    if not text:
        return
    facts = read(text)
    second = read(render(facts, 20_000, phrases))

    assert second.files == facts.files
    assert second.commands == facts.commands
    assert second.errors == facts.errors
    assert (second.first, second.last, second.count) == (facts.first, facts.last, facts.count)
    for section in ("requests", "rules", "decisions", "earlier"):
        assert sorted(words(getattr(second, section))) == sorted(words(getattr(facts, section)))


def test_a_resolved_error_stays_resolved() -> None:
    """With the record in which it worked."""
    facts = Facts(first=1, last=9, count=9)
    facts.fail("make", "error: a", 3)
    facts.work("make", 7)

    assert read(render(facts, 500, ENGLISH)).errors == facts.errors


def test_a_kept_task_is_not_asked_for_again() -> None:
    """The same task is one; another becomes a request."""
    facts = Facts(task=Quote("Fix it all", 1), first=1, last=9, count=9)
    text = render(facts, 500, ENGLISH)

    same, other = read(text, task=Quote("Fix it all", 1)), read(text, task=Quote("Do it", 4))

    assert same.requests == []
    assert words(other.requests) == [("Fix it all", 1)]


def test_a_line_that_cannot_be_read_is_kept_as_it_is() -> None:
    """Somebody may have changed it; an entry of an unknown section is kept, stray text is not."""
    lead = ENGLISH.lead.format(first=2, last=5, count=4)
    text = (
        f"{lead}\n\nstray\n  stray\n- stray\n\n## Files touched\n- see `a.py` (record 3)\n\n"
        "## Commands run\n- make\n\n## Errors met\n- it broke\n\n"
        "## Names, numbers and links in use\n- a_b\n\n## Unknown\n- x"
    )

    facts = read(text)

    assert words(facts.earlier) == [
        ("see `a.py`", 3),
        ("make", 0),
        ("it broke", 0),
        ("a_b", 0),
        ("x", 0),
    ]
    assert not facts.files
    assert not facts.commands


def test_a_foreign_summary_is_carried_line_by_line() -> None:
    """What decides, forbids or is open weighs more, the last third more again, code less."""
    text = (
        "# Summary\n- Never touch main.py\n{ brace: 12345 }\n\n--\nshort one here\n"
        "The parser was read by the agent\n- TODO run the linter on src/app.py"
    )

    facts = read(text, seq=7)

    assert words(facts.earlier) == [
        (line, 7)
        for line in (
            "Summary",
            "Never touch main.py",
            "{ brace: 12345 }",
            "short one here",
            "The parser was read by the agent",
            "TODO run the linter on src/app.py",
        )
    ]
    assert [quote.weight for quote in facts.earlier] == [0.5, 2.0, 0.3, 0.5, 1.5, 3.0]
    assert (facts.first, facts.last, facts.count) == (7, 7, 1)
    assert "src/app.py" in facts.names
