"""Views of real sessions that others have published."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.codec import from_object
from minutebook.messages import Message
from minutebook.providers import (
    validate_anthropic,
    validate_chat,
    validate_gemini,
    validate_responses,
)
from minutebook.providers.view import make_view

SAMPLES = Path(__file__).parents[2] / "../shared/samples"


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Read the lines of a file that are JSON objects."""
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def sample_histories() -> Iterator[list[Message]]:
    """Read each Kimi CLI context and each OpenAI conversation."""
    for path in sorted(SAMPLES.glob("kimi-cli/**/*.jsonl")):
        lines = [line for line in objects(path) if isinstance(line.get("role"), str)]
        yield [record for record in map(from_object, lines) if isinstance(record, Message)]
    for line in objects(SAMPLES / "openai-chat" / "tau-bench_airline_30.jsonl"):
        found = map(from_object, line["messages"])
        yield [record for record in found if isinstance(record, Message)]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no ../shared/samples beside the repository")
def test_real_sessions_can_be_sent_to_every_provider() -> None:
    """Ids that repeat, results that are empty, arguments that were cut off: all of it is there."""
    histories = [history for history in sample_histories() if history]

    assert len(histories) > 30
    for history in histories:
        view = make_view("p", history)
        assert len(view.messages) >= len(history)
        assert validate_chat.violations(view.to_openai()) == []
        assert validate_anthropic.violations(view.to_anthropic()["messages"]) == []
        assert validate_responses.violations(view.to_responses()) == []
        signed = view.to_gemini(model="gemini-3-pro-preview")
        assert validate_gemini.violations(signed, signed=True) == []
