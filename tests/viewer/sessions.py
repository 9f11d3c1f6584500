"""Sessions to look at: one that has been compacted, reverted and pinned, and a very long one."""

from pathlib import Path

import minutebook
from minutebook.codec import encode_line
from minutebook.messages import Message
from tests.cli.support import make_session


def make_lived(folder: Path) -> Path:
    """Make a session with two retired logs: a compaction, then a revert of what came after."""
    make_session(folder, turns=14)
    with minutebook.open_sync(folder, retention=None, durability="process") as session:
        session.append(minutebook.user("and now?"), usage=3_300)
        session.pin(3)
        session.compact("the parts")
        session.checkpoint("after it")
        session.append(minutebook.user("go on"), minutebook.assistant("yes"), usage=900)
        session.checkpoint()
        session.append(minutebook.user("wrong way"))
        session.revert(session.context.checkpoints[-1].id, note="no")
        session.append(minutebook.assistant("well", tool_calls=[minutebook.call("q1", "run")]))
    return folder


def write_log(folder: Path, *messages: Message) -> Path:
    """Write messages as a log, a line each, as quickly as it goes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "context.jsonl").write_bytes(b"".join(map(encode_line, messages)))
    return folder
