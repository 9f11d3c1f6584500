"""The pictures of docs/viewer.md, taken of the example session: `python -m tests.viewer.pictures`.

Needs the extras `viewer` and `browser`, and a Chromium.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import minutebook
from tests.viewer.running import running

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
WIDE: Any = {"width": 1100, "height": 820}


def example(folder: Path) -> Path:
    """Make the session: the example, compacted once, with a turn more."""
    shutil.copytree(ROOT / "examples" / "session", folder)
    with minutebook.open_sync(folder, retention=None, durability="process") as session:
        session.compact("the till reports", target=0.2)
        session.checkpoint("after the compaction")
        session.append(minutebook.user("Now look at the tax rounding, please."))
    return folder


def main() -> None:
    """Take each picture anew."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch:
        folder = example(Path(scratch, "till"))
        with running(folder) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_context(viewport=WIDE, locale="en-US").new_page()
            page.goto(url)
            session = page.url
            page.screenshot(path=FOLDER / "viewer-session.png")
            compaction = page.locator("a[href*='/compaction']").first.get_attribute("href") or ""
            page.goto(f"{session}/log/now")
            page.locator(
                "article", has=page.get_by_text("masked")
            ).first.scroll_into_view_if_needed()
            page.screenshot(path=FOLDER / "viewer-conversation.png")
            page.goto(session.partition("/s/")[0] + compaction)
            page.screenshot(path=FOLDER / "viewer-compaction.png")
            browser.close()


if __name__ == "__main__":
    main()
