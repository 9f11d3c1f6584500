"""Each key has a type, a check and a variable, and says how it is written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from minutebook.budget import PRESETS, Policy
from minutebook.config.fields import (
    LISTS,
    NEEDED,
    PLAIN,
    PROFILE,
    TABLES,
    VARIABLES,
    WrongValue,
    variable_of,
)
from minutebook.config.values import SummarizerSettings, TagRule
from minutebook.hooks import Command
from minutebook.store.collecting import Retention


def test_every_field_of_policy_and_retention_can_be_set() -> None:
    """A new one is a key by itself; the policy's name is that of its preset."""
    policy = {f"compaction.{one.name}" for one in structs.fields(Policy)} - {"compaction.name"}
    retention = {f"retention.{one.name}" for one in structs.fields(Retention)}

    assert policy | retention <= set(PLAIN)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("summarizers", SummarizerSettings), ("hooks", Command), ("tags", TagRule)],
)
def test_every_field_of_a_list_can_be_set(name: str, kind: Any) -> None:
    """The keys of an element are the fields of its value."""
    assert set(LISTS[name]) == {one.name for one in structs.fields(kind)}
    assert NEEDED[name] in LISTS[name]


def test_every_key_has_a_variable_of_its_own() -> None:
    """Two keys never share one."""
    assert len(VARIABLES) == len(PLAIN)
    assert variable_of("model.window") == "MINUTEBOOK_MODEL_WINDOW"
    assert {"model", "compaction", "retention", "hooks", "profiles"} <= TABLES


@pytest.mark.parametrize("policy", PRESETS.values(), ids=list(PRESETS))
def test_the_values_of_every_preset_may_be_written(policy: Policy) -> None:
    """What a preset has, a file can say."""
    for one in structs.fields(Policy):
        value = getattr(policy, one.name)
        if one.name != "name" and value is not None:
            written = list(value) if isinstance(value, tuple) else value
            assert PLAIN[f"compaction.{one.name}"].read(written) == value


@given(st.integers(5, 100) | st.floats(5, 100) | st.just(-1))
def test_a_threshold_is_a_percentage_or_inherits(percent: float) -> None:
    """From 5 to 100; −1 is as without the profile."""
    assert PROFILE["threshold_percent"].read(percent) == percent


@given(
    (st.integers() | st.floats() | st.booleans() | st.text()).filter(
        lambda value: isinstance(value, str | bool) or not (5 <= value <= 100 or value == -1)
    )
)
def test_anything_else_is_no_threshold(value: object) -> None:
    """0, 4.9, 101, −2, no number, true, and text."""
    with pytest.raises(WrongValue) as caught:
        PROFILE["threshold_percent"].read(value)

    assert caught.value.remedy


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("preset", "kimmy", "'kimmy' is none"),
        ("model.name", " ", "blank"),
        ("model.window", 0, "expected int >= 1"),
        ("model.window", "200k", "expected int, got str"),
        ("model.window", True, "expected int, got bool"),
        ("model.max_output", 8192.5, "expected int, got float"),
        ("background.fraction", 1, "< 1.0"),
        ("background.fraction", float("nan"), "> 0.0"),
        ("summary.prompt", "\n", "blank"),
        ("summary.instructions", ["Keep the ports.", ""], "blank"),
        ("summary.instructions", [7], "expected str"),
        ("compaction.trigger_ratio", 85, "no share"),
        ("compaction.target_ratio", "half", "expected float, got str"),
        ("compaction.keep_last", -1, "negative"),
        ("compaction.steps", ["mask", "sumarize"], "'sumarize' is none"),
        ("compaction.steps", "mask", "expected array, got str"),
        ("compaction.window_step", "all", "invalid enum value 'all'"),
        ("retention.keep_plain", -1, "negative"),
        ("retention.age_days_max", float("inf"), "no number"),
        ("retention.compress", "yes", "expected bool, got str"),
    ],
)
def test_a_wrong_value_is_told_in_a_sentence(key: str, value: object, what: str) -> None:
    """It names what is wrong with it."""
    with pytest.raises(WrongValue) as caught:
        PLAIN[key].read(value)

    assert what in caught.value.what


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("compaction.window_step", "give one of 'fit', 'half'"),
        ("compaction.steps", 'give a list of texts, like ["a", "b"]'),
        ("compaction.reserve_tokens", "give a whole number"),
        ("compaction.target_ratio", "give a number"),
        ("compaction.drop_media", "give true or false"),
        ("model.name", "give a text in quotes"),
        ("summary.instructions", 'give a list of texts, like ["a", "b"]'),
        ("model.window", "give the model's window in tokens"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_how_it_is_written(key: str, remedy: str) -> None:
    """The remedy follows from the type, where the key has no better one."""
    with pytest.raises(WrongValue) as caught:
        PLAIN[key].read(object())

    assert caught.value.remedy == remedy


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("summarizers", "kind", "mistral"),
        ("summarizers", "base_url", "localhost:8080"),
        ("summarizers", "base_url", "http://me:secret@host/v1"),
        ("summarizers", "base_url", "file:///etc/passwd"),
        ("summarizers", "key_env", "sk-abc123"),
        ("hooks", "command", " "),
        ("hooks", "event", "PreToolUse"),
        ("hooks", "matcher", "(manual"),
        ("hooks", "timeout_seconds", 0),
        ("tags", "matches", "["),
        ("tags", "protected", 1),
    ],
)
def test_elements_of_lists_are_checked_too(name: str, key: str, value: object) -> None:
    """Before anything is run or sent."""
    with pytest.raises(WrongValue):
        LISTS[name][key].read(value)


@pytest.mark.parametrize(
    "url", ["http://localhost:8080/v1", "https://example.org", "http://[::1]:1/"]
)
def test_a_base_url_is_http(url: str) -> None:
    """Local ones too."""
    assert LISTS["summarizers"]["base_url"].read(url) == url


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("model.window", "200000", 200_000),
        ("compaction.target_ratio", "0.4", 0.4),
        ("compaction.trigger_ratio", "1", 1.0),
        ("compaction.drop_media", "false", False),
        ("compaction.reserve_tokens", "8192", 8_192),
        ("compaction.steps", "mask, window", ("mask", "window")),
        ("compaction.exclude_tools", "read", ("read",)),
        ("summary.instructions", "Keep ports, names.", ("Keep ports, names.",)),
        ("preset", "kimi", "kimi"),
    ],
)
def test_a_variable_is_read_from_its_text(key: str, text: str, value: object) -> None:
    """Numbers, words for yes and no, and several set apart by commas."""
    assert PLAIN[key].read_text(text) == value


@pytest.mark.parametrize(
    ("key", "text"), [("model.window", "many"), ("compaction.steps", "mask,"[:-1] + " windo")]
)
def test_a_variable_that_makes_no_sense_is_refused(key: str, text: str) -> None:
    """As in the file."""
    with pytest.raises(WrongValue):
        PLAIN[key].read_text(text)
