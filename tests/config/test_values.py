"""A configuration says where each value comes from, and a problem where it is and what to do."""

from minutebook.budget import Policy
from minutebook.config.values import Config, Problem, WrongConfig
from minutebook.errors import ConfigError, MinutebookError

FIRST = Problem(
    key="compaction.steps",
    what="there is no such step",
    remedy="did you mean mask?",
    place="minutebook.toml",
    line=3,
)
SECOND = Problem(key="", what="it is not UTF-8", place="minutebook.toml")


def test_a_problem_is_one_line_with_its_place() -> None:
    """What is not known is left out."""
    assert str(FIRST) == (
        "minutebook.toml:3: compaction.steps: there is no such step; did you mean mask?"
    )
    assert str(SECOND) == "minutebook.toml: it is not UTF-8"


def test_the_error_tells_the_first_and_keeps_all() -> None:
    """It is the error of every wrong setting, with the facts as attributes."""
    error = WrongConfig([FIRST, SECOND])

    assert isinstance(error, ConfigError | MinutebookError)
    assert (error.place, error.line, error.key) == ("minutebook.toml", 3, "compaction.steps")
    assert error.remedy == "did you mean mask?"
    assert error.problems == (FIRST, SECOND)
    assert str(error).startswith(str(FIRST))
    assert "1 more" in str(error)
    assert error.setting == "minutebook.toml:3: compaction.steps"
    assert str(WrongConfig([SECOND])) == str(SECOND)


def test_what_nobody_has_set_is_a_default() -> None:
    """Without any file, a configuration is what the library does without one."""
    config = Config(sources={"model.window": "argument"})

    assert config.policy == Policy()
    assert config.source("model.window") == "argument"
    assert config.source("preset") == "default"
