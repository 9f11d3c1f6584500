"""The part of docs/cli.md that the program's own help gives: `python -m tests.cli.reference`."""

from pathlib import Path

from minutebook.cli.app import SECTIONS, name_of
from tests.cli.support import run

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
MARK = "<!-- What follows is written by: python -m tests.cli.reference -->\n"


def reference() -> str:
    """Write the help of the program and of each command, in the order of the help."""
    names = [name_of(function) for _, commands in SECTIONS for function, _ in commands]
    parts = [_part("minutebook", run("--help").stdout)]
    parts += [_part(f"minutebook {name}", run(name, "--help").stdout) for name in names]
    return "\n".join(parts)


def _part(title: str, text: str) -> str:
    return f"### `{title}`\n\n```text\n{text.rstrip()}\n```\n"


def main() -> None:
    """Write the page's last part anew."""
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{reference()}", encoding="utf-8")


if __name__ == "__main__":
    main()
