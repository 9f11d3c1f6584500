"""What a compaction still knows of what is used later: future reference recall.

Each recorded session of more than 60 000 tokens is cut at half and at 70 % of its tokens. What
comes before is compacted to 16 000 tokens; of the references in it that the real agent uses
again after the cut, the share is taken that the view still holds (`references` says what counts
as a reference, and as held). Beside the ladder stand each session whole, the newest messages
alone (a sliding window), masking alone and the digest alone.

Constants were set on one half of the sessions (the first, third, …); the lines that say
"other half" are of the rest alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.references import recall, wanted
from benchmarks.sessions import Session, sessions
from minutebook.budget import Limits, Policy
from minutebook.compaction.digest.write import digest
from minutebook.compaction.ladder import compact
from minutebook.compaction.plan import Plan, Request
from minutebook.messages import Message, replace
from minutebook.tokens.estimate import estimate_message
from minutebook.turns import cuts

SAMPLES = Path(__file__).parent.parent.parent / "shared" / "samples"
TOKENS_MIN = 60_000
TARGET_TOKENS = 16_000
SHARES = (0.5, 0.7)
ROW_SHARES = (0.5, 0.55, 0.6, 0.65, 0.7)
"""Where the five compactions in a row are."""
PINS_EVERY = 40
"""Every so many messages one is pinned, where pins are measured."""
DIGEST_TOKENS = 200_000
DIGEST_SECONDS_MAX = 1.0

LADDER = Policy()
MASK = Policy(steps=("mask",), ledger_share=0.0)
DIGEST = Policy(steps=("summarize",), ledger_share=0.0)

View = Sequence[Message]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one cut of a session gave."""

    name: str
    share: float
    reported: bool
    """Whether the session is of the half that no constant was set on."""
    before: int
    """The tokens of the compacted part."""
    wanted: int
    """How many references of it are used again."""
    tokens: dict[str, int]
    """By policy, of the view."""
    recall: dict[str, float]
    pins_lost: int

    @property
    def missed(self) -> float:
        """What the ladder misses, as a share of what the window misses; 0 if that is nothing."""
        window = 1 - self.recall["window"]
        return (1 - self.recall["ladder"]) / window if window else 0.0


def bounds() -> Limits:
    """Give limits with the target, and no limit that would make steps go further."""
    return Limits(
        window=10**7, reserve=0, trigger=2 * TARGET_TOKENS, target=TARGET_TOKENS, limit=10**7
    )


def cut_at(session: Session, share: float) -> int:
    """Give the last place, before that share of a session's tokens, that splits no exchange."""
    reached = 0
    for at, size in enumerate(session.sizes):
        reached += size
        if reached > share * session.tokens:
            return max(cut for cut in cuts(session.messages) if cut <= at)
    return len(session.messages)


def window(past: View) -> View:
    """Keep the newest messages that fit the target, exchanges whole."""
    start = len(past)
    for cut in reversed(cuts(past)):
        if sum(map(estimate_message, past[cut:])) > TARGET_TOKENS:
            break
        start = cut
    return past[start:]


def compacted(past: View, policy: Policy, pins: frozenset[int] = frozenset()) -> Plan:
    """Compact a part of a session by a policy."""
    return compact(Request(history=tuple(past), pins=pins), bounds(), policy)


VIEWS: dict[str, Callable[[View], View]] = {
    "everything": lambda past: past,
    "window": window,
    "mask": lambda past: compacted(past, MASK).history,
    "digest": lambda past: compacted(past, DIGEST).history,
    "ladder": lambda past: compacted(past, LADDER).history,
}


def measure(session: Session, share: float, *, reported: bool) -> Measured:
    """Measure all policies at one cut."""
    at = cut_at(session, share)
    past, future = session.messages[:at], session.messages[at:]
    names = wanted(past, future)
    views = {name: view(past) for name, view in VIEWS.items()}
    pins = frozenset(message.seq or 0 for message in past[::PINS_EVERY])
    with_pins = compacted(past, LADDER, pins).history
    there = {message.seq: message for message in with_pins}
    lost = sum(there.get(past[seq - 1].seq) is not past[seq - 1] for seq in pins)
    return Measured(
        name=session.name,
        share=share,
        reported=reported,
        before=sum(session.sizes[:at]),
        wanted=len(names),
        tokens={name: sum(map(estimate_message, view)) for name, view in views.items()},
        recall={name: recall(names, view, past) for name, view in views.items()},
        pins_lost=lost,
    )


