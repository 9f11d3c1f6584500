"""The command `view`; what it serves is tested with the viewer."""

import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from minutebook.cli.viewing import has_desktop
from minutebook.viewer import serving
from tests.cli.support import make_session, run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Take the place of the server, and note what it is told."""
    noted: dict[str, Any] = {"opened": []}

    def serve(places: Any, config: Any, listen: str, listens: Any, *, allow_write: bool) -> None:
        noted.update(places=places, config=config, listen=listen, allow_write=allow_write)
        listens("http://127.0.0.1:1/?token=abc")

    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.setattr(webbrowser, "open", noted["opened"].append)
    return noted


def test_it_serves_what_is_named_and_says_where(tmp_path: Path, served: dict[str, Any]) -> None:
    """Read only, on a free port, unless something else is said; no browser in a pipe."""
    make_session(tmp_path / "s", turns=1)

    result = run("view", tmp_path)

    assert "viewing on http://127.0.0.1:1/?token=abc" in result.stderr
    assert served["places"].root == tmp_path
    assert (served["listen"], served["allow_write"], served["opened"]) == ("127.0.0.1:0", False, [])


def test_what_is_said_is_done(tmp_path: Path, served: dict[str, Any]) -> None:
    """Address, browser, and changes."""
    make_session(tmp_path / "s", turns=1)

    run("view", tmp_path / "s", "--listen", "localhost:8378", "--open", "--allow-write")

    assert served["listen"] == "localhost:8378"
    assert served["allow_write"]
    assert served["opened"] == ["http://127.0.0.1:1/?token=abc"]
    run("view", tmp_path / "s", "--no-open")
    assert len(served["opened"]) == 1


def test_without_a_path_it_shows_the_homes(served: dict[str, Any]) -> None:
    """As `sessions` does."""
    run("view")

    assert served["places"].root is None


def test_what_is_not_there_ends_the_command(tmp_path: Path) -> None:
    """Nothing is served then."""
    assert "no such file or folder" in run("view", tmp_path / "missing", code=1).stderr


def test_an_address_that_others_reach_ends_the_command(tmp_path: Path) -> None:
    """The error says what to do from elsewhere."""
    pytest.importorskip("starlette", reason="needs the extra viewer")

    assert "tunnel" in run("view", tmp_path, "--listen", "0.0.0.0:0", code=1).stderr


@pytest.mark.parametrize(
    ("platform", "variables", "terminal", "expected"),
    [
        ("linux", {"DISPLAY": ":0"}, True, True),
        ("linux", {"WAYLAND_DISPLAY": "w"}, True, True),
        ("linux", {}, True, False),
        ("linux", {"DISPLAY": ":0"}, False, False),
        ("darwin", {}, True, True),
    ],
)
def test_a_browser_is_opened_where_somebody_sees_it(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    variables: dict[str, str],
    terminal: bool,
    expected: bool,
) -> None:
    """Neither in a pipe nor on a machine without a screen."""
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)

    assert has_desktop() is expected
