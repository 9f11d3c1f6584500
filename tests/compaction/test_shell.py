"""Shell commands are read for the files that they touch and for what they mainly run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.shell import patched_files, read_command

PATCH = """*** Begin Patch
*** Add File: docs/new file.md
+# New
*** Update File: src/app.py
*** Move to: src/main.py
@@
-a
+b
*** Delete File: old.py
*** End Patch"""
DIFF = """--- a/src/app.py
+++ b/src/app.py
@@ -1 +1 @@
--- a/gone.py
+++ /dev/null
"""


@given(st.text(max_size=200))
def test_any_text_is_read(command: str) -> None:
    """Nothing is raised, and files are only named that the text names."""
    reading = read_command(command)

    assert all(path in command for _, path in reading.uses)


@pytest.mark.parametrize(
    ("command", "main", "uses"),
    [
        ("cat src/app.py", "cat src/app.py", [("read", "src/app.py")]),
        ("sed -n '1,4p' src/app.py | head -3", "sed -n 1,4p src/app.py", [("read", "src/app.py")]),
        ("sed -i 's/a/b/' src/app.py", "sed -i s/a/b/ src/app.py", [("edit", "src/app.py")]),
        ("cd /w && npm test 2>&1 | tail -5", "npm test", []),
        ("grep -rn 'x.y' src/app.py", "grep -rn x.y src/app.py", [("search", "src/app.py")]),
        ("grep -n a.b", "grep -n a.b", []),
        ("rm -f out/a.txt b.log", "rm -f out/a.txt b.log",
         [("delete", "out/a.txt"), ("delete", "b.log")]),
        ("mv a.txt docs/b.txt", "mv a.txt docs/b.txt", [("move", "docs/b.txt")]),
        ("cp a.txt b.txt", "cp a.txt b.txt", [("write", "b.txt")]),
        ("git mv a.py b.py", "git mv a.py b.py", [("move", "b.py")]),
        ("git commit -m 'fix a.py'", "git commit -m fix a.py", []),
        ("echo hi > notes.txt", "echo hi > notes.txt", [("write", "notes.txt")]),
        ("make > /dev/null; ls", "make", []),
        ("python - <<'EOF' > out.txt\nopen('x.py')\nEOF\necho ok", "python -",
         [("write", "out.txt")]),
        ("A=1 sudo timeout 30 pytest -q", "pytest -q", []),
        ("# look first\ncat a.md", "cat a.md", [("read", "a.md")]),
        ('echo "a; b" && cat "my file.md"', "cat my file.md", [("read", "my file.md")]),
        ("awk '{print $1}' data.csv", "awk {print $1} data.csv", []),
        ("head -3 1.5 $HOME/x.py *.py http://e.org/a.py",
         "head -3 1.5 $HOME/x.py *.py http://e.org/a.py", []),
        ("ls src/lib", "ls src/lib", []),
        ("wc src/lib", "wc src/lib", [("read", "src/lib")]),
        ("timeout 5", "timeout 5", []),
        ("git", "git", []),
        ("cd src", "cd src", []),
        ("> out.txt", "> out.txt", [("write", "out.txt")]),
        ("sleep 5 &", "sleep 5 &", []),
        ("it's", "it s", []),
    ],
)  # fmt: skip
def test_a_command_is_read(command: str, main: str, uses: list[tuple[str, str]]) -> None:
    """Its main command, and (use, path) of the files that it names."""
    reading = read_command(command)

    assert list(reading.uses) == uses
    assert reading.main.replace("'", " ") == main


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ("cat a.py", True),
        ("/usr/bin/grep -n x a.py", True),
        ("git diff --stat", True),
        ("git push", False),
        ("pytest -q | cat", False),
        ("", False),
    ],
)
def test_what_only_shows_files_is_told_from_what_runs(command: str, shows: object) -> None:
    """Error words in what `cat` prints are no errors of `cat`."""
    assert read_command(command).shows is shows


def test_patches_name_their_files() -> None:
    """In the form of agents, and as unified diffs."""
    assert patched_files(PATCH) == (
        ("write", "docs/new file.md"),
        ("edit", "src/app.py"),
        ("move", "src/main.py"),
        ("delete", "old.py"),
    )
    assert patched_files(DIFF) == (("edit", "src/app.py"),)


def test_a_patch_on_the_command_line_is_one() -> None:
    """Whatever stands around it."""
    reading = read_command(f"apply_patch <<'PATCH'\n{PATCH}\nPATCH")

    assert reading.main == "apply_patch"
    assert len(reading.uses) == 4


def test_a_script_of_megabytes_is_read_at_its_beginning() -> None:
    """What is beyond is a body, not a command."""
    assert read_command("cat a.py; " * 200_000).uses == (("read", "a.py"),)
