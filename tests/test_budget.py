"""Triggers, reserves and targets: both systems' tables, and what holds for any window."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from minutebook.budget import (
    PRESETS,
    REPLY_TOKENS_MIN,
    Limits,
    Policy,
    check,
    due,
    limits,
    preset,
    reply_tokens_max,
)
from minutebook.errors import ConfigError

CASES = Path(__file__).parents[1] / ".." / "shared" / "cases"

POLICIES = st.sampled_from(list(PRESETS.values()))


def bounds(
    name: str,
    window: int,
    *,
    max_output: int | None = None,
    fixed: int = 0,
    **changes: float | None,
) -> Limits:
    """Work out the limits of a preset with some values changed."""
    policy = replace(PRESETS[name], **changes)
    return limits(policy, window=window, max_output=max_output, fixed=fixed)


@given(
    POLICIES,
    st.integers(3, 2_000_000),
    st.one_of(st.none(), st.integers(0, 300_000)),
    st.integers(0, 100),
    st.one_of(st.none(), st.floats(0.01, 0.99)),
)
def test_every_window_leaves_room_and_a_target_below_the_trigger(
    policy: Policy, window: int, max_output: int | None, fixed_percent: int, ratio: float | None
) -> None:
    """Nothing is ever 0 or negative; the order is fixed < target < trigger <= limit < window."""
    fixed = window * fixed_percent // 100
    try:
        found = limits(
            policy, window=window, max_output=max_output, fixed=fixed, target_ratio=ratio
        )
    except ConfigError:
        # Only a fixed part that takes all but the reserve is refused.
        assert fixed >= window * (1 - policy.reserve_share_max) - 1
        return

    assert found.limit == window - found.reserve
    assert 0 <= found.reserve <= window * policy.reserve_share_max
    assert 1 <= found.target <= found.limit
    if not policy.steps:
        # Off means off: nothing is due before the limit, where it is refused.
        assert found.trigger == found.limit + 1
        return
    assert found.target <= found.trigger <= found.limit
    assert fixed <= found.target
    assert found.target < found.trigger or found.trigger < 3 + fixed
    assert due(found, 0) is None
    assert due(found, fixed) is None or found.trigger <= fixed + 1


@given(POLICIES, st.integers(1_000, 2_000_000), st.integers(0, 2_000_000))
def test_due_never_turns_off_again_as_a_request_grows(
    policy: Policy, window: int, used: int
) -> None:
    """What is due stays due with one token more, and what is over the limit is due."""
    found = limits(policy, window=window, max_output=None, fixed=0)

    assert due(found, used) is None or due(found, used + 1) is not None
    assert (due(found, used) == "limit") == (used > found.limit)


@pytest.mark.parametrize(
    ("window", "used", "expected"),
    [
        (200_000, 150_000, True),
        (200_000, 149_999, False),
        (200_000, 140_000, False),
        (1_000_000, 850_000, True),
        (1_000_000, 840_000, False),
        (128_000, 78_000, True),
        (128_000, 77_999, False),
    ],
)
def test_kimi_compacts_at_085_or_50000_before_the_end(
    window: int, used: int, expected: bool
) -> None:
    """Kimi CLI's table of values holds exactly."""
    assert (due(bounds("kimi", window), used) is not None) is expected


@pytest.mark.parametrize(("used", "expected"), [(140_000, True), (139_999, False)])
def test_a_ratio_is_read_as_the_decimal_that_it_is_written_as(used: int, expected: bool) -> None:
    """0.7 of 200 000 is 140 000, not a hair less or more."""
    found = bounds("kimi", 200_000, trigger_ratio=0.7, reserve_tokens=1_000)

    assert (due(found, used) is not None) is expected


def test_kilo_allows_nine_tenths_less_the_reply() -> None:
    """200 000 tokens with a reserve of 8 192 allow 171 808."""
    found = bounds("kilo", 200_000)

    assert found.reserve == 8_192
    assert due(found, 171_808) is None
    assert due(found, 171_809) == "trigger"


@pytest.mark.parametrize(("percent", "first"), [(5, 10_000), (50, 100_000), (100, 171_809)])
def test_kilo_compacts_at_a_profile_s_percentage(percent: int, first: int) -> None:
    """A percent threshold is a trigger ratio; the allowed size still holds beside it."""
    found = bounds("kilo", 200_000, trigger_ratio=percent / 100)

    assert due(found, first - 1) is None
    assert due(found, first) == "trigger"


