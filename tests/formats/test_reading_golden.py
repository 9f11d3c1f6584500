"""What every sample file holds, in numbers, against a table that was checked by hand.

`python tests/formats/test_reading_golden.py` writes the table anew; look at the difference.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from minutebook.errors import MinutebookError
from minutebook.formats.reading import Reading, read
from minutebook.messages import ImagePart, Message
from minutebook.records import Checkpoint, SystemPrompt, Usage
from minutebook.tokens.spent import Spent
from minutebook.turns import pair, turns
from tests.formats.altered import holds

SAMPLES = Path(__file__).parents[2] / "../shared/samples"
GOLDEN = Path(__file__).with_name("golden.json")
FORMATS_OF = {
    "claude-code": {"claude-code"},
    "cline-sdk": {"cline-sdk"},
    "codex": {"codex"},
    "gemini-cli": {"gemini-cli"},
    "kimi-cli": {"kimi"},
    "kimi-code": {"kimi-code"},
    "mini-swe-agent": {"mini-swe-agent"},
    "openai-chat": {"openai-chat"},
    "opencode": {"opencode"},
    "openhands": {"openhands", "openhands-v0"},
    "pi": {"pi"},
    "sharegpt": {"sharegpt"},
    "swe-agent": {"swe-agent"},
}
"""The formats of the files in each folder of the samples."""
NO_SESSIONS = re.compile(
    r"cline-sdk/session\.json|gemini-cli/sdk_agent-resume-session\.json|kimi-cli/.*/wire\.jsonl"
    r"|kimi-(cli|code)/.*state\.json|kimi-cli/.*/(kimi\.json|test)|opencode/.*/(message|part|project)/.*"
    r"|pi/LICENSE"
)
"""The files that are none: they stand beside a session, or are recorded answers of a service."""


ABOUT = (
    "title",
    "agent",
    "agent_version",
    "model",
    "session_id",
    "parent_session",
    "cwd",
    "started",
    "updated",
)


def sample_files() -> list[str]:
    """Name every file of the samples."""
    return sorted(
        path.relative_to(SAMPLES).as_posix()
        for folder in FORMATS_OF
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
    spent = reading.spent or Spent()
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
        "branch": len(reading.branch),
        "hidden": dict(sorted(Counter(item.why for item in reading.left_out).items())),
        "spent": [spent.calls, spent.input, spent.cache_read, spent.cache_write, spent.output],
        "about": sorted(key for key in ABOUT if getattr(reading, key) not in {"", None}),
        "counts": dict(sorted(reading.counts.items())),
        "problems": [[problem.line, problem.kind] for problem in reading.problems],
    }


def table_row(name: str) -> dict[str, Any]:
    """Read one sample and describe it; of several conversations, all their messages too."""
    try:
        reading = read(SAMPLES / name)
    except MinutebookError as error:
        return {"error": type(error).__name__}
    holds(reading)
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


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_sample_is_of_its_folders_format(name: str) -> None:
    """None is taken for something else, and only what is no session is refused."""
    found = EXPECTED[name].get("format")

    if found is None:
        assert NO_SESSIONS.fullmatch(name)
        assert EXPECTED[name] == {"error": "FormatError"}
    else:
        assert found in FORMATS_OF[name.partition("/")[0]]


if __name__ == "__main__":
    TABLE = {name: table_row(name) for name in sample_files()}
    LINES = [f"{json.dumps(name)}: {json.dumps(TABLE[name])}" for name in TABLE]
    GOLDEN.write_text("{\n" + ",\n".join(LINES) + "\n}\n")
