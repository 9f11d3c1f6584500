"""The pages in a real browser: what can be seen, clicked, typed and heard of them.

Needs the packages of the extra `browser` and a Chromium on this machine; where one of them is
missing every test here says so and is skipped.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")
pytest.importorskip("uvicorn", reason="needs the extra viewer")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra browser")

import minutebook  # noqa: E402
from minutebook.context import Context  # noqa: E402
from minutebook.messages import tool, user  # noqa: E402
from minutebook.records import Revert  # noqa: E402
from tests.cases import case  # noqa: E402
from tests.cli.support import make_session  # noqa: E402
from tests.viewer.running import running  # noqa: E402
from tests.viewer.sessions import make_lived, write_log  # noqa: E402
from tests.viewer.test_app_hostile import hostile_session  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("needs Chromium: apt install chromium", allow_module_level=True)

Result = TypeVar("Result")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 700}
PAGES_LOOKED_AT = 20
HOSTILE = "</pre><script>document.title='XSS'</script><img src=x onerror=\"document.title='XSS'\">"


def elsewhere(work: Callable[[], Result]) -> Result:
    """Do something in another thread: the browser's driver has an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def context_of(folder: Path) -> Context:
    """Read a session as it is now."""

    def work() -> Context:
        with minutebook.open_sync(folder, mode="r") as session:
            found: Context = session.context
            return found

    return elsewhere(work)


def append(folder: Path, text: str) -> None:
    """Write a message."""

    def work() -> None:
        with minutebook.open_sync(folder, durability="process") as session:
            session.append(user(text))

    elsewhere(work)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # No sandbox: the tests may run as root in a container.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page, with all that it said on the console and all that it asked for."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.origin = url.partition("/?")[0]
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(url)

    def check(self) -> None:
        """Hold that nothing was said, and nothing asked for elsewhere."""
        assert self.said == []
        assert [url for url in self.asked if not url.startswith(self.origin + "/")] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return elsewhere(lambda: make_lived(tmp_path / "lived"))


@pytest.fixture
def served(chromium: Any, folder: Path) -> Iterator[Watched]:
    with running(folder.parent, allow_write=True) as url:
        context = chromium.new_context(viewport=WIDE, locale="en-US")
        watched = Watched(context.new_page(), url)
        yield watched
        watched.check()
        context.close()


def links_of(page: Any) -> list[str]:
    """Give one address of each kind of page of the session."""
    page.get_by_role("row").get_by_role("link").first.click()
    session = page.url
    compaction = page.get_by_role("link", name="look into").first
    found = page.locator("a[href*='/compaction']").first.get_attribute("href")
    assert compaction.count()
    origin = session.partition("/s/")[0]
    return [
        origin + "/",
        session,
        f"{session}/log/now",
        f"{session}/log/1",
        f"{session}/log/now?q=part",
        f"{session}/m/3",
        f"{session}/revert?to=14",
        f"{session}/m/99999",
        f"{origin}{found}",
    ]


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["desk", "phone"]
)
def test_no_page_has_a_barrier(
    chromium: Any, folder: Path, viewport: dict[str, int], scheme: str
) -> None:
    """Axe finds none, in either theme, on a desk and on a phone; nothing is cut off at the side."""
    with running(folder.parent, allow_write=True) as url:
        context = chromium.new_context(viewport=viewport, color_scheme=scheme, locale="en-US")
        watched = Watched(context.new_page(), url)
        page = watched.page
        for address in links_of(page):
            page.goto(address)
            found = axe.Axe().run(page)
            assert found.violations_count == 0, f"{address}\n{found.generate_report()}"
            overhang = "document.documentElement.scrollWidth - window.innerWidth"
            assert page.evaluate(overhang) <= 0, address
        watched.said = [line for line in watched.said if "404" not in line]
        watched.check()
        context.close()


def test_a_revert_is_shown_done_and_undone(served: Watched, folder: Path) -> None:
    """By clicks alone."""
    page = served.page
    page.get_by_role("link", name="Please mend").click()
    page.get_by_role("link", name="revert: Checkpoint 14").click()
    assert "are left behind" in page.locator("main").inner_text()
    page.get_by_label("Note for the model").fill("that way was wrong")
    page.get_by_role("button", name="Revert").click()
    sync_api.expect(page.locator(".done")).to_contain_text("Reverted")
    page.get_by_label("even if messages came after it").check()
    page.get_by_role("button", name="Undo the last rewrite").click()
    sync_api.expect(page.locator(".done")).to_contain_text("Undone")
    last = context_of(folder).lineage[-1]
    assert isinstance(last, Revert)
    assert last.reason == "undo"


def test_a_compaction_is_shown_and_done(served: Watched, folder: Path) -> None:
    """The summary stands in the preview."""
    page = served.page
    page.get_by_role("link", name="Please mend").click()
    page.get_by_label("Target in percent").fill("12")
    page.get_by_role("button", name="Preview a compaction").click()
    assert "would become" in page.locator("main").inner_text()
    page.get_by_role("button", name="Compact").click()
    sync_api.expect(page.locator(".done")).to_contain_text("Compacted")
    assert (folder / "context_3.jsonl").exists()


