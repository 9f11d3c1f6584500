"""One model call: recorded, fitted, mended once, and its reply recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import structs

import minutebook
from minutebook.errors import InvalidMessage
from minutebook.gateway.asking import Asked
from minutebook.gateway.book import Book, History, Lease, is_compacted, positions_of
from minutebook.gateway.redaction import restored
from minutebook.gateway.replies import Reply
from minutebook.gateway.tracks import Line, Mark
from minutebook.messages import Message
from minutebook.providers import validate_anthropic, validate_chat, validate_responses
from minutebook.providers.overflow import classify
from minutebook.providers.view import View, make_view

PLENTY = 0.5
"""Below this share of the window nothing can be due, so the ladder is not asked."""

REQUESTS_KEPT_MAX = 500
"""So many requests of a session can be explained."""

First = TypeVar("First")
Second = TypeVar("Second")
Third = TypeVar("Third")


class Exchange:
    """What is done for one request of a session, whose lock is held meanwhile."""

    def __init__(self, book: Book, lease: Lease, history: History, namespace: str) -> None:
        self._book = book
        self._lease = lease
        self._held = lease.held
        self._history = history
        self._namespace = namespace
        self._redactor = book.redactor()
        self._root = history.links[-1] if history.links else book.root_link(namespace)
        self._mended = False
        self._believable = True
        self._left_out = self._held.left_out
        self.body: bytes | None = None
        """What is sent in place of the client's body; None: the client's own bytes."""
        self.rewritten = False
        """Whether `body` holds less than the client's."""
        asked = history.asked
        self.swallows = (
            book.settings.ask_usage and asked.api == "chat" and asked.stream and not asked.has_usage
        )
        """Whether usage is asked for on our own account, and is not the client's to see."""
        self.doubts: list[str] = []
        """Why the request goes through untouched although something had to be done."""
        self.before = 0
        self.facts: dict[str, object] = {}

    @property
    def session_id(self) -> str:
        """The session's name."""
        return self._held.track.session

    @property
    def asked(self) -> Asked:
        """What the client asks for."""
        return self._history.asked

    def release(self) -> None:
        """Let the session's next request in; nothing is written after this."""
        self._lease.release()

    async def prepare(self, depth: int) -> None:
        """Record what is new and set a checkpoint; then work out what is sent."""
        await self._record(depth)
        session = self._held.open_session
        tools = self.asked.tools
        if tools != session.settings.tools:
            session.set_tools(tools)
        self.before = session.used
        await self._fit(session)
        if self.swallows and self.body is None:
            self.body = self.asked.asking_usage()
        self._explain(session)

    async def _record(self, depth: int) -> None:
        held, session = self._held, self._held.open_session
        system = self._clean(self.asked.system) if self.asked.system else None
        if system is not None and system != session.context.system_prompt:
            await session.set_system_prompt(system)
        fresh = self._history.messages(depth)
        begins = not held.track.marks and depth == 0
        # Begun together and in this order, all of it is on disk after one sync.
        started, written, number = await in_order(
            session.checkpoint("start") if begins else nothing(),
            session.append(*(self._redacted(message) for message, _ in fresh)),
            session.checkpoint(),
        )
        marks = [Mark(number, depth + len(fresh))]
        if started is not None:
            marks.insert(0, Mark(started, 0))
        links = self._history.links[depth:]
        added = positions_of(links, written, [odd for _, odd in fresh])
        self._book.note(Line(session=self.session_id, add=added, marks=tuple(marks)))

    async def _fit(self, session: minutebook.Session) -> None:
        """Compact if it is due, and spell what is sent if that is not the client's own."""
        held, window = self._held, session.settings.known_window()
        room = self.asked.max_output or 0
        if not held.compacted and (window is None or self.before + room < PLENTY * window):
            return
        if not self._may_rewrite(session):
            return
        if window is None:
            self._spell(session.view())
            return
        try:
            view = await session.fit(max_output=self.asked.max_output)
        except minutebook.ContextOverflow:
            self._doubt("does not fit")
            if not held.compacted:
                return
            view = session.view()
        held.compacted = held.compacted or is_compacted(session)
        if held.compacted:
            self._spell(view)

    def _may_rewrite(self, session: minutebook.Session) -> bool:
        if self._held.track.opaque:
            if self._held.compacted or self._is_full(session):
                self._doubt("unknown item")
            return False
        return True

    def _is_full(self, session: minutebook.Session) -> bool:
        window = session.settings.known_window()
        return window is not None and self.before + (self.asked.max_output or 0) > window

    def _doubt(self, why: str) -> None:
        self.doubts.append(why)
        self._believable = not self._held.compacted

    def _spell(self, view: View) -> None:
        """Put a view into the body, if the provider will take it."""
        messages = spelled(self.asked, view)
        if self._redactor is not None:
            for message, _ in self._history.messages(0):
                self._redactor.message(message)
            messages = restored(messages, self._redactor.found)
        if violations(self.asked, messages):
            self._doubt("failed check")
            return
        made = self.asked.with_messages(messages)
        self.body = made.asking_usage() if self.swallows else made.body()
        self.rewritten = True

    async def overflowed(self, error: object) -> bool:
        """Take a refusal; tell whether there is a smaller body now, to be sent once more."""
        held = self._held
        if self._mended or held.track.opaque:
            return False
        self._mended = True
        session = held.open_session
        try:
            if not await session.overflowed(as_overflow(error)):
                return False
        except minutebook.ContextOverflow:
            self._doubt("does not fit")
            return False
        held.compacted = is_compacted(session)
        if not held.compacted:
            return False
        self.rewritten = False
        self._spell(session.view())
        self._explain(session)
        return self.rewritten

    async def finish(self, reply: Reply) -> None:
        """Write the reply, whole or partial, with its usage; then the next request may come.

        A client that has seen the end of a reply may go on at once.
        """
        if not self._lease.is_held:
            return
        if reply.messages:
            try:
                await self._write(reply)
            except BaseException:
                self._held.stale = True
                raise
        self.release()

    async def _write(self, reply: Reply) -> None:
        session = self._held.open_session
        messages = [self._redacted(message) for message in reply.messages]
        usage = reply.usage if self._believable else None
        try:
            written = await session.append(*messages, usage=usage)
        except InvalidMessage:
            written = await session.append(*messages)
        last = written[-1].seq
        if not reply.complete and last is not None:
            await session.tag(last, "partial")
        links = self._book.link_behind(self._root, reply.messages)
        odd = [reply.opaque] * len(links)
        added = list(positions_of(links, written, odd))
        added[-1] = structs.replace(added[-1], partial=not reply.complete)
        response = reply.response_id
        key = self._book.response_key(self._namespace, response) if response else ""
        self._book.note(Line(session=self.session_id, add=tuple(added), response=key))
        self.facts["usage"] = reply.usage
        self.facts["complete"] = reply.complete

    def _redacted(self, message: Message) -> Message:
        return message if self._redactor is None else self._redactor.message(message)

    def _clean(self, text: str) -> str:
        return text if self._redactor is None else self._redactor.text(text)

    def _explain(self, session: minutebook.Session) -> None:
        """Note down for people what was done to this request."""
        explanation = session.explain()
        compacted = None if explanation is None else explanation.compacted
        facts, held = self.facts, self._held
        shrunk = max(0, self.before - session.used)
        left_out = held.left_out = self._left_out + shrunk if held.compacted else 0
        facts.update(
            at=round(time.time(), 3),
            model=self.asked.model,
            tokens_before=self.before,
            tokens_sent=session.used if self.rewritten else self.before,
            tokens_saved=left_out if self.rewritten else 0,
            compacted_now=self.rewritten and shrunk > 0,
            compacted=self.rewritten,
            doubts=self.doubts,
        )
        if compacted is not None and compacted.changed and self.rewritten:
            plan = compacted.plan
            facts["compaction"] = {
                "steps": [
                    {
                        "name": step.name,
                        "tokens_before": step.tokens_before,
                        "tokens_after": step.tokens_after,
                        "detail": step.detail,
                    }
                    for step in plan.steps
                ],
                "left_out": list(plan.left_out),
                "shortened": list(plan.shortened),
                "rotation": compacted.rotation.number if compacted.rotation else None,
            }
        if facts not in held.requests:
            held.requests.append(facts)
            del held.requests[:-REQUESTS_KEPT_MAX]


