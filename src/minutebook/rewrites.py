"""What each rewrite of history keeps and writes: values for `Store.rewrite`. Pure.

Every rewrite carries the free numbers on, and states again the tags of kept messages whose
tag record is not kept. The lines that name the rotation are made once its number is sure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from minutebook.codec import encode_line, has_seq, with_seq
from minutebook.lines import Scanner
from minutebook.messages import Message, replace
from minutebook.records import (
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Next,
    Revert,
    SystemPrompt,
    Tag,
    Usage,
)
from minutebook.sums import resummed, span_sum
from minutebook.tokens.estimate import estimate_message

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from minutebook.context import Context, Mark
    from minutebook.lineage import Found
    from minutebook.lines import Entry
    from minutebook.records import Record, Rotated


Read = Callable[[int | None, int, int], bytes]
"""Gives the bytes of the log (None) or of a rotation, from one offset to another."""


class Operation(Struct, frozen=True, kw_only=True):
    """One rewrite, ready for the store."""

    reason: str
    keep: int
    """How many bytes of the source stay."""
    tail: Callable[[Rotated], list[bytes]]
    """Gives the lines that follow, once the old log has its rotation number."""
    source: int | None = None
    """The rotation that is kept from; None for the log itself."""
    head: tuple[bytes, ...] = ()
    cut: int | None = None
    """The checkpoint at which the context is cut, where the fold need not begin anew."""


def revert(
    context: Context,
    found: Found,
    *,
    notes: Sequence[Message] = (),
    reason: str,
    at: float,
    read: Read,
    mark_anew: bool = False,
) -> Operation:
    """Go back to a checkpoint: keep what stands before its record.

    *notes* are messages for the model, written at the end; with *mark_anew* behind a new
    checkpoint, which has the next free number. *read* gives the bytes of a log, for the sum of
    the span that the revert ends.
    """
    mark = found.mark
    following = context.next
    tags = tag_changes(context, found.context, before=mark)
    keep, span = kept_before(found, read)
    total = span_sum(span)

    def tail(rotated: Rotated) -> list[bytes]:
        record = Revert(
            content=f"reverted to checkpoint {mark.id}; before: rotation {rotated.number}",
            origin=rotated,
            to=mark.id,
            source=found.source,
            next=following,
            reason=reason,
            lines=1 + len(tags) + mark_anew + len(notes),
            at=at,
            sum=total,
        )
        lines = [encode_line(record), *map(encode_line, tags)]
        if mark_anew:
            lines.append(_checkpoint_line(following.checkpoint, b"".join(lines), at))
        return [*lines, *map(encode_line, notes)]

    cut = mark.id if found.source is None else None
    return Operation(reason="revert", keep=keep, source=found.source, tail=tail, cut=cut)


def kept_before(found: Found, read: Read) -> tuple[int, bytes]:
    """Give how many bytes stand before a checkpoint, and those of the span that it ends.

    A batch that is not whole and reaches up to the checkpoint is left out: it would take what
    is written behind it for its own.
    """
    start, end = found.mark.span_start, found.mark.offset
    span = read(found.source, start, end)
    scanner = Scanner(offset=start)
    deque(chain(scanner.feed(span), scanner.finish()), maxlen=0)
    for problem in scanner.problems:
        if problem.kind == "batch" and problem.byte + problem.bytes == end:
            return problem.byte, span[: problem.byte - start]
    return end, span


def clear(context: Context, *, notes: Sequence[Message] = (), at: float) -> Operation:
    """Leave everything behind but the system prompt and the free numbers."""
    following = context.next
    prompt = prompt_lines(context)

    def tail(rotated: Rotated) -> list[bytes]:
        record = Clear(
            content=f"cleared; the log before is rotation {rotated.number}",
            origin=rotated,
            next=following,
            lines=1 + len(notes),
            at=at,
            sum=span_sum(b""),
        )
        return [*prompt, encode_line(record), *map(encode_line, notes)]

    return Operation(reason="clear", keep=0, tail=tail)


def restore(
    context: Context,
    target: Context,
    *,
    number: int,
    keep: int,
    reason: str,
    at: float,
    read: Read,
    since: Sequence[bytes] = (),
) -> Operation:
    """Bring a rotation back whole, with lines that came *since* behind it.

    *read* gives the bytes of a log. The sums that the lines *since* carry are made anew, for
    what stands before them now.
    """
    following = context.next
    tags = tag_changes(context, target)
    later, open_span = resummed(since, read(number, target.span_start, keep))
    total = span_sum(open_span)

    def tail(rotated: Rotated) -> list[bytes]:
        what = "undone: back to" if reason == "undo" else "restored from"
        record = Revert(
            content=f"{what} rotation {number}; the log before is rotation {rotated.number}",
            origin=rotated,
            source=number,
            next=following,
            reason=reason,
            lines=1 + len(tags),
            at=at,
            sum=total,
        )
        return [*later, encode_line(record), *map(encode_line, tags)]

    return Operation(reason=reason, keep=keep, source=number, tail=tail)


def first_prompt(prompt: str, size: int) -> Operation:
    """Put a system prompt in front of a log that has none."""
    line = encode_line(SystemPrompt(content=prompt))
    return Operation(reason="system prompt", keep=size, head=(line,), tail=lambda _: [])


def since_lines(entries: Sequence[Entry], data: bytes, context: Context, start: int) -> list[bytes]:
    """Give the lines that came after a compaction's own, without the usage records.

    *start* is the byte where the `_compaction` record begins; *data* are the log's bytes from
    there on, *entries* the records in them. Usage counted the compacted
    context, so it says nothing about the older log. Messages get their `seq` spliced in.
    """
    record = entries[0].record if entries else None
    own = record.lines if isinstance(record, Compaction) else 0
    seqs = _seqs_by_start(context)
    lines = []
    for entry in entries[max(own, 1) :]:
        if not isinstance(entry.record, Usage):
            raw = data[entry.start - start : entry.end - start] + b"\n"
            lines.append(_numbered(raw, entry.record, seqs.get(entry.start)))
    return lines


def _numbered(raw: bytes, record: Record, seq: int | None) -> bytes:
    """Splice a message's number into its line, where it has none."""
    if isinstance(record, Message) and record.seq is None and seq is not None:
        return with_seq(raw, seq)
    return raw


