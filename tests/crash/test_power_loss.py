"""Every state that a power loss may leave of what a session lives through, opened and held.

`MINUTEBOOK_CRASH=long`, as `make test-crash` sets it, takes many more states of each scenario.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from minutebook.testing.crashes import Sampling
from tests.crash.scenarios import SCENARIOS, twenty
from tests.crash.survey import survey

LONG = os.environ.get("MINUTEBOOK_CRASH") == "long"
long_only = pytest.mark.skipif(not LONG, reason="many states: make test-crash opens them")
pytestmark = pytest.mark.crash
Record = Callable[[str, object], None]


def sampling() -> Sampling:
    """Say how many states are taken: the same ones on every run."""
    states, contents = (3_000, 600) if LONG else (250, 80)
    return Sampling(Random(7), states, contents)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_no_power_loss_costs_a_record(name: str, record_property: Record) -> None:
    """Each state has every acknowledged record, invents none, and can be written on."""
    scenario, start = SCENARIOS[name]
    result = await survey(scenario, start=start, sampling=sampling())
    record_property("states", result.states)
    assert result.complaints == []
    assert result.states > 20


@pytest.mark.parametrize("seed", range(3))
async def test_no_power_loss_costs_a_record_of_twenty_operations(
    seed: int, record_property: Record
) -> None:
    """Twenty operations drawn at random."""
    result = await survey(partial(twenty, seed=seed), sampling=sampling())
    record_property("states", result.states)
    assert result.complaints == []


@long_only
@pytest.mark.parametrize("seed", range(3, 23))
async def test_no_power_loss_costs_a_record_of_many_times_twenty_operations(
    seed: int, record_property: Record
) -> None:
    """Twenty times twenty more."""
    result = await survey(partial(twenty, seed=seed), sampling=sampling())
    record_property("states", result.states)
    assert result.complaints == []


KILLED = ("first_append", "concurrent_appends", "rewrite_keeping_a_part", "torn_batch")


async def killed_everywhere(name: str, step: int) -> tuple[int, list[str]]:
    """Kill the scenario's process after every *step*th operation; count the states after it."""
    scenario, start = SCENARIOS[name]
    few = Sampling(Random(7), 60, 30)
    count, complaints = 0, []
    for after in range(1, 60, step):
        result = await survey(scenario, start=start, sampling=few, killed_after=after)
        count += result.states
        complaints += [f"killed after {after}, {one}" for one in result.complaints]
    return count, complaints


@pytest.mark.parametrize("name", KILLED)
async def test_a_power_loss_after_a_kill_costs_nothing_either(
    name: str, record_property: Record
) -> None:
    """The next process builds on bytes and names that the killed one had not synced."""
    count, complaints = await killed_everywhere(name, step=1 if LONG else 5)
    record_property("states", count)
    assert complaints == []


async def test_a_slice_of_the_states_is_opened_on_the_real_disk(
    tmp_path: Path, record_property: Record
) -> None:
    """What holds in memory holds there."""
    few = Sampling(Random(7), 12, 12)
    count = 0
    for name in ("rewrite_keeping_a_part", "torn_batch", "leftovers"):
        scenario, start = SCENARIOS[name]
        root = tmp_path / name
        root.mkdir()
        result = await survey(scenario, start=start, sampling=few, root=root)
        assert result.complaints == []
        count += result.states
    record_property("states", count)
    assert count > 100


# The checker is checked.


async def sites() -> dict[str, list[str]]:
    """Give each place of the store that syncs, and the scenarios that come by there."""
    found: dict[str, list[str]] = {}
    for name, (scenario, start) in SCENARIOS.items():
        result = await survey(scenario, start=start, sampling=Sampling(Random(7), 2, 2))
        for site in result.sites:
            found.setdefault(site, []).append(name)
    return found


async def is_needed(site: str, names: list[str]) -> bool:
    """Tell whether some scenario loses something where one sync is left out."""
    for name in names:
        scenario, start = SCENARIOS[name]
        some = Sampling(Random(7), 200, 60)
        result = await survey(scenario, start=start, skip=site, sampling=some, stop=True)
        if result.complaints:
            return True
    return False


async def test_every_sync_of_the_store_is_needed_and_missed() -> None:
    """With each left out in turn some scenario fails; one that none misses would be removed."""
    found = await sites()
    assert len(found) > 15
    assert [site for site, names in sorted(found.items()) if not await is_needed(site, names)] == []
