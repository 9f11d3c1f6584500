"""Options that several commands share mean the same in each, and say what they mean."""

import typing

import typer
from typer.main import get_command

from minutebook.cli import options
from minutebook.cli.app import app


def test_every_shared_option_has_words() -> None:
    """The help of each says what it is for."""
    shared = {
        name: value
        for name, value in vars(options).items()
        if name.endswith(("Option", "Argument"))
    }

    assert shared
    for name, value in shared.items():
        info = typing.get_args(value)[1]
        assert isinstance(info, typer.models.ParameterInfo), name
        assert (info.help or "").endswith("."), name


def test_every_option_of_every_command_has_words() -> None:
    """No option is left to be guessed, and options of one name are one thing."""
    program = typing.cast("typing.Any", get_command(app))

    for name, command in program.commands.items():
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"
    assert {"inspect", "show", "compact", "export"} <= set(program.commands)