def _seqs_by_start(context: Context) -> dict[int, int | None]:
    return {context.span(index)[0]: message.seq for index, message in enumerate(context.history)}


def prompt_lines(context: Context) -> list[bytes]:
    """Give the line of the system prompt in force; none if there is none."""
    prompt = context.system_prompt
    return [] if prompt is None else [encode_line(SystemPrompt(content=prompt))]


class Back(Struct, frozen=True, kw_only=True):
    """A message that comes back from a rotation."""

    message: Message
    line: bytes
    """As it stands there, with its newline."""
    pin: Tag | None = None
    """What is to be said of it."""


class _Laid(Struct, frozen=True, kw_only=True):
    """A new history as lines."""

    lines: tuple[bytes, ...]
    carried: tuple[int, ...]
    made: tuple[int, ...]
    tokens: int


def compaction(
    context: Context,
    items: Sequence[Message | Back],
    *,
    record: Compaction,
    fixed: int,
    count: Callable[[int, int], int] = lambda estimate, _messages: estimate,
    learned: list[list[int]] | None = None,
    read: Read,
    at: float,
) -> Operation:
    """Replace the history by *items*: the messages themselves, shortened copies, new ones.

    A message that is the very object of the context's history is carried over by its bytes,
    which *read* gives; one that comes back from a rotation brings its own. *record* has all but
    what is only known here. For the usage record at the end: *fixed* is the estimate of system
    prompt and tools in tokens, *count* gives the size of a request from its estimate and its
    number of messages, *learned* is what is known of the provider's counting.
    """
    following = context.next
    laid = _lay(context, items, read, at)
    tags = tag_changes(context, None, only=frozenset(laid.carried))
    tags += [item.pin for item in items if isinstance(item, Back) and item.pin is not None]
    tokens = count(fixed + laid.tokens, len(items))
    usage = Usage(
        token_count=tokens,
        content=f"{tokens} tokens, estimated",
        estimated=True,
        learned=learned or None,
    )
    prompt = prompt_lines(context)

    def tail(rotated: Rotated) -> list[bytes]:
        written = structs.replace(
            record,
            content=f"compacted; the log before is rotation {rotated.number}",
            parent=rotated,
            next=Next(checkpoint=following.checkpoint, seq=following.seq + len(laid.made)),
            carried=laid.carried,
            made=laid.made,
            lines=3 + len(laid.lines) + len(tags),
            tokens_after=tokens,
            at=at,
            sum=span_sum(b""),
        )
        line = encode_line(written)
        return [
            *prompt,
            line,
            _checkpoint_line(following.checkpoint, line, at),
            *laid.lines,
            *map(encode_line, tags),
            encode_line(usage),
        ]

    return Operation(reason="compaction", keep=0, tail=tail)


