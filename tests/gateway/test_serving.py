import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")
pytest.importorskip("openai", reason="needs the extra openai")
pytest.importorskip("anthropic", reason="needs the extra anthropic")

# isort: split
import asyncio
import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import anthropic
import openai

import minutebook
from minutebook.gateway.app import Gateway
from minutebook.gateway.serving import bound, make_server
from minutebook.gateway.settings import make_settings
from minutebook.testing.scripted import Answer, Call
from minutebook.testing.server import ProviderServer
from tests.gateway.support import Running, running, user

CALLS = 60
WINDOW = 16_000
OUTPUT = "line of the output with some words\n" * 120
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
CHAT_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}
]
TOOLS: list[Any] = [{"name": "read", "input_schema": PARAMETERS}]


def task() -> Any:
    """Give a step that calls a tool until it has done so often enough."""
    count = 0

    def step(_body: Any) -> Answer:
        nonlocal count
        count += 1
        call = Call(name="read", arguments=json.dumps({"path": f"src/file_{count}.py"}))
        return Answer(text="done") if count == CALLS else Answer(text="next", calls=(call,))

    return step


async def drive_openai(gateway: Running) -> str:
    """Run the task with OpenAI's SDK, streaming."""
    messages: list[Any] = [{"role": "system", "content": "You are an agent."}, user("Do it.")]
    async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="k") as client:
        while True:
            async with client.chat.completions.stream(
                model="m", messages=messages, tools=CHAT_TOOLS, max_completion_tokens=500
            ) as stream:
                reply = (await stream.get_final_completion()).choices[0].message
            messages.append(
                reply.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
            )
            if not reply.tool_calls:
                return reply.content or ""
            for call in messages[-1]["tool_calls"]:
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
                result = {"role": "tool", "tool_call_id": call["id"], "content": OUTPUT}
                messages.append(result)


async def drive_anthropic(gateway: Running) -> str:
    """Run the task with Anthropic's SDK, streaming."""
    messages: list[Any] = [user("Do it.")]
    async with anthropic.AsyncAnthropic(base_url=gateway.url, api_key="k") as client:
        while True:
            async with client.messages.stream(
                model="m", messages=messages, tools=TOOLS, max_tokens=500, system="Be an agent."
            ) as stream:
                reply = await stream.get_final_message()
            content = [block.model_dump(exclude_none=True) for block in reply.content]
            for block in content:
                block.pop("parsed_output", None)
            messages.append({"role": "assistant", "content": content})
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": OUTPUT}
                for block in content
                if block["type"] == "tool_use"
            ]
            if not results:
                return str(content[0]["text"])
            messages.append({"role": "user", "content": results})


@pytest.mark.parametrize("drive", [drive_openai, drive_anthropic])
async def test_a_task_of_sixty_calls_is_done_in_a_small_window(tmp_path: Path, drive: Any) -> None:
    """No request is refused, by size or by rule; the log is what the client saw."""
    with ProviderServer(always=task(), window_tokens=WINDOW) as upstream:
        async with running(tmp_path, upstream, window=WINDOW) as gateway:
            assert await drive(gateway) == "done"

            (held,) = gateway.gateway.book.held.values()
            full = held.open_session.history(full=True)
            told = [one for one in full if one.origin in {"user", "assistant", "tool"}]
            assert len(told) == 2 * CALLS
            assert not gateway.gateway.doubts
        assert {one.status for one in upstream.received} == {200}
        assert len(upstream.received) == CALLS


