"""A copy with records left out is told from anything else."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.copies import copied_bytes
from tests.damage import LOG

LINES = LOG.splitlines(keepends=True)
KNOWN = (b'"_system_prompt"', b'"_usage"', b'"_checkpoint"')


def is_known(line: bytes) -> bool:
    """Tell whether Kimi CLI keeps a line of the log."""
    return not line.startswith(b'{"role":"_') or any(name in line[:28] for name in KNOWN)


def pieces(data: bytes, size: int) -> list[bytes]:
    """Cut bytes into pieces."""
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(st.lists(st.booleans(), min_size=len(LINES), max_size=len(LINES)), st.integers(1, 500))
def test_a_copy_is_one_whatever_was_left_out(kept: list[bool], size: int) -> None:
    """As long as it is what Kimi CLI does not know; up to where it goes on by itself."""
    copy = b"".join(line for line, keep in zip(LINES, kept, strict=True) if keep or is_known(line))

    assert copied_bytes(pieces(copy, size), pieces(LOG, 90)) == len(copy)
    longer = copy + b'{"role": "user", "content": "more"}\n'
    assert copied_bytes(pieces(longer, size), pieces(LOG, 90)) == len(copy)


@given(st.integers(0, len(LINES) - 1), st.booleans())
def test_a_copy_that_lacks_or_changes_more_ends_there(index: int, gone: bool) -> None:
    """A message left out, or any line that differs, is no copy from there on."""
    before = b"".join(LINES[:index])
    line, after = LINES[index], b"".join(LINES[index + 1 :])
    changed = b"" if gone else line[:-3] + b"x" + line[-2:]
    found = copied_bytes([before + changed + after], [LOG])
    if gone and not is_known(line):
        assert found == len(LOG) - len(line)
    else:
        assert found == len(before)


def test_lines_that_are_no_record_and_roles_that_are_not_known_are_left_out() -> None:
    """Kimi CLI skips them, and blank lines too."""
    line = b'{"role": "user", "content": "x"}\n'
    odd = b'torn {"ro\n\n{"role": "oracle", "content": "x"}\n'
    assert copied_bytes([line + line], [line + odd + line]) == 2 * len(line)
    assert copied_bytes([line + line[:-1]], [line + line]) == len(line)
    assert copied_bytes([], [line]) == 0
    assert copied_bytes([line], []) == 0
