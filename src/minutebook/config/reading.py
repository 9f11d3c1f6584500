"""Find and read `minutebook.toml`: the one part of the configuration that touches the disk.

A configuration can run commands (`hooks`) and say where conversations are sent
(`summarizers`), so it is to be trusted as a program is: one that another user owns, or that
everybody may change, is refused if it does either.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from minutebook.config.parsing import Parsed, parse
from minutebook.config.resolving import FILE_VARIABLE, resolve
from minutebook.config.values import Config, Problem, WrongConfig

NAME = "minutebook.toml"
BYTES_MAX = 1 << 20
"""Nobody writes a longer one by hand, and its reader holds it in memory several times."""


def load_config(
    path: str | os.PathLike[str] | None = None,
    *,
    near: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Mapping[str, object] | None = None,
) -> Config:
    """Read the configuration: arguments before environment before file before defaults.

    Args:
        path: The file. Without it, that which `MINUTEBOOK_CONFIG` names; without that, the
            nearest one at or above *near*.
        near: The folder to begin looking in; None: no file is looked for.
        environment: The variables; None: those of this process.
        arguments: Values by key with its table, `model.window` say; None is not said.

    Raises:
        WrongConfig: If something makes no sense, with every problem, each with its file and
            line; also if a file that was named cannot be read.
    """
    variables = os.environ if environment is None else environment
    found = choose(path, near=near, environment=variables)
    parsed = None if found is None else read_file(found)
    return resolve(parsed, environment=variables, arguments=arguments)


def choose(
    path: str | os.PathLike[str] | None = None,
    *,
    near: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str],
) -> Path | None:
    """Say which file is in force; None if there is none. A folder stands for the file in it."""
    named = os.fspath(path) if path is not None else environment.get(FILE_VARIABLE, "")
    if named:
        chosen = Path(named)
        return chosen / NAME if chosen.is_dir() else chosen
    return None if near is None else nearest(Path(near))


def nearest(folder: Path) -> Path | None:
    """Give the file in this folder or in the nearest one above it; None if there is none."""
    whole = folder.absolute()
    for place in (whole, *whole.parents):
        candidate = place / NAME
        if candidate.is_file():
            return candidate
    return None


def read_file(path: Path) -> Parsed:
    """Read a file, and judge whether it may be trusted. What is wrong in it is in `problems`.

    Raises:
        WrongConfig: If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        what = f"it cannot be read: {error.strerror or error}"
        raise _refused(path, what, "check the path") from error
    if len(data) > BYTES_MAX:
        raise _refused(path, f"it has more than {BYTES_MAX} bytes", "is it the right file?")
    parsed = parse(data, str(path))
    if parsed.hooks or parsed.summarizers:
        _trusted(path, status)
    return parsed


def _trusted(path: Path, status: os.stat_result) -> None:
    does = "it runs commands or says where conversations go"
    if status.st_uid not in {0, os.geteuid()}:
        raise _refused(path, f"{does}, and another user owns it", "copy it to a file of your own")
    if status.st_mode & stat.S_IWOTH:
        raise _refused(path, f"{does}, and everybody may change it", "chmod o-w takes that away")


def _refused(path: Path, what: str, remedy: str) -> WrongConfig:
    return WrongConfig([Problem(key="", what=what, remedy=remedy, place=str(path))])
