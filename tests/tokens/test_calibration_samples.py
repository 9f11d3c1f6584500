"""On recorded sessions of other agents, what is to be reached is reached."""

from pathlib import Path

import pytest

from benchmarks.recorded import recorded
from benchmarks.token_sessions import targets, walk_all

SAMPLES = Path(__file__).parents[2] / "../shared/samples"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the recorded sessions are not there")
def test_the_next_request_is_known_beforehand() -> None:
    """The errors of the next request, of its new part and of hidden growth, as documented."""
    walked = walk_all(recorded(SAMPLES))
    assert len({one.session.agent for one in walked}) == 5
    missed = [f"{name}: {figure:.3f}" for name, figure, most in targets(walked) if figure > most]
    assert missed == []
