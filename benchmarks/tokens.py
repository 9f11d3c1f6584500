"""How far the token estimate is from o200k, by kind of text, and how fast it is.

`python -m benchmarks.tokens [PATH ...]` measures the texts of this repository, of Python's
standard library, of the sessions in ../shared/samples where they are there, and of the files
and folders named. The exact counts come from the extra `tokens`; without it only the speed
is shown.
"""

from __future__ import annotations

import argparse
import base64
import importlib
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

from minutebook.messages import ImagePart, MediaUrl, user
from minutebook.tokens.estimate import estimate_message, estimate_text

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

Text = tuple[str, str]
"""A kind and a text."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokens", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="more files and folders to measure")
    paths = parser.parse_args(arguments).paths
    count = exact_counter()
    if count is None:
        print("no exact counts: o200k comes with  pip install 'minutebook[tokens]'")
    else:
        print_errors(sorted(texts(paths)), count)
    print()
    print_speed()
    return 0


def exact_counter() -> Callable[[str], int] | None:
    """Give o200k's own counter; None where its package is not installed."""
    try:
        quicktok = importlib.import_module("quicktok")
    except ImportError:
        return None
    encoding = quicktok.get_encoding("o200k_base")
    return lambda text: int(encoding.count(text))


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


def print_errors(found: Sequence[Text], count: Callable[[str], int]) -> None:
    """Print a line for each kind: how far one text and how far all together are off."""
    rows: dict[str, list[tuple[int, int, int]]] = {}
    for kind, text in found:
        clean = text.encode("utf-8", "replace").decode()
        row = (count(clean), estimate_text(text), (len(text) + 3) // 4)
        rows.setdefault(kind, []).append(row)
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
