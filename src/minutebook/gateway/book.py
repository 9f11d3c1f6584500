"""The sessions on disk: opened, found by a client's history, forked, closed.

One process holds a root. The index beside the logs, `index.jsonl`, is appended after the log; if
its last lines are lost, the history is known less far, and what the log has beyond is reverted
and written again: nothing is lost, and nothing is overwritten.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec import Struct

import minutebook
from minutebook.companions import Companions
from minutebook.errors import MinutebookError, StoreError
from minutebook.gateway import chains
from minutebook.gateway.asking import Asked
from minutebook.gateway.mapping import map_item
from minutebook.gateway.redaction import Redactor
from minutebook.gateway.settings import Settings
from minutebook.gateway.tracks import Line, Position, Track, Tracks, common_depth, decide
from minutebook.messages import Message

if TYPE_CHECKING:
    from minutebook.metrics.collecting import Metrics

KEY_NAME = "gateway.key"
INDEX_NAME = "index.jsonl"
KNOWN_ITEMS_MAX = 200_000
RECENT_MAX = 512
RECENT_BYTES_MAX = 256 << 20
"""So many requests are remembered, so that a longer one hashes only what is new."""

_LINES = msgspec.json.Decoder(Line)


class History(Struct, frozen=True, kw_only=True):
    """A client's history as a chain."""

    asked: Asked
    links: tuple[bytes, ...]
    counts: tuple[int, ...]
    """How many messages each item is, first those that were told by an earlier response: 0."""
    base: int = 0
    """How many messages an earlier response stands for."""

    def messages(self, start: int) -> list[tuple[Message, bool]]:
        """Map the messages from number *start* on, each with whether it is opaque."""
        first, depth = len(self.counts), len(self.links)
        while first and depth > start:
            first -= 1
            depth -= self.counts[first]
        found: list[tuple[Message, bool]] = []
        for item in self.asked.items[first:]:
            mapped = map_item(self.asked.api, item)
            found += [(message, mapped.opaque) for message in mapped.messages]
        return found[max(start - depth, 0) :]


class Held:
    """A session that this process holds, with its track."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.lock = asyncio.Lock()
        self.users = 0
        """How many may still need it: who has it, waits for it, or forks it."""
        self.session: minutebook.Session | None = None
        self.stale = False
        """Whether log and track may differ: the session has to be opened again."""
        self.compacted = False
        """Whether what is sent differs from what the client sends."""
        self.left_out = 0
        """How many tokens of the client's history are no longer sent, as far as was seen here."""
        self.requests: list[dict[str, object]] = []
        """What was done to the last requests, for people."""
        self.exits = contextlib.AsyncExitStack()

    def is_idle(self) -> bool:
        """Tell whether nobody has it or waits for it."""
        return not self.users and not self.lock.locked()

    @property
    def open_session(self) -> minutebook.Session:
        """Give the session, which is open."""
        assert self.session is not None
        return self.session


class Lease:
    """The right to change a session; given back as soon as the reply is written."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.depth = 0
        """How far the client's history is known."""
        self.is_held = False

    async def take(self) -> None:
        """Wait for the session."""
        await self.held.lock.acquire()
        self.is_held = True

    def release(self) -> None:
        """Let the next request have the session. Idempotent."""
        if self.is_held:
            self.is_held = False
            self.held.lock.release()


