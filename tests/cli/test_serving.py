from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.cli import serving
from minutebook.cli.serving import settings_of, upstreams
from minutebook.errors import ConfigError
from tests.cli.support import run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Take what would be served."""
    found: list[Any] = []

    def take(settings: Any, listens: Callable[[str], None]) -> None:
        found.append(settings)
        listens("/ui/?token=t" if settings.ui else "")

    monkeypatch.setattr(serving, "run_gateway", take)
    return found


def test_the_command_line_says_what_is_served(served: list[Any], tmp_path: Path) -> None:
    """And wins over the file."""
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[gateway]\nwindow = 5\nredact = true\n[gateway.upstream]\nopenai = "http://f"\n'
    )

    told = run(
        "serve", "--config", str(file), "--window", "9", "--root", "r", "--metrics", "--ui"
    ).stderr

    assert "the sessions are at http://127.0.0.1:8377/ui/?token=t" in told
    assert "serving on http://127.0.0.1:8377 for openai" in told

    (settings,) = served
    assert (settings.window, settings.redact, settings.root) == (9, True, "r")
    assert settings.upstream == {"openai": "http://f"}
    assert settings.metrics


def test_an_address_that_others_reach_is_said(served: list[Any]) -> None:
    """It needs a token."""
    words = ("serve", "--upstream", "openai=http://f", "--listen", "0.0.0.0:1")

    assert "token" in run(*words, code=1).stderr
    assert "can be reached by others" in run(*words, "--token", "t").stderr
    assert len(served) == 1


def test_nothing_is_served_without_an_upstream(served: list[Any]) -> None:
    """The error says how to name one."""
    assert "--upstream" in run("serve", code=1).stderr
    assert not served


@pytest.mark.parametrize("word", ["openai", "=http://x", "openai="])
def test_an_upstream_is_a_name_and_an_address(word: str) -> None:
    """Anything else is an error."""
    with pytest.raises(ConfigError):
        upstreams([word])


@pytest.mark.parametrize("text", ["gateway = 3", "[gateway", "[gateway]\nno_such = 1\n"])
def test_a_file_that_makes_no_sense_is_an_error(tmp_path: Path, text: str) -> None:
    """Of ours."""
    file = tmp_path / "gateway.toml"
    file.write_text(text)

    with pytest.raises(ConfigError):
        settings_of(file, upstream={"openai": "http://x"})
