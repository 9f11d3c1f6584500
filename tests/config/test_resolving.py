"""Arguments come before the environment, that before the file, that before the defaults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.budget import PRESETS, preset
from minutebook.config import resolving
from minutebook.config.fields import variable_of
from minutebook.config.parsing import Parsed, parse
from minutebook.config.resolving import resolve, unknown_variables
from minutebook.config.values import Config, WrongConfig
from minutebook.errors import ConfigError
from minutebook.store.collecting import Retention

VALUES = {
    "preset": ("kimi", "kilo", "off"),
    "model.name": ("one", "two", "three"),
    "model.window": (1_000, 2_000, 3_000),
    "model.max_output": (10, 20, 30),
    "background.fraction": (0.25, 0.5, 0.75),
    "background.wait_seconds": (1.0, 2.0, 3.0),
    "compaction.target_ratio": (0.2, 0.3, 0.4),
    "compaction.keep_last": (3, 4, 5),
    "retention.keep_plain": (7, 8, 9),
}
"""For each key a value of the file, of the environment, of an argument."""


def read(text: str) -> Parsed:
    """Read a file's text, which is all right."""
    parsed = parse(text.encode())
    assert parsed.problems == ()
    return parsed


def value_of(config: Config, key: str) -> object:
    """Give the value that a key has come to."""
    table, _, name = key.rpartition(".")
    at: dict[str, dict[str, object]] = {
        "": {"preset": config.preset},
        "model": {
            "name": config.model,
            "window": config.window,
            "max_output": config.max_output,
        },
        "background": {
            "fraction": config.background_fraction,
            "wait_seconds": config.background_wait_seconds,
        },
    }
    if table in at:
        return at[table][name]
    return getattr(config.policy if table == "compaction" else config.retention, name)


@given(st.fixed_dictionaries({key: st.sets(st.integers(0, 2)) for key in VALUES}))
def test_the_last_layer_that_says_something_wins(said: dict[str, set[int]]) -> None:
    """For each key by itself, whatever the others say; and the source tells which it was."""
    lines = [
        f"{key} = {VALUES[key][0]!r}"
        if isinstance(VALUES[key][0], str)
        else f"{key} = {VALUES[key][0]}"
        for key, layers in said.items()
        if 0 in layers
    ]
    environment = {
        variable_of(key): str(VALUES[key][1]) for key, layers in said.items() if 1 in layers
    }
    arguments = {key: VALUES[key][2] if 2 in layers else None for key, layers in said.items()}

    config = resolve(read("\n".join(lines)), environment=environment, arguments=arguments)

    defaults = resolve()
    for key, layers in said.items():
        source = config.source(key)
        if not layers:
            base = Config(preset=config.preset, policy=preset(config.preset))
            assert source == "default"
            assert value_of(config, key) == value_of(
                base if key.startswith("compaction") else defaults, key
            )
            continue
        assert value_of(config, key) == VALUES[key][max(layers)]
        line = next((at for at, line in enumerate(lines, 1) if line.startswith(key)), 0)
        places = (f"minutebook.toml:{line}", variable_of(key), "argument")
        assert source == places[max(layers)]


def test_without_anything_there_are_the_defaults() -> None:
    """Those of the library."""
    config = resolve()

    assert config == Config()
    assert config.policy == PRESETS["default"]
    assert config.retention == Retention()


def test_an_empty_variable_is_not_said() -> None:
    """So that one can be taken back for one command."""
    assert resolve(environment={"MINUTEBOOK_MODEL_WINDOW": " "}) == Config()


def test_overrides_stand_on_the_preset_in_force() -> None:
    """Wherever each was said."""
    config = resolve(
        read("[compaction]\nkeep_last = 9\n"), environment={"MINUTEBOOK_PRESET": "kilo"}
    )

    assert config.policy.name == "kilo"
    assert config.policy.buffer_ratio == PRESETS["kilo"].buffer_ratio
    assert config.policy.keep_last == 9


