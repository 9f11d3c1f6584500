import pytest

from minutebook.testing import server


@pytest.fixture(autouse=True)
def _upstreams_answer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send each event when it is written, so that none waits for an acknowledgement."""
    monkeypatch.setattr(server._Handler, "disable_nagle_algorithm", True)
