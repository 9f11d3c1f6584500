"""A compaction beside Cline's messages, and whether it fits them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.cline_sidecar import boundary_key, fits, prefix_hash, script_json, typed
from tests.formats.transcripts import JSON_VALUES

# Of these messages a JavaScript program of ours computed the hashes, after the vendor's rule.
MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": '<user_input mode="act">hi <mode_notice>x</mode_notice> \U0001f600\u2028'
        "</user_input>",
    },
    {
        "role": "user",
        "content": [
            {
                "type": "text",
                "text": '<user_command slash="team">spawn a team of agents for the following '
                "task: go</user_command>",
            }
        ],
    },
    {
        "role": "assistant",
        "content": [
            {
                "type": "tool_use",
                "id": "a",
                "input": {
                    "10": 1e-7,
                    "2": 1.5e21,
                    "x": 1e21,
                    "y": 123456789012345680000,
                    "z": 0.1,
                    "n": 0,
                    "e": 1e-5,
                    "f": 2.5e-8,
                    "g": 1.0,
                    "\u0007": "\u007f\u001f",
                },
            }
        ],
        "metrics": {"cost": 0.48953100000000005},
        "ts": 1783376868634,
    },
]
HASHES = {
    "v2": "sha256:5c6130de30d8d1031d097f17b8cf5ab2f4455ed3f8b55bd41e48ac32e7c442b3",
    "v1": "sha256:bf9220f0f341ef10b15dea4f824fe4e26b42c89cfc60ae893dff9aed19021513",
}


@given(JSON_VALUES)
def test_javascripts_json_says_the_same(value: Any) -> None:
    """Whatever the value, it reads back as itself."""
    assert json.loads(script_json(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-7, "1e-7"), (1e-6, "0.000001"), (1.0, "1"), (-0.0, "0"), (1e21, "1e+21"),
        (123456789012345680000, "123456789012345680000"), (0.1, "0.1"), (True, "true"),
        (None, "null"), (-1.5e-9, "-1.5e-9"), (float("inf"), "null"),
        ({"b": 1, "10": 2, "9": 3, "01": 4}, '{"9":3,"10":2,"b":1,"01":4}'),
    ],
)  # fmt: skip
def test_numbers_and_keys_are_written_as_javascript_does(value: Any, text: str) -> None:
    """Shortest digits, exponents from 21 digits on, numbers as keys first."""
    assert script_json(value) == text


@pytest.mark.parametrize("form", ["v1", "v2"])
def test_the_hash_is_the_vendors(form: str) -> None:
    """In both of its forms."""
    assert prefix_hash(MESSAGES, form=form) == HASHES[form]


@pytest.mark.parametrize("form", ["v1", "v2"])
@pytest.mark.parametrize("notices", [(), ("mode_notice",), ("mode_notice", "environment_notice")])
def test_a_compaction_fits_the_messages_of_its_hash(form: str, notices: tuple[str, ...]) -> None:
    """Of any version; messages behind it change nothing, one before it all."""
    sidecar = {
        "source_message_count": 2,
        "source_prefix_hash": prefix_hash(MESSAGES[:2], form=form, notices=notices),
    }

    assert fits(sidecar, MESSAGES) == 2
    assert fits(sidecar, MESSAGES[1:]) is None
    assert fits({**sidecar, "source_message_count": 1}, MESSAGES) is None


def test_without_a_hash_the_last_message_decides() -> None:
    """By its id, its time, or what it says."""
    named = [{"id": " m1 ", "role": "user", "content": "a"}]
    said = [{"role": "user", "content": "<user_input>a</user_input>"}]

    assert boundary_key(named[0]) == "id:m1"
    assert boundary_key(MESSAGES[2]) == "ts:assistant:1783376868634"
    assert boundary_key(said[0]) == 'content:user:"a"'
    for messages in (named, said, MESSAGES):
        key = boundary_key(messages[-1])
        sidecar = {"source_message_count": len(messages), "source_last_message_key": key}
        assert fits(sidecar, messages) == len(messages)
        assert fits({**sidecar, "source_last_message_key": "id:x"}, messages) is None


@pytest.mark.parametrize("count", [None, 0, 4, "1"])
def test_a_count_that_cannot_be_fits_nothing(count: object) -> None:
    """None, more than there are, or no number."""
    assert fits({"source_message_count": count}, MESSAGES) is None
    assert fits({"source_message_count": 1}, MESSAGES) is None


@pytest.mark.parametrize(
    ("given_text", "plain"),
    [
        ("  a \ufeff", "a"),
        ("<user_input>a</user_input>", "a"),
        ("<user_input>a", "a"),
        ('<user_command slash="x"> a </user_command>', "/x a"),
        ('<user_command slash="x"></user_command>', "/x"),
        ('<user_command slash="team">go</user_command>', "/team go"),
        ("<user_command>a</user_command>", "a"),
        ("", ""),
    ],
)
def test_a_users_text_is_what_he_typed(given_text: str, plain: str) -> None:
    """Without the tags around it; a command has its slash back."""
    assert typed(given_text) == plain


@given(st.text(st.sampled_from("<>/nx"), max_size=20))
def test_notices_are_taken_out_whole(text: str) -> None:
    """Those that are closed; what is around them stays."""
    assert typed(f"{text}<n>{text.replace('</n>', '')}</n>b", ("n",)).endswith("b")
    assert "<n>" not in typed("a<n>b</n>c<n>d</n>", ("n",))
    assert typed("a<n>b", ("n",)) == "a<n>b"
