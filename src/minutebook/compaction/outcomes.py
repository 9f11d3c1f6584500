"""Read tool results: did it work, with what count, and what did the error say. Pure.

Exit codes and test counts are recognised in the forms that shells, agents and test runners
print; what is not recognised counts as having worked, since a false error in the minutes is
worse than a missing one.
"""

from __future__ import annotations

import re

from msgspec import Struct

from minutebook.compaction.calls import shorten

LINE_CHARS_MAX = 200
"""How long a quoted error line may be."""

TAIL_CHARS = 6_000
"""Where outcomes stand: in so much of the beginning and so much of the end of an output."""

_FLAGGED = re.compile(
    r"\s*(?:<system>ERROR|<tool_use_error>|<error>|error\b|traceback \(most recent|failed to\b"
    r"|exit code:? [1-9]|错误)",
    re.IGNORECASE,
)
_MARKED = re.compile(r"\s*<(?:system>ERROR|tool_use_error>|error>)")
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|return ?code|exit_code)[\"']?"
    r"\s*[:=]?\s*(-?\d{1,3})\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"(?<!test )\b(\d+) (passed|failed|passing|failing|errors?|failures?|skipped|warnings?"
    r"|problems?)\b",
    re.IGNORECASE,
)
_COUNT_AFTER = re.compile(r"\b(failures|errors|fail|pass)[=:] ?(\d+)", re.IGNORECASE)
_BAD_COUNTS = frozenset(("failed", "failing", "error", "errors", "failure", "failures", "fail"))
_EXCEPTION = re.compile(
    r"^\s*(?:[EF>|]\s+)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Timeout)\b:.*$"
    r"|^\s*(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\s*$",
    re.MULTILINE,
)
_ERROR_LINE = re.compile(
    r"^.*(?:\berror(?:\[\w+\]| TS\d+)?: |\bfatal: |\bpanic: |^FAILED |^FAIL\b|--- FAIL"
    r"|\bERR!|command not found|No such file or directory|Permission denied|Cannot find"
    r"|\bSyntaxError\b|not found in|undefined: |EPERM|EACCES|ENOENT|ECONNREFUSED"
    r"|Segmentation fault|Killed$|<tool_use_error>).*$",
    re.MULTILINE,
)
_MARK = re.compile(r"\s*<system>ERROR[^<]*</system>\s*")
"""How Kimi CLI (and `messages.tool`) flags a failed call; what failed is said after it."""
_TAG = re.compile(r"</?(?:system|tool_use_error|error)>")
_RULE = re.compile(r"[=\-_*#]{3,}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Outcome(Struct, frozen=True, gc=False):
    """How a tool call ended."""

    failed: bool
    code: int | None
    """The exit code, where one is printed."""
    counts: str
    """What a test runner or a linter counted, as it was printed; may be empty."""
    error: str
    """The line that says what went wrong, as it was printed; empty if none was found."""

    @property
    def text(self) -> str:
        """Say it in a few words: counts, or the error, or the exit code; may be empty."""
        parts = []
        if self.code:
            parts.append(f"exit code {self.code}")
        if self.counts:
            parts.append(self.counts)
        if self.error and self.error != self.counts:
            parts.append(self.error)
        return ", ".join(parts)


def outcome_of(text: str, *, ran: bool, shows: bool = False) -> Outcome:
    """Read the result of a call.

    *ran* tells whether it ran a command that does something, *shows* whether it ran one that
    only prints or searches files. Error words in what was merely read are no errors: there
    only a result that a tool has marked is one or, of no command at all, one that begins
    like one. That a search ends with 1 means that nothing was found.
    """
    flag = (_MARKED if shows else _FLAGGED).match(text)
    rest = _COLOUR.sub("", _MARK.sub("", text, count=1))
    ends = rest if len(rest) <= 2 * TAIL_CHARS else f"{rest[:TAIL_CHARS]}\n{rest[-TAIL_CHARS:]}"
    code = _exit_code(ends)
    if not ran and flag is None and (code or 0) < 2:
        return Outcome(failed=False, code=None, counts="", error="")
    if not ran and code == 1 and _MARK.match(text):
        return Outcome(failed=False, code=1, counts="", error="")
    counts, bad = _counts(ends) if ran else ("", False)
    error = _error_line(ends)
    # `pytest | tail` ends with 0 whatever pytest says: what was counted goes first.
    failed = bad or (code != 0 if code is not None else bool(flag or _EXCEPTION.match(error)))
    if failed and not error and not counts:
        error = _last_line(ends) or text.strip()
    return Outcome(
        failed=failed,
        code=code,
        counts=counts,
        error=shorten(_TAG.sub("", error), LINE_CHARS_MAX) if failed else "",
    )


def _exit_code(text: str) -> int | None:
    """Give the exit code that is printed first or last; those in the middle are others'."""
    head = _EXIT.search(text[:300])
    if head:
        return int(head[1])
    tail = _EXIT.findall(text[-300:])
    return int(tail[-1]) if tail else None


def _counts(text: str) -> tuple[str, bool]:
    """Give the last line with test counts, and whether it counts anything bad."""
    for line in reversed(text.splitlines()[-60:]):
        found = [(word.lower(), int(number)) for number, word in _COUNT.findall(line)]
        found += [(word.lower(), int(number)) for word, number in _COUNT_AFTER.findall(line)]
        if found and len(line) < 2 * LINE_CHARS_MAX:
            bad = any(number and word in _BAD_COUNTS for word, number in found)
            return shorten(_RULE.sub("", line), LINE_CHARS_MAX // 2), bad
    return "", False


def _error_line(text: str) -> str:
    """Give the last exception, or else the first line that reports an error."""
    exceptions = _EXCEPTION.findall(text)
    if exceptions:
        return str(exceptions[-1]).strip()
    found = _ERROR_LINE.search(text)
    return found[0].strip() if found else ""


def _last_line(text: str) -> str:
    """Give the last line that says something."""
    for line in reversed(text.splitlines()):
        if sum(map(str.isalnum, line)) >= 3 and not line.rstrip().endswith(":"):
            return line.strip()
    return ""
