"""The logs of public faults, listed, verified, repaired and made small: all agree on them."""

from pathlib import Path

import pytest

from minutebook.opening import open_session
from minutebook.repairing import examine, repair, verify
from minutebook.repairs import NO_RESULT
from minutebook.store.collecting import Retention
from minutebook.store.files import FileStore
from minutebook.store.listing import list_sessions
from tests.cases import case

MESSAGES = {"C061": 4, "C063": 6, "C067": 4}
"""How many messages the cases say that there are."""
LOGS = [
    ("C061", "log.jsonl"),
    ("C061", "log_blank_after_torn.jsonl"),
    ("C063", "log_mid.jsonl"),
    ("C063", "log_glued.jsonl"),
    ("C063", "log_tail.jsonl"),
    ("C065", "log.jsonl"),
    ("C067", "log.jsonl"),
    ("C073", "log.jsonl"),
    ("C075", "log.jsonl"),
    ("C084", "log.jsonl"),
    ("C086", "log.jsonl"),
    ("C088", "log.jsonl"),
    ("C090", "log.jsonl"),
]


@pytest.mark.parametrize(("name", "file"), LOGS)
async def test_list_context_and_repair_agree_on_the_log_of_a_case(
    tmp_path: Path, name: str, file: str
) -> None:
    """As many messages before a repair and after it, no byte lost, and then nothing is damaged."""
    log = case(name).log(file)
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    (folder / "context.jsonl").write_bytes(log)
    async with open_session(folder, mode="r") as session:
        texts = [message.text for message in session.context.history]
        kinds = {problem.kind for problem in session.problems}
    assert len(texts) == MESSAGES.get(name, len(texts))
    (listed,) = list_sessions(str(tmp_path), cached=False)
    assert (listed.messages, listed.problem) == (len(texts), "")
    assert (folder / "context.jsonl").read_bytes() == log

    store = await FileStore.open(folder)
    settled = len(examine(store).settled)
    done = await repair(store, clock=lambda: 1.0)
    assert (kinds - {"mended"} != set() or settled > 0) == (done.rotation is not None)
    if done.rotation is not None:
        kept = b"".join(store.pieces(done.rotation.number)).rstrip(b"\n")
        bad = folder / "context.bad.jsonl"
        torn = log[len(kept) :].strip(b"\n")
        assert log.startswith(kept)
        assert torn in (bad.read_bytes() if bad.exists() else b"")
    assert (await repair(store, clock=lambda: 1.0)).actions == ()
    assert "damaged" not in {span.verdict for span in verify(store)}
    store.collect(frozenset(), Retention(keep_plain=0), now=0, seconds=60)
    await store.close()

    async with open_session(folder, mode="r") as session:
        after = [message.text for message in session.context.history]
        assert [text for text in after if text != NO_RESULT] == texts
        assert after.count(NO_RESULT) == settled
    (listed,) = list_sessions(str(tmp_path), cached=False)
    assert listed.messages == len(after)