def _checkpoint_line(number: int, span: bytes, at: float) -> bytes:
    """Give the line of a checkpoint that a rewrite sets itself, behind its lines *span*."""
    content = f"checkpoint {number}"
    return encode_line(Checkpoint(id=number, content=content, at=at, sum=span_sum(span)))


def _lay(context: Context, items: Sequence[Message | Back], read: Read, at: float) -> _Laid:
    """Write the new history: carried lines as they were, new messages with new numbers."""
    index = {id(message): position for position, message in enumerate(context.history)}
    lines: list[bytes] = []
    carried: list[int] = []
    made: list[int] = []
    tokens = 0
    for item in items:
        message = item.message if isinstance(item, Back) else item
        position = index.get(id(message))
        if message.seq is None:
            message = replace(message, seq=context.next_seq + len(made), at=at)
            made.append(context.next_seq + len(made))
        else:
            carried.append(message.seq)
        raw = item.line if isinstance(item, Back) else b""
        if position is not None:
            raw = read(None, *context.span(position)) + b"\n"
        if not raw:
            lines.append(encode_line(message))
        else:
            lines.append(raw if has_seq(raw) else with_seq(raw, message.seq or 0))
        tokens += estimate_message(message)
    return _Laid(lines=tuple(lines), carried=tuple(carried), made=tuple(made), tokens=tokens)


def tag_changes(
    context: Context,
    target: Context | None,
    *,
    before: Mark | None = None,
    only: frozenset[int] | None = None,
) -> list[Tag]:
    """Give the tags that have to be stated again, so that kept messages stay as marked.

    *target* is the log that is kept from, as it was *before* a checkpoint or at its end; None
    for a log that keeps no tag record, in which only the messages *only* stand.
    """
    now = context.tagged()
    there = target.tagged(before) if target is not None else _own_pins(context)
    # A message that comes back from a log that was left is marked as it was at that log's end.
    left = target.tagged() if target is not None else {}
    marked = now.keys() | there.keys() | left.keys()
    if not marked:
        return []
    here = {message.seq for message in context.history if message.seq in marked}
    kept: Collection[int | None] | None = only
    if kept is None and target is not None:
        count = len(target.history) if before is None else before.messages
        kept = {message.seq for message in target.history[:count] if message.seq in marked}
    changes = []
    for seq in sorted(marked & set(kept or ())):
        pin, tags = (now if seq in here else left).get(seq, (False, ()))
        if (pin, tags) != there.get(seq, (False, ())):
            changes.append(Tag(seq=seq, content=f"marks message {seq}", pin=pin, tags=tags))
    return changes


def _own_pins(context: Context) -> dict[int, tuple[bool, tuple[str, ...]]]:
    """Give what the messages' own lines say of their pins."""
    return {message.seq: (True, ()) for message in context.history if message.pin and message.seq}


def fork(context: Context, found: Found | None, *, source: str, at: float) -> bytes:
    """Give the lines behind the copied part of a fork; *found* is None for a fork at the end."""
    record = Fork(
        source=source,
        content=f"forked from {source}",
        checkpoint=None if found is None else found.mark.id,
        next=context.next,
        at=at,
    )
    tags = [] if found is None else tag_changes(context, found.context, before=found.mark)
    return b"".join([encode_line(record), *map(encode_line, tags)])
