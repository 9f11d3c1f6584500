"""The file is found, read, and refused where it may not be trusted."""

import os
from pathlib import Path

import pytest

from minutebook.config import reading
from minutebook.config.reading import BYTES_MAX, choose, load_config, nearest, read_file
from minutebook.config.values import Config, WrongConfig

KIMI = "preset = 'kimi'\n"
HOOK = "[[hooks]]\ncommand = 'true'\n"


def written(folder: Path, text: str = KIMI) -> Path:
    """Write a configuration into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "minutebook.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_nearest_file_is_found(tmp_path: Path) -> None:
    """In the folder itself, else in the nearest above; a folder of that name is none."""
    upper, lower = written(tmp_path), tmp_path / "a" / "b" / "c"
    (lower / "minutebook.toml").mkdir(parents=True)

    assert nearest(lower) == upper
    assert nearest(written(lower.parent).parent) == lower.parent / "minutebook.toml"
    assert load_config(near=lower, environment={}).preset == "kimi"


def test_a_relative_folder_is_taken_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders above it are looked at too."""
    file = written(tmp_path)
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")

    assert nearest(Path()) == file


def test_no_file_is_looked_for_unless_asked() -> None:
    """A library does not read what lies around."""
    assert load_config(environment={}) == Config()
    assert choose(environment={}) is None


def test_without_a_file_there_are_the_defaults(tmp_path: Path) -> None:
    """Where none is found up to the root."""
    if nearest(tmp_path) is not None:
        pytest.skip("there is a minutebook.toml above the temporary folder")

    assert load_config(near=tmp_path, environment={}) == Config()


def test_a_named_file_comes_before_the_nearest(tmp_path: Path) -> None:
    """An argument before the variable, the variable before the search; folders stand for theirs."""
    written(tmp_path / "near")
    named = written(tmp_path / "named", "preset = 'kilo'\n")
    third = written(tmp_path / "third", "preset = 'off'\n")
    environment = {"MINUTEBOOK_CONFIG": str(named)}

    def chosen(path: Path | None) -> str:
        found = load_config(path, near=tmp_path / "near", environment=environment)
        return found.preset

    assert chosen(None) == "kilo"
    assert chosen(third) == chosen(third.parent) == "off"


def test_the_environment_of_the_process_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments hold against it."""
    monkeypatch.setenv("MINUTEBOOK_CONFIG", str(written(tmp_path)))
    monkeypatch.setenv("MINUTEBOOK_MODEL_WINDOW", "1000")

    config = load_config(arguments={"model.max_output": 10})

    assert (config.preset, config.window, config.max_output) == ("kimi", 1_000, 10)
    assert config.file == str(tmp_path / "minutebook.toml")


def test_a_problem_names_the_file_as_it_was_found(tmp_path: Path) -> None:
    """So that an editor can open it."""
    file = written(tmp_path, "\npreste = 1\n")

    with pytest.raises(WrongConfig) as caught:
        load_config(file, environment={})

    assert str(caught.value).startswith(f"{file}:2: preste: ")


def test_a_named_file_has_to_be_there(tmp_path: Path) -> None:
    """Nothing else is taken in its place."""
    with pytest.raises(WrongConfig, match="cannot be read: No such file or directory"):
        load_config(tmp_path / "other.toml", environment={})


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    """It is surely another one."""
    with pytest.raises(WrongConfig, match="is it the right file"):
        read_file(written(tmp_path, "#" * (BYTES_MAX + 1)))


SUMMARIZER = "[[summarizers]]\nkind = 'openai'\nbase_url = 'http://localhost/v1'\n"


@pytest.mark.parametrize("text", [HOOK, SUMMARIZER])
def test_what_everybody_may_change_runs_nothing(tmp_path: Path, text: str) -> None:
    """Neither does it say where conversations go."""
    file = written(tmp_path, text)
    assert read_file(file).problems == ()
    file.chmod(0o666)

    with pytest.raises(WrongConfig, match="chmod o-w"):
        read_file(file)


def test_what_another_user_owns_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless that is the one who may do anything."""
    file = written(tmp_path, HOOK)
    owner = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    if owner:
        with pytest.raises(WrongConfig, match="another user owns it"):
            read_file(file)
    else:
        assert read_file(file).hooks


def test_a_stranger_is_no_owner() -> None:
    """Judged by the numbers alone."""
    status = os.stat_result((0o100644, 1, 1, 1, 4711, 4711, 0, 0, 0, 0))

    with pytest.raises(WrongConfig, match="another user owns it"):
        reading._trusted(Path("minutebook.toml"), status)


def test_plain_settings_may_be_anybodys(tmp_path: Path) -> None:
    """They can do little: a shared folder is a fine place for them."""
    file = written(tmp_path)
    file.chmod(0o666)

    assert load_config(file, environment={}).preset == "kimi"
