"""The benchmarks run from end to end on tiny logs. Nothing here looks at a time."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import compaction
from benchmarks.__main__ import GROUPS, main


@pytest.fixture(autouse=True)
def small_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the digest have little to read."""
    monkeypatch.setattr(compaction, "DIGEST_MESSAGES", 60)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_measures_costs_and_floors(
    group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each group gives rows with positive figures, and leaves nothing behind."""
    if group == "memory" and not sys.platform.startswith("linux"):
        pytest.skip("memory is measured on Linux only")

    code = main(["--quick", "--json", "--sizes", "60", "--only", group, "--folder", str(tmp_path)])

    result = json.loads(capsys.readouterr().out)
    assert code == 0
    assert result["rows"]
    assert all(row["cost"] > 0 for row in result["rows"])
    assert all(row["floor"] is None or row["floor"] > 0 for row in result["rows"])
    assert len(result["machine"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_the_table_is_printed_with_what_it_was_measured_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --json people get the machine, the headings and the rows."""
    main(["--quick", "--sizes", "40", "--only", "restore", "--folder", str(tmp_path)])

    printed = capsys.readouterr().out
    assert "Python" in printed
    assert "read, split, decode" in printed
    assert "≤ 1.6 ×" in printed


@pytest.mark.parametrize("wrong", [["--only", "nothing"], ["--sizes", "0"], ["--sizes", "many"]])
def test_wrong_words_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A group that there is none of and sizes that are none end it with usage and exit code 2."""
    with pytest.raises(SystemExit) as ended:
        main(wrong)

    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err
