"""What sessions have come to, in figures, found while the records of all their logs pass by. Pure.

A session has several logs, and what stands in one may stand in another too: a revert copies the
beginning, a compaction carries messages over. Each thing is counted once, by what it is: a
message by its number, a compaction by its id, a usage report by where it stands and what it
says. Memory is a range for the messages and a few words for each report and each rewrite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from minutebook.lines import Entry
from minutebook.messages import Message
from minutebook.numbers import Numbers
from minutebook.records import Clear, Compaction, Fork, Revert, Tag, Usage
from minutebook.survey import UsedNumbers

if TYPE_CHECKING:
    from minutebook.lines import Run
    from minutebook.records import Record

By = Literal["day", "policy", "trigger", "model"]
"""What figures can be grouped by."""
Price = Callable[..., float | None]
"""`models.prices.price_of`."""
PARTIAL = "partial"
"""The tag of a reply that broke off."""
UNKNOWN = "unknown"
"""The group of what has no time, or names no model."""
DIGEST = "digest"
"""The author of a summary that no model wrote."""
NOBODY = "none"
"""The author where a compaction needed no summary."""


class Spent(Struct, kw_only=True):
    """What calls of one model used, in tokens."""

    calls: int = 0
    input: int = 0
    """Fresh input: neither read from nor written to the provider's cache."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def add(self, other: Spent) -> None:
        """Count another's in."""
        self.calls += other.calls
        self.input += other.input
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.output += other.output

    def cost(self, model: str, price: Price) -> float | None:
        """Give what they cost in dollars: the list price of their mean, so many times.

        The mean, since some prices rise with the size of one request. None if it is not known.
        """
        calls = self.calls
        if not calls or not model:
            return None
        fresh = price(
            model,
            round((self.input + self.cache_write) / calls),
            output_tokens=round(self.output / calls),
        )
        read = price(model, round(self.cache_read / calls), cached=True) if self.cache_read else 0.0
        return None if fresh is None or read is None else (fresh + read) * calls


class Figures:
    """The figures of one session, of a group, or of all."""

    def __init__(self) -> None:
        """Begin with none."""
        self.sessions = 0
        self.messages = 0
        self.requests: dict[str, Spent] = {}
        """What providers reported, by model."""
        self.summaries: dict[str, Spent] = {}
        """What the compactor's own calls used, by the model that wrote the summary."""
        self.by_trigger: Counter[str] = Counter()
        self.by_step: Counter[str] = Counter()
        self.by_model: Counter[str] = Counter()
        """Compactions by who wrote the summary."""
        self.tokens_before = 0
        self.tokens_after = 0
        self.rewrites: Counter[str] = Counter()
        self.partial_replies = 0
        self.in_vain = 0
        """Compactions for which models were asked, and the digest wrote the summary."""
        self.problems = 0

    def add(self, other: Figures) -> None:
        """Count another's in."""
        self.sessions += other.sessions
        self.messages += other.messages
        for mine, theirs in (
            (self.requests, other.requests),
            (self.summaries, other.summaries),
        ):
            for model, spent in theirs.items():
                mine.setdefault(model, Spent()).add(spent)
        self.by_trigger.update(other.by_trigger)
        self.by_step.update(other.by_step)
        self.by_model.update(other.by_model)
        self.tokens_before += other.tokens_before
        self.tokens_after += other.tokens_after
        self.rewrites.update(other.rewrites)
        self.partial_replies += other.partial_replies
        self.in_vain += other.in_vain
        self.problems += other.problems

    def facts(self, price: Price) -> dict[str, Any]:
        """Give them as JSON values with stable keys; dollars where *price* knows the models."""
        requests, cost = _told(self.requests, price)
        spent, spent_cost = _told(self.summaries, price)
        whole = requests.input + requests.cache_read + requests.cache_write
        return {
            "messages": self.messages,
            "requests": {
                "count": requests.calls,
                "input": requests.input,
                "cache_read": requests.cache_read,
                "cache_write": requests.cache_write,
                "output": requests.output,
                "cache_share": round(requests.cache_read / whole, 4) if whole else None,
                "cost_usd": cost,
                "unpriced": _unpriced(self.requests, price),
            },
            "compactions": {
                "count": self.by_trigger.total(),
                "by_trigger": dict(self.by_trigger),
                "by_step": dict(self.by_step),
                "by_model": dict(self.by_model),
                "tokens_before": self.tokens_before,
                "tokens_after": self.tokens_after,
                "tokens_saved": self.tokens_before - self.tokens_after,
                "ratio": round(self.tokens_after / self.tokens_before, 4)
                if self.tokens_before
                else None,
                "spent_input": spent.input + spent.cache_read + spent.cache_write,
                "spent_output": spent.output,
                "cost_usd": spent_cost,
            },
            "rewrites": {"by_kind": dict(self.rewrites)},
            "failures": {
                "overflows": self.by_trigger["overflow"],
                "partial_replies": self.partial_replies,
                "summaries_in_vain": self.in_vain,
            },
            "problems": self.problems,
        }


def _told(by_model: dict[str, Spent], price: Price) -> tuple[Spent, float | None]:
    """Give what all models used together, and what those with a price cost; None if none has."""
    whole, costs = Spent(), []
    for model, spent in by_model.items():
        whole.add(spent)
        cost = spent.cost(model, price)
        if cost is not None:
            costs.append(cost)
    return whole, round(sum(costs), 6) if costs else None


