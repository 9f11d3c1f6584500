"""Arguments: sent as written, written anew, or an empty object."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.providers.arguments import DEPTH_MAX, Arguments, as_object, sendable
from minutebook.providers.strict_json import problem_of

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


@given(st.one_of(st.text(), VALUES.map(json.dumps)))
def test_what_is_sent_is_always_the_strict_json_of_an_object(stored: str) -> None:
    """Whatever stands in the log, every server can read it."""
    sent = sendable(stored)

    assert isinstance(json.loads(sent.text), dict)
    assert problem_of(json.loads(sent.text)) is None
    assert as_object(sent.text) == json.loads(sent.text)
    assert sendable(sent.text) == (sent.text, True)
    assert sent.whole or sent.text == "{}"


@given(st.dictionaries(st.text(), VALUES))
def test_a_valid_object_stays_byte_for_byte(value: dict[str, object]) -> None:
    """Only where it holds no NaN, which is no JSON."""
    stored = json.dumps(value, indent=1)

    if problem_of(value) is None:
        assert sendable(stored) == (stored, True)


@pytest.mark.parametrize("stored", ["", " \n", "null", " null "])
def test_nothing_is_a_call_without_arguments(stored: str) -> None:
    """Kimi CLI stores a missing or null `arguments` for a tool that takes none."""
    assert sendable(stored) == Arguments("{}", whole=True)


@pytest.mark.parametrize(
    "stored",
    [
        '{"command": "rm -rf build/tm',
        "[1]",
        '"text"',
        "7",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": 1} and more',
        "[" * 100_000,
        '{"a": ' + "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1) + "}",
        '{"a\n": ' + "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1) + "}",
        '{"a\n": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_a_fragment_is_never_repaired(stored: str) -> None:
    """Case C011: a shortened command must not look like one that was meant."""
    assert sendable(stored) == Arguments("{}", whole=False)


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ('{"a": "\\ud83d", "\\udc88": "\\ud83d\\ude80"}', {"a": "\ufffd", "\ufffd": "🚀"}),
        ('{"a": "\ud83d", "n": 1.5, "b\n": 2}', {"a": "\ufffd", "n": 1.5, "b\n": 2}),
    ],
)
def test_loose_json_is_written_anew(stored: str, value: dict[str, object]) -> None:
    """Kimi CLI reads and runs such a call, so it is whole."""
    sent = sendable(stored)

    assert sent.whole
    assert as_object(sent.text) == value


def test_many_brackets_are_not_depth() -> None:
    """A long list of lists nests no deeper than its items."""
    stored = json.dumps({"rows": [[{}]] * 500, "deep": {"a": [1]}})

    assert sendable(stored) == (stored, True)