@pytest.mark.parametrize(
    ("window", "max_output", "reserve"),
    [
        (200_000, 64_000, 40_000),
        (200_000, 4_096, 4_096),
        (200_000, None, 8_192),
        (200_000, 0, 8_192),
        (16_000, None, 3_200),
    ],
)
def test_the_default_reserve_is_the_output_limit_or_a_fifth(
    window: int, max_output: int | None, reserve: int
) -> None:
    """The smaller of 20 % of the window and the output limit, 8 192 if that is unknown."""
    found = bounds("default", window, max_output=max_output)

    assert found == Limits(
        window=window,
        reserve=reserve,
        trigger=min(window * 85 // 100, window - reserve),
        target=window // 2,
        limit=window - reserve,
    )


@pytest.mark.skipif(not (CASES / "C016").exists(), reason="the shared cases are not there")
def test_c016_no_output_limit_never_makes_the_usable_window_zero() -> None:
    """A missing or huge output limit leaves room; a window of 0 is unknown, not unlimited."""
    for config in json.loads((CASES / "C016" / "configs.json").read_text(encoding="utf-8")):
        for name in PRESETS:
            if not config["window"]:
                with pytest.raises(ConfigError, match="window: unknown"):
                    bounds(name, config["window"], max_output=config.get("max_output"))
                continue
            found = bounds(name, config["window"], max_output=config.get("max_output"))

            assert found.limit >= config["window"] // 2
            assert due(found, 40) is None


@pytest.mark.parametrize("window", [None, 0, -5])
def test_an_unknown_window_is_an_error_that_names_the_setting(window: int | None) -> None:
    """Neither no limit nor a limit of nothing."""
    with pytest.raises(ConfigError) as caught:
        limits(Policy(), window=window, max_output=None, fixed=0)

    assert caught.value.setting == "window"


def test_a_fixed_part_that_leaves_nothing_is_named() -> None:
    """System prompt and tools of 15 000 tokens in a window of 16 000 are refused."""
    with pytest.raises(ConfigError, match=r"system prompt and tools take 15000 tokens") as caught:
        bounds("default", 16_000, fixed=15_000)

    assert "no compaction can help" in str(caught.value)


def test_c014_a_fixed_part_over_the_trigger_lifts_it() -> None:
    """A floor of 5 500 over a trigger of 40 % of 9 000 is sent, and not compacted for ever."""
    found = bounds("default", 9_000, max_output=600, trigger_ratio=0.4, fixed=5_500)

    assert found.trigger == 5_500 + (8_400 - 5_500) // 2
    assert due(found, 5_500 + 100) is None
    assert 5_500 < found.target < found.trigger


def test_a_small_fixed_part_changes_nothing() -> None:
    """Beside a large window the system prompt moves neither trigger nor target."""
    assert bounds("default", 200_000, fixed=20_000) == bounds("default", 200_000)


@pytest.mark.skipif(not (CASES / "C059").exists(), reason="the shared cases are not there")
def test_c059_request_and_reply_never_exceed_the_window_together() -> None:
    """The reply is cut to what is left, never below the floor; then compaction comes first."""
    table = json.loads((CASES / "C059" / "table.json").read_text(encoding="utf-8"))
    found = bounds("default", table["window"], max_output=table["max_output"])
    replies = {used: reply_tokens_max(found, used, table["max_output"]) for used in table["inputs"]}

    assert table["floor"] == REPLY_TOKENS_MIN
    assert replies == {40_000: 16_384, 52_180: 13_356, 60_000: 5_536, 65_000: None}
    assert due(found, 60_000) == "limit"


def test_a_small_reserve_lowers_the_floor_of_a_reply() -> None:
    """In a window of 2 000 the reserve of 400 is all that a reply can be promised."""
    found = bounds("default", 2_000)

    assert reply_tokens_max(found, found.limit, None) == found.reserve == 400
    assert reply_tokens_max(found, found.limit + 1, None) is None


@pytest.mark.parametrize("ratio", [0.0, 1.0, -0.5, 3.0, float("nan")])
def test_a_target_that_is_no_share_is_refused(ratio: float) -> None:
    """The error names the target."""
    with pytest.raises(ConfigError) as caught:
        limits(Policy(), window=1_000, max_output=None, fixed=0, target_ratio=ratio)

    assert caught.value.setting == "target"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trigger_ratio", 0.0),
        ("trigger_ratio", 1.5),
        ("trigger_ratio", float("nan")),
        ("target_ratio", -1.0),
        ("reserve_share_max", 1.0),
        ("buffer_ratio", 1.0),
        ("keep_share", 1.5),
        ("summary_share", 1.0),
        ("reserve_tokens", -1),
        ("keep_first", -1),
        ("keep_last", -1),
        ("steps", ("mask", "magic")),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(field: str, value: object) -> None:
    """The error names the field."""
    with pytest.raises(ConfigError) as caught:
        check(replace(Policy(), **{field: value}))

    assert caught.value.setting == field


def test_presets_are_found_by_name() -> None:
    """An unknown name is an error that lists those there are."""
    assert preset("kilo") is PRESETS["kilo"]
    with pytest.raises(ConfigError, match="default, kilo, kimi"):
        preset("cursor")
