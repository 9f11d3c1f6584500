"""A rule marks the messages for which all of its conditions hold."""

import pytest

from minutebook.config.tagging import Marks, marks
from minutebook.config.values import TagRule
from minutebook.messages import Message, assistant, call, tool, user

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
