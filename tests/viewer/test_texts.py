"""The words of the pages."""

import re
from pathlib import Path

import pytest

import minutebook.viewer
from minutebook.cli.inspecting import NAMES
from minutebook.viewer.texts import LANGUAGES, TEXTS, choose, say_in

TEMPLATES = Path(minutebook.viewer.__file__).parent / "templates"


def test_every_text_that_a_template_asks_for_is_there() -> None:
    """And none is there that no page asks for."""
    source = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES.iterdir())
    source += Path(minutebook.viewer.__file__).with_name("app.py").read_text(encoding="utf-8")
    asked = {
        word
        for call in re.findall(r"\bt\(([^)]*)\)", source)
        for word in re.findall(r"[\"']([a-z_.]+)[\"']", call.partition(",")[0])
        if not word.endswith(".")
    }
    families = {key.partition(".")[0] for key in TEXTS if "." in key}

    assert asked <= TEXTS.keys() | {"dark"}
    unused = {key for key in TEXTS if "." not in key and f'"{key}"' not in source}
    unused -= {key for key in unused if f"'{key}'" in source}
    assert unused == set()
    assert all(f'"{family}.' in source or f"'{family}." in source for family in families)


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_have_the_same_gaps(key: str) -> None:
    """And both say something."""
    english, chinese = TEXTS[key]

    assert english.strip()
    assert chinese.strip()
    assert english.count("{}") == chinese.count("{}")


def test_the_kinds_have_the_names_of_the_command_line() -> None:
    """One table says them."""
    assert {kind: TEXTS[f"kind.{kind}"][0] for kind in NAMES} == NAMES


def test_a_text_is_said_with_its_values() -> None:
    """A text that is not known is what the caller says, or a fault of ours."""
    assert say_in("en")("checkpoint", 4) == "Checkpoint 4"
    assert say_in("zh")("checkpoint", 4) == "检查点 4"
    assert say_in("en")("role.narrator", default="narrator") == "narrator"
    with pytest.raises(KeyError):
        say_in("en")("role.narrator")


@pytest.mark.parametrize(
    ("cookie", "accepted", "expected"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "fr, en;q=0.5, zh;q=0.7", "zh"),
        ("", "de", "en"),
        ("", "zh;q=nonsense, en", "en"),
        ("en", "zh", "en"),
        ("<x>", "zh", "zh"),
    ],
)
def test_the_language_is_the_readers(cookie: str, accepted: str, expected: str) -> None:
    """What was chosen comes before what the browser accepts."""
    assert choose(cookie, accepted) == expected
    assert expected in LANGUAGES
