"""The cases of public faults, as far as they are about what a viewer shows and whom it answers."""

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")

import minutebook
from minutebook.errors import ConfigError
from minutebook.messages import replace, tool, user
from minutebook.tokens.breakdown import share
from minutebook.viewer.charts import bar
from minutebook.viewer.serving import address
from tests.cases import Case, case
from tests.cases_sessions import Played
from tests.cli.support import make_session, run_json
from tests.viewer.sessions import write_log
from tests.viewer.support import HOST, ORIGIN, Browser


def opened(folder: Path, one: Case, name: str = "log.jsonl") -> Browser:
    """Look at a case's log."""
    folder.mkdir()
    (folder / "context.jsonl").write_bytes(one.log(name))
    return Browser(folder)


def articles(browser: Browser, address: str = "/log/now") -> list[str]:
    """Give the numbers of a page's messages, in its order."""
    found = browser.session(address)
    assert found.status == 200
    return re.findall(r'<article[^>]* id="m(\d+)"', found.text)


def test_c122_the_viewer_is_not_reachable_from_other_sites(tmp_path: Path) -> None:
    """Case C122: no other name, page or machine gets anything, and no address changes a thing."""
    folder = make_session(tmp_path / "s", turns=2)
    browser = Browser(tmp_path, allow_write=True)
    before = (folder / "context.jsonl").read_bytes()
    evil = {"host": "evil.example:8378"}

    # 1. Before any handler: also for what nothing has.
    for path in ("/", "/nothing", f"/s/{browser.key}", "/static/viewer.js"):
        assert browser.ask("GET", path, headers=evil).status == 403
    # 2. Neither a form of another site nor one without the cookie changes anything.
    form = f"/s/{browser.key}/revert"
    assert browser.ask("POST", form, body=b"to=1", headers=evil).status == 403
    other = {"origin": "http://evil.example"}
    assert browser.ask("POST", form, body=b"to=1", headers=other).status == 403
    assert browser.ask("POST", form, body=b"to=1", headers={"cookie": " "}).status == 403
    assert browser.ask("DELETE", f"/s/{browser.key}", headers={"cookie": " "}).status == 403
    assert "access-control-allow-origin" not in browser.get("/", origin=ORIGIN).headers
    assert (folder / "context.jsonl").read_bytes() == before
    # 3. Beyond loopback there is no way.
    with pytest.raises(ConfigError):
        address("0.0.0.0:0")
    # The same from the page itself is done.
    assert browser.ask("POST", form, body=b"to=1", headers={"host": HOST}).status == 303


def test_c057_the_viewer_says_the_share_that_the_others_say() -> None:
    """Case C057: one function says it; a bar of any of these sizes can be drawn."""
    for row in case("C057").json("table.json"):
        used, window = row["used"], row["window"]
        found = share(used, window, row["reserve"])
        tokens = {"with_pending": used, "window": found.window, "pending": None}

        drawn = bar(tokens, {"user": used}, None)

        assert drawn.used == found.used
        assert sum(one.width for one in drawn.segments) <= 1_000.1


@pytest.mark.parametrize("name", ["log_mid.jsonl", "log_glued.jsonl", "log_tail.jsonl"])
def test_c063_the_viewer_shows_every_message_beside_nul_bytes(tmp_path: Path, name: str) -> None:
    """Case C063: list, page and count agree on six, and the damage is told."""
    browser = opened(tmp_path / "s", case("C063"), name)

    assert len(articles(browser)) == 6
    listed = Browser(tmp_path).places.all()[0].listed
    assert listed.messages == run_json("inspect", tmp_path / "s")["messages"]["total"] == 6
    assert "No problems" not in browser.session().page.text


def test_c065_the_viewer_shows_half_surrogates(tmp_path: Path) -> None:
    """Case C065: nothing raises, and what cannot be encoded is made visible."""
    browser = opened(tmp_path / "s", case("C065"))

    for where in ("", "/log/now", "/log/now?q=%ED%A0%BD", "/m/1", "/m/2", "/m/3"):
        answer = browser.session(where)
        assert answer.status == 200
        answer.body.decode("utf-8", "strict")
    assert "🚀" in browser.session("/log/now").text


def test_c075_the_viewer_shows_the_order_of_the_file(tmp_path: Path) -> None:
    """Case C075: whatever the clock said."""
    browser = opened(tmp_path / "s", case("C075"))

    text = browser.session("/log/now").page.text
    words = ["first", "answer one", "second", "answer two", "third", "answer three"]
    places = [text.index(word) for word in words]
    assert places == sorted(places)


def test_c080_a_page_does_not_load_the_file(tmp_path: Path) -> None:
    """Case C080: memory for a page is a small part of the log, on the first look and later."""
    result = "x" * 200_000
    messages = [
        replace(tool("c", result) if at % 2 else user(f"turn {at}"), seq=at) for at in range(1, 401)
    ]
    folder = write_log(tmp_path / "s", *messages)
    size = (folder / "context.jsonl").stat().st_size
    browser = Browser(folder)
    browser.get("/")
    tracemalloc.start()
    try:
        for where in ("/log/now", "/log/now?from=200", "/m/399", "/log/now?q=nowhere"):
            assert browser.session(where).status == 200
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 40_000_000
    assert peak < size / 2


async def test_c084_what_was_reverted_is_shown_as_such(tmp_path: Path) -> None:
    """Case C084: it stands in the retired log, of which nothing is sent; not in the live one."""
    folder = tmp_path / "s"
    async with minutebook.open(folder, window=8_000, durability="process") as session:
        await Played(session, case("C084")).play()

    def look() -> tuple[str, Any]:
        browser = Browser(folder)
        return browser.session("/log/now").page.text, browser.session("/log/1").page.text

    import asyncio

    live, retired = await asyncio.to_thread(look)
    assert "SECRET-PLAN-B" not in live
    assert "SECRET-PLAN-B" in retired
    assert "This log is retired: nothing of it is sent" in retired


def test_c096_empty_messages_are_counted_and_shown_as_not_sent(tmp_path: Path) -> None:
    """Case C096: the log keeps them; the page has them all, and says which go nowhere."""
    browser = opened(tmp_path / "s", case("C096"))
    total = run_json("inspect", tmp_path / "s")["messages"]["total"]

    assert len(articles(browser)) == total
    assert "not sent" in browser.session("/log/now").page.text
    assert json.dumps(total) in browser.session().page.text
