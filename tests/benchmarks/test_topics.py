"""The benchmark of topic cuts: what it counts, and that it runs from end to end."""

import json
import random
from itertools import combinations
from pathlib import Path

import pytest

from benchmarks import topics
from benchmarks.topics import by_chance, hits, main

WORDS = 60


def recorded(folder: Path, name: str, chance: random.Random) -> None:
    """Write a session of its own words, large enough to be measured."""
    words = [f"{name}{number}word" for number in range(WORDS)]
    messages = []
    for _ in range(30):
        for role in ("user", "assistant"):
            text = " ".join(chance.choice(words) for _ in range(120))
            messages.append({"role": role, "content": text})
    (folder / f"{name}.json").write_text(json.dumps(messages), "utf-8")


def test_sessions_are_joined_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every seam between sessions of different words is found with as many cuts."""
    monkeypatch.setattr(topics, "JOINS", 2)
    for name in ("alpha", "beta", "gamma"):
        recorded(tmp_path, name, random.Random(name))

    code = main([str(tmp_path)])

    row = next(line for line in capsys.readouterr().out.split("\n") if "coding agents" in line)
    assert code == 0
    assert row.split()[2:4] == ["2", "4"]
    assert row.split()[4] == "1.00"


def test_without_sessions_it_says_so(tmp_path: Path) -> None:
    """And gives an exit code."""
    assert main([str(tmp_path / "none")]) == 1


def test_a_seam_is_hit_by_a_cut_that_is_near() -> None:
    """Two exchanges away counts, three don't."""
    assert hits([10], [8, 12, 13]) == 2
    assert hits([], [8]) == 0


@pytest.mark.parametrize(("count", "units"), [(1, 12), (2, 12), (3, 9)])
def test_the_share_by_chance_is_that_of_all_draws(count: int, units: int) -> None:
    """Compared with every possible choice of places."""
    seams = [1, 5]
    draws = list(combinations(range(1, units), count))
    mean = sum(hits(list(draw), seams) for draw in draws) / len(draws)

    assert by_chance(count, seams, units) == pytest.approx(mean)
