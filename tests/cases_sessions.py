"""The cases of public faults played on a session: each event is what a user of it would call."""

import json
from typing import Any

from minutebook import rewrites
from minutebook.codec import decode_line
from minutebook.messages import Message, replace, user
from minutebook.operations import reading
from minutebook.records import Compaction
from minutebook.session import Session
from tests.cases import Case, Numbers, records_of


class Played:
    """A case on its session, with a checkpoint before each event."""

    def __init__(self, session: Session, case: Case) -> None:
        self.session = session
        self.numbers = Numbers()
        self.after: dict[str, int] = {}
        """The checkpoint that stands behind a message of the case, by its id."""
        self.before: dict[str, int] = {}
        self._events = [event for event in _events(case) if event["type"] != "session"]

    async def play(self) -> "Played":
        """Play all events, and set a last checkpoint."""
        last = None
        for event in self._events:
            mark = await self.session.checkpoint()
            if last is not None:
                self.after[last] = mark
            self.before[event.get("id", "")] = mark
            await getattr(self, "_" + event["type"])(event)
            last = event.get("id")
        self.after[last or ""] = await self.session.checkpoint()
        return self

    async def _message(self, event: dict[str, Any]) -> None:
        messages = [_message_of(record) for record in records_of(event, self.numbers)]
        await self.session.append(*messages)

    async def _revert(self, event: dict[str, Any]) -> None:
        await self.session.revert(self.after[event["to"]])

    async def _pin(self, event: dict[str, Any]) -> None:
        await self.session.pin(self.numbers.of_id[event["target"]])

    async def _todo(self, event: dict[str, Any]) -> None:
        """Stand for side state: a tag of the newest message."""
        last = self.session.context.history[-1].seq or 0
        await self.session.tag(last, *(item["status"] for item in event["items"]))

    async def _compaction(self, event: dict[str, Any]) -> None:
        """Put the case's own summary in the place of what it covers."""
        first, last = (self.numbers.of_id[one] for one in event["covers"])
        context = self.session.context
        kept = [m for m in context.history if not first <= (m.seq or 0) <= last]
        summary = replace(user(event["summary"]), origin="summary")
        self.numbers.next += 1
        await self.session._journal.rewrite(
            lambda: rewrites.compaction(
                context,
                [summary, *kept],
                record=Compaction(id=event["id"], span=(first, last)),
                fixed=0,
                read=reading(self.session.store),
                at=0.0,
            )
        )


def _events(case: Case) -> list[dict[str, Any]]:
    return [json.loads(line) for line in case.raw().splitlines() if line.strip()]


def _message_of(record: dict[str, Any]) -> Message:
    found = decode_line(json.dumps(record).encode())
    assert isinstance(found, Message)
    return found
