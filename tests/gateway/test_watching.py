"""The viewer at the gateway."""

from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")
pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")

# isort: split
from minutebook.gateway.settings import make_settings
from minutebook.gateway.watching import is_for_ui, make_ui
from minutebook.testing.server import ProviderServer
from tests.gateway.support import running, user


async def test_a_conversation_is_shown_while_it_is_held(tmp_path: Path) -> None:
    """To who has the viewer's own token alone; the gateway goes on as before."""
    with ProviderServer(["Hello to you.", "And more."]) as upstream:
        async with running(tmp_path, upstream, ui=True) as gateway:
            first = await gateway.chat(user("hello there"))
            assert gateway.gateway.ui is not None
            status, _, _ = await gateway.ask("/ui/", b"", method="GET")
            assert status == 403
            there = gateway.url + gateway.gateway.ui.first
            async with gateway.client.get(there, allow_redirects=False) as answer:
                assert answer.status == 303
                cookie = answer.headers["set-cookie"].partition(";")[0]
            headers = {"cookie": cookie}
            status, page, told = await gateway.ask("/ui/", b"", headers, method="GET")
            assert status == 200
            assert b"hello there" in page or b"chain-" in page
            assert "default-src 'none'" in told["content-security-policy"]
            await gateway.chat(user("hello there"), first, user("more"))
        upstream.check()


def test_it_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    """And nothing else than its own paths is taken."""
    values = {"upstream": {"openai": "http://127.0.0.1:1"}, "root": str(tmp_path / "r")}
    assert make_ui(make_settings(values)) is None
    assert not (tmp_path / "r").exists()
    made = make_ui(make_settings({**values, "ui": True}))
    assert made is not None
    assert made.token in made.first
    assert [is_for_ui(path) for path in ("/ui", "/ui/s/x", "/uix", "/v1/ui")] == [
        True,
        True,
        False,
        False,
    ]