@asynccontextmanager
async def exchanging(
    book: Book, asked: Asked, namespace: str, name: str
) -> AsyncIterator[Exchange | None]:
    """Hold the request's session and prepare; None if it cannot be known which it is."""
    history = book.history(asked, namespace, name)
    if history is None:
        yield None
        return
    async with book.taking(history, namespace, name) as lease:
        exchange = Exchange(book, lease, history, namespace)
        await exchange.prepare(lease.depth)
        yield exchange


async def in_order(
    first: Awaitable[First], second: Awaitable[Second], third: Awaitable[Third]
) -> tuple[First, Second, Third]:
    """Begin three things in this order, without waiting between; give what they gave.

    If one fails the others still end, and the first failure is raised.
    """
    done = await asyncio.gather(first, second, third, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return tuple(done)  # type: ignore[return-value]  # three, and no failure among them


async def nothing() -> None:
    """Do nothing, where something may be done."""


def as_overflow(error: object) -> object:
    """Give an error as one of the input, where input and room for the reply are too much.

    The room is the client's to choose, so it is the input that has to become smaller.
    """
    fault = classify(error)
    if fault.kind != "output_reserve_too_big" or fault.window_tokens is None:
        return error
    window, given = fault.window_tokens, fault.input_tokens or 0
    total = given + (fault.output_tokens or 0)
    message = f"This model's maximum context length is {window} tokens, but {total} were asked for."
    return {"error": {"message": message, "code": "context_length_exceeded"}}


def counted(book: Book, asked: Asked, namespace: str, name: str) -> bytes | None:
    """Give the body that counts what would be sent; None: the client's own. Changes nothing."""
    history = book.history(asked, namespace, name)
    if history is None or not history.links:
        return None
    tracks, depth = book.tracks.longest(history.links)
    for track in tracks:
        held = book.held.get(track.session)
        if held is None or held.session is None or not held.compacted or track.opaque:
            continue
        if depth != track.depth:
            continue
        fresh = history.messages(depth)
        if any(odd for _, odd in fresh):
            continue
        told = (*held.session.context.history, *(message for message, _ in fresh))
        messages = spelled(asked, make_view(None, told))
        if not violations(asked, messages):
            return asked.with_messages(messages).body()
    return None


def spelled(asked: Asked, view: View) -> list[dict[str, Any]]:
    """Give the messages of a view, without the system prompt, which stays the client's own."""
    view = structs.replace(view, system_prompt=None)
    if asked.api == "chat":
        return view.to_openai(model=asked.model)
    if asked.api == "responses":
        items: list[dict[str, Any]] = view.to_responses()["input"]
        return items
    messages: list[dict[str, Any]] = view.to_anthropic()["messages"]
    mark = asked.last_mark
    if mark is not None:
        # The client's marks stood in messages that are gone; the last one serves the whole prefix.
        block = messages[-1]["content"][-1]
        if block["type"] in {"text", "image", "tool_use", "tool_result"}:
            block["cache_control"] = mark
    return messages


def violations(asked: Asked, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what the provider would refuse in messages."""
    if asked.api == "chat":
        model = asked.model.lower()
        kimi = "kimi" in model or "moonshot" in model
        head = [msgspec.json.decode(item) for item in asked.head]
        return validate_chat.violations([*head, *messages], kimi=kimi)
    if asked.api == "responses":
        return validate_responses.violations({"input": list(messages)})
    raw = asked.fields.get("system")
    system = None if raw is None else msgspec.json.decode(raw)
    return validate_anthropic.violations(messages, system=system)
