"""What is written at the end of a session's log, and what is said of it.

The other half of a session, `session`, rewrites.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minutebook import operations, rewrites
from minutebook.codec import clean
from minutebook.counting import Counting
from minutebook.drafts import numbered
from minutebook.errors import InvalidMessage
from minutebook.journal import Journal
from minutebook.readable import Readable
from minutebook.records import Checkpoint, SystemPrompt, Tag
from minutebook.sums import span_sum
from minutebook.tools.dmail import OFFER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minutebook.companions import Companions
    from minutebook.messages import Message
    from minutebook.records import Record


class Writable(Readable):
    """A session that messages are appended to; each method says what it takes to be whole."""

    def __init__(
        self,
        journal: Journal,
        counting: Counting,
        companions: Companions,
        clock: Callable[[], float],
    ) -> None:
        """Take what keeps log and context in step, what knows the sizes, and who works along."""
        super().__init__(journal, counting)
        self._companions = companions
        self._clock = clock

    async def append(self, *messages: object, usage: object = None) -> tuple[Message, ...]:
        """Write messages at the end of the log; with *usage*, in one batch with them.

        *messages* are `Message` values, or mappings in OpenAI's shape. *usage* is what the
        provider reported for the request that gave them: an SDK's object, a mapping, or the
        context's size in tokens; a report that cannot be true is not written. All or none is
        written, the tags that rules say of them too. Gives the messages with their numbers.
        Concurrent calls keep their order and share a sync.

        Raises:
            InvalidMessage: If a message may not be written; nothing was.
            LogChanged: If another program changed the log.
            StoreError: If it could not be written; log and context are as before.
        """
        journal = self._journal
        if not journal.is_ready:
            await journal.ready()
        new = numbered(messages, journal.next_seq, self._clock())
        records: list[Record] = list(new)
        if usage is not None:
            records += self._counting.believed(usage, records)
        if self._companions.tagging:
            records += operations.tags_by_rule(self._companions.tagging, self.context, new)
        written = await journal.write(records) if records else []
        # Usage and tags come last.
        return tuple(written[: len(messages)])  # type: ignore[arg-type]

    async def record_usage(self, usage: object, *, model: str | None = None) -> None:
        """Write what the provider counted; from now on it is the exact size of the context.

        A report that cannot be true (missing, zero, doubled, absurd) is not written.

        Raises:
            InvalidMessage: If it is of no known shape.
        """
        await self._journal.ready()
        believed = self._counting.believed(usage, model=model)
        if believed:
            await self._journal.write(believed)

    async def set_system_prompt(self, prompt: str) -> None:
        """Set the system prompt from here on; a revert goes back to the prompt of its time.

        The first line of an empty log; put before a log that has none by one rewrite; else a
        new record, the last of which wins. Nothing if it is the one in force.

        Raises:
            InvalidMessage: If it is no text.
        """
        if not isinstance(prompt, str):
            raise InvalidMessage(f"a system prompt is a text, not {type(prompt).__name__}")
        text, journal = clean(prompt), self._journal

        async def work() -> None:
            if text == self.context.system_prompt:
                return
            if self.context.system_prompt is None and self.store.size:
                await journal.commit(rewrites.first_prompt(text, journal.good_size))
                self._settled = frozenset()
            else:
                await journal.write([SystemPrompt(content=text)])

        await journal.alone(work)

    def set_tools(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Say which tool schemas the requests carry, so that they are counted."""
        self._journal.check()
        self._counting.settings = self.settings.but(tools=tuple(tools))

    def set_model(
        self, model: str | None, *, window: int | None = None, max_output: int | None = None
    ) -> None:
        """Say which model the session goes on with; its window counts from the next `fit`.

        Without *window*, what is known of the model. What an overflow error taught is forgotten:
        it was another model's.

        Raises:
            ConfigError: If a number is not positive.
        """
        self._journal.check()
        self._counting.settings = self.settings.for_model(model, window, max_output)
        operations.remember_model(self.store, self.settings)

    async def checkpoint(self, label: str | None = None, *, marker: bool | None = None) -> int:
        """Set a mark that `revert` can go back to; give its id.

        With *marker* a message that shows the id to the model follows it; None: while
        `send_dmail` is among the tools.
        """
        await self._journal.ready()
        number, now = self._journal.next_checkpoint, self._clock()
        content = f"checkpoint {number}" if label is None else f"checkpoint {number}: {label}"
        total = span_sum(self._journal.open_span())
        await self._journal.write(
            [Checkpoint(id=number, content=content, at=now, label=label, sum=total)]
        )
        if self._shows_checkpoints if marker is None else marker:
            await self.append(operations.checkpoint_marker(number))
        return number

    async def tag(self, seq: int, *tags: str, protected: bool = False) -> None:
        """Give a message these tags, in place of those it had.

        With *protected* the tag `protected` is among them: the message stays word for word in
        every compaction, and is clipped only where the alternative is a refusal.

        Raises:
            InvalidMessage: If the context holds no message of that number.
        """
        given = (*tags, operations.PROTECTED) if protected else tags
        given = tuple(dict.fromkeys(given))
        await self._tag(Tag(seq=seq, content=f"marks message {seq}", tags=given))

    @property
    def _shows_checkpoints(self) -> bool:
        """Whether the model is shown the checkpoints' numbers: while it can send a D-Mail."""
        return OFFER.is_among(self.settings.tools)

    async def _tag(self, record: Tag) -> None:
        await self._journal.ready()
        if all(message.seq != record.seq for message in self.context.history):
            raise InvalidMessage(f"the context holds no message {record.seq}")
        await self._journal.write([record])
