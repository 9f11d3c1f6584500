"""What is typed after a slash."""

from pathlib import Path

from minutebook.chat import commands
from minutebook.messages import assistant, user
from minutebook.testing.server import ProviderServer
from tests.chat.desk import User, chatting


async def test_every_command_does_what_it_says(tmp_path: Path) -> None:
    """On a real session; what goes wrong is said, and the chat goes on."""
    desk = User()
    with ProviderServer() as server:
        async with chatting(tmp_path, server, desk, window=6_000) as chat:

            async def does(line: str) -> str:
                desk.seen.clear()
                assert await commands.run(chat, line)
                return "\n".join(desk.seen)

            assert "nothing to pin" in await does("/pin")
            await chat.session.checkpoint("begin")
            for number in range(12):
                await chat.session.append(user(f"q{number} " * 50), assistant(f"a{number} " * 60))
            assert "message" in await does("/pin")
            assert "message 1 is pinned" in await does("/pin 1")
            assert "takes a number" in await does("/pin x")
            assert "tokens]" in await does("/context")
            assert "compacted:" in await does("/compact the build")
            assert "tokens]" in await does("/undo")
            assert "before message 1" in await does("/checkpoints")
            assert "no checkpoint" in (await does("/revert 99")).lower()
            assert "back at checkpoint 0" in await does("/revert 0")
            await does("/undo")
            out = tmp_path / "out.md"
            assert "written to" in await does(f"/export {out}")
            assert "q11" in out.read_text()
            assert "already" in await does(f"/export {out}")
            assert "cleared" in await does("/clear")
            assert "there is no /fly" in await does("/fly")
            told = await does("/help")
            assert all(name.split()[0] in told for name in commands.HELP)
            assert not await commands.run(chat, "/quit")


def test_every_command_is_in_the_help() -> None:
    """And the other way round."""
    named = {name.split()[0] for name in commands.HELP}
    assert named == {*commands.COMMANDS, "/quit"}
