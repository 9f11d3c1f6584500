"""How well tokens are counted: beside o200k, on recorded sessions, and how fast.

`python -m benchmarks.tokens [PATH ...]` prints four tables: the estimate's error against
o200k by kind of text; the size of the next request on recorded sessions that carry usage; how
long an estimate takes; and what is to be reached. Measured are the texts of this repository,
of Python's standard library, the sessions in ../shared/samples where they are there, and the
files and folders named. The exact counts come from the extra `tokens`; without it their table
is left out.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import statistics
import sys
import sysconfig
import timeit
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.recorded import recorded
from benchmarks.token_sessions import print_sessions, targets, walk_all
from minutebook.errors import ConfigError
from minutebook.messages import ImagePart, MediaUrl, user
from minutebook.tokens.estimate import estimate_message, estimate_text
from minutebook.tokens.exact import counter

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT.parent / "shared" / "samples"
FILE_BYTES_MAX = 4_000_000
"""Larger files are passed over: the table should take seconds."""
PIECE_CHARACTERS_MIN = 250
"""Shorter texts say little: one token more or less is several percent of them."""
PIECES_PER_FILE_MAX = 200
HAN_SHARE = 0.2
"""From this share of Han characters on a text is called Chinese."""

_HAN = re.compile("[\u4e00-\u9fff]")
_KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_CIPHER = re.compile(r"[A-Za-z0-9+/=_-]{120}")
_SUFFIX_KINDS = {".py": "python", ".js": "javascript", ".ts": "javascript", ".json": "json"}
_SUFFIX_KINDS |= {".md": "markdown", ".rst": "markdown", ".txt": "text", ".toml": "toml"}

KINDS = {
    "English": ("docstrings", "markdown", "text"),
    "code": ("python", "javascript"),
    "JSON": ("json",),
    "Chinese": ("chinese",),
}
"""The kinds of text that a target is set for, and how their names in the table end."""

Text = tuple[str, str]
"""A kind and a text."""
Counts = tuple[int, int, int]
"""Of one text: exactly, by the estimate, by a quarter of its characters."""
Target = tuple[str, float, float]
"""A name, the figure, and the most that it may be, in percent."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; give the exit code: 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokens", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="more files and folders to measure")
    paths = parser.parse_args(arguments).paths
    wanted: list[Target] = []
    count = exact_counter()
    if count is None:
        print("no exact counts: o200k comes with  pip install 'minutebook[tokens]'")
    else:
        rows = measure(sorted(texts(paths)), count)
        print_errors(rows)
        wanted += text_targets(rows)
    print()
    walked = walk_all(recorded(SAMPLES))
    if walked:
        print_sessions(walked)
        wanted += targets(walked)
    else:
        print("no recorded sessions: ../shared/samples is not there")
    print()
    print_speed()
    print()
    return print_targets(wanted)


def exact_counter() -> Callable[[str], int] | None:
    """Give o200k's own counter; None where its package is not installed."""
    try:
        return counter("o200k_base").count
    except ConfigError:
        return None


def texts(paths: Sequence[Path]) -> Iterator[Text]:
    """Find all texts to measure, each with its kind."""
    for folder in ("src", "tests", "benchmarks", "examples", "docs"):
        yield from files("", ROOT / folder)
    for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml"):
        yield from files("", ROOT / name)
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.glob("*.py")):
        yield from files("library ", path)
        yield from prose(path)
    yield from sessions(SAMPLES)
    for path in paths:
        yield from files("given ", path)


def files(prefix: str, path: Path) -> Iterator[Text]:
    """Read a file, or the files of a folder, whose suffix tells their kind."""
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in found:
        kind = _SUFFIX_KINDS.get(file.suffix)
        if kind and file.is_file() and file.stat().st_size <= FILE_BYTES_MAX:
            text = file.read_text("utf-8", errors="replace")
            if len(text) >= PIECE_CHARACTERS_MIN:
                yield f"{prefix}{kind}", text


def prose(path: Path) -> Iterator[Text]:
    """Take the long docstrings out of a module: English, with few signs in it."""
    for found in re.finditer(r'"""(.*?)"""', path.read_text("utf-8", errors="replace"), re.DOTALL):
        if len(found[1]) >= PIECE_CHARACTERS_MIN:
            yield "library docstrings", found[1]


