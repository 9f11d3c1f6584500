"""Which address gives which page."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")

import minutebook
from minutebook.viewer.app import FORM_BYTES_MAX
from tests.cli.support import make_session, make_transcript
from tests.viewer.sessions import make_lived
from tests.viewer.support import Browser


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_lived(tmp_path_factory.mktemp("lived") / "s")


def compaction_of(folder: Path) -> str:
    with minutebook.open_sync(folder, mode="r") as session:
        return str(session.context.lineage[0].id)


ADDRESSES = (
    "",
    "/log/now",
    "/log/now?from=99999",
    "/log/now?q=PART",
    "/log/now?q=nowhere-to-be-found",
    "/log/1",
    "/log/2?from=20",
    "/m/3",
    "/m/58",
    "/m/9?log=1",
)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_can_be_read(lived: Path, address: str, language: str) -> None:
    """In both languages; with a heading, landmarks, labels, and nothing that could act."""
    answer = Browser(lived).session(address, accept_language=language)

    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = answer.page
    page.check()
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == tags.count("main") == 1
    assert dict(page.elements)["html"]["lang"] == language
    identifiers = page.attributes("id")
    assert len(identifiers) == len(set(identifiers))
    assert all(found["alt"] for tag, found in page.elements if tag == "img")
    assert "#main" in page.attributes("href")


def test_one_session_needs_no_list(lived: Path) -> None:
    """The first page is its own."""
    browser = Browser(lived)

    assert browser.get("/").headers["location"] == f"/s/{browser.key}"


def test_the_list_is_searched_sorted_and_filtered(tmp_path: Path) -> None:
    """By parameters of the address, so it works without a script."""
    make_session(tmp_path / "short", turns=1)
    make_session(tmp_path / "long", turns=3)
    (tmp_path / "long" / "session.json").write_text(
        '{"id": "long", "title": "Ein <Titel>", "agent": "kimi", "window": 100000}',
        encoding="utf-8",
    )
    browser = Browser(tmp_path)

    def rows(address: str) -> list[str]:
        page = browser.get(address).page
        page.check()
        links = [found["href"] for tag, found in page.elements if tag == "a"]
        names = {place.key: place.listed.path for place in browser.places.all()}
        return [names[link[3:]] for link in links if link.startswith("/s/")]

    assert rows("/?sort=messages") == ["long", "short"]
    assert rows("/?sort=title") == ["long", "short"]
    assert rows("/?sort=nonsense&q=TITEL") == ["long"]
    assert rows("/?agent=kimi") == ["long"]
    assert rows("/?q=nothing") == []
    assert "%" in browser.get("/").text


def test_a_long_list_has_pages(tmp_path: Path) -> None:
    """Fifty sessions on each."""
    for number in range(53):
        folder = tmp_path / f"s{number:02}"
        folder.mkdir()
        (folder / "context.jsonl").write_bytes(b'{"role":"user","content":"hello"}\n')
    browser = Browser(tmp_path)

    first, second = browser.get("/?sort=title"), browser.get("/?sort=title&from=50")

    assert first.text.count('scope="row"') == 50
    assert second.text.count('scope="row"') == 3
    assert 'rel="next"' in first.text
    assert 'rel="next"' not in second.text


def test_the_session_page_says_what_inspect_says(lived: Path) -> None:
    """The numbers are the same ones."""
    text = Browser(lived).session().page.text

    assert "4,000 tokens" in text
    assert "summaries" in text
    assert "Log 1 (retired)" in text
    assert "Log 2 (retired)" in text
    assert "reverted to checkpoint 16" in text
    assert "No problems." in text


def test_a_summary_unfolds_to_what_it_covers(lived: Path) -> None:
    """In its place, with links to the records, and to the compaction's own page."""
    answer = Browser(lived).session("/log/now")

    assert "Stands for" in answer.page.text
    assert any("/compaction?id=" in link for link in answer.page.attributes("href"))


