"""Kimi CLI and minutebook on one session in turns: only what docs/format.md names is lost."""

import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import minutebook
from minutebook.messages import Message, OtherPart, user
from minutebook.opening import open_session
from minutebook.repairing import verify
from minutebook.session import Session
from minutebook.store.collecting import Retention
from tests.cli.support import make_session, run_json
from tests.kimi.kimi import Kimi, is_read, kimi_words, words
from tests.playing import Clock, FileHome, Player
from tests.strategies import STORIES, Do

pytestmark = pytest.mark.kimi

FROM_KIMI = {"role": "user", "content": "from Kimi"}
STORY = settings(
    max_examples=100, report_multiple_bugs=False, phases=[Phase.explicit, Phase.generate]
)
"""Without shrinking: each example takes another process's time."""


class Playing(Player):
    """A player that only plays: what a session must be is another test's to say."""

    def check(self) -> None:
        """Compare nothing."""

    check_all = check


@pytest.fixture(scope="module")
def kimi() -> Iterator[Kimi]:
    """Start Kimi CLI's context once."""
    started = Kimi()
    yield started
    started.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder for a session."""
    with tempfile.TemporaryDirectory() as parent:
        yield Path(parent) / "s"


def opened(folder: Path) -> Any:
    """Open the session as we do."""
    return open_session(folder, durability="process", window=6_000, clock=Clock(), retention=None)


def without_unknown_parts(step: Do) -> Do:
    """Leave out messages with a part of a kind that Kimi CLI does not know: it fails on them."""
    if step.name != "append":
        return step
    said, usage = step.value
    said = [m for m in said if not any(isinstance(part, OtherPart) for part in m.parts)]
    return Do("append", value=(said, usage)) if said else Do("reopen")


async def play(folder: Path, story: list[Do]) -> None:
    """Play a story, in a session that is there even if nothing happens in it."""
    async with opened(folder) as session:
        await session.append(user("begin"))
    home = FileHome(folder)
    player = Playing(home)
    player.model.append([user("begin")])
    await player.play([without_unknown_parts(step) for step in story])


def read_by_kimi(history: Sequence[Message]) -> list[Message]:
    """Leave out what Kimi CLI cannot read."""
    return [message for message in history if is_read(message)]


def texts(history: Sequence[Message]) -> list[str]:
    """Give what messages say."""
    return [message.text for message in history]


def assert_same(kimi: Kimi, session: Session) -> None:
    """Kimi CLI's context and ours hold the same, but for what it cannot read."""
    context = session.context
    ours = [words(message) for message in read_by_kimi(context.history)]
    assert [kimi_words(message) for message in kimi.state["history"]] == ours
    assert kimi.state["system_prompt"] == context.system_prompt
    if context.checkpoints:
        assert kimi.state["checkpoints"] == context.checkpoints[-1].id + 1


def verdicts(session: Session) -> set[str]:
    """Give what the check sums say of the log."""
    return {span.verdict for span in verify(session.store)}


def rotation_files(folder: Path) -> list[str]:
    """List the files that are rotations by their names."""
    return sorted(path.name for path in folder.glob("context_*"))


async def goes_on(folder: Path) -> None:
    """Hold that all of ours still works on the session."""
    async with opened(folder) as session:
        before = session.context.history
        number = await session.checkpoint()
        await session.append(user("ours again"))
        await session.revert(number)
        assert session.context.history == before
        await session.append(user("ours again"))
        full = texts(session.history(full=True))
        assert full.count("ours again") == 2
    async with opened(folder) as session:
        assert texts(session.context.history) == [*texts(before), "ours again"]


@STORY
@given(story=STORIES)
def test_kimi_restores_what_we_wrote(kimi: Kimi, story: list[Do]) -> None:
    """After any operations of ours: the same messages, prompt and checkpoints."""

    async def run(folder: Path) -> None:
        await play(folder, story)
        kimi.open(folder)
        async with opened(folder) as session:
            assert_same(kimi, session)
            count = session.context.token_count
            assert count in {0, kimi.state["token_count"]} or kimi.state["token_count"] <= 0

    with tempfile.TemporaryDirectory() as parent:
        asyncio.run(run(Path(parent) / "s"))


@STORY
@given(story=STORIES)
def test_kimi_appends_and_we_read_on(kimi: Kimi, story: list[Do]) -> None:
    """Its messages, usage and checkpoints join ours; nothing is damaged, no number used twice."""

    async def run(folder: Path) -> None:
        await play(folder, story)
        async with opened(folder) as session:
            before, following = session.context.history, session.context.next
        kimi.open(folder)
        kimi.do("append", messages=[FROM_KIMI, {"role": "assistant", "content": "ok"}])
        kimi.do("usage", tokens=1_234)
        kimi.do("checkpoint", marker=True)
        async with opened(folder) as session:
            context = session.context
            assert context.history[: len(before)] == before
            assert texts(context.history[len(before) :])[:2] == ["from Kimi", "ok"]
            seqs = [message.seq for message in context.history[len(before) :]]
            assert seqs == [following.seq, following.seq + 1, following.seq + 2]
            assert (context.token_count, context.token_count_is_exact) == (1_234, True)
            assert session.problems == ()
            assert "damaged" not in verdicts(session)
            assert "changed" in verdicts(session)
            kimi.open(folder)
            assert_same(kimi, session)
        await goes_on(folder)

    with tempfile.TemporaryDirectory() as parent:
        asyncio.run(run(Path(parent) / "s"))


