"""A rule marks the messages for which all of its conditions hold."""

import pytest

from minutebook.config.tagging import Marks, marked, marks
from minutebook.config.values import TagRule
from minutebook.errors import ConfigError
from minutebook.messages import Message, assistant, call, replace, tool, user

DECISION = TagRule(tag="decision", role="assistant", matches="(?i)^decided:")
TESTS = TagRule(tag="tests", tool="pytest")
SECRET = TagRule(tag="port", matches=r"\bport \d+", protected=True)
RULES = (DECISION, TESTS, SECRET, TagRule(tag="decision", matches="最终决定"))


@pytest.mark.parametrize(
    ("message", "name", "expected"),
    [
        (user("Hello."), "", Marks()),
        (assistant("Decided: we use SQLite."), "", Marks(tags=("decision",))),
        (user("Decided: we use SQLite."), "", Marks()),
        (assistant("We decided: no."), "", Marks()),
        (tool("c1", "3 passed"), "pytest", Marks(tags=("tests",))),
        (tool("c1", "3 passed"), "shell", Marks()),
        (assistant(tool_calls=[call("c1", "pytest")]), "", Marks(tags=("tests",))),
        (tool("c1", "on port 5433"), "pytest", Marks(tags=("tests", "port"), protected=True)),
        (user("最终决定是这样。"), "", Marks(tags=("decision",))),
        (assistant("decided: 最终决定"), "", Marks(tags=("decision",))),
    ],
)
def test_a_message_is_marked_by_what_holds_of_it(
    message: Message, name: str, expected: Marks
) -> None:
    """By role, tool, and words, each tag once."""
    assert marks(RULES, message, tool=name) == expected


def test_without_rules_nothing_is_marked() -> None:
    """And nothing is protected."""
    assert marks((), user("port 80")) == Marks()


def test_what_rules_say_of_a_history() -> None:
    """A result is known by its call's tool, the last call of an id; by number, where one holds."""
    told = (
        assistant(tool_calls=[call("c1", "pytest")]),
        tool("c1", "3 passed"),
        assistant(tool_calls=[call("c1", "shell")]),
        tool("c1", "4 passed"),
        assistant("Decided: on port 5433"),
    )
    history = [replace(message, seq=seq) for seq, message in enumerate(told, start=1)]
    results = TagRule(tag="tests", role="tool", tool="pytest", protected=True)

    assert marked((SECRET, results, DECISION), history) == {
        2: Marks(tags=("tests",), protected=True),
        5: Marks(tags=("port", "decision"), protected=True),
    }
    assert marked((), history) == {}
    assert marked((DECISION,), told) == {}


def test_a_pattern_that_is_none_is_an_error_of_ours() -> None:
    """The configuration is checked when it is read; a rule made by a program, here."""
    with pytest.raises(ConfigError, match=r"tags\.matches: '\(' is no pattern"):
        marked((TagRule(tag="a", matches="("),), ())