def test_a_compaction_is_shown_item_by_item(lived: Path) -> None:
    """What became of each message, before and after, and what it saved."""
    answer = Browser(lived).session(f"/compaction?id={compaction_of(lived)}")

    text = answer.page.text
    answer.page.check()
    assert answer.status == 200
    for words in (
        "Saved with each request",
        "kept word for word",
        "left out",
        "Verification score",
    ):
        assert words in text
    assert text.count("left out") > 20


def test_a_jump_ends_at_the_message(lived: Path) -> None:
    """Without a script; one of another log is shown by itself."""
    browser = Browser(lived)

    here = browser.session("/log/now?seq=58").headers["location"]
    assert here == f"/s/{browser.key}/log/now?from=0#m58"
    assert browser.session("/log/now?seq=10").headers["location"] == f"/s/{browser.key}/m/10"
    assert browser.get(f"/s/{browser.key}/m/10").status == 200


def test_what_a_compaction_saved_has_a_price(tmp_path: Path) -> None:
    """Where the model's is known."""
    folder = make_lived(tmp_path / "s")
    about = '{"id": "s", "model": "claude-sonnet-4-5", "window": 4000}'
    (folder / "session.json").write_text(about, encoding="utf-8")

    text = Browser(folder).session(f"/compaction?id={compaction_of(folder)}").page.text

    assert "it pays after" in text
    assert "$0.00" in text


def test_a_retired_log_is_not_sent(lived: Path) -> None:
    """It says so, and has no second side."""
    text = Browser(lived).session("/log/1").page.text

    assert "This log is retired" in text
    assert "as it is stored" not in text


def test_a_call_without_a_result_is_told(lived: Path) -> None:
    """What is sent in its place does not stand in the log."""
    assert "A call has no result" in Browser(lived).session("/log/now").page.text


def test_another_agents_file_opens_too(tmp_path: Path) -> None:
    """Without what only a session has."""
    browser = Browser(make_transcript(tmp_path / "chat.json"), allow_write=True)

    for address in ("", "/log/now", "/m/2"):
        answer = browser.session(address)
        assert answer.status == 200
        answer.page.check()
        assert "/undo" not in answer.text
    assert "as it is stored" in browser.session("/log/now").page.text


@pytest.mark.parametrize(
    "address",
    ["/nothing", "/s/nothing", "/static/nothing", "/static/..%2fapp.py", "/s/..", "/s/../../etc",
     "/s/{}/log/99", "/s/{}/log/x", "/s/{}/m/99999", "/s/{}/m/3?log=99", "/s/{}/compaction",
     "/s/{}/picture?seq=1", "/s/{}/picture?seq=99999", "/s/{}/m/x", "/s/{}/revert?to=3",
     "/s/{}/log/..%2f..%2fcontext.jsonl", "/s/{}/state/x", "/s/%00", "/s/{}/m/" + "9" * 5_000],
)  # fmt: skip
def test_what_is_not_there_is_not_there(lived: Path, address: str) -> None:
    """A page of ours says so; no path leads out."""
    browser = Browser(lived)
    answer = browser.get(address.replace("{}", browser.key))

    assert answer.status == 404
    answer.page.check()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(lived: Path, method: str) -> None:
    """Those that change something need the origin before that."""
    browser = Browser(lived)

    assert browser.ask(method, "/").status == 403
    answer = browser.ask(method, "/", headers={"origin": "http://127.0.0.1:8378"})
    assert answer.status == 405
    assert "GET" in answer.headers["allow"]


def test_a_form_has_bounds(lived: Path) -> None:
    """A body of another kind or of another size is refused."""
    browser = Browser(lived)

    assert browser.ask("POST", "/look", body=b"theme=" + b"x" * FORM_BYTES_MAX).status == 400
    other = {"content-type": "application/json"}
    assert browser.ask("POST", "/look", body=b"{}", headers=other).status == 400
    assert browser.ask("POST", "/look", body=b"a=\xff").status == 400
    assert browser.ask("POST", "/look", body=b"&".join([b"a=1"] * 50)).status == 400


