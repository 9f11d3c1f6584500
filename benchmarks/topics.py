"""How well topic cuts find the seams of joined sessions.

`python -m benchmarks.topics [PATH ...]` joins whole recorded sessions, drawn at random, and
looks which of the true seams lie within two exchanges of a cut: with as many cuts as seams,
with twice as many, and with the cuts that a summariser of 8 000 or 32 000 tokens asks for.
Beside each share stands that of as many cuts at random places. Each session has topics of its
own, whose changes count as wrong here. Without paths it reads ../shared/samples.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sessions import Session, session, sessions
from minutebook.compaction.task import Capacity, parts, task_of
from minutebook.compaction.topics import topic_cuts, units_of
from minutebook.errors import MinutebookError
from minutebook.formats.reading import read
from minutebook.messages import Message, replace

SAMPLES = Path(__file__).parent.parent.parent / "shared" / "samples"
DIALOGUES = "tau-bench_airline_30.jsonl"
NEAR_EXCHANGES = 2
"""A seam counts as found if a cut is no further away than this."""
UNITS = (12, 150)
"""Shorter sessions are no topic; of longer ones the beginning is taken."""
JOINED = 5
JOINS = 20
"""How many sessions are joined, and how often for a group."""
TUNED = ("claude-code", "kimi", "openai-chat")
"""Whose sessions the constants were set on; those of other agents were not looked at."""


@dataclass(frozen=True, kw_only=True)
class Join:
    """Some sessions, one after the other."""

    messages: tuple[Message, ...]
    seams: tuple[int, ...]
    """The indices of the messages with which a new session begins."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each group of sessions; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.topics", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="files and folders with sessions")
    paths = parser.parse_args(arguments).paths or [SAMPLES]
    if not all(path.exists() for path in paths):
        print("no sessions: name files or folders that hold some")
        return 1
    print("share of true seams within two exchanges of a cut; in brackets cuts at random")
    heads = ("as many cuts", "twice as many", "8 000 tokens", "32 000 tokens")
    print(f"{'sessions':<24}{'joins':>6}{'seams':>6}" + "".join(f"{head:>22}" for head in heads))
    for name, found in groups(paths).items():
        if len(found) >= 2:
            print(row(name, joins(found, random.Random(name))))
    return 0


def groups(paths: Sequence[Path]) -> dict[str, list[Session]]:
    """Sort the sessions by how like each other they are."""
    found = [one for one in sessions(paths) if len(units_of(one.messages)) >= UNITS[0]]
    coding = [one for one in found if not one.name.startswith(f"openai-chat {DIALOGUES[:9]}")]
    return {
        "coding agents": coding,
        "  constants set on": [one for one in coding if one.name.startswith(TUNED)],
        "  not looked at": [one for one in coding if not one.name.startswith(TUNED)],
        "one agent, few projects": [one for one in coding if one.name.startswith("claude-code")],
        "dialogues, one domain": dialogues(paths),
    }


def dialogues(paths: Sequence[Path]) -> list[Session]:
    """Read the dialogues of one benchmark: one domain, the same tools, the same phrases."""
    found = []
    for path in [file for folder in paths if folder.is_dir() for file in folder.rglob(DIALOGUES)]:
        for index in range(30):
            try:
                found.append(session(f"dialogue {index}", read(path, index=index).branch))
            except MinutebookError:
                break
    return found


def joins(found: Sequence[Session], chance: random.Random) -> list[Join]:
    """Join sessions, drawn without repeating one in a join."""
    return [join(chance.sample(list(found), min(JOINED, len(found)))) for _ in range(JOINS)]


def join(chosen: Sequence[Session]) -> Join:
    """Put sessions one after the other, numbered anew."""
    messages: list[Message] = []
    seams = []
    for one in chosen:
        seams.append(len(messages))
        units = units_of(one.messages)[: UNITS[1]]
        messages += one.messages[: units[-1].end]
    numbered = tuple(replace(message, seq=seq) for seq, message in enumerate(messages, 1))
    return Join(messages=numbered, seams=tuple(seams[1:]))


def row(name: str, joined: Sequence[Join]) -> str:
    """Measure a group and write its line."""
    seams = sum(len(one.seams) for one in joined)
    cells = []
    for cut in (_as_many, _twice, _window(8_000), _window(32_000)):
        near = expected = 0.0
        for one in joined:
            units = [unit.start for unit in units_of(one.messages)]
            places = [units.index(index) for index in cut(one)]
            true = [units.index(index) for index in one.seams]
            near += hits(places, true)
            expected += by_chance(len(places), true, len(units))
        cells.append(f"{near / seams:>13.2f} ({expected / seams:.2f})")
    return f"{name:<24}{len(joined):>6}{seams:>6}" + "".join(f"{cell:>22}" for cell in cells)


def hits(places: Sequence[int], seams: Sequence[int]) -> int:
    """Count the seams near a cut; all are places between exchanges."""
    return sum(any(abs(at - seam) <= NEAR_EXCHANGES for at in places) for seam in seams)


def by_chance(count: int, seams: Sequence[int], units: int) -> float:
    """Give how many seams would be near one of *count* different places drawn at random."""
    expected = 0.0
    for seam in seams:
        near = range(max(1, seam - NEAR_EXCHANGES), min(units, seam + NEAR_EXCHANGES + 1))
        missed = 1.0
        for drawn in range(count):
            missed *= max(0, units - 1 - len(near) - drawn) / max(1, units - 1 - drawn)
        expected += 1 - missed
    return expected


def _as_many(one: Join) -> list[int]:
    return topic_cuts(one.messages, len(one.seams))


def _twice(one: Join) -> list[int]:
    return topic_cuts(one.messages, 2 * len(one.seams))


def _window(tokens: int) -> Callable[[Join], list[int]]:
    """Give the cuts that a summariser with that window asks for."""
    capacity = Capacity(window_tokens=tokens, output_tokens_max=tokens)

    def cut(one: Join) -> list[int]:
        divided = parts(task_of(one.messages, 2_000), capacity)
        starts = [(part.messages[0].seq or 1) - 1 for part in divided]
        return [start for start in starts if start]

    return cut


if __name__ == "__main__":
    sys.exit(main())