def _unpriced(by_model: dict[str, Spent], price: Price) -> int:
    return sum(spent.calls for model, spent in by_model.items() if spent.cost(model, price) is None)


class SessionStats:
    """The figures of one session, from its logs in order: rotations, the oldest first, then live.

    What a fork has from its source is counted there, if the source is one of *counted*.
    """

    def __init__(self, by: By | None = None, counted: Collection[str] = ()) -> None:
        """Group by *by*; *counted* are the ids of the sessions that are counted besides."""
        self.whole = Figures()
        self.whole.sessions = 1
        self.groups: dict[str, Figures] = {}
        self._by = by
        self._counted = counted
        self._used = UsedNumbers()
        self._seen: set[Hashable] = set()
        self._at: float | None = None

    def take(self, found: Iterable[Run | Entry]) -> None:
        """Read one log, the whole of it."""
        numbers = Numbers()
        self._at = None
        for item in found:
            for record in [item.record] if isinstance(item, Entry) else item.records:
                self._take(record, numbers)

    def note_problems(self, count: int) -> None:
        """Count what was wrong with the bytes of a log."""
        self.whole.problems += count

    def _take(self, record: Record, numbers: Numbers) -> None:
        at = getattr(record, "at", None)
        if at is not None:
            self._at = at
        seq = numbers.take(record)
        match record:
            case Message():
                if self._used.add(seq):
                    for figures in self._figures():
                        figures.messages += 1
            case Usage():
                self._take_usage(record, numbers.following.seq)
            case Compaction():
                if self._is_new(record.id):
                    self._take_compaction(record)
            case Fork():
                self._take_fork(record)
            case Revert() | Clear():
                number = None if record.origin is None else record.origin.number
                kind = record.reason if isinstance(record, Revert) else "clear"
                if self._is_new((kind, number, record.at)):
                    for figures in self._figures():
                        figures.rewrites[kind] += 1
            case Tag(seq=tagged, tags=tags):
                if tags is not None and PARTIAL in tags and self._is_new((PARTIAL, tagged)):
                    for figures in self._figures():
                        figures.partial_replies += 1
            case _:
                pass

    def _is_new(self, name: Hashable) -> bool:
        if name in self._seen:
            return False
        self._seen.add(name)
        return True

    def _figures(self, key: str | None = None) -> Iterable[Figures]:
        """Give the figures that something counts for; without a *key* its day's, if any."""
        yield self.whole
        if self._by == "day":
            key = _day(self._at)
        if key is not None:
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = Figures()
                group.sessions = 1
            yield group

    def _take_usage(self, usage: Usage, following: int) -> None:
        """Count a provider's report; what we estimated after a compaction is none."""
        if usage.estimated or usage.token_count < 0:
            return
        spent = Spent(
            calls=1,
            # An older report, and Kimi CLI's, has only the whole.
            input=max(usage.token_count if usage.input is None else usage.input, 0),
            cache_read=max(usage.cache_read or 0, 0),
            cache_write=max(usage.cache_write or 0, 0),
            output=max(usage.output or 0, 0),
        )
        model = usage.model or ""
        said = (spent.input, spent.cache_read, spent.cache_write, spent.output, model)
        if not self._is_new(hash((following, usage.token_count, said))):
            return
        key = (model or UNKNOWN) if self._by == "model" else None
        for figures in self._figures(key):
            figures.requests.setdefault(model, Spent()).add(spent)

    def _take_compaction(self, made: Compaction) -> None:
        author = made.model or (DIGEST if "summarize" in made.steps else NOBODY)
        key = {
            "trigger": made.trigger,
            "policy": " + ".join(made.steps) or UNKNOWN,
            "model": author,
        }.get(self._by or "")
        used = {name: max(count, 0) for name, count in (made.usage or {}).items()}
        spent = Spent(
            calls=1,
            input=used.get("input", 0),
            cache_read=used.get("cache_read", 0),
            cache_write=used.get("cache_write", 0),
            output=used.get("output", 0),
        )
        for figures in self._figures(key):
            figures.by_trigger[made.trigger] += 1
            figures.by_step.update(set(made.steps))
            figures.by_model[author] += 1
            if made.tokens_before is not None and made.tokens_after is not None:
                figures.tokens_before += made.tokens_before
                figures.tokens_after += made.tokens_after
            if any(used.values()):
                figures.summaries.setdefault(made.model or "", Spent()).add(spent)
                figures.in_vain += made.model is None

    def _take_fork(self, made: Fork) -> None:
        if not self._is_new(("fork", made.source, made.checkpoint, made.at)):
            return
        if made.source in self._counted:
            problems = self.whole.problems
            self.whole, self.groups = Figures(), {}
            self.whole.sessions, self.whole.problems = 1, problems
        for figures in self._figures():
            figures.rewrites["fork"] += 1


def _day(at: float | None) -> str:
    """Give the day of a time, in UTC, so that it is the same wherever it is asked for."""
    if at is None:
        return UNKNOWN
    try:
        return datetime.fromtimestamp(at, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return UNKNOWN