class Book:
    """All sessions below a root. Belongs to one event loop."""

    def __init__(self, settings: Settings, metrics: Metrics | None = None) -> None:
        self.settings = settings
        self.metrics = metrics
        self.root = Path(settings.root)
        self.tracks = Tracks()
        self.held: OrderedDict[str, Held] = OrderedDict()
        self._key = b""
        self._known: OrderedDict[bytes, tuple[tuple[bytes, ...], bool]] = OrderedDict()
        self._recent: OrderedDict[tuple[str, str, str, bytes], History] = OrderedDict()
        self._recent_bytes: dict[tuple[str, str, str, bytes], int] = {}
        self._recent_total = 0
        self._index: BinaryIO | None = None

    def start(self) -> None:
        """Make or read the root: its key and its index.

        Raises:
            StoreError: If another process serves from it.
            OSError: If it cannot be made or read.
        """
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.root / INDEX_NAME
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._index = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            # Two processes would write over each other's lines.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._index.close()
            self._index = None
            remedy = "name another --root, or stop that one"
            what = "another process serves from this folder"
            raise StoreError(what, path=str(self.root), remedy=remedy) from error
        self._key = _key_of(self.root / KEY_NAME)
        whole = 0
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                    self.tracks.apply(_LINES.decode(line))
        self._index.truncate(whole)
        self._index.seek(whole)

    async def close(self) -> None:
        """Close every session and the index."""
        for held in list(self.held.values()):
            await _closed(held)
        self.held.clear()
        if self._index is not None:
            self._index.close()
            self._index = None

    @property
    def is_ready(self) -> bool:
        """Whether sessions can be written."""
        return self._index is not None and os.access(self.root, os.W_OK)

    def namespace(self, credentials: str) -> str:
        """Give the namespace of a client's key, which cannot be turned back into the key."""
        return self._hashed("client", credentials)

    def redactor(self) -> Redactor | None:
        """Give what takes secrets out of what is written; None if it is off."""
        return Redactor(self._key) if self.settings.redact else None

    def history(self, asked: Asked, namespace: str, name: str = "") -> History | None:
        """Hash a request's history; None if it goes on from a response that is not known."""
        link, links, base = chains.root_of(namespace, self._key, name), [], 0
        if asked.previous:
            known = self.tracks.responses.get(self.response_key(namespace, asked.previous))
            found = self.tracks.holder(known) if known is not None else None
            if found is None:
                return None
            track, base = found
            links = [position.link for position in track.positions[:base]]
            link = links[-1]
        recent = (asked.api, namespace, name, asked.items[0] if asked.items else b"")
        seen = self._recent.get(recent) if not asked.previous else None
        start = 0 if seen is None else common_length(seen.asked.items, asked.items)
        counts = [] if seen is None else list(seen.counts[:start])
        if seen is not None and start:
            links = list(seen.links[: sum(counts)])
            link = links[-1] if links else link
        for item in asked.items[start:]:
            digests, _opaque = self._digests(asked, item)
            for digest in digests:
                link = chains.chained(link, digest)
                links.append(link)
            counts.append(len(digests))
        made = History(asked=asked, links=tuple(links), counts=tuple(counts), base=base)
        if not asked.previous:
            self._remember(recent, made)
        return made

    def _remember(self, recent: tuple[str, str, str, bytes], made: History) -> None:
        """Keep a request's hashes for the one that goes on from it, within a bound of bytes."""
        self._recent[recent] = made
        self._recent.move_to_end(recent)
        old = self._recent_bytes.pop(recent, 0)
        # A request holds its body, and its messages once more.
        size = 2 * sum(map(len, made.asked.items))
        self._recent_bytes[recent] = size
        self._recent_total += size - old
        while self._recent and (
            len(self._recent) > RECENT_MAX or self._recent_total > RECENT_BYTES_MAX
        ):
            gone, _ = self._recent.popitem(last=False)
            self._recent_total -= self._recent_bytes.pop(gone)

    def response_key(self, namespace: str, response_id: str) -> str:
        """Give the name by which the index knows a response."""
        return self._hashed("response", f"{namespace}\n{response_id}")

    def link_behind(self, link: bytes, messages: Sequence[Message]) -> list[bytes]:
        """Give the links of messages that follow *link*."""
        links = []
        for message in messages:
            link = chains.chained(link, chains.digest_of(message, self._key))
            links.append(link)
        return links

    def root_link(self, namespace: str, name: str = "") -> bytes:
        """Give the link before a history's first message."""
        return chains.root_of(namespace, self._key, name)

    def note(self, line: Line) -> None:
        """Change a track, and write the change to the index.

        Raises:
            OSError: If it could not be written; the track is as before.
        """
        assert self._index is not None
        data = msgspec.json.encode(line) + b"\n"
        start = self._index.tell()
        if self._index.write(data) != len(data):
            self._index.truncate(start)
            self._index.seek(start)
            raise OSError("the index took only a part of a line")
        self.tracks.apply(line)

    @contextlib.asynccontextmanager
    async def taking(
        self, history: History, namespace: str, name: str = ""
    ) -> AsyncIterator[Lease]:
        """Hold the session that a history belongs to.

        What the session has beyond the history is reverted. See `tracks.decide` for which it is.
        """
        held, source, depth = self._choose(history, namespace, name)
        # Without a name nobody holds it: the lock is taken before another task can run.
        assert name or not held.lock.locked()
        held.users += 1
        lease = Lease(held)
        try:
            await lease.take()
            if name:
                depth = common_depth(held.track, history.links)
            if source is not None:
                depth = await self._forked(source, held, depth, history.asked)
            session = await self.opened(held, history.asked)
            depth = min(depth, held.track.depth)
            if depth < held.track.depth:
                depth = await self._reverted(held, session, depth)
            self.held.move_to_end(held.track.session)
            lease.depth = depth
            yield lease
        except BaseException:
            # Log and track may differ now; opening the session again brings them together.
            held.stale = held.stale or lease.is_held
            raise
        finally:
            if held.stale and lease.is_held:
                await _closed(held)
            lease.release()
            held.users -= 1
            await self._evict()

    async def opened(self, held: Held, asked: Asked) -> minutebook.Session:
        """Give the session, opened if it is not. Call it with the lock held."""
        if held.session is None:
            path = self.root / held.track.session
            opening = _opened(path, self.settings, asked.model, self.metrics)
            held.session = session = await held.exits.enter_async_context(opening)
            await self._agreed(held, session)
            held.compacted = is_compacted(session)
        return held.session

    async def _agreed(self, held: Held, session: minutebook.Session) -> None:
        """Bring track and log together, where one of them has lost its end."""
        track, following = held.track, session.context.next_seq
        kept = next((n for n, one in enumerate(track.positions) if one.seq >= following), None)
        marks = session.context.next_checkpoint_id
        if kept is not None or any(mark.checkpoint >= marks for mark in track.marks):
            cut = track.depth if kept is None else kept
            self.note(Line(session=track.session, cut=cut, mark_cut=marks))
        last = max((one.seq for one in track.positions), default=0)
        if any((one.seq or 0) > last and is_clients(one) for one in session.context.history):
            await self._reverted(held, session, track.depth)

    def _choose(self, history: History, namespace: str, name: str) -> tuple[Held, Held | None, int]:
        """Choose the session, the one that it is forked from, and the depth that is known."""
        if name:
            told = self._hashed("session", f"{namespace}\n{name}")
            return self._hold(f"named-{told}"), None, 0
        tracks, depth = self.tracks.longest(history.links)
        if not tracks:
            return self._hold(_new_name()), None, 0
        best = max(tracks, key=lambda one: (not self._busy(one), one.depth == depth))
        action = decide(best, depth, len(history.links), busy=self._busy(best), named=False)
        if action in {"go on", "revert"}:
            return self._hold(best.session), None, depth
        if action == "fork" and best.mark_before(depth):
            return self._hold(_new_name()), self._hold(best.session), depth
        return self._hold(_new_name()), None, 0

    def _busy(self, track: Track) -> bool:
        held = self.held.get(track.session)
        return held is not None and held.lock.locked()

    def _hold(self, session: str) -> Held:
        held = self.held.get(session)
        if held is None:
            track = self.tracks.all.setdefault(session, Track(session))
            held = self.held[session] = Held(track)
        return held

    async def _forked(self, source: Held, held: Held, depth: int, asked: Asked) -> int:
        """Make *held* a fork of *source*; give how far it knows the history then."""
        mark = source.track.mark_before(depth)
        assert mark is not None
        source.users += 1
        try:
            if source.session is None:
                async with source.lock:
                    await self.opened(source, asked)
            await source.open_session.fork(self.root / held.track.session, at=mark.checkpoint)
        finally:
            source.users -= 1
        kept = tuple(source.track.positions[: mark.depth])
        marks = tuple(one for one in source.track.marks if one.checkpoint < mark.checkpoint)
        self.note(Line(session=held.track.session, add=kept, marks=marks))
        return mark.depth

    async def _reverted(self, held: Held, session: minutebook.Session, depth: int) -> int:
        mark = held.track.mark_before(depth)
        if mark is None:
            await session.clear()
            self.note(Line(session=held.track.session, cut=0))
            depth = 0
        else:
            await session.revert(mark.checkpoint)
            depth = mark.depth
            line = Line(session=held.track.session, cut=depth, mark_cut=mark.checkpoint)
            self.note(line)
        held.compacted = is_compacted(session)
        return depth

    async def _evict(self) -> None:
        """Close the sessions that were not used for longest, beyond what may be open."""
        excess = len(self.held) - self.settings.open_sessions_max
        for name, held in list(self.held.items()):
            if excess <= 0:
                return
            if not held.is_idle():
                continue
            async with held.lock:
                with contextlib.suppress(MinutebookError, OSError):
                    await _closed(held)
            if held.is_idle() and self.held.pop(name, None) is not None:
                excess -= 1

    def _digests(self, asked: Asked, item: bytes) -> tuple[tuple[bytes, ...], bool]:
        """Hash an item's messages; an item seen before is not decoded again."""
        name = hashlib.blake2b(item, digest_size=16, person=asked.api.encode()).digest()
        known = self._known.get(name)
        if known is None:
            mapped = map_item(asked.api, item)
            digests = tuple(chains.digest_of(one, self._key) for one in mapped.messages)
            known = self._known[name] = (digests, mapped.opaque)
            if len(self._known) > KNOWN_ITEMS_MAX:
                self._known.popitem(last=False)
        return known

    def _hashed(self, kind: str, text: str) -> str:
        told = f"{kind}\n{text}".encode("utf-8", "replace")
        return hashlib.blake2b(told, digest_size=16, key=self._key).hexdigest()


