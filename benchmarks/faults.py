"""How well faults in summaries are caught: a thousand of them, planted in true ones.

`python -m benchmarks.faults [PATH ...]` takes the summaries that models wrote in recorded
sessions, where the file holds all that they cover, and digests of the same and of all other
long sessions; changes one thing in one line of one of them, a thousand times, always in the
same way; and counts how often the check doubts that line. Swapped names, which stand in the
source elsewhere, can't be told by the check that there is; they are counted apart.
"""

from __future__ import annotations

import argparse
import random
import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.sessions import read_all, session, sessions
from minutebook.budget import Limits, Policy
from minutebook.compaction.digest.names import kind_of, names_in
from minutebook.compaction.digest.write import digest
from minutebook.compaction.doubts import Checker, names_of, numbers_in
from minutebook.compaction.exact import DigestChecker
from minutebook.compaction.ladder import compact
from minutebook.compaction.plan import Request
from minutebook.compaction.verify import verify
from minutebook.messages import Message, replace
from minutebook.tokens.estimate import estimate_message
from minutebook.turns import origin_of

SAMPLES = Path(__file__).parent.parent.parent / "shared" / "samples"
FAULTS = 1_000
COVERED_TOKENS_MIN = 60_000
"""Of a summary of less the file has lost the beginning: agents compact far later."""
DIGEST_TOKENS = 5_000
TRIES = 20_000
"""After so many lines without anything of a kind there is none."""

SHARES = {"name": 0.30, "number": 0.25, "outcome": 0.20, "path": 0.15, "pin": 0.10}
"""How many of the faults are of each kind."""

WANTED = {"name": 0.95, "number": 0.95, "path": 0.95, "pin": 0.95, "outcome": 0.70}
UNTOUCHED_MAX = 0.05

OPPOSITES = (
    ("passed", "failed"),
    ("passes", "fails"),
    ("passing", "failing"),
    ("pass", "fail"),
    ("fixed", "broken"),
    ("resolved", "unresolved"),
    ("completed", "failed"),
    ("done", "pending"),
    ("works", "fails"),
    ("worked", "failed"),
    ("successfully", "unsuccessfully"),
    ("succeeded", "failed"),
    ("implemented", "rejected"),
    ("verified", "unverified"),
    ("confirmed", "denied"),
    ("supported", "unsupported"),
    ("enabled", "disabled"),
    ("not seen to work since", "the same worked later"),
    ("✅", "❌"),
)


@dataclass(frozen=True)
class Truth:
    """A summary that is true, and what it covers."""

    name: str
    text: str
    covered: tuple[Message, ...]
    by_model: bool

    @property
    def kind(self) -> str:
        """Who wrote it."""
        return "model" if self.by_model else "digest"

    @cached_property
    def checker(self) -> Checker | DigestChecker:
        """What has read the covered messages."""
        return Checker(self.covered) if self.by_model else DigestChecker(self.covered)

    @cached_property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.split("\n")

    @cached_property
    def names(self) -> list[str]:
        """The references that its source holds."""
        found = {name for message in self.covered for name in names_in(message.text)}
        return sorted(found)

    def doubted(self, text: str) -> set[int]:
        """Give the lines, from 1, that the check doubts in a text."""
        return {doubt.line for doubt in self.checker.check(text).doubts}

    @cached_property
    def doubted_untouched(self) -> set[int]:
        """The lines that are doubted as they are."""
        return self.doubted(self.text)


@dataclass(frozen=True)
class Result:
    """One planted fault."""

    kind: str
    by: str
    caught: bool
    line: str
    """The line with the fault, for looking at what is missed."""