def test_theme_and_language_are_kept_in_a_cookie(lived: Path) -> None:
    """By a form, so it works without a script; it goes back to the page that asked."""
    browser = Browser(lived)

    answer = browser.post("/look", theme="dark", back="/?q=x")
    assert (answer.status, answer.headers["location"]) == (303, "/?q=x")
    assert "HttpOnly" in answer.headers["set-cookie"]
    browser.post("/look", language="zh")
    page = browser.session().page

    assert dict(page.elements)["html"] == {"lang": "zh", "data-theme": "dark"}
    assert "系统提示词" in page.text


@pytest.mark.parametrize("back", ["//evil.example", "/\\evil.example", "http://evil.example", ""])
def test_a_form_leads_to_no_other_site(lived: Path, back: str) -> None:
    """Whatever it says."""
    answer = Browser(lived).post("/look", theme="purple", back=back)

    assert answer.headers["location"] == "/"
    assert "set-cookie" not in answer.headers


def test_our_own_files_are_there(lived: Path) -> None:
    """Each of its type."""
    browser = Browser(lived)

    for name, kind in (("viewer.js", "text/javascript"), ("viewer.css", "text/css"),
                       ("icon.svg", "image/svg+xml")):  # fmt: skip
        answer = browser.get(f"/static/{name}")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(kind)
        assert "http:" not in answer.text.replace("http://www.w3.org/2000/svg", "")
        assert "https:" not in answer.text


def test_a_page_can_tell_that_the_session_has_grown(tmp_path: Path) -> None:
    """By a word that changes; the page has the word of its time."""
    folder = make_session(tmp_path / "s", turns=1)
    browser = Browser(tmp_path)
    (body,) = (found for tag, found in browser.session().page.elements if tag == "body")

    before = browser.get(body["data-state"])
    with minutebook.open_sync(folder, durability="process") as session:
        session.append(minutebook.user("more"))

    assert body["data-stamp"] in before.text
    assert browser.get(body["data-state"]).text != before.text
    assert browser.get("/state").status == 200


def test_it_can_stand_below_a_path(lived: Path) -> None:
    """As at the gateway: every address then begins with it."""
    browser = Browser(lived, base="/ui")

    answer = browser.get("/ui/")
    assert answer.headers["location"] == f"/ui/s/{browser.key}"
    page = browser.get(answer.headers["location"]).page
    for name in ("href", "action", "src"):
        assert all(link.startswith(("/ui/", "#")) for link in page.attributes(name))
    assert browser.get("/").status == 404


def test_an_error_of_ours_is_told_in_words(tmp_path: Path) -> None:
    """A file that nothing can read is no fault of the viewer's."""
    path = tmp_path / "what.json"
    path.write_text("<nothing>", encoding="utf-8")

    answer = Browser(path).session()

    assert answer.status == 409
    assert "no known format" in answer.page.text


def test_a_session_that_has_lost_its_log_opens_too(lived: Path, tmp_path: Path) -> None:
    """Its rotations are there to be read; the page says what is wrong."""
    folder = tmp_path / "s"
    shutil.copytree(lived, folder)
    (folder / "context.jsonl").unlink()
    browser = Browser(tmp_path, allow_write=True)

    page = browser.session().page
    page.check()
    assert "is missing; bring a rotation back" in page.text
    for address in ("/log/now", "/log/1", "/m/3", "/log/now?q=x", "/state"):
        assert browser.session(address).status == 200


def test_a_session_that_has_gone_is_told(tmp_path: Path) -> None:
    """The list knew it a moment ago."""
    folder = make_session(tmp_path / "s", turns=1)
    browser = Browser(tmp_path)
    key = browser.key
    (folder / "context.jsonl").unlink()
    (folder / "session.json").unlink()

    for address in (f"/s/{key}", f"/s/{key}/log/now"):
        answer = browser.get(address)
        assert answer.status == 409
        answer.page.check()


def test_many_may_look_at_once(lived: Path) -> None:
    """Each gets its page, whatever the others ask for."""
    browser = Browser(lived)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(browser.session, ADDRESSES * 4))

    assert {answer.status for answer in answers} == {200}
