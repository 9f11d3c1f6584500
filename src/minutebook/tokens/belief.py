"""Whether a provider's usage is believed: held against what we know, by a written rule. Pure.

In order:

1. No input, or no tokens at all: it is missing, and the estimate stands.
2. Under a third of what we see in the request ourselves: it is partial, and the estimate
   stands. Servers with a prompt cache of their own leave out what they read from it.
3. Over the window by half, or over four times what was to be expected and 50 000 tokens: it is
   absurd, and the estimate stands, until the next report says the same.
4. Twice what was to be expected, to 5 %: it is counted twice, and the estimate stands, until
   the next report grows by what was added and not by twice that.
5. Output of under half the reply that we see: a stream's first figure. The request's size is
   believed, and the reply is estimated.

What was to be expected is the last believed count and the estimate of what came after it.
Everything else is believed, also what is far from our estimate: requests hold prompts and
tools that we are not told of.
"""

from __future__ import annotations

from msgspec import Struct, structs

from minutebook.records import Usage
from minutebook.tokens.usage import all_input

SEEN_SHARE_MIN = 3
"""A report of less than this part of what we see is not of the whole request. The estimate
is never so far off, whatever the language (measured: 26 % at the 90th percentile)."""

SEEN_TOKENS_MIN = 1_000
"""Below this, a request is too small to judge by: an estimate of few tokens may be."""

DOUBLE_ERROR_MAX = 0.05
"""How near to the double a report has to be to be taken for it."""

DOUBLE_TOKENS_MIN = 4_000
"""Below this, growth doubles a request too often."""

ABSURD_TIMES, ABSURD_TOKENS = 4, 50_000
"""A request that grows by more than this, unseen by us, is first doubted."""

WINDOW_TIMES_MAX = 1.5
"""A count over the window by half: even a window that was understated isn't by that much."""

REPLY_SHARE_MIN = 2
"""Output of under this part of the reply that we see is no final figure."""

REPLY_TOKENS_MIN = 16
"""Below this, a reply is too small to judge by."""

AGREEMENT = 0.25
"""How far two doubted reports may lie apart, as a share, to say the same."""


class Belief(Struct, frozen=True, kw_only=True):
    """What became of a report."""

    usage: Usage | None
    """The record to write; None if the report is not believed."""
    doubt: str = ""
    """Why it is not, or not wholly: `missing`, `partial`, `doubled`, `absurd`, `reply`; empty
    if it is."""


def believe(
    found: Usage | None,
    *,
    seen: int,
    reply: int = 0,
    expected: int | None = None,
    window: int | None = None,
    doubted: Usage | None = None,
    since: int = 0,
) -> Belief:
    """Judge a report by the module's rule.

    Args:
        found: The report as `usage.usage_record` read it; None if there was none.
        seen: The estimate of the request as far as we see it: system prompt, tools, messages.
        reply: The estimate of the reply's text and calls; 0 if it isn't known.
        expected: The last believed count of the same model in this context, and the estimate
            of what the request held beside it; None if there is none.
        window: The model's context window, if it is known.
        doubted: The report just before, if it wasn't believed.
        since: The estimate of what this request holds beside that report's.
    """
    if found is None or found.token_count <= 0:
        return Belief(usage=None, doubt="missing")
    size = all_input(found)
    if size is not None and size <= 0:
        return Belief(usage=None, doubt="missing")
    whole = _request_size(found)
    again = doubted is not None and _follows(whole, _request_size(doubted), since)
    if seen >= SEEN_TOKENS_MIN and whole * SEEN_SHARE_MIN < seen:
        return Belief(usage=None, doubt="partial")
    if window and whole > window * WINDOW_TIMES_MAX and not again:
        return Belief(usage=None, doubt="absurd")
    if expected is not None:
        grew = doubted is not None and _grew(whole, _request_size(doubted), since)
        if _is_doubled(whole, expected) and not grew:
            return Belief(usage=None, doubt="doubled")
        if whole > ABSURD_TIMES * expected + ABSURD_TOKENS and not again:
            return Belief(usage=None, doubt="absurd")
    if size is None or reply < REPLY_TOKENS_MIN:
        return Belief(usage=found)
    if (found.output or 0) * REPLY_SHARE_MIN >= reply:
        return Belief(usage=found)
    tokens = size + reply
    mended = structs.replace(
        found, token_count=tokens, content=f"{tokens} tokens, the reply estimated"
    )
    return Belief(usage=mended, doubt="reply")


def _is_doubled(whole: int, expected: int) -> bool:
    """Tell whether a count is twice the expected one."""
    double = 2 * expected
    return expected >= DOUBLE_TOKENS_MIN and abs(whole - double) <= DOUBLE_ERROR_MAX * double


def _request_size(usage: Usage) -> int:
    """Give the size of the request; with the reply, if the record doesn't tell them apart."""
    size = all_input(usage)
    return usage.token_count if size is None else size


def _follows(whole: int, doubted: int, since: int) -> bool:
    """Tell whether a report says the same as the doubted one before it."""
    return abs(whole - doubted - since) <= AGREEMENT * (doubted + since)


def _grew(whole: int, doubted: int, since: int) -> bool:
    """Tell whether what seemed counted twice had only grown.

    Then it went on by what was added; who counts twice has added that twice, too.
    """
    return since > 0 and abs(whole - doubted - since) < abs(whole - doubted - 2 * since)
