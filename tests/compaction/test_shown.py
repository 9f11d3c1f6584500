"""What a reader sees of exact words, and which of them are still in use."""

from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.shown import NEWEST_MESSAGES, Shown, needed_names
from minutebook.messages import Message, assistant, replace, tool, user
from tests.compaction.conversations import called, numbered, step


def test_references_in_messages_as_they_were_written_count() -> None:
    """Text and argument values of any role; argument names don't."""
    call = called("a", "edit", some_key="parse_line", path="src/app.py")
    history = numbered([user("see max_rows"), assistant(tool_calls=[call]), tool("a", "old_name")])

    shown = Shown(history)

    assert {"max_rows", "parse_line", "src/app.py", "old_name"} <= shown.names
    assert "some_key" not in shown.names


def test_in_lines_of_ours_only_sentences_count() -> None:
    """In summaries, notices, stubs, and whatever has no number yet."""
    bare, told = "- parse_line, max_rows", "- In the parser the work so far came across old_name"
    for message in (
        Message(role="user", content=f"{bare}\n{told}", origin="summary", seq=1),
        Message(role="user", content=f"{bare}\n{told}", origin="notice", seq=1),
        Message(role="user", content=f"{bare}\n{told}"),
        replace(tool("a", f"{bare}\n{told}"), seq=1, elided="mask"),
    ):
        assert Shown([message]).names == {"old_name"}


def test_texts_are_found_word_for_word_but_for_white_space() -> None:
    """A long one counts as quoted by its beginning."""
    long = "Never touch the table of bills " * 8
    shown = Shown(numbered([user(f"Do it.\nNever  touch\nbilling. {long[:150]}")]))

    assert shown.says("Never touch billing.")
    assert not shown.says("Never touch bills.")
    assert shown.quotes(long)
    assert not shown.quotes("Always touch")


def test_the_task_the_last_request_and_the_newest_part_are_in_use() -> None:
    """By what people and the assistant wrote, not by what a tool printed."""
    history = [user("Fix task_name"), assistant("old_reply"), user("not_this")]
    history += [assistant("hm")] * NEWEST_MESSAGES
    history += [user("and last_name"), *step("a", "bash", "printed_name", run="new_value")]

    needed = needed_names(numbered(history))

    assert {"task_name", "last_name", "new_value"} <= needed
    assert not {"old_reply", "not_this", "printed_name"} & needed


def test_an_empty_history_shows_and_needs_nothing() -> None:
    """No word of anybody."""
    assert Shown([]).names == frozenset()
    assert needed_names([]) == frozenset()
    assert ENGLISH.ledger_lead
