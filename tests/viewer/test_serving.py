"""The process that serves, on a free port of this machine."""

import sys
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")
pytest.importorskip("uvicorn", reason="needs the extra viewer")

from minutebook.errors import ConfigError
from minutebook.viewer import serving
from minutebook.viewer.serving import PORT_MAX, address
from tests.cli.support import make_session
from tests.viewer.running import running


@given(host=st.sampled_from(["127.0.0.1", "localhost", "::1"]), port=st.integers(0, PORT_MAX))
def test_an_address_is_read_as_it_is_written(host: str, port: int) -> None:
    """An IPv6 host stands in brackets."""
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    assert address(text) == (host, port)


@pytest.mark.parametrize(
    "text", ["", "8377", ":1", "a:", "127.0.0.1:x", "127.0.0.1:70000", "0.0.0.0:1", "[::]:1"]
)
def test_an_address_that_others_reach_is_none(text: str) -> None:
    """Nor is anything that is no address."""
    with pytest.raises(ConfigError, match="listen"):
        address(text)


def test_a_browser_is_let_in_once_it_has_the_first_address(tmp_path: Path) -> None:
    """Over real connections: with the token in, without it out; a signal ends it."""
    make_session(tmp_path / "s", turns=1)
    direct = urllib.request.ProxyHandler({})
    with running(tmp_path) as url:
        jar = urllib.request.HTTPCookieProcessor(CookieJar())
        browser = urllib.request.build_opener(direct, jar)
        with browser.open(url, timeout=30) as answer:
            text = answer.read().decode()
            assert answer.url == url.partition("?")[0]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.build_opener(direct).open(answer.url, timeout=30)
        refused.value.close()

    assert refused.value.code == 403
    assert "Sessions" in text
    assert "src/part_0.py" in text


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    with pytest.raises(ConfigError, match=r"minutebook\[viewer\]"):
        serving.make_server(None)