def truths(paths: Sequence[Path]) -> list[Truth]:
    """Give all true summaries: those by models, and digests of the same and of long sessions."""
    found = []
    for name, branch in read_all(paths):
        for at, message in enumerate(branch):
            covered = branch[:at]
            tokens = sum(map(estimate_message, covered)) if origin_of(message) == "summary" else 0
            told = origin_of(message) == "summary" and message.text.strip()
            if told and tokens >= COVERED_TOKENS_MIN:
                found.append(Truth(f"{name} {at}", message.text, covered, by_model=True))
    for one in sessions(paths, tokens_min=COVERED_TOKENS_MIN):
        covered = one.messages[: len(one.messages) // 2]
        found.append(Truth(one.name, digest(covered, DIGEST_TOKENS), covered, by_model=False))
    return found


def plant(found: Sequence[Truth], count: int, seed: int = 1) -> list[Result]:
    """Plant so many faults, one at a time, and check each."""
    dice = random.Random(seed)
    by_kind = {kind: [one for one in found if one.kind == kind] for kind in ("model", "digest")}
    foreign = {one.name: _foreign(one, found) for one in found}
    results: list[Result] = []
    for kind, share in SHARES.items():
        for number in range(round(count * share)):
            choices = by_kind["model" if number % 2 else "digest"] or list(found)
            if kind == "pin":
                results.append(_cut_pin(dice.choice(choices), dice))
            else:
                results.append(_change(kind, choices, foreign, dice))
    return results


def _change(
    kind: str, choices: Sequence[Truth], foreign: dict[str, list[str]], dice: random.Random
) -> Result:
    """Change one line of one summary, and check the whole.

    Raises:
        ValueError: If none of the summaries has anything of that kind.
    """
    change = CHANGES[kind]
    for _ in range(TRIES):
        truth = dice.choice(choices)
        at = dice.randrange(len(truth.lines))
        line = truth.lines[at]
        changed = change(line, foreign[truth.name], dice)
        if changed is None or changed == line or at + 1 in truth.doubted_untouched:
            continue
        text = "\n".join([*truth.lines[:at], changed, *truth.lines[at + 1 :]])
        # An entry of several lines is doubted where it begins.
        begins = at + 1
        while begins > 1 and truth.lines[begins - 1].startswith("  ") and not truth.by_model:
            begins -= 1
        caught = begins in truth.doubted(text)
        return Result(kind, truth.kind, caught, changed)
    raise ValueError(f"there is no {kind} to change in these summaries")


def change_name(line: str, _: list[str], dice: random.Random) -> str | None:
    """Misspell a name by one letter."""
    names = [name for name in names_of(_body(line)) if sum(map(str.isalpha, name)) > 3]
    if not names:
        return None
    name = dice.choice(names)
    at = dice.choice([at for at, char in enumerate(name) if char.isalpha()])
    letter = dice.choice(string.ascii_lowercase)
    wrong = dice.choice(
        [
            name[:at] + name[at + 1 :],
            name[:at] + letter + name[at + 1 :],
            name[:at] + letter + name[at:],
        ]
    )
    return line.replace(name, wrong, 1)


def change_number(line: str, _: list[str], dice: random.Random) -> str | None:
    """Change one digit of a number."""
    numbers = numbers_in(_body(line))
    if not numbers:
        return None
    number = dice.choice(numbers)
    at = dice.choice([at for at, char in enumerate(number) if char.isdigit()])
    digit = dice.choice([one for one in "123456789" if one != number[at]])
    wrong = number[:at] + digit + number[at + 1 :]
    return re.sub(rf"(?<![\w.]){re.escape(number)}", wrong, line, count=1)


def change_outcome(line: str, _: list[str], dice: random.Random) -> str | None:
    """Turn what went well into what didn't, or the other way round."""
    if line.startswith("#"):
        return None
    found = []
    for pair in OPPOSITES:
        for old, new in (pair, pair[::-1]):
            pattern = rf"(?<![\w`./-]){re.escape(old)}(?![\w`/-]|\.\w)"
            if re.search(pattern, line, re.IGNORECASE):
                found.append((pattern, new))
    if not found:
        return None
    pattern, new = dice.choice(found)
    return re.sub(pattern, new, line, count=1, flags=re.IGNORECASE)


def change_path(line: str, foreign: list[str], dice: random.Random) -> str | None:
    """Put another session's path in the place of a path."""
    paths = [name for name in names_in(_body(line)) if kind_of(name) == "path"]
    if not paths or not foreign:
        return None
    return line.replace(dice.choice(paths), dice.choice(foreign), 1)


CHANGES: dict[str, Callable[[str, list[str], random.Random], str | None]] = {
    "name": change_name,
    "number": change_number,
    "outcome": change_outcome,
    "path": change_path,
}


def change_swap(truth: Truth, dice: random.Random) -> Result | None:
    """Put another name of the same session in the place of a name."""
    at = dice.randrange(len(truth.lines))
    line = truth.lines[at]
    names = names_in(_body(line))
    if not names or at + 1 in truth.doubted_untouched:
        return None
    name = dice.choice(names)
    others = [other for other in truth.names if kind_of(other) == kind_of(name) != "number"]
    if not others:
        return None
    changed = line.replace(name, dice.choice(others), 1)
    if changed == line:
        return None
    text = "\n".join([*truth.lines[:at], changed, *truth.lines[at + 1 :]])
    return Result("swapped name", truth.kind, at + 1 in truth.doubted(text), changed)


def _body(line: str) -> str:
    """Leave out what marks a list, and the record that a line is from."""
    marks = r"^\s*(?:#{1,6}\s+)?(?:[-*+]\s+)?(?:\d+[.)]\s+)?|\(?(?:in )?record \d+\)?"
    return re.sub(marks, " ", line)


def _foreign(truth: Truth, found: Sequence[Truth]) -> list[str]:
    """Give paths of other sessions whose file is named nowhere in this one."""
    own = "\n".join(message.text for message in truth.covered)
    own += "\n".join(call.arguments for message in truth.covered for call in message.calls)
    paths: dict[str, None] = {}
    for other in found:
        if other.covered is not truth.covered:
            for name in other.names:
                file = name.rstrip("/").rpartition("/")[2]
                if kind_of(name) == "path" and len(file) > 4 and file not in own:
                    paths[name] = None
    return list(paths)


def _cut_pin(truth: Truth, dice: random.Random) -> Result:
    """Pin a message, compact, and lose a part of it on the way."""
    history = session("", truth.covered).messages
    long = [message for message in history if len(message.text) > 40]
    pinned = dice.choice(long)
    request = Request(history=history, pins=frozenset([pinned.seq or 0]))
    target = 16_000 + estimate_message(pinned)
    bounds = Limits(window=10**7, reserve=0, trigger=10**7, target=target, limit=10**7)
    plan = compact(request, bounds, Policy(steps=("window",), ledger_share=0.0))
    at = dice.randrange(len(pinned.text) - 8)
    cut = dice.choice([pinned.text[:-1], pinned.text[1:], pinned.text[:at] + pinned.text[at + 8 :]])
    broken = [
        replace(message, content=cut) if message.seq == pinned.seq else message
        for message in plan.history
    ]
    checks = verify(request, broken)
    return Result("pin", truth.kind, pinned.seq in checks.pins_lost and checks.score == 0, cut)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many faults are caught; give 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[SAMPLES])
    parser.add_argument("--faults", type=int, default=FAULTS)
    parser.add_argument("--missed", action="store_true", help="print the faults that are missed")
    options = parser.parse_args(arguments)
    found = truths(options.paths)
    if not found:
        print("no summaries: none of these files holds one with all that it covers")
        return 0
    print(f"{'true summaries':<50}{'lines':>7}{'doubted untouched':>19}")
    lines: Counter[str] = Counter()
    doubted: Counter[str] = Counter()
    for one in found:
        telling = sum(any(map(str.isalnum, line)) for line in one.lines)
        lines[one.kind] += telling
        doubted[one.kind] += len(one.doubted_untouched)
        print(f"{one.kind} {one.name[:42]:<43}{telling:>7}{len(one.doubted_untouched):>19}")
    results = plant(found, options.faults)
    dice = random.Random(2)
    swaps = [swap for one in found for _ in range(20) if (swap := change_swap(one, dice))]
    missed = _print_kinds(results, swaps)
    for kind in lines:
        share = doubted[kind] / lines[kind]
        missed += share > UNTOUCHED_MAX
        print(f"untouched lines of a {kind}'s doubted: {share:.1%}, of {UNTOUCHED_MAX:.0%} at most")
    if options.missed:
        for result in results:
            if not result.caught:
                print(f"missed {result.kind} ({result.by}): {result.line[:160]}")
    return int(missed > 0)


def _print_kinds(results: Sequence[Result], swaps: Sequence[Result]) -> int:
    """Print a line for each kind of fault; give how many targets are missed."""
    heads = f"{'caught':>9}{'by models':>11}{'by digest':>11}{'wanted':>9}"
    print(f"\n{'faults':<16}{'planted':>9}{heads}")
    missed = 0
    for kind, wanted in WANTED.items():
        own = [result for result in results if result.kind == kind]
        share = _share(own)
        missed += share < wanted
        by = [_share([result for result in own if result.by == who]) for who in ("model", "digest")]
        print(
            f"{kind:<16}{len(own):>9}{share:>9.1%}{by[0]:>11.1%}{by[1]:>11.1%}{wanted:>9.0%}"
            f"{'' if share >= wanted else '  missed'}"
        )
    print(f"{'swapped name':<16}{len(swaps):>9}{_share(swaps):>9.1%}   (no target)")
    return missed


def _share(results: Sequence[Result]) -> float:
    return sum(result.caught for result in results) / len(results) if results else 1.0


if __name__ == "__main__":
    sys.exit(main())