@STORY
@given(story=STORIES, which=st.integers(0, 9))
def test_kimi_reverts_and_only_what_is_named_is_lost(
    kimi: Kimi, story: list[Do], which: int
) -> None:
    """What it can read up to the checkpoint is there; all that was said is in full history."""

    async def run(folder: Path) -> None:
        await play(folder, [*story, Do("checkpoint", value=False), *story])
        async with opened(folder) as session:
            context = session.context
            marks = {mark.id: mark for mark in context.checkpoints}
            if not marks:
                return
            mark = marks[sorted(marks)[which % len(marks)]]
            kept = read_by_kimi(context.history[: mark.messages])
            everything = texts(session.history(full=True))
            written = {message.seq for message in context.history if message.pin}
        kimi.open(folder)
        kimi.do("revert", to=mark.id)
        kimi.do("append", messages=[FROM_KIMI])
        async with opened(folder) as session:
            context = session.context
            assert texts(context.history) == [*texts(kept), "from Kimi"]
            assert [message.seq for message in context.history[:-1]] == [m.seq for m in kept]
            assert context.pins <= written
            assert session.problems == ()
            assert "damaged" not in verdicts(session)
            kimi.open(folder)
            assert_same(kimi, session)
            # A shortened copy may stand beside its original, since no record says any more
            # that it is one; but nothing is gone.
            assert {*everything, "from Kimi"} <= set(texts(session.history(full=True)))
        await goes_on(folder)

    with tempfile.TemporaryDirectory() as parent:
        asyncio.run(run(Path(parent) / "s"))


async def test_kimi_clears_and_we_begin_anew(kimi: Kimi, folder: Path) -> None:
    """Its empty log is ours too; what was said before is in the full history."""
    async with opened(folder) as session:
        await session.set_system_prompt("Be brief.")
        await session.append(user("one"), user("two"))
        await session.checkpoint()
    kimi.open(folder)
    kimi.do("clear")
    kimi.do("prompt", text="Be long.")
    kimi.do("append", messages=[FROM_KIMI])
    async with opened(folder) as session:
        assert texts(session.context.history) == ["from Kimi"]
        assert session.context.system_prompt == "Be long."
        assert set(texts(session.history(full=True))) == {"one", "two", "from Kimi"}
    await goes_on(folder)


async def test_kimi_puts_a_prompt_before_our_log(kimi: Kimi, folder: Path) -> None:
    """The first span begins behind it, so no sum is wrong."""
    async with opened(folder) as session:
        await session.append(user("one"), user("two"))
        await session.checkpoint()
        await session.append(user("three"))
    kimi.open(folder)
    kimi.do("prompt", text="Be brief.")
    async with opened(folder) as session:
        assert session.context.system_prompt == "Be brief."
        assert texts(session.context.history) == ["one", "two", "three"]
        assert "damaged" not in verdicts(session)
        assert next(verify(session.store)).verdict == "good"


async def test_kimi_between_our_check_and_our_write_is_noticed(kimi: Kimi, folder: Path) -> None:
    """It takes no lock: what it wrote meanwhile stops our next write, and refresh reads on."""
    async with opened(folder) as session:
        await session.append(user("one"))
        kimi.open(folder)
        kimi.do("append", messages=[FROM_KIMI])
        with pytest.raises(minutebook.LogChanged):
            await session.append(user("two"))
        session.refresh()
        await session.append(user("two"))
        assert texts(session.context.history) == ["one", "from Kimi", "two"]
        assert_same_after(kimi, folder, session)


def assert_same_after(kimi: Kimi, folder: Path, session: Session) -> None:
    """Let Kimi CLI open the session again, and compare."""
    kimi.open(folder)
    assert_same(kimi, session)


async def test_a_compressed_rotation_is_none_to_kimi(kimi: Kimi, folder: Path) -> None:
    """It gives the number again: so folders of other agents are not compressed unless asked.

    Neither of the two is lost: the plain one counts, and is not compressed over the other.
    """
    async with opened(folder) as session:
        await session.append(user("one"))
        await session.checkpoint()
        await session.clear()
        await session.append(user("two"))
        await session.collect(Retention(keep_plain=0))
    kimi.open(folder)
    kimi.do("clear")
    names = rotation_files(folder)
    assert names == ["context_1.jsonl", "context_1.jsonl.zst"]
    async with opened(folder) as session:
        with pytest.raises(minutebook.StoreError, match="another rotation of this number"):
            await session.collect(Retention(keep_plain=0))
    assert rotation_files(folder) == names


def test_kimi_finds_what_compact_wrote_for_it(
    kimi: Kimi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the folder and the id of the command that is printed, though it never worked there."""
    share = folder.parent / "share"
    monkeypatch.setenv("KIMI_SHARE_DIR", str(share))
    make_session(folder, turns=30)
    given = run_json("compact", folder, "--as", "kimi", "--window", 4_000)["as"]

    found = kimi.do(
        "find", share=str(share), folder=str(Path.cwd()), id=Path(given["file"]).parent.name
    )

    written = [json.loads(line) for line in Path(given["file"]).read_bytes().splitlines()]
    messages = [line for line in written if not line["role"].startswith("_")]
    assert len(found["history"]) == len(messages) > 0