def test_a_long_result_unfolds_and_a_pin_is_set(served: Watched, folder: Path) -> None:
    """On a click, in its place."""
    page = served.page
    page.get_by_role("link", name="Please mend").click()
    page.get_by_role("link", name="Read the conversation").click()
    result = page.locator("#m3")
    last = result.locator("details pre")
    assert not last.is_visible()
    result.get_by_text("more lines").click()
    assert last.is_visible()
    page.get_by_role("button", name="Unpin 3").click()
    page.wait_for_url("**/log/now?from=0#m3")
    assert context_of(folder).pins == frozenset()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_theme_and_language_are_switched(chromium: Any, folder: Path, script: bool) -> None:
    """With and without a script, and they stay."""
    with running(folder.parent) as url:
        context = chromium.new_context(java_script_enabled=script, locale="en-US")
        page = context.new_page()
        page.goto(url)
        page.get_by_role("button", name="Dark").click()
        assert page.locator("html").get_attribute("data-theme") == "dark"
        page.get_by_role("button", name="中文").click()
        assert page.locator("h1").inner_text() == "会话"
        page.get_by_role("link", name="Please mend").click()
        assert page.locator("html").get_attribute("lang") == "zh"
        page.get_by_role("button", name="跟随系统").click()
        assert page.locator("html").get_attribute("data-theme") == "auto"
        assert "/s/" in page.url
        context.close()


def test_the_language_is_the_browsers(chromium: Any, folder: Path) -> None:
    """Until another one is chosen."""
    with running(folder) as url:
        context = chromium.new_context(locale="zh-CN")
        page = context.new_page()
        page.goto(url)
        assert page.get_by_role("link", name="阅读对话").count() == 1
        context.close()


def test_a_session_is_read_by_the_keyboard_alone(served: Watched) -> None:
    """The first stop skips to the content; what has the focus can be seen; Enter goes on."""
    page = served.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("Please mend"):
            break
    style = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(style) == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/*")
    assert page.locator("h1").inner_text().startswith("Please mend")


def test_the_list_and_the_session_follow_the_disk(chromium: Any, tmp_path: Path) -> None:
    """The session's page is renewed in place, the conversation's says that there is more."""
    folder = elsewhere(lambda: make_session(tmp_path / "s", turns=1))
    with running(folder) as url:
        context = chromium.new_context(locale="en-US")
        page = context.new_page()
        page.clock.install()
        page.goto(url)
        assert "4 · user 1" in page.locator("#about").inner_text()
        append(folder, "one more")
        page.clock.run_for(3_100)
        sync_api.expect(page.locator("#about")).to_contain_text("5 · user 2")

        page.get_by_role("link", name="Read the conversation").click()
        append(folder, "and another")
        page.clock.run_for(3_100)
        sync_api.expect(page.locator("#news")).to_contain_text("This session has changed.")
        page.get_by_role("link", name="Load anew").click()
        sync_api.expect(page.locator("#m6")).to_contain_text("and another")
        context.close()


@pytest.mark.parametrize("site", ["http://elsewhere.test/", "http://127.0.0.1:9/"])
def test_c122_a_page_of_another_site_changes_nothing(
    chromium: Any, folder: Path, site: str
) -> None:
    """Case C122: its form is refused, also from another port of this machine, cookie or not."""
    before = (folder / "context.jsonl").read_bytes()
    with running(folder, allow_write=True) as url:
        context = chromium.new_context(locale="en-US")
        page = context.new_page()
        page.goto(url)
        form = f'<form method="post" action="{page.url}/undo"><button>Go</button></form>'
        page.route(f"{site}**", lambda route: route.fulfill(content_type="text/html", body=form))
        page.goto(site)
        with page.expect_response("**/undo") as told:
            page.get_by_role("button").click()
        assert told.value.status == 403
        context.close()
    assert (folder / "context.jsonl").read_bytes() == before


def test_c120_no_payload_acts_in_a_browser(chromium: Any, tmp_path: Path) -> None:
    """Case C120: on no page the title becomes XSS."""
    one = case("C120")
    first = json.loads(one.raw().split(b"\n")[0])
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "context.jsonl").write_bytes(one.log())
    about = {"id": first["id"], "title": first["title"], "agent": first["cwd"]}
    (folder / "session.json").write_text(json.dumps(about), encoding="utf-8")
    with running(tmp_path) as url:
        context = chromium.new_context(locale="en-US")
        watched = Watched(context.new_page(), url)
        page = watched.page
        session = page.locator("th a").first.get_attribute("href")
        for rest in ("", "/log/now", "/m/1", "/m/2", "/m/3", "/m/4", "/log/now?q=XSS"):
            page.goto(f"{watched.origin}{session}{rest}")
            page.mouse.move(200, 300)
            assert page.title() != "XSS"
            assert "XSS" in page.locator("body").inner_text()
        watched.check()
        context.close()


def test_a_hostile_session_changes_nothing(chromium: Any, tmp_path: Path) -> None:
    """No title, no dialog, no word on the console, no request elsewhere; in no field and page."""
    hostile_session(tmp_path, HOSTILE)
    write_log(tmp_path / "long", user(HOSTILE), tool("c", HOSTILE * 150_000))
    with running(tmp_path, allow_write=True) as url:
        context = chromium.new_context(locale="en-US")
        watched = Watched(context.new_page(), url)
        page = watched.page
        seen = {page.url}
        waiting = [page.url]
        for _ in range(PAGES_LOOKED_AT):
            page.goto(waiting.pop(0))
            assert page.title() != "XSS"
            assert page.locator("main script, main img").count() == 0
            links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)")
            new = {link.partition("#")[0] for link in links} - seen
            seen |= new
            waiting += sorted(new)
        watched.check()
        assert len(seen) > PAGES_LOOKED_AT
        context.close()
