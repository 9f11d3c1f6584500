"""A provider's usage is held against what we know."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.records import Usage
from minutebook.tokens.belief import (
    ABSURD_TIMES,
    ABSURD_TOKENS,
    REPLY_TOKENS_MIN,
    SEEN_TOKENS_MIN,
    believe,
)
from minutebook.tokens.usage import usage_record

COUNTS = st.integers(0, 2_000_000)


def report(size: int, output: int = 100) -> Usage:
    """Make the record of a request of that size."""
    return usage_record({"input_tokens": size, "output_tokens": output})


@given(
    st.none() | st.builds(report, COUNTS, COUNTS) | st.builds(usage_record, COUNTS),
    COUNTS,
    COUNTS,
    st.none() | COUNTS,
    st.none() | COUNTS,
    st.none() | st.builds(report, COUNTS),
)
def test_a_report_is_believed_whole_or_for_a_reason(
    found: Usage | None,
    seen: int,
    reply: int,
    expected: int | None,
    window: int | None,
    doubted: Usage | None,
) -> None:
    """Never raises; without a doubt the record is the report's own, and it is never of 0."""
    belief = believe(
        found, seen=seen, reply=reply, expected=expected, window=window, doubted=doubted
    )
    if not belief.doubt:
        assert belief.usage is found
    elif belief.doubt != "reply":
        assert belief.usage is None
    assert belief.usage is None or belief.usage.token_count > 0


def test_zero_and_nothing_are_missing() -> None:
    """C055: servers that send no usage, or zeros, tell nothing; the estimate stands."""
    for found in (None, Usage(token_count=0), report(0), report(0, 0)):
        belief = believe(found, seen=5_000)
        assert (belief.usage, belief.doubt) == (None, "missing")


def test_the_first_report_may_be_far_above_what_we_see() -> None:
    """Prompts and tools that we aren't told of: 40 000 tokens beside a question of 20."""
    found = report(40_000)
    assert believe(found, seen=20, window=200_000).usage is found


def test_a_report_of_a_part_is_not_believed() -> None:
    """A server that leaves out what it read from its cache says less than we see."""
    assert believe(report(900), seen=9_000).doubt == "partial"
    assert believe(report(9_000), seen=12_000).doubt == ""
    assert believe(report(50), seen=SEEN_TOKENS_MIN - 1).doubt == ""


def test_what_is_counted_twice_is_not_believed() -> None:
    """Twice the expected is an error of adding up, as long as it goes on doubling."""
    first = believe(report(40_400), seen=8_000, expected=20_000)
    assert first.doubt == "doubled"
    again = believe(
        report(42_400), seen=9_000, expected=21_000, doubted=report(40_400), since=1_000
    )
    assert again.doubt == "doubled"
    assert believe(report(4_000), seen=1_000, expected=2_000).doubt == ""


def test_a_request_that_truly_doubled_is_believed_the_second_time() -> None:
    """From there it grows by what was added, and not by twice that."""
    belief = believe(
        report(41_400), seen=9_000, expected=21_000, doubted=report(40_400), since=1_000
    )
    assert belief.doubt == ""


def test_an_absurd_jump_is_believed_if_it_is_said_twice() -> None:
    """The first may be an error, the second means that the request holds what we don't see."""
    huge = report(ABSURD_TIMES * 20_000 + ABSURD_TOKENS + 1)
    assert believe(huge, seen=8_000, expected=20_000).doubt == "absurd"
    later = report(135_000)
    assert believe(later, seen=9_000, expected=21_000, doubted=huge, since=1_000).doubt == ""


def test_more_than_the_window_is_absurd_at_first() -> None:
    """No provider takes a request that is over its window by half; or the window is wrong."""
    assert believe(report(400_000), seen=9_000, window=200_000).doubt == "absurd"
    assert believe(report(250_000), seen=9_000, window=200_000).doubt == ""
    again = believe(
        report(402_000), seen=9_000, window=200_000, doubted=report(400_000), since=1_500
    )
    assert again.doubt == ""


def test_a_streams_first_figure_is_not_the_output() -> None:
    """The request's size is exact; the reply is what we estimate of it."""
    found = report(50_000, output=1)
    belief = believe(found, seen=9_000, reply=600)
    assert belief.doubt == "reply"
    assert belief.usage is not None
    assert belief.usage.token_count == 50_600
    assert (belief.usage.input, belief.usage.output) == (50_000, 1)
    assert believe(report(50_000, output=400), seen=9_000, reply=600).doubt == ""
    assert believe(found, seen=9_000, reply=REPLY_TOKENS_MIN - 1).usage is found


def test_one_number_is_believed_as_the_whole() -> None:
    """A record that doesn't tell the reply apart can't be mended."""
    found = usage_record(50_000)
    assert believe(found, seen=9_000, reply=600).usage is found
