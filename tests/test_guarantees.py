"""docs/guarantees.md names tests that exist, and every promise of the store and the design."""

import ast
import re
from pathlib import Path

from minutebook.store.contract import Store

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def defined(file: str) -> set[str]:
    """Give the tests of a file, and its classes, by the names that pytest gives them."""
    tree = ast.parse((ROOT / file).read_bytes()).body
    classes = {node.name: node for node in tree if isinstance(node, ast.ClassDef)}
    found = {n.name for n in tree if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    for name in classes:
        found |= {name, *(f"{name}::{method}" for method in methods(name, classes))}
    return found


def methods(name: str, classes: dict[str, ast.ClassDef]) -> set[str]:
    """Give the methods of a class, inherited ones too."""
    node = classes.get(name)
    if node is None:
        return set()
    own = {n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    return own.union(*(methods(ast.unparse(base), classes) for base in node.bases))


def test_every_test_that_the_page_names_is_there() -> None:
    """Its file too."""
    named = re.findall(r"`((?:tests|src)/[^`]+\.py)::([^`]+)`", PAGE)
    known = {file: defined(file) for file in {file for file, _ in named}}

    assert len(named) > 80
    assert [f"{file}::{name}" for file, name in named if name not in known[file]] == []


def test_every_promise_has_its_row() -> None:
    """Those that the store's contract numbers, and the eight of the design."""
    promised = re.findall(r"- (P\d+) ", Store.__doc__ or "")
    rows = re.findall(r"^\| (P?\d+) \|", PAGE, flags=re.MULTILINE)

    assert len(promised) == 14
    assert rows == [*promised, *map(str, range(1, 9))]
