"""The digest of messages: what goes in, and how long it takes."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.write import digest
from minutebook.compaction.phrases import CHINESE
from minutebook.messages import Message, assistant, replace, user
from minutebook.tokens.estimate import estimate_text
from tests.compaction.conversations import histories, lines, numbered, step

TASK = replace(user("Fix the parser please"), seq=1)


@given(histories(), st.integers(100, 1_000))
def test_equal_messages_give_equal_text_within_the_budget(
    history: tuple[Message, ...], budget: int
) -> None:
    """Nothing depends on anything else."""
    text = digest(history, budget)

    assert text == digest(history, budget)
    assert estimate_text(text) <= budget


def test_nothing_is_nothing() -> None:
    """No messages, no minutes."""
    assert digest([], 1_000) == ""


def test_the_language_is_the_messages_own_unless_given() -> None:
    """A summary's covered part may hold no person's words at all."""
    history = numbered([user("修复解析器"), assistant("好的")])

    assert digest(history, 500).startswith("纪要")
    assert digest(numbered([assistant("ok")]), 500, phrases=CHINESE).startswith("纪要")
    assert digest(numbered([user("Preciso corrigir o frete")]), 500).startswith("[minutebook")


def test_names_that_are_seen_elsewhere_give_way() -> None:
    """Room is for what would be lost."""
    names = [f"name_{number:03}" for number in range(100)]
    history = numbered(step("a", "read_file", " ".join(names), path="a.py"))

    text = digest(history, 250, visible=names[:50], task=TASK)

    assert "name_055" in text
    assert "name_000" not in text
    assert "Fix the parser please (record 1)" in text


def test_five_summaries_in_a_row_carry_the_facts_on() -> None:
    """Rules, files and open errors of the first part are still there."""
    rule = "Never touch main.py, whatever happens."
    history = [user(f"Fix src/app.py please. {rule}")]
    history += step("a", "edit", "ok", path="src/app.py", old_string="a", new_string="keep_row(b)")
    history += step("b", "bash", "ValueError: bad row 512", command="python run.py")
    messages = numbered([*history, assistant("The problem is in keep_row of the file.")])
    for number in range(5):
        text = digest(messages, 600)
        summary = Message(role="user", content=text, origin="summary", seq=100 + number)
        more = step(f"m{number}", "bash", "ok", command=f"make part{number}")
        later = [replace(m, seq=110 + 10 * number + at) for at, m in enumerate(more)]
        messages = (summary, *later)

    text = digest(messages, 600)
    assert rule in text
    assert "src/app.py` was edited 1×" in text
    assert "ValueError: bad row 512 (from `python run.py`" in text
    assert "`make part4` was run 1×" in text
    assert "Fix src/app.py please" in text


def test_a_session_of_many_messages_is_read_once() -> None:
    """Work grows with the messages, not with their square: counted in names looked at."""
    exchanges = [
        message
        for number in range(300)
        for message in step(f"c{number}", "bash", lines(5), command=f"make p{number}")
    ]

    text = digest(numbered([user("Build it all please"), *exchanges]), 2_000)

    assert "Minutes of records 1 to 601" in text
    assert 1_500 < estimate_text(text) <= 2_000
