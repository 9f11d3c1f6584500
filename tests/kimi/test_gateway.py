"""Kimi CLI, told another base URL, does a task through the gateway in a window too small for it."""

import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")

# isort: split
import asyncio
import json
from pathlib import Path
from typing import Any

from minutebook.testing.scripted import Answer, Call
from minutebook.testing.server import ProviderServer
from tests.gateway.support import running
from tests.kimi.kimi import PYTHON

pytestmark = pytest.mark.kimi

FILES = 60
CALLS = FILES + 2
WINDOW = 16_000
SECONDS_MAX = 30
START = """
import sys, typing

def made(self, *args, **kwargs):
    result = self.__origin__(*args, **kwargs)
    try:
        result.__orig_class__ = self
    except Exception:
        pass
    return result

if sys.version_info < (3, 12, 4):
    typing._BaseGenericAlias.__call__ = made
from kimi_cli.cli import cli
cli()
"""
"""Starts the program itself: in its last release the command `kimi` only says that it is retired.

Early releases of Python 3.12 cannot make a frozen generic dataclass with slots, which it does.
"""
PAGE = "a line of the page with some words in it\n" * 60
AGENT = {
    "version": 1,
    "agent": {
        "extend": "default",
        "tools": ["kimi_cli.tools.file:ReadFile", "kimi_cli.tools.file:WriteFile"],
        "subagents": {},
    },
}


def reading() -> Any:
    """Give a step that has every page read, then the result written, then ends."""
    count = 0

    def step(_body: Any) -> Answer:
        nonlocal count
        count += 1
        if count <= FILES:
            arguments = {"path": f"page_{count}.txt"}
            return Answer(text="next", calls=(Call(name="ReadFile", arguments=told(arguments)),))
        if count < CALLS:
            arguments = {"path": "result.txt", "content": "all read"}
            return Answer(text="last", calls=(Call(name="WriteFile", arguments=told(arguments)),))
        return Answer(text="done")

    return step


def told(arguments: dict[str, str]) -> str:
    return json.dumps(arguments)


def config(url: str) -> dict[str, Any]:
    """Give Kimi CLI's settings: a window in which it never compacts by itself."""
    return {
        "default_model": "scripted",
        "telemetry": False,
        "models": {
            "scripted": {"provider": "here", "model": "scripted", "max_context_size": 1_000_000}
        },
        "providers": {
            "here": {
                "type": "openai_legacy",
                "base_url": f"{url}/v1",
                "api_key": "key-of-the-client",
            }
        },
    }


async def kimi(folder: Path, url: str, *words: str) -> str:
    """Run Kimi CLI in the folder's `work`; give what it printed."""
    (folder / "agent.yaml").write_text(json.dumps(AGENT))
    (folder / "config.json").write_text(json.dumps(config(url)))
    process = await asyncio.create_subprocess_exec(
        *(PYTHON, "-c", START, "--print", "--yolo", "--final-message-only"),
        *("--config-file", "../config.json", "--agent-file", "../agent.yaml", *words),
        cwd=folder / "work",
        env={
            "HOME": str(folder),
            "KIMI_SHARE_DIR": str(folder / "share"),
            "KIMI_CLI_NO_AUTO_UPDATE": "1",
            "KIMI_DISABLE_TELEMETRY": "1",
            "PATH": "/usr/bin:/bin",
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), SECONDS_MAX)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


async def test_a_task_of_sixty_calls_is_done_in_a_small_window(tmp_path: Path) -> None:
    """No request is refused, the file is written, and the log has every call and result."""
    if not PYTHON:
        pytest.skip("no Kimi CLI here; `make test-kimi` installs it and runs these")
    (tmp_path / "work").mkdir()
    for number in range(1, FILES + 1):
        (tmp_path / "work" / f"page_{number}.txt").write_text(f"page {number}\n{PAGE}")
    with ProviderServer(always=reading(), window_tokens=WINDOW) as upstream:
        async with running(tmp_path / "root", upstream, window=WINDOW) as gateway:
            printed = await kimi(tmp_path, gateway.url, "--prompt", "Read all pages.")

            (held,) = gateway.gateway.book.held.values()
            full = held.open_session.history(full=True)
            results = [one for one in full if one.role == "tool" and one.origin == "tool"]
            assert len(results) == FILES + 1
            assert held.compacted
            assert not gateway.gateway.doubts
        assert {one.status for one in upstream.received} == {200}
        assert len(upstream.received) == CALLS
    assert "done" in printed
    assert (tmp_path / "work" / "result.txt").read_text() == "all read"
