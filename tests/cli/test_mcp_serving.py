"""The command `mcp`; what a client does with it is tested with the integration."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook import ConfigError
from minutebook.cli.mcp_serving import PORT_MAX, address
from tests.cli.support import run


@given(host=st.sampled_from(["127.0.0.1", "localhost", "::1"]), port=st.integers(0, PORT_MAX))
def test_an_address_is_read_as_it_is_written(host: str, port: int) -> None:
    """An IPv6 host stands in brackets."""
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    assert address(text) == (host, port)


@pytest.mark.parametrize("text", ["", "8377", "localhost", ":1", "a:", "a:-1", "a:70000", "a:١"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """The error shows what was given."""
    with pytest.raises(ConfigError, match="HOST:PORT"):
        address(text)


def test_a_missing_folder_ends_the_command(tmp_path: Path) -> None:
    """Nothing is served then."""
    assert "no such folder" in run("mcp", tmp_path / "missing", code=1).stderr


def test_an_address_that_others_reach_ends_the_command(tmp_path: Path) -> None:
    """Nothing is served then."""
    assert "loopback" in run("mcp", tmp_path, "--http", "0.0.0.0:0", code=1).stderr