async def test_the_sdks_that_do_not_wait_and_those_that_block(tmp_path: Path) -> None:
    """Whole replies and counting, in a thread of their own; each key its own session."""
    with ProviderServer(always="fine") as upstream:
        async with running(tmp_path, upstream) as gateway:

            def ask() -> tuple[str | None, Any, int]:
                with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="a") as client:
                    chat = client.chat.completions.create(model="m", messages=[user("hi")])  # type: ignore[list-item]
                with anthropic.Anthropic(base_url=gateway.url, api_key="b") as other:
                    told = other.messages.create(
                        model="m",
                        max_tokens=9,
                        messages=[user("hi")],  # type: ignore[list-item]
                    )
                    size = other.messages.count_tokens(model="m", messages=[user("hi")])  # type: ignore[list-item]
                return chat.choices[0].message.content, told.content[0], size.input_tokens

            text, block, tokens = await asyncio.to_thread(ask)

            assert (text, block.text, tokens > 0) == ("fine", "fine", True)
            assert list(gateway.texts().values()) == [["hi", "fine"]] * 2
        upstream.check()


async def test_a_stop_lets_streams_end_first(tmp_path: Path) -> None:
    """A request that is under way gets its answer, and its log has it."""
    hold = threading.Event()
    with ProviderServer([Answer(text="late", hold=hold)]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            asking = asyncio.ensure_future(gateway.chat(user("hi")))
            await asyncio.to_thread(upstream.wait, 1)
            gateway.stop()
            hold.set()

            assert (await asking)["content"] == "late"


async def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    """The next process goes on with the same session, and has every exchange."""
    port = free_port()
    words = ["--listen", f"127.0.0.1:{port}", "--root", str(tmp_path / "root")]
    messages: list[Any] = []
    with ProviderServer(always="fine") as upstream:
        told = ["serve", "--upstream", f"openai={upstream.openai_url}", *words]
        for turn in range(2):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "minutebook", *told, stderr=asyncio.subprocess.PIPE
            )
            try:
                assert process.stderr is not None
                assert b"serving on" in await process.stderr.readline()
                async with openai.AsyncOpenAI(
                    base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0
                ) as client:
                    messages.append(user(f"turn {turn}"))
                    reply = await client.chat.completions.create(model="m", messages=messages)
                    messages.append({"role": "assistant", "content": "fine"})
            finally:
                process.kill()
                await process.wait()

            assert reply.choices[0].message.content == "fine"
    (folder,) = [one for one in sorted((tmp_path / "root").iterdir()) if one.is_dir()]
    async with minutebook.open(folder, mode="r") as session:
        assert [one.text for one in session.history()] == ["turn 0", "fine", "turn 1", "fine"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_streams_are_sent_without_delay() -> None:
    """The socket names its protocol; without it the event loop leaves the delay on."""
    with bound(make_settings({"upstream": {"openai": "http://x"}, "listen": "[::1]:0"})) as made:
        assert (made.proto, made.family) == (socket.IPPROTO_TCP, socket.AF_INET6)


def test_an_address_that_is_taken_is_an_error(tmp_path: Path) -> None:
    """Nothing is left open."""
    settings = make_settings({"upstream": {"openai": "http://x"}, "listen": "127.0.0.1:0"})
    with bound(settings) as listening:
        listening.listen()
        port = listening.getsockname()[1]
        taken = make_settings({"upstream": {"openai": "http://x"}, "listen": f"127.0.0.1:{port}"})
        with pytest.raises(OSError, match="in use"):
            bound(taken)


async def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    settings = make_settings({"upstream": {"openai": "http://x"}, "root": str(tmp_path)})
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "aiohttp", None)

    with pytest.raises(minutebook.ConfigError, match=r"minutebook\[gateway\]"):
        make_server(Gateway(settings))
    with pytest.raises(minutebook.ConfigError, match=r"minutebook\[gateway\]"):
        await Gateway(settings).start()


def test_the_server_says_nothing_of_itself(tmp_path: Path) -> None:
    """No access log of its own, no name, no trust in headers of proxies."""
    root = str(tmp_path / "root")
    config = make_server(
        Gateway(make_settings({"upstream": {"openai": "http://x"}, "root": root}))
    ).config

    assert (config.access_log, config.server_header, config.proxy_headers) == (False,) * 3
    assert not Path(root).exists()
