"""What the model may do in the folder, and what it may not."""

import asyncio
from pathlib import Path

import pytest

from minutebook.chat.tools import OUTPUT_CHARACTERS_MAX, Tools
from minutebook.messages import call
from minutebook.opening import open_session
from tests.chat.desk import User


async def done(
    tmp_path: Path, name: str, arguments: str, user: User | None = None
) -> tuple[str, bool]:
    """Do one call in a folder with a file in it."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text("hello")
    user = user or User()
    async with open_session(tmp_path / "s", durability="process") as session:
        tools = Tools(session, folder, allowed=frozenset(), ask=user.ask, decide=user.decide)
        result = await tools.run(call("c", name, arguments))
    return result.text, result.failed


@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/passwd", "link/passwd", "a/../../x"],
    ids=["up", "root", "link", "mixed"],
)
@pytest.mark.parametrize("name", ["read", "write"])
async def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str, name: str) -> None:
    """The user is not even asked."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to("/etc")
    user = User()
    text, failed = await done(tmp_path, name, f'{{"path": "{path}", "content": "x"}}', user)
    assert failed
    assert "not in the folder" in text
    assert user.asked == []


async def test_what_is_not_allowed_is_not_done(tmp_path: Path) -> None:
    """And the model is told."""
    text, failed = await done(tmp_path, "run", '{"command": "touch made"}', User(agrees=False))
    assert (text, failed) == ("The user did not allow it.", True)
    assert not (tmp_path / "work" / "made").exists()


async def test_what_goes_wrong_is_told_to_the_model(tmp_path: Path) -> None:
    """Missing files, broken arguments, tools that there are not."""
    assert "No such file" in (await done(tmp_path, "read", '{"path": "none"}'))[0]
    assert (await done(tmp_path, "read", "{"))[1]
    assert (await done(tmp_path, "fly", "{}")) == ("There is no tool fly.", True)
    assert (await done(tmp_path, "run", '{"command": "true"}')) == ("no output", False)


async def test_long_output_keeps_its_ends(tmp_path: Path) -> None:
    """And says how much is left out."""
    text, _ = await done(tmp_path, "run", '{"command": "seq 1 100000"}')
    assert len(text) < OUTPUT_CHARACTERS_MAX + 100
    assert text.startswith("1\n2\n")
    assert text.rstrip().endswith("100000")
    assert "characters left out" in text


def alive(group: int) -> bool:
    """Tell whether anything of a process group runs; what is dead and not yet reaped does not."""
    for folder in Path("/proc").iterdir():
        try:
            told = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if folder.name.isdigit() and int(told[2]) == group and told[0] not in {"Z", "X"}:
            return True
    return False


async def test_an_interrupted_command_is_ended_with_what_it_started(tmp_path: Path) -> None:
    """Nothing of it runs on."""
    command = '{"command": "echo $$ > pid; sleep 600 & wait"}'
    running = asyncio.ensure_future(done(tmp_path, "run", command))
    pid = tmp_path / "work" / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        await asyncio.sleep(0)
        assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(int(pid.read_text()))
