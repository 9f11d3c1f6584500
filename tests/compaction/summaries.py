"""A conversation and a true summary of it, for the tests of what is checked in summaries."""

from minutebook.messages import Message, assistant, user
from tests.compaction.conversations import numbered, step

COVERED: tuple[Message, ...] = numbered(
    [
        user("Fix the parser in src/rows/parser.py. It must keep exactly 512 rows."),
        *step(
            "a",
            "read_file",
            "def parse_line(raw_text):\n    limit = MAX_ROWS\n    return keep_row(raw_text)",
            path="src/rows/parser.py",
        ),
        *step(
            "b",
            "bash",
            "Exit code: 1\nE  ValueError: bad row 17\n3 failed, 40 passed",
            command="pytest -q tests/test_rows.py",
        ),
        assistant("The tests fail because keep_row drops the last row."),
        *step(
            "c",
            "edit",
            "ok",
            path="src/rows/parser.py",
            old_string="MAX_ROWS",
            new_string="MAX_ROWS + 1",
        ),
        *step("d", "bash", "43 passed in 1.2s", command="pytest -q tests/test_rows.py"),
        assistant("All tests pass now. The upload to port 8080 still fails with a timeout of 30s."),
        *step(
            "e",
            "bash",
            "  885 src/rows/parser.py\n   12 src/rows/table.py",
            command="wc -l src/rows/*.py",
        ),
        assistant(
            "| step | state |\n| R1 | parser rewritten | done |\n- [x] R2 table of rows checked"
        ),
    ]
)

TRUE = """\
## Task
- Fix the parser in `src/rows/parser.py`, which must keep exactly 512 rows. (record 1)

## Decided and found
- `keep_row` dropped the last row, so `parse_line` raised a ValueError. (record 6)
- All tests pass now. (record 11)
- 43 passed in `tests/test_rows.py` at last.
- The upload to port 8080 still fails with a timeout of 30s.
- `rows/parser.py` has 885 lines, and it was about ~900 before.
- R2, the table of rows, is checked: [x]
"""
