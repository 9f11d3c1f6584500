"""Shell commands as hooks: what they are told, what they may say, and that they always end."""

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from minutebook.errors import CompactionVetoed, ConfigError
from minutebook.events import Event, HookRan
from minutebook.hooks import (
    INSTRUCTIONS_CHARACTERS_MAX,
    OUTPUT_BYTES_MAX,
    REASON_CHARACTERS_MAX,
    Command,
    Hooks,
    PostCompact,
    PreCompact,
)

TRIGGERS = ("trigger", "manual", "overflow")
Limits = asyncio.Queue[asyncio.Timeout]
Start = Callable[..., Awaitable[asyncio.subprocess.Process]]


def details(trigger: str = "trigger", focus: str = "") -> PreCompact:
    """Give what hooks are told before a compaction."""
    return PreCompact(session="s1", trigger=trigger, focus=focus, tokens_before=9_000)


def done(outcome: Literal["applied", "skipped", "failed"] = "applied") -> PostCompact:
    """Give what hooks are told after one."""
    return PostCompact(
        session="s1",
        trigger="trigger",
        focus="",
        tokens_before=9_000,
        tokens_after=4_000,
        outcome=outcome,
    )


def hooks(*commands: str, **fields: Any) -> Hooks:
    """Make hooks of commands."""
    return Hooks(commands=tuple(Command(command=command, **fields) for command in commands))


def outcomes(seen: list[Event]) -> list[tuple[str, str]]:
    """Give how each hook ended, and why."""
    return [(event.outcome, event.reason) for event in seen if isinstance(event, HookRan)]


