"""`condense`: the model proposes a summary, and the user decides.

Accepted, the approved text is the summary; refused, nothing happens; answered with feedback,
the feedback goes back to the model as the tool's result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from minutebook.errors import MinutebookError
from minutebook.tools.offer import BadArguments, Offer, read_arguments, text_argument

OFFER = Offer(
    name="condense",
    description=(
        "Propose a summary of the conversation so far, to make room. Put into the message "
        "everything that is needed to go on: the task in the user's words, what was done and "
        "found, files and names, errors, and what is left to do. The user decides whether it "
        "replaces the older part of the conversation."
    ),
    parameters={
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The summary that you propose."}
        },
        "required": ["message"],
        "additionalProperties": False,
    },
)

ACCEPTED = (
    "The user has accepted the summary. It replaces the older part of the conversation once "
    "this step is over; where that part is still there, it could not be used."
)
"""The tool's answer. It stays with the call that it answers, before or after the summary."""
REFUSED = "The user does not want the conversation summarised now; go on with the work."
ANOTHER = "A summary has been accepted already in this step; this one was not looked at."


class Decision(Struct, frozen=True, kw_only=True):
    """What the user said to a proposed summary."""

    what: Literal["accept", "refuse", "feedback"]
    text: str = ""
    """The feedback; or, with `accept`, the text as the user has changed it."""


Decide = Callable[[str], Awaitable[Decision]]
"""Shows the user a proposed summary and gives what the user said."""
Commit = Callable[[str], Awaitable[object]]
"""Makes a text the summary, after verification; raises one of our errors if it may not be."""


class Condense:
    """The handler of `condense` for one session.

    The summary is put in place only once the tool's result is written: call `apply` then, as
    the exchange that asked for it has to stay whole.
    """

    def __init__(self, decide: Decide, commit: Commit) -> None:
        """Take what asks the user, and what makes a text the summary."""
        self._decide = decide
        self._commit = commit
        self._approved = ""
        self._turn = asyncio.Lock()

    @property
    def approved(self) -> str:
        """The text that waits for `apply`; empty if none does."""
        return self._approved

    async def handle(self, arguments: str | Mapping[str, Any] | None) -> str:
        """Answer a call of the tool; the text is for the model.

        Calls that run side by side are taken one after the other, and once one is accepted
        the user is not asked again before `apply` or `drop`. What *decide* raises is raised.
        """
        try:
            proposed = text_argument(read_arguments(arguments), "message")
        except BadArguments as error:
            return str(error)
        async with self._turn:
            if self._approved:
                return ANOTHER
            decision = await self._decide(proposed)
            if decision.what == "accept":
                self._approved = decision.text.strip() or proposed
                return ACCEPTED
        if decision.what == "feedback" and decision.text.strip():
            return f"The user wants the summary changed: {decision.text.strip()}"
        return REFUSED

    async def apply(self) -> bool:
        """Make an accepted text the summary; tell whether there was one and it was taken.

        One that is refused, by a hook or since it holds too little, is gone; the events say
        why, and nothing was changed.
        """
        text, self._approved = self._approved, ""
        if not text:
            return False
        try:
            await self._commit(text)
        except MinutebookError:
            return False
        return True

    def drop(self) -> None:
        """Forget an accepted text: its turn is over, or the conversation was rewritten."""
        self._approved = ""