def common_length(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Give how many items two requests begin with alike."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    low, high = 0, most - 1
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def positions_of(
    links: Sequence[bytes], messages: Sequence[Message], opaque: Sequence[bool]
) -> tuple[Position, ...]:
    """Give the positions of messages that were just written."""
    return tuple(
        Position(link=link, seq=message.seq or 0, opaque=odd)
        for link, message, odd in zip(links, messages, opaque, strict=True)
    )


def is_compacted(session: minutebook.Session) -> bool:
    """Tell whether a session's context holds something in place of what the client said."""
    return any(
        message.elided or message.origin in {"summary", "notice"}
        for message in session.context.history
    )


def is_clients(message: Message) -> bool:
    """Tell whether a message is one that the client sent or was sent."""
    return not message.elided and message.origin not in {"summary", "notice", "checkpoint"}


def _new_name() -> str:
    return f"chain-{secrets.token_hex(16)}"


@contextlib.asynccontextmanager
async def _opened(
    path: Path, settings: Settings, model: str, metrics: Metrics | None
) -> AsyncIterator[minutebook.Session]:
    """Open a session, and let metrics listen to it if there are any."""
    async with minutebook.open(
        path,
        window=settings.window,
        model=model or None,
        preset=settings.preset,
        durability=settings.durability,
        companions=Companions() if metrics is None else metrics.companions(),
    ) as session:
        if metrics is not None:
            metrics.opened(session.problems)
        yield session


async def _closed(held: Held) -> None:
    held.session, held.stale = None, False
    exits, held.exits = held.exits, contextlib.AsyncExitStack()
    await exits.aclose()


def _key_of(path: Path) -> bytes:
    """Read the key that every hash is made with; make it on the first start."""
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(descriptor)
    return path.read_bytes()
