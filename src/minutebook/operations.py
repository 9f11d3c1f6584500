"""Operations of a session that need a look into its store first: undo, compaction, fork."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from minutebook import rewrites
from minutebook.compaction.plan import Request
from minutebook.config.tagging import marked
from minutebook.errors import InvalidMessage, StoreError
from minutebook.lineage import NothingToUndo, find_checkpoint, last_rewrite, walk
from minutebook.lines import Scanner, flatten
from minutebook.messages import Message, replace, user
from minutebook.records import Compaction, Tag
from minutebook.retired import load_lineage, load_named, load_rotation
from minutebook.store.files import FileStore
from minutebook.store.forking import write_fork
from minutebook.store.rewriting import checksum_of
from minutebook.tokens.estimate import estimate_system, estimate_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minutebook.compaction.plan import Embed
    from minutebook.config.tagging import Marks
    from minutebook.config.values import TagRule
    from minutebook.context import Context, Step
    from minutebook.lineage import Found, HasLineage
    from minutebook.records import Rotated
    from minutebook.reports import Proposal, Settings
    from minutebook.rewrites import Operation
    from minutebook.store.collecting import Retention
    from minutebook.store.contract import Rotation, Store

PROTECTED = "protected"
"""The tag that protects its message: it stands in the log beside the message's other tags."""


def checkpoint_marker(number: int) -> Message:
    """Make the message that shows a checkpoint's id to the model, as Kimi CLI writes it."""
    return replace(user(f"<system>CHECKPOINT {number}</system>"), origin="checkpoint")


def reading(store: Store) -> rewrites.Read:
    """Give a function that reads bytes of the log or of a rotation."""

    def read(source: int | None, start: int, end: int) -> bytes:
        return b"".join(store.pieces(source, start=start, end=end))

    return read


def _reading_live(store: Store) -> rewrites.Read:
    """Give a function that reads many short spans of the live log."""
    data = b"".join(store.pieces())
    return lambda _source, start, end: data[start:end]


def noticed(text: str) -> Message:
    """Make a note to the model.

    Raises:
        InvalidMessage: If it is no text.
    """
    if not isinstance(text, str):
        raise InvalidMessage(f"a note is a text, not {type(text).__name__}")
    return replace(user(text), origin="notice")


def find(store: Store, context: Context, checkpoint: int) -> Found:
    """Find a checkpoint in the log or in a rotation that the lineage reaches.

    Raises:
        CheckpointNotFound: If no log of the session holds it.
    """
    return find_checkpoint(context, checkpoint, lambda named: load_rotation(store, named))


def remember_window(store: Store, window: int) -> None:
    """Keep what an overflow error taught of the window, where the store keeps such things.

    A failure costs the knowledge, not the session: the next error teaches it again.
    """
    if isinstance(store, FileStore):
        with suppress(StoreError):
            store.save_metadata(structs.replace(store.metadata, learned_window=window))


def remember_model(store: Store, settings: Settings) -> None:
    """Keep which model is talked to, where the store keeps such things.

    A failure costs the knowledge, not the session: who opens it next has to say it.
    """
    if isinstance(store, FileStore):
        with suppress(StoreError):
            store.save_metadata(
                structs.replace(
                    store.metadata,
                    model=settings.model or "",
                    window=settings.window,
                    learned_window=settings.learned_window,
                )
            )


def fixed_tokens(prompt: str | None, tools: Sequence[Mapping[str, Any]]) -> int:
    """Give what every request takes whatever the history: system prompt and tool schemas."""
    return estimate_system(prompt) + sum(estimate_tools(tools).values())


def undo_operation(context: Context, store: Store, *, force: bool, at: float) -> Operation:
    """Work out how the last rewrite is taken back.

    Raises:
        NothingToUndo: If there is none, or messages that came after it would be left behind.
        StoreError: If the rotation is missing or not the one that was left.
    """
    step = last_rewrite(context)
    record = step.record
    old = record.parent if isinstance(record, Compaction) else getattr(record, "origin", None)
    loaded = None if old is None else load_named(store, old)
    if old is None or loaded is None:
        number = "that was left" if old is None else old.number
        raise StoreError(
            f"rotation {number} is missing or was changed",
            path=store.path,
            remedy="put it back; restore() brings back any rotation that is there",
        )
    since: list[bytes] = []
    if isinstance(record, Compaction):
        since = _since(context, store, step)
    elif not force and (later := _later_messages(context, store, step)):
        raise NothingToUndo(
            f"{later} messages came after it, which would be left behind in a rotation; "
            "use force to do it"
        )
    target, keep = loaded
    return rewrites.restore(
        context,
        target,
        number=old.number,
        keep=keep,
        reason="undo",
        at=at,
        since=since,
        read=reading(store),
    )


def _since(context: Context, store: Store, step: Step) -> list[bytes]:
    """Give the lines that came after a compaction's own."""
    data = b"".join(store.pieces(start=step.start))
    scanner = Scanner(offset=step.start)
    entries = list(flatten([*scanner.feed(data), *scanner.finish()]))
    return rewrites.since_lines(entries, data, context, step.start)


def _later_messages(context: Context, store: Store, step: Step) -> int:
    """Count the messages after a rewrite that are not among the lines that it wrote itself."""
    data = b"".join(store.pieces(start=step.start))
    own = 0
    for _ in range(getattr(step.record, "lines", 0)):
        own = data.find(b"\n", own) + 1 or len(data)
    spans = map(context.span, range(len(context.history)))
    return sum(start >= step.start + own for start, _end in spans)