def fifo(path: Path) -> str:
    """Make a named pipe: who opens it waits until somebody opens its other end."""
    os.mkfifo(path)
    return shlex.quote(str(path))


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """Give every limit of time once it runs, so that a test can let it pass."""
    running: Limits = asyncio.Queue()
    real = asyncio.timeout

    @asynccontextmanager
    async def timeout(seconds: float | None) -> AsyncIterator[asyncio.Timeout]:
        async with real(seconds) as limit:
            running.put_nowait(limit)
            yield limit

    monkeypatch.setattr(asyncio, "timeout", timeout)
    return running


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """Note every process that is started."""
    noted: list[asyncio.subprocess.Process] = []
    real: Start = asyncio.create_subprocess_shell

    async def start(command: str, **options: Any) -> asyncio.subprocess.Process:
        process = await real(command, **options)
        noted.append(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_shell", start)
    return noted


async def test_a_command_gets_the_details_as_json_on_its_standard_input(tmp_path: Path) -> None:
    """All of them, with the event's name; whatever the text, it is one JSON object."""
    place = tmp_path / "told"
    command = f"cat > {shlex.quote(str(place))}"

    await hooks(command).ask(details(focus="名字 \ud800 \n"))
    before = json.loads(place.read_bytes())
    await hooks(command, event="PostCompact").tell(done())
    after = json.loads(place.read_bytes())

    assert before == {
        "event": "PreCompact",
        "session": "s1",
        "trigger": "trigger",
        "focus": "名字 \ud800 \n",
        "tokens_before": 9_000,
    }
    assert after["event"] == "PostCompact"
    assert (after["tokens_after"], after["outcome"]) == (4_000, "applied")


@pytest.mark.parametrize("word", ["deny", "block"])
async def test_a_decision_blocks(word: str) -> None:
    """Its reason is told, with the command as the hook's name."""
    answer = json.dumps({"decision": word, "reason": "the tests are running"})
    command = f"echo {shlex.quote(answer)}"

    with pytest.raises(CompactionVetoed) as caught:
        await hooks(command).ask(details())

    assert (caught.value.reason, caught.value.hook) == ("the tests are running", command)


async def test_exit_code_2_blocks() -> None:
    """Standard error is the reason; without one the error says so."""
    with pytest.raises(CompactionVetoed, match="not while tests run"):
        await hooks("echo 'not while tests run' >&2; echo '{}'; exit 2").ask(details())
    with pytest.raises(CompactionVetoed, match="no reason was given"):
        await hooks("exit 2").ask(details())


async def test_a_denial_without_a_reason_is_one_too() -> None:
    """The word alone is enough."""
    with pytest.raises(CompactionVetoed, match="no reason was given"):
        await hooks("""echo '{"decision": "deny"}'""").ask(details())


async def test_the_output_may_add_instructions() -> None:
    """As JSON with that key, and in no other way."""
    said = await hooks(
        """echo '{"instructions": "Keep the ports."}'""",
        """echo '{"decision": "allow", "instructions": " Keep the names. "}'""",
        """echo '{"instructions": 7}'""",
    ).ask(details())

    assert said == "Keep the ports.\n\nKeep the names."


@pytest.mark.parametrize(
    "command",
    ["true", "echo 3 files saved", "echo '[1, 2]'", "echo '{\"decision\"'", "printf '\\377'"],
)
async def test_other_output_is_no_instruction(command: str) -> None:
    """What a command tells about its work is dropped, and it has agreed."""
    seen: list[Event] = []

    assert await hooks(command).ask(details(), [seen.append]) == ""
    assert outcomes(seen) == [("agreed", "")]


async def test_another_exit_code_says_nothing() -> None:
    """A command that fails stops nobody; the events say what it said."""
    seen: list[Event] = []
    command = """echo '{"decision": "deny"}'; echo 'no such table' >&2; exit 1"""

    assert await hooks(command).ask(details(), [seen.append]) == ""
    assert outcomes(seen) == [("failed", "exit code 1: no such table")]


async def test_a_command_that_cannot_be_started_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No process left, no room for its input: the compaction goes on."""

    async def start(_command: str, **_options: Any) -> asyncio.subprocess.Process:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_shell", start)
    seen: list[Event] = []

    assert await hooks("true").ask(details(), [seen.append]) == ""
    ((outcome, reason),) = outcomes(seen)
    assert outcome == "failed"
    assert "could not be started" in reason


@pytest.mark.parametrize(
    ("matcher", "asked"),
    [("", True), ("trigger", True), ("trig.*|manual", True), ("trig", False), ("manual", False)],
)
async def test_a_matcher_chooses_by_trigger(tmp_path: Path, matcher: str, asked: bool) -> None:
    """The whole trigger has to match it; without one every trigger does."""
    place = tmp_path / "asked"

    await hooks(f"touch {shlex.quote(str(place))}", matcher=matcher).ask(details())

    assert place.exists() == asked


async def test_a_command_is_for_one_event(tmp_path: Path) -> None:
    """One for before is not told after, and the other way round."""
    place = tmp_path / "asked"
    command = f"touch {shlex.quote(str(place))}"

    await hooks(command).tell(done())
    await hooks(command, event="PostCompact").ask(details())

    assert not place.exists()


async def test_equal_commands_run_once(tmp_path: Path) -> None:
    """However often they are configured, for the same trigger."""
    place = tmp_path / "count"
    command = f"echo once >> {shlex.quote(str(place))}"
    twice = (
        Command(command=command),
        Command(command=command, matcher="trigger", timeout_seconds=5),
        Command(command=command, event="PostCompact"),
    )

    await Hooks(commands=twice).ask(details())

    assert place.read_text() == "once\n"


async def test_commands_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for the other, so neither would end if they ran one after the other."""
    there, back = fifo(tmp_path / "there"), fifo(tmp_path / "back")
    seen: list[Event] = []

    await hooks(f"echo a > {there} && read x < {back}", f"read x < {there} && echo b > {back}").ask(
        details(), [seen.append]
    )

    assert outcomes(seen) == [("agreed", ""), ("agreed", "")]


async def test_a_command_that_hangs_is_ended_with_what_it_has_started(
    tmp_path: Path, limits: Limits
) -> None:
    """Nobody holds the pipe open any more once its time has passed."""
    pipe = fifo(tmp_path / "pipe")
    seen: list[Event] = []
    hanging = hooks(f"exec 8> {pipe}; sleep 600 & (sleep 600; true) & echo ready >&8; sleep 600")

    asking = asyncio.create_task(hanging.ask(details(), [seen.append]))
    with await asyncio.to_thread(open, tmp_path / "pipe") as reading:
        assert await asyncio.to_thread(reading.readline) == "ready\n"
        (await limits.get()).reschedule(0)
        assert await asking == ""
        assert await asyncio.to_thread(reading.read) == ""

    assert outcomes(seen) == [("timeout", "ended after 30 seconds")]


async def test_cancelling_ends_a_command_and_what_it_has_started(tmp_path: Path) -> None:
    """Nobody holds the pipe open any more once the caller has its cancel."""
    pipe = fifo(tmp_path / "pipe")
    asking = asyncio.create_task(
        hooks(f"exec 8> {pipe}; sleep 600 & echo ready >&8; wait").ask(details())
    )
    with await asyncio.to_thread(open, tmp_path / "pipe") as reading:
        assert await asyncio.to_thread(reading.readline) == "ready\n"
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(reading.read) == ""


@pytest.mark.parametrize("steps", range(8))
async def test_a_cancel_at_any_time_leaves_no_process(
    steps: int, started: list[asyncio.subprocess.Process]
) -> None:
    """Also while a command is being started: whatever was started has ended."""
    asking = asyncio.create_task(hooks("sleep 600", "sleep 601").ask(details()))
    for _ in range(steps):
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.sleep(0)
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [process.returncode is not None for process in started] == [True] * len(started)


async def test_what_cannot_be_ended_is_not_waited_for(
    tmp_path: Path,
    limits: Limits,
    started: list[asyncio.subprocess.Process],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that runs as another user may outlive its time; the compaction goes on."""

    def refused(_group: int, _signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", refused)
    pipe = fifo(tmp_path / "pipe")
    asking = asyncio.create_task(hooks(f"read x < {pipe}").ask(details()))
    (await limits.get()).reschedule(0)

    assert await asking == ""
    assert [process.returncode for process in started] == [None]

    await asyncio.to_thread((tmp_path / "pipe").write_text, "go\n")
    assert await started[0].wait() == 0


async def test_a_command_may_leave_something_running(tmp_path: Path) -> None:
    """Its answer counts when it has ended; who holds its output still is not waited for."""
    pipe = fifo(tmp_path / "pipe")
    command = f"""cat {pipe} & echo '{{"instructions": "Keep it."}}'"""

    assert await hooks(command).ask(details()) == "Keep it."

    # Opening waits for the one that still reads; closing lets it end.
    await asyncio.to_thread(Path(tmp_path / "pipe").write_text, "")


async def test_output_is_read_to_its_end_and_kept_to_a_bound() -> None:
    """A command that writes 10 MB is not held up, and its words are cut."""
    seen: list[Event] = []
    much = "head -c 10000000 /dev/zero | tr '\\0' x"

    assert await hooks(much).ask(details(), [seen.append]) == ""
    assert outcomes(seen) == [("agreed", "")]
    with pytest.raises(CompactionVetoed) as caught:
        await hooks(f"{much} >&2; exit 2").ask(details())
    assert caught.value.reason == "x" * REASON_CHARACTERS_MAX


async def test_an_answer_that_is_too_long_is_told_of() -> None:
    """It may have been a denial; that nobody read it must not go unseen."""
    seen: list[Event] = []

    await hooks(f"printf '{{'; head -c {OUTPUT_BYTES_MAX} /dev/zero").ask(details(), [seen.append])

    ((outcome, reason),) = outcomes(seen)
    assert outcome == "failed"
    assert str(OUTPUT_BYTES_MAX) in reason


@pytest.mark.parametrize(
    ("fields", "setting"),
    [
        ({"command": " "}, "command"),
        ({"command": "true", "matcher": "("}, "matcher"),
        ({"command": "true", "timeout_seconds": 0}, "timeout_seconds"),
        ({"command": "true", "timeout_seconds": float("nan")}, "timeout_seconds"),
        ({"command": "true", "timeout_seconds": float("inf")}, "timeout_seconds"),
    ],
)
def test_a_command_that_could_not_run_is_refused(fields: dict[str, Any], setting: str) -> None:
    """When it is made, not when it is needed."""
    with pytest.raises(ConfigError) as caught:
        Command(**fields)

    assert caught.value.setting == setting


BLOCKS = "echo 'not now' >&2; exit 2"
DENIES = """cat > /dev/null; echo '{"decision": "deny", "reason": "not now"}'"""
FLOODS = "head -c 10000000 /dev/zero"
READS = "cat > /dev/null"


@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_c112_hooks_that_block_hang_or_flood(
    trigger: str, tmp_path: Path, limits: Limits
) -> None:
    """C112: a veto is obeyed with its reason; nothing else stops or delays a compaction."""
    for command in (BLOCKS, DENIES):
        for _again in range(2):
            with pytest.raises(CompactionVetoed) as caught:
                await hooks(command).ask(details(trigger))
            assert (caught.value.hook, caught.value.reason) == (command, "not now")
    for command in (FLOODS, READS):
        seen: list[Event] = []
        assert await hooks(command).ask(details(trigger), [seen.append]) == ""
        assert outcomes(seen) == [("agreed", "")]
    while not limits.empty():
        limits.get_nowait()
    hangs = f"echo ready > {fifo(tmp_path / 'pipe')}; sleep 600"
    asking = asyncio.create_task(hooks(hangs).ask(details(trigger)))
    assert await asyncio.to_thread((tmp_path / "pipe").read_text) == "ready\n"
    (await limits.get()).reschedule(0)
    assert await asking == ""


@pytest.mark.parametrize("outcome", ["applied", "skipped", "failed"])
async def test_c112_the_hook_after_is_told_once_what_became_of_it(
    outcome: Literal["applied", "skipped", "failed"], tmp_path: Path
) -> None:
    """C112: with that very word; and what it says or does changes nothing."""
    place = shlex.quote(str(tmp_path / "told"))
    told: list[PostCompact] = []
    after = hooks(f"cat >> {place}; exit 2", event="PostCompact")

    await Hooks(after=(told.append,), commands=after.commands).tell(done(outcome))

    assert [one.outcome for one in told] == [outcome]
    assert json.loads((tmp_path / "told").read_bytes())["outcome"] == outcome


async def test_c112_what_a_hook_writes_is_bounded() -> None:
    """C112: instructions are cut, and no output comes back but these."""
    answer = json.dumps({"instructions": "x" * 40_000, "message": "do as I say"})

    said = await hooks(f"echo '{answer}'").ask(details())

    assert said == "x" * INSTRUCTIONS_CHARACTERS_MAX
