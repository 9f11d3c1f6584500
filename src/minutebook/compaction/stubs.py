"""Stubs: what stands for a tool output that was set aside. Pure.

A stub says which call it was, how long its output was, how it ended, what it named most often,
and which record holds the whole. Whether an output was set aside before is told by its
`elided` key, never by its text.
"""

from __future__ import annotations

from collections.abc import Mapping

from minutebook.compaction.calls import Act, act_of, shorten
from minutebook.compaction.digest.names import most_named
from minutebook.compaction.keep import Kept
from minutebook.compaction.outcomes import outcome_of
from minutebook.compaction.phrases import Phrases
from minutebook.compaction.plan import Draft, Item, shortened
from minutebook.messages import TextPart, replace
from minutebook.turns import pair

NAME = "mask"
"""What `elided` says of a stub, whichever step made it."""

OUTPUT_TOKENS_MIN = 100
"""A smaller output isn't worth a stub, which takes about 40 tokens itself."""

SUBJECT_CHARS_MAX = 100

STUB_NAMES_MAX = 18

STUB_TOKENS_PER_NAME = 50
"""A stub holds one name for so many tokens of the output: then names, at about four tokens
each, add less than a tenth of it."""


def acts_of(draft: Draft) -> dict[int, Act]:
    """Read the call of each answered result, by the result's position."""
    history = draft.messages
    return {
        result: act_of(history[head].calls[number])
        for (head, number), result in pair(history).results.items()
    }


def may_go(draft: Draft, at: int, kept: Kept) -> bool:
    """Tell whether an output may become a stub at all."""
    item = draft.items[at]
    return (
        item.tokens >= OUTPUT_TOKENS_MIN
        and item.message.elided != NAME
        and at not in kept.guarded
        and at not in kept.fresh
    )


def stub_of(item: Item, act: Act, phrases: Phrases, newer: int = 0) -> Item | None:
    """Give the stub of an output; None if it is no smaller. *newer* is what repeats it."""
    message = item.message
    text = message.text
    media = sum(not isinstance(part, TextPart) for part in message.parts)
    template = phrases.stub_repeat if newer else phrases.stub
    parts = [
        template.format(
            tool=shorten(f"{act.tool} {act.subject}", SUBJECT_CHARS_MAX),
            lines=text.count("\n") + 1,
            chars=len(text),
            record=phrases.record.format(n=message.seq),
            newer=phrases.record.format(n=newer),
        )
    ]
    if media:
        parts.append(phrases.stub_media.format(n=media))
    outcome = outcome_of(text, ran=act.ran, shows=act.shows).text
    if outcome:
        parts.append(phrases.stub_outcome.format(outcome=outcome))
    lines = [f"{phrases.note.join(parts)}]"]
    count_max = 0 if newer else min(item.tokens // STUB_TOKENS_PER_NAME, STUB_NAMES_MAX)
    names = most_named(text, count_max, without=act.values)
    for start in range(0, len(names), phrases.names_per_line):
        line = phrases.comma.join(names[start : start + phrases.names_per_line])
        lines.append(phrases.stub_names.format(names=line))
    stub = shortened(item, replace(message, content="\n".join(lines), elided=NAME))
    return stub if stub.tokens < item.tokens else None


def with_stubs(draft: Draft, stubs: Mapping[int, Item]) -> Draft:
    """Give the draft with stubs in the places of outputs."""
    return draft.replaced([stubs.get(at, item) for at, item in enumerate(draft.items)])
