"""What every sample file holds, in numbers, against a table that was checked by hand.

`python tests/formats/test_reading_golden.py` writes the table anew; look at the difference.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from minutebook.errors import MinutebookError
from minutebook.formats.reading import Reading, read
from minutebook.messages import ImagePart, Message
from minutebook.records import Checkpoint, SystemPrompt, Usage
from minutebook.turns import pair, turns

SAMPLES = Path(__file__).parents[2] / "../shared/samples"
GOLDEN = Path(__file__).with_name("golden.json")
FOLDERS = ("claude-code", "cline-sdk", "kimi-cli", "openai-chat")


def sample_files() -> list[str]:
    """Name every file of the folders whose formats can be read."""
    return sorted(
        path.relative_to(SAMPLES).as_posix()
        for folder in FOLDERS
        for path in (SAMPLES / folder).rglob("*")
        if path.is_file()
    )


def described(messages: tuple[Message, ...]) -> dict[str, Any]:
    """Count what messages hold."""
    pairing = pair(messages)
    return {
        "messages": dict(sorted(Counter(message.role for message in messages).items())),
        "turns": len(turns(messages)),
        "calls": sum(len(message.calls) for message in messages),
        "results": len(pairing.results),
        "unanswered": len(pairing.open),
        "orphans": len(pairing.orphans),
        "images": sum(isinstance(part, ImagePart) for item in messages for part in item.parts),
    }


def row(reading: Reading) -> dict[str, Any]:
    """Describe a reading in numbers: nothing of what the file says."""
    kinds = Counter(type(record) for record in reading.records)
    usages = [record for record in reading.records if isinstance(record, Usage)]
    return {
        "format": reading.format,
        "sent": described(reading.sent),
        "everything": len(reading.everything),
        "earlier": len(reading.earlier),
        "prompts": kinds[SystemPrompt],
        "checkpoints": kinds[Checkpoint],
        "usages": len(usages),
        "output_tokens": sum(record.output or 0 for record in usages),
        "last_token_count": usages[-1].token_count if usages else 0,
        "origins": dict(sorted(Counter(str(item.origin) for item in reading.sent).items())),
        "counts": dict(sorted(reading.counts.items())),
        "problems": [[problem.line, problem.kind] for problem in reading.problems],
    }


def table_row(name: str) -> dict[str, Any]:
    """Read one sample and describe it; of several conversations, all their messages too."""
    try:
        reading = read(SAMPLES / name)
    except MinutebookError as error:
        return {"error": type(error).__name__}
    described_row = row(reading)
    several = reading.counts.get("conversations", 0)
    if several:
        readings = [read(SAMPLES / name, index=index) for index in range(several)]
        described_row["each"] = [len(other.sent) for other in readings]
    return described_row


EXPECTED: dict[str, Any] = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}


def test_the_table_has_every_sample() -> None:
    """No file is left out, and none that is gone."""
    if not SAMPLES.exists():
        pytest.skip("../shared/samples is not beside the repository")

    assert sorted(EXPECTED) == sample_files()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_sample_holds_what_the_table_says(name: str) -> None:
    """Format, messages, turns, calls, results, images, compactions, usage and problems."""
    if not SAMPLES.exists():
        pytest.skip("../shared/samples is not beside the repository")

    assert table_row(name) == EXPECTED[name]


if __name__ == "__main__":
    TABLE = {name: table_row(name) for name in sample_files()}
    LINES = [f"{json.dumps(name)}: {json.dumps(TABLE[name])}" for name in TABLE]
    GOLDEN.write_text("{\n" + ",\n".join(LINES) + "\n}\n")