def in_a_row(session: Session) -> float:
    """Compact five times while a session grows, and give the recall at the last cut."""
    number, before = 1, 0
    view: tuple[Message, ...] = ()
    written: list[Message] = []
    for share in ROW_SHARES:
        at = cut_at(session, share)
        new = [
            replace(message, seq=number + index)
            for index, message in enumerate(session.messages[before:at])
        ]
        number += len(new)
        before = at
        written += new
        carried = []
        for message in compacted((*view, *new), LADDER).history:
            if message.seq is None:
                carried.append(replace(message, seq=number))
                number += 1
            else:
                carried.append(message)
        view = tuple(carried)
    names = wanted(session.messages[:before], session.messages[before:])
    return recall(names, view, written)


def digest_seconds(found: Sequence[Session]) -> float:
    """Give how long a digest of 200 000 tokens takes, the best of three, of the longest session."""
    longest = max(found, key=lambda one: one.tokens)
    part = longest.messages[: cut_at(longest, min(1.0, DIGEST_TOKENS / longest.tokens))]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        digest(part, 8_000)
        best = min(best, time.perf_counter() - start)
    return best


def report(paths: Sequence[Path]) -> int:
    """Print the tables; give 1 if a target is missed."""
    found = sessions(paths, tokens_min=TOKENS_MIN)
    if not found:
        print("no recorded sessions of that length")
        return 0
    head = "".join(f"{name:>16}" for name in VIEWS)
    print(f"{'session, cut at':<42}{'tokens':>8}{'wanted':>7}{head}   missed")
    rows = []
    for index, session in enumerate(found):
        for share in SHARES:
            row = measure(session, share, reported=index % 2 == 1)
            rows.append(row)
            cells = "".join(f"{row.recall[name]:>9.3f}{row.tokens[name]:>7}" for name in VIEWS)
            mark = " " if row.reported else "*"
            name = f"{row.name[:34]}{mark}"
            print(f"{name:<36}{share:>6.0%}{row.before:>8}{row.wanted:>7}{cells}{row.missed:>9.2f}")
    print("* constants were set on these; missed: by the ladder, as a share of the window's\n")
    row_recalls = [in_a_row(session) for session in found]
    print(f"{'after five compactions in a row':<42}{'recall':>8}")
    for session, value in zip(found, row_recalls, strict=True):
        print(f"{session.name[:40]:<42}{value:>8.3f}")
    print()
    return _targets(found, rows, row_recalls)


def _targets(found: Sequence[Session], rows: Sequence[Measured], in_row: Sequence[float]) -> int:
    """Print what is to be reached, and whether it is."""
    wanted_rows: list[tuple[str, float, float, bool]] = []
    for half, chosen in (("", list(rows)), (", other half", [row for row in rows if row.reported])):
        recalls = [row.recall["ladder"] for row in chosen]
        missed = max(row.missed for row in chosen)
        wanted_rows += [
            (f"ladder, median{half}", statistics.median(recalls), 0.90, True),
            (f"ladder, least of all cuts{half}", min(recalls), 0.75, True),
            (f"missed beside the window, most{half}", missed, 0.5, False),
        ]
    reported = list(in_row[1::2])
    seconds = digest_seconds(found)
    wanted_rows += [
        ("five in a row, median", statistics.median(in_row), 0.80, True),
        ("five in a row, least", min(in_row), 0.80, True),
        ("five in a row, least, other half", min(reported, default=1.0), 0.80, True),
        ("pins lost", float(sum(row.pins_lost for row in rows)), 0.0, False),
        ("seconds for a digest of 200 000 tokens", seconds, DIGEST_SECONDS_MAX, False),
    ]
    print(f"{'to be reached':<44}{'measured':>9}{'wanted':>9}")
    failed = 0
    for name, figure, bound, at_least in wanted_rows:
        good = figure >= bound if at_least else figure <= bound
        failed += not good
        sign = ">=" if at_least else "<="
        print(f"{name:<44}{figure:>9.3f}{sign:>4}{bound:>5.2f}{'' if good else '  missed'}")
    return int(failed > 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; give 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compaction", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="files and folders with sessions")
    return report(parser.parse_args(arguments).paths or [SAMPLES])