def needed_rotations(store: Store, log: HasLineage) -> frozenset[int]:
    """Give the rotations that the full history needs.

    Those that the lineage of *log*, the live one, reaches, and those that no record names,
    unless all their bytes stand at the beginning of the live log. Keeps no log in memory.
    """
    reached = {number for number, _ in walk(log, lambda named: load_lineage(store, named))}
    for rotation in store.rotations():
        if rotation.number not in reached and not _begins_log(store, rotation):
            reached.add(rotation.number)
    return frozenset(reached)


def _begins_log(store: Store, rotation: Rotation) -> bool:
    if not 0 <= rotation.bytes <= store.size:
        return False
    live = checksum_of(store.pieces(end=rotation.bytes))
    try:
        return live == checksum_of(store.pieces(rotation.number))
    except StoreError:
        return False


def tidying(
    store: Store, context: Context, retention: Retention, *, now: float
) -> Callable[[], None] | None:
    """Give what a closing session does about its rotations; None if there is nothing to do.

    A failure is not the closing session's: the rotations stay as they are until next time.
    """
    if not retention.on_close_seconds:
        return None
    try:
        plain = sum(not rotation.compressed for rotation in store.rotations())
    except StoreError:
        return None
    if plain <= retention.keep_plain and not retention.removes:
        return None

    def tidy() -> None:
        with suppress(StoreError):
            # Without a limit nothing is removed, so it need not be known what is needed.
            needed = needed_rotations(store, context) if retention.removes else frozenset[int]()
            store.collect(needed, retention, now=now, seconds=retention.on_close_seconds)

    return tidy


def tags_by_rule(rules: Sequence[TagRule], context: Context, new: Sequence[Message]) -> list[Tag]:
    """Give the tags that a user's rules say of new messages, to be written with them.

    Raises:
        ConfigError: If a rule has a pattern that is none.
    """
    if not rules:
        return []
    wanted = {message.tool_call_id for message in new if message.tool_call_id}
    callers: list[Message] = []
    for message in reversed(context.history) if wanted else ():
        mine = {call.id for call in message.calls} & wanted
        if mine:
            # Only what it calls counts here: it was tagged when it was written.
            callers.insert(0, replace(message, seq=None))
            wanted -= mine
        if not wanted:
            break
    found = marked(rules, [*callers, *new])
    return [
        Tag(seq=seq, content=f"marks message {seq}", tags=tags_of(said))
        for seq, said in found.items()
    ]


def all_tags(rules: Sequence[TagRule], context: Context) -> dict[int, tuple[str, ...]]:
    """Give the tags of the history's messages by `seq`: written ones, then those of the rules.

    Raises:
        ConfigError: If a rule has a pattern that is none.
    """
    tags = dict(context.tags)
    for seq, said in marked(rules, context.history).items():
        tags[seq] = tuple(dict.fromkeys((*tags.get(seq, ()), *tags_of(said))))
    return tags


def tags_of(said: Marks) -> tuple[str, ...]:
    """Give the tags of a message that rules speak of, the protecting one among them."""
    return (*said.tags, PROTECTED) if said.protected else said.tags


def compaction_request(
    context: Context,
    *,
    fixed: int,
    focus: str,
    tagging: Sequence[TagRule] = (),
    embed: Embed | None = None,
) -> Request:
    """Say to the ladder what is to be made smaller, and what tags and rules protect in it.

    Raises:
        ConfigError: If a rule of *tagging* has a pattern that is none.
    """
    tags = all_tags(tagging, context)
    return Request(
        history=context.history,
        pins=context.pins,
        fixed=fixed,
        system_prompt=context.system_prompt or "",
        focus=focus,
        protected=frozenset(seq for seq, names in tags.items() if PROTECTED in names),
        embed=embed,
    )


def compaction_operation(
    context: Context,
    store: Store,
    proposal: Proposal,
    *,
    more: tuple[Message, ...] = (),
    at: float,
) -> Operation:
    """Turn a proposal into the rewrite that commits it; *more* are messages for its end."""
    plan, measures = proposal.plan, proposal.measures
    touched = sorted({*plan.left_out, *plan.shortened})
    record = Compaction(
        id=f"c{context.next_seq}-{context.next_checkpoint_id}",
        trigger=proposal.trigger,
        steps=tuple(step.name for step in plan.steps if step.tokens_after < step.tokens_before),
        span=(touched[0], touched[-1]) if touched else None,
        tokens_before=measures.tokens,
        focus=proposal.focus,
        model=proposal.model,
        usage=proposal.usage,
        checks=None if plan.checks is None else plan.checks.parts,
    )
    return rewrites.compaction(
        context,
        (*plan.history, *more),
        record=record,
        fixed=measures.fixed,
        count=measures.line.tokens,
        learned=measures.line.learned(),
        read=_reading_live(store),
        at=at,
    )


def fork_session(
    store: Store,
    context: Context,
    destination: str,
    *,
    at: int | None,
    size: int,
    at_time: float,
) -> None:
    """Copy a session up to a checkpoint into a new folder, its rotations linked.

    *size* is the length of the log in bytes, without a torn end.

    Raises:
        CheckpointNotFound: If no log of the session holds that checkpoint.
        StoreError: If the folder exists, or cannot be written.
    """

    def load(named: Rotated) -> Context | None:
        return load_rotation(store, named)

    source, keep, reached, place = None, size, walk(context, load), None
    if at is not None:
        place = find_checkpoint(context, at, load)
        source = place.source
        reached = walk(place.context, load, records=place.mark.lineage)
        keep, _span = rewrites.kept_before(place, reading(store))
    name = Path(store.path).parent.name or store.path
    numbers = [number for number, found in reached if found is not None]
    tail = rewrites.fork(context, place, source=name, at=at_time)
    write_fork(store, destination, source=source, keep=keep, numbers=numbers, tail=tail)
