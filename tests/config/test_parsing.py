"""A file's bytes become values with their lines; whatever is wrong is told with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.config.parsing import parse
from minutebook.config.values import Problem, Profile, SummarizerSettings, TagRule
from minutebook.hooks import Command

WHOLE = b"""\
preset = "kilo"
profile = "fast"

[model]
name = "some-model"
window = 128_000

[compaction]
target_ratio = 0.4
steps = ["mask", "summarize"]

[background]
fraction = 0.8

[summary]
instructions = "Keep the ports."

[[summarizers]]
kind = "openai"
model = "small-model"
base_url = "http://localhost:8080/v1"
key_env = "LOCAL_KEY"
window = 32_000

[[summarizers]]
kind = "anthropic"

[[hooks]]
command = "./guard.sh"
matcher = "trigger|limit"
timeout_seconds = 5

[[hooks]]
event = "PostCompact"
command = "notify"

[retention]
keep_plain = 1

[[tags]]
tag = "decision"
role = "assistant"
matches = "(?i)^decided"
protected = true

[profiles.fast]
threshold_percent = 70

[profiles.slow]
"""


def problems(text: str) -> list[tuple[int | None, str, str]]:
    """Give what is wrong with a text: line, key, and what to do."""
    return [(one.line, one.key, one.remedy) for one in parse(text.encode()).problems]


def test_a_whole_file_is_read() -> None:
    """Every table, with the line of each plain key."""
    parsed = parse(WHOLE)

    assert parsed.problems == ()
    assert parsed.plain == {
        "preset": "kilo",
        "profile": "fast",
        "model.name": "some-model",
        "model.window": 128_000,
        "compaction.target_ratio": 0.4,
        "compaction.steps": ("mask", "summarize"),
        "background.fraction": 0.8,
        "summary.instructions": ("Keep the ports.",),
        "retention.keep_plain": 1,
    }
    assert parsed.lines["compaction.steps"] == 10
    assert parsed.lines["profiles.fast.threshold_percent"] == 47
    assert parsed.summarizers == (
        SummarizerSettings(
            kind="openai",
            model="small-model",
            base_url="http://localhost:8080/v1",
            key_env="LOCAL_KEY",
            window=32_000,
        ),
        SummarizerSettings(kind="anthropic"),
    )
    assert parsed.hooks == (
        Command(command="./guard.sh", matcher="trigger|limit", timeout_seconds=5),
        Command(command="notify", event="PostCompact"),
    )
    assert parsed.tags == (
        TagRule(tag="decision", role="assistant", matches="(?i)^decided", protected=True),
    )
    assert parsed.profiles == (
        Profile(name="fast", threshold_percent=70),
        Profile(name="slow"),
    )


def test_an_empty_file_says_nothing() -> None:
    """Also one with a byte-order mark and comments."""
    assert parse(b"") == parse(b"\xef\xbb\xbf# nothing yet\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("preste = 'kimi'", (1, "preste", "did you mean preset?")),
        ("[modle]\nname = 'a'", (1, "modle", "did you mean model?")),
        (
            "[model]\n\nwindwo = 3",
            (3, "model.windwo", "did you mean window?"),
        ),
        ("[model]\nx = 3", (2, "model.x", "there are max_output, name, window")),
        (
            "[[hooks]]\ncommand='a'\n[[hooks]]\ncommand='b'\ntimeout = 3",
            (5, "hooks[2].timeout", "did you mean timeout_seconds?"),
        ),
        (
            "[[summarizers]]\nkind='openai'\napi_key='sk-1'",
            (
                3,
                "summarizers[1].api_key",
                "put the key into a variable of the environment, and name that in key_env",
            ),
        ),
        (
            "[profiles.a]\nthreshold = 3",
            (2, "profiles.a.threshold", "did you mean threshold_percent?"),
        ),
        ("model = 'a'", (1, "model", "write [model] and its keys below")),
        ("[hooks]\ncommand = 'a'", (1, "hooks", "write [[hooks]] for each")),
        ("hooks = ['a']", (1, "hooks[1]", "write [[hooks]] and its keys below")),
        ("profiles = 3", (1, "profiles", "write [profiles.NAME] for each")),
        ("[profiles]\nfast = 70", (2, "profiles.fast", "write [profiles.fast] and its keys below")),
        ("\n[[hooks]]\nmatcher = 'a'", (2, "hooks[1]", "add it")),
        ("[[tags]]\ntag = 'x'\nprotected = true", (1, "tags[1]", "add role, tool or matches")),
        (
            "[profiles.a]\nthreshold_percent = 4",
            (
                2,
                "profiles.a.threshold_percent",
                "give a percentage from 5 to 100, or -1 to inherit",
            ),
        ),
        ("[model]\nwindow = '3'", (2, "model.window", "give the model's window in tokens")),
    ],
)
def test_what_is_wrong_is_told_with_line_and_remedy(
    text: str, expected: tuple[int, str, str]
) -> None:
    """Unknown keys, near ones, secrets, and values in the wrong shape."""
    assert problems(text) == [expected]


def test_all_problems_are_told_in_the_order_of_the_file() -> None:
    """And what makes sense is still read."""
    parsed = parse(b"preset = 'kimi'\n[[hooks]]\ncommand = ''\n[model]\nwindow = 0\nx = 1\n")

    assert [(problem.line, problem.key) for problem in parsed.problems] == [
        (3, "hooks[1].command"),
        (5, "model.window"),
        (6, "model.x"),
    ]
    assert parsed.plain == {"preset": "kimi"}
    assert parsed.hooks == ()


def test_what_is_not_toml_is_told_with_its_line() -> None:
    """In the words of the TOML reader."""
    (problem,) = parse(b"preset = 'kimi'\nmodel =\n", "my.toml").problems

    assert (problem.place, problem.line, problem.remedy) == ("my.toml", 2, "mend the line")
    assert problem.what == "it is not TOML (Invalid value)"


def test_a_text_that_ends_too_early_has_no_line() -> None:
    """The TOML reader tells none."""
    (problem,) = parse(b"preset = '''kimi").problems

    assert problem.line is None
    assert "it is not TOML" in problem.what


def test_what_is_not_utf8_is_told_with_its_line() -> None:
    """Counted in bytes, since there is no text."""
    assert parse(b"preset = 'kimi'\n# caf\xe9\n").problems == (
        Problem(
            key="",
            what="it is not UTF-8",
            remedy="save it as UTF-8",
            place="minutebook.toml",
            line=2,
        ),
    )


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "[model]\nwindow = " + "9" * 10_000])
def test_what_the_toml_reader_gives_up_on_is_a_problem(text: str) -> None:
    """Too deep, or a number without end."""
    (problem,) = parse(text.encode()).problems

    assert "it is not TOML" in problem.what


@given(
    st.binary(max_size=60) | st.text(alphabet='hooks.tag[]{}="1\n ', max_size=60).map(str.encode)
)
def test_no_bytes_raise(data: bytes) -> None:
    """A configuration is somebody's text: anything may stand in it."""
    parsed = parse(data)

    assert all(str(problem) for problem in parsed.problems)
