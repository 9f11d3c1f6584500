"""Results tell whether a call worked, what was counted, and what the error said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.outcomes import outcome_of
from minutebook.messages import tool
from tests.compaction.conversations import lines

TRACEBACK = """Traceback (most recent call last):
  File "run.py", line 3, in <module>
KeyError: 'row'
The above exception was the direct cause of the following exception:
app.errors.BadRow: row 512
ValueError: row 512 is bad"""


@given(st.text(max_size=300), st.booleans())
def test_any_output_has_an_outcome(text: str, ran: bool) -> None:
    """An error is only told of a call that failed, on one line."""
    outcome = outcome_of(text, ran=ran)

    assert outcome.failed or not outcome.error
    assert "\n" not in outcome.text
    assert len(outcome.error) <= 200


@pytest.mark.parametrize(
    ("output", "failed", "text"),
    [
        ("all good", False, ""),
        ("", False, ""),
        (TRACEBACK, True, "ValueError: row 512 is bad"),
        (f"Exit code: 2\n{lines(9)}\na.ts(2,5): error TS2305: no member", True,
         "exit code 2, a.ts(2,5): error TS2305: no member"),
        (f"{lines(9)}\nCommand exited with code 1", True,
         "exit code 1, Command exited with code 1"),
        ("Process exited with code 1\nOutput:\n", True, "exit code 1, Process exited with code 1"),
        ("Exit code: 0\nValueError: shown only", False, ""),
        ("=== 3 failed, 12 passed in 1.2s ===", True, "3 failed, 12 passed in 1.2s"),
        ("=== 12 passed in 1.2s ===", False, "12 passed in 1.2s"),
        ("Ran 5 tests\nFAILED (failures=1)", True, "FAILED (failures=1)"),
        ("Test 3 passed: fine", False, ""),
        ("\x1b[31mFound 0 errors\x1b[0m", False, "Found 0 errors"),
        ("bash: foo: command not found", False, ""),
        ("error: no such thing", True, "error: no such thing"),
        ("Failed to open", True, "Failed to open"),
        ("exit code 3\n--", True, "exit code 3, exit code 3"),
        ("returncode=7\n{}", True, "exit code 7, returncode=7"),
    ],
)  # fmt: skip
def test_what_ran_is_judged_by_code_counts_and_exceptions(
    output: str, failed: object, text: str
) -> None:
    """A count of failures outweighs an exit code, which a pipe may have hidden."""
    outcome = outcome_of(output, ran=True)

    assert outcome.failed is failed
    assert outcome.text == text


def test_counts_outweigh_the_exit_code_of_a_pipe() -> None:
    """`pytest | tail` ends with 0 whatever pytest says."""
    assert outcome_of("Exit code: 0\n2 failed, 1 passed", ran=True).failed


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        (TRACEBACK[30:], False),
        ("12: raise ValueError: row\n3 failed, 2 passed", False),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", True),
        ("Error: no such file", True),
        ("grep: a.py: No such file or directory\nCommand exited with code 2", True),
        ("(no output)\nCommand exited with code 1", False),
    ],
)
def test_error_words_in_what_was_read_are_no_errors(output: str, failed: object) -> None:
    """Only a result that begins like an error is one, or an exit code over 1."""
    assert outcome_of(output, ran=False).failed is failed


def test_what_a_command_shows_may_begin_like_an_error() -> None:
    """A log file does; only a mark of the tool, or a code over 1, says that showing it failed."""
    assert not outcome_of("error: in a log", ran=False, shows=True).failed
    assert outcome_of("<error>no such file</error>", ran=False, shows=True).failed
    assert outcome_of("Exit code: 2\nno such file", ran=False, shows=True).failed


def test_a_flagged_result_is_an_error_and_its_text_the_reason() -> None:
    """In Kimi CLI's way, which `messages.tool` writes; a search that found nothing is none."""
    edit = outcome_of(tool("c", "old text not found in a.py", error=True).text, ran=False)
    empty = outcome_of(tool("c", "", error=True).text, ran=False)
    search = outcome_of(tool("c", "exit code 1", error=True).text, ran=False)

    assert edit.error == "old text not found in a.py"
    assert empty.error == "ERROR: the tool failed."
    assert (search.failed, search.code) == (False, 1)


def test_a_long_output_is_read_at_its_ends() -> None:
    """What stands far in the middle is somebody else's."""
    middle = f"{lines(400)}\nValueError: deep\n{lines(400)}"

    assert not outcome_of(middle, ran=True).failed
    assert outcome_of(f"{middle}\nValueError: at last", ran=True).error == "ValueError: at last"