def sessions(folder: Path) -> Iterator[Text]:
    """Take the texts out of recorded agent sessions, each once, and the files as JSON."""
    for path in sorted(folder.rglob("*.json*")):
        if path.stat().st_size > FILE_BYTES_MAX:
            continue
        written = path.read_text("utf-8", errors="replace")
        lines = written.split("\n") if path.suffix == ".jsonl" else [written]
        if path.suffix == ".json" and not _CIPHER.search(written):
            yield "session files, json", written
        pieces: dict[str, None] = {}
        for line in lines:
            try:
                pieces.update(dict.fromkeys(strings(json.loads(line))))
            except ValueError:
                continue
        kept = [piece for piece in pieces if len(piece) >= PIECE_CHARACTERS_MIN]
        for piece in kept[:PIECES_PER_FILE_MAX]:
            if not _CIPHER.search(piece):
                yield f"sessions, {language(piece)}", piece


def strings(value: object) -> Iterator[str]:
    """Walk all strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def language(text: str) -> str:
    """Tell Chinese, Japanese or Korean, JSON, and the rest apart."""
    if len(_KANA_OR_HANGUL.findall(text)) > len(text) * HAN_SHARE / 4:
        return "japanese or korean"
    if len(_HAN.findall(text)) > len(text) * HAN_SHARE:
        return "chinese"
    return "json" if text.lstrip()[:1] in {"{", "["} else "english and code"


def measure(found: Sequence[Text], count: Callable[[str], int]) -> dict[str, list[Counts]]:
    """Count each text in the three ways, by kind."""
    rows: dict[str, list[Counts]] = {}
    for kind, text in found:
        row = (count(text), estimate_text(text), (len(text) + 3) // 4)
        rows.setdefault(kind, []).append(row)
    return rows


def print_errors(rows: dict[str, list[Counts]]) -> None:
    """Print a line for each kind: how far one text and how far all together are off."""
    print("error against o200k, percent     |------ estimate ------|  |----- characters/4 ----|")
    print(f"{'kind of text':<24}{'texts':>7}{'tokens':>10}" + 2 * "     all  median     p90")
    for kind, counts in rows.items():
        exact = sum(row[0] for row in counts)
        line = f"{kind:<24}{len(counts):>7}{exact:>10}"
        for column in (1, 2):
            whole = 100 * (sum(row[column] for row in counts) / exact - 1)
            errors = sorted(abs(100 * (row[column] / row[0] - 1)) for row in counts)
            ninth = errors[min(len(errors) - 1, len(errors) * 9 // 10)]
            line += f"{whole:>+8.1f}{statistics.median(errors):>8.1f}{ninth:>8.1f}"
        print(line)


def text_targets(rows: dict[str, list[Counts]]) -> list[Target]:
    """Give the median error of one text, by language."""
    found: list[Target] = []
    for name, endings in KINDS.items():
        errors = [
            abs(100 * (row[1] / row[0] - 1))
            for kind, counts in rows.items()
            if kind.endswith(endings)
            for row in counts
        ]
        if errors:
            most = 15.0 if name == "Chinese" else 12.0
            found.append(
                (f"one text against o200k, {name}, median", statistics.median(errors), most)
            )
    return found


def print_targets(wanted: Sequence[Target]) -> int:
    """Print what is to be reached and whether it is; give 1 if something isn't."""
    print(f"{'to be reached, percent':<50}{'measured':>10}{'at most':>9}")
    missed = 0
    for name, figure, most in wanted:
        missed += figure > most
        print(f"{name:<50}{figure:>10.3f}{most:>9.1f}{'' if figure <= most else '  missed'}")
    return int(missed > 0)


def print_speed() -> None:
    """Print what an estimate takes for texts of some sizes, the best of several runs."""
    source = Path(argparse.__file__).read_text("utf-8")
    chinese = "写入磁盘的每一行都不再修改，发送给模型的内容由此计算得出。"
    noise = base64.b64encode(random.Random(1).randbytes(1_200_000)).decode()
    picture = user([ImagePart(MediaUrl(f"data:image/png;base64,{noise}"))])
    cases: list[tuple[str, Callable[[], int], int]] = [
        ("message of 300 characters", lambda: estimate_message(user(source[2000:2300])), 20_000),
        ("text of 300 characters", lambda: estimate_text(source[2000:2300]), 20_000),
        ("text of 3 000 characters", lambda: estimate_text(source[2000:5000]), 5_000),
        ("picture of 1.6 MB base64", lambda: estimate_message(picture), 20_000),
    ]
    for name, text in (("source", source), ("chinese", chinese), ("base64", noise)):
        large = (text * (1_000_000 // len(text.encode()) + 1)).encode()[:1_000_000]
        piece = large.decode("utf-8", "ignore")
        cases.append((f"1 MB of {name}", partial(estimate_text, piece), 1))
    print(f"{'time of one estimate':<30}{'microseconds':>14}")
    for name, run, times in cases:
        best = min(timeit.repeat(run, number=times, repeat=5)) / times * 1e6
        print(f"{name:<30}{best:>14.2f}")


if __name__ == "__main__":
    sys.exit(main())