PROFILES = """
profile = "fast"
[compaction]
trigger_ratio = 0.9
[profiles.fast]
threshold_percent = 70
[profiles.same]
threshold_percent = -1
[profiles.bare]
"""


def test_a_profile_sets_the_trigger() -> None:
    """Exactly the percentage that stands there, with its line as the source."""
    config = resolve(read(PROFILES))

    assert config.policy.trigger_ratio == 0.7
    assert config.source("compaction.trigger_ratio") == "minutebook.toml:6"


@pytest.mark.parametrize("name", ["same", "bare", ""])
def test_a_profile_may_inherit(name: str) -> None:
    """−1, nothing said, and no profile are the same."""
    arguments = {"profile": name}

    assert resolve(read(PROFILES), arguments=arguments).policy.trigger_ratio == 0.9


def test_a_trigger_from_outside_of_the_file_holds_against_a_profile() -> None:
    """The profile is part of the file, and that comes after environment and arguments."""
    environment = {"MINUTEBOOK_COMPACTION_TRIGGER_RATIO": "0.6"}

    assert resolve(read(PROFILES), environment=environment).policy.trigger_ratio == 0.6


@pytest.mark.parametrize(
    ("text", "environment", "place", "remedy"),
    [
        ("profile = 'x'", {}, "minutebook.toml:1", "there is none at all; add [profiles.x]"),
        (
            PROFILES,
            {"MINUTEBOOK_PROFILE": "x"},
            "MINUTEBOOK_PROFILE",
            "there are bare, fast, same; add [profiles.x]",
        ),
    ],
)
def test_an_unknown_profile_is_refused(
    text: str, environment: dict[str, str], place: str, remedy: str
) -> None:
    """With those that there are."""
    with pytest.raises(WrongConfig) as caught:
        resolve(read(text), environment=environment)

    assert (caught.value.place, caught.value.remedy) == (place, remedy)


def test_an_unknown_profile_as_an_argument_has_no_place() -> None:
    """The caller knows where it stands."""
    with pytest.raises(WrongConfig, match=r"^profile: 'x' is no profile"):
        resolve(arguments={"profile": "x"})


def test_problems_of_all_layers_are_told_together() -> None:
    """File, environment, arguments, in this order."""
    with pytest.raises(WrongConfig) as caught:
        resolve(
            parse(b"x = 1\n"),
            environment={"MINUTEBOOK_MODEL_WINDOW": "many"},
            arguments={"model.windw": 1, "model.name": 7, "zzz": None},
        )

    assert [str(problem).partition(";")[0] for problem in caught.value.problems] == [
        "minutebook.toml:1: x: there is no such key",
        "MINUTEBOOK_MODEL_WINDOW: expected int, got str",
        "model.windw: there is no such key",
        "model.name: expected str, got int",
        "zzz: there is no such key",
    ]


def test_values_that_do_not_go_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy as a whole has the last word, and the source is named."""

    def refuse(_policy: object) -> None:
        raise ConfigError("target_ratio", "it is above the trigger")

    monkeypatch.setattr(resolving, "check", refuse)

    with pytest.raises(WrongConfig) as caught:
        resolve(read("[compaction]\ntarget_ratio = 0.9\n"))

    assert str(caught.value) == (
        "minutebook.toml:2: compaction.target_ratio: it is above the trigger"
    )


def test_variables_that_look_like_ours_and_are_none_are_named() -> None:
    """A slip of the pen in a variable would go unseen otherwise."""
    environment = {
        "MINUTEBOOK_WINDOW": "1",
        "MINUTEBOOK_MODEL_WINDOW": "1",
        "MINUTEBOOK_CONFIG": "x",
        "MINUTEBOOK_SUMMARY_API_KEY": "x",
        "HOME": "/",
    }

    assert unknown_variables(environment) == ["MINUTEBOOK_WINDOW"]
