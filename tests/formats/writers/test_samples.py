"""Real sessions, read, written in their own form, and read again."""

from pathlib import Path

import pytest

from minutebook.formats.reading import read, read_source
from minutebook.formats.source import Source
from minutebook.formats.writers.registry import writer_of
from minutebook.formats.writers.value import About
from minutebook.records import Usage
from minutebook.turns import pair

SAMPLES = Path(__file__).parents[3] / "../shared/samples"
FOLDERS = {
    "kimi": "kimi-cli",
    "claude-code": "claude-code",
    "codex": "codex",
    "openai-chat": "openai-chat",
}
NEVER_LOST = {"messages", "texts", "calls", "arguments", "tool_names", "order", "images"}
"""What a session's own form holds, whatever the session."""


def files(name: str) -> list[Path]:
    """Give the samples of an agent."""
    found = sorted((SAMPLES / FOLDERS[name]).rglob("*.json*"))
    return [path for path in found if path.is_file()]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no ../shared/samples beside the repository")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_real_session_comes_back(name: str) -> None:
    """Every message, call, result and usage that is sent; the rest of it is counted."""
    writer = writer_of(name)
    assert writer is not None
    count = 0
    for path in files(name):
        try:
            reading = read(path)
        except Exception:  # noqa: BLE001 - companions of sessions lie among the samples
            continue
        if reading.format not in {name, "native"} or not reading.sent:
            continue
        about = About(
            session_id="1b2c3d4e-0000-4000-8000-000000000000", at=0.0, model=reading.model
        )
        written = writer.write(reading.records, about)
        again = read_source(Source(written.data))
        count += 1
        lost = {key: number for key, number in written.lost.items() if key in NEVER_LOST}
        assert lost == {}, (path.name, written.lost)
        assert len(pair(again.sent).results) >= len(pair(reading.sent).results), path.name
        usages = [record for record in reading.records if isinstance(record, Usage)]
        if name != "openai-chat":
            kept = [record for record in again.records if isinstance(record, Usage)]
            assert len(kept) + written.lost.get("usages", 0) >= len(usages), path.name
    assert count > 0
