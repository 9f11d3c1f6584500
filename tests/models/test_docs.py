"""The code in docs/models.md runs, block after block."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from minutebook.testing.server import ProviderServer
from tests.models.chains import work

pytest.importorskip("openai", reason="needs the extra openai")
pytest.importorskip("anthropic", reason="needs the extra anthropic")

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


async def test_the_code_in_the_page_runs() -> None:
    """As it stands, with a server of ours in the providers' place."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    with ProviderServer() as server:
        names: dict[str, object] = {
            "openai_url": server.openai_url,
            "anthropic_url": server.anthropic_url,
            "covered": work(2_000),
        }
        for block in blocks:
            code = compile(block, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(code, names)
            if inspect.isawaitable(result):
                await result
        for name in ("local", "claude"):
            await names[name].close()  # type: ignore[attr-defined]

    assert len(blocks) >= 5
