"""The same for whole sessions: prompts, checkpoints, reverts, compactions, undoing, forks."""

import os
from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from minutebook.testing.crashes import Sampling
from tests.crash.sessions import SCENARIOS, survey, twenty

LONG = os.environ.get("MINUTEBOOK_CRASH") == "long"
pytestmark = pytest.mark.crash
Record = Callable[[str, object], None]


def sampling() -> Sampling:
    """Say how many states are taken: the same ones on every run."""
    return Sampling(Random(7), 1_000, 200) if LONG else Sampling(Random(7), 30, 15)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_no_power_loss_costs_a_session_anything(name: str, record_property: Record) -> None:
    """Each state opens as after some step, and can be appended to, marked, and gone back in."""
    result = await survey(SCENARIOS[name], sampling())
    record_property("states", result.states)
    assert result.complaints == []
    assert result.states > 20


@pytest.mark.parametrize("seed", range(30 if LONG else 1))
async def test_no_power_loss_costs_a_session_of_twenty_steps_anything(
    seed: int, record_property: Record
) -> None:
    """Twenty steps drawn at random."""
    result = await survey(partial(twenty, seed=seed), sampling())
    record_property("states", result.states)
    assert result.complaints == []


FORK_SITES = (
    "_write write_fork fsync .context.jsonl.new",
    "write_fork fork_session fsync_folder t",
    "sync_folders write_fork fsync_folder t",
    "sync_folders write_fork fsync_folder forks",
    "sync_folders write_fork fsync_folder b",
    "sync_folders write_fork fsync_folder ",
)


@pytest.mark.parametrize("site", FORK_SITES)
async def test_the_syncs_of_a_fork_are_missed(site: str) -> None:
    """Left out, the fork is torn, lacks a rotation, or is gone."""
    some = Sampling(Random(7), 400, 60)
    result = await survey(SCENARIOS["forked"], some, skip=site, stop=True)
    assert site in result.sites
    assert result.complaints


@pytest.mark.parametrize(
    "site", ["_write compress fsync_folder s", "write_synced _write fsync .rotation.new"]
)
async def test_the_syncs_of_compressing_are_missed(site: str) -> None:
    """Left out, a rotation is lost or torn."""
    some = Sampling(Random(7), 60, 20)
    result = await survey(SCENARIOS["collected"], some, skip=site, stop=True)
    assert result.complaints
    assert site in result.sites
