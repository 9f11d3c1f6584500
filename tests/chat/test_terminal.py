"""The chat as it is held in a terminal; `tests/cli/test_chatting.py` holds it in a real one."""

import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.chat.endpoint import make_endpoint
from minutebook.chat.terminal import _decided, hold
from minutebook.testing.scripted import Answer, Call, Failure, Step
from minutebook.testing.server import ProviderServer

pytest.importorskip("openai", reason="needs the extra openai")


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str | type[BaseException]) -> None:
    """Type these lines, then end the input."""
    left: Iterator[str | type[BaseException]] = iter(lines)

    def answer(_prompt: str = "") -> str:
        line = next(left, EOFError)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr(builtins, "input", answer)


def held(tmp_path: Path, server: ProviderServer) -> None:
    """Hold a chat."""
    endpoint = make_endpoint("scripted", server.openai_url, None, {})
    hold(
        endpoint,
        tmp_path / "s",
        tmp_path,
        allowed=frozenset(),
        model="scripted",
        window=50_000,
    )


def test_lines_are_said_commands_done_and_failures_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure ends its turn alone; the end of the input ends the chat."""
    call = Call(name="run", arguments='{"command": "echo made"}')
    steps: list[Step | str] = [Answer(calls=(call,)), "Done.", Failure(status=401, message="no")]
    typed(monkeypatch, "do it", "y", "", "/context", "and more")
    with ProviderServer(steps) as server:
        held(tmp_path, server)
        server.check()
    shown = capsys.readouterr().out
    assert "→ run" in shown
    assert "Done." in shown
    assert "tool results" in shown
    assert "the model could not be asked: " in shown


def test_quit_and_an_interrupt_at_the_prompt_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is closed, so it can be opened again."""
    with ProviderServer() as server:
        for last in ("/quit", KeyboardInterrupt):
            typed(monkeypatch, last)
            held(tmp_path, server)


@pytest.mark.parametrize(
    ("said", "what"),
    [("y", "accept"), ("", "refuse"), ("no", "refuse"), ("shorter, please", "feedback")],
)
async def test_a_proposed_summary_is_the_users_to_decide(
    monkeypatch: pytest.MonkeyPatch, said: str, what: str
) -> None:
    """Anything else than yes or no goes back to the model; the end of the input is a no."""
    typed(monkeypatch, said)
    assert (await _decided("All is done.")).what == what
    typed(monkeypatch)
    assert (await _decided("All is done.")).what == "refuse"
