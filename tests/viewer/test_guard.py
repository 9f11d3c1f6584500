"""Who may ask."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")

from minutebook.viewer.guard import HEADERS, POLICY, Guard
from tests.cli.support import make_session
from tests.viewer.support import COOKIE, HOST, ORIGIN, TOKEN, Browser


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    make_session(tmp_path / "s", turns=1)
    return Browser(tmp_path, allow_write=True)


def test_the_first_address_gives_a_cookie_and_loses_its_token(browser: Browser) -> None:
    """The cookie is kept from scripts and from other sites."""
    browser.cookies = {}

    answer = browser.get(f"/?q=a&token={TOKEN}")

    assert answer.status == 303
    assert answer.headers["location"] == "/?q=a"
    cookie = answer.headers["set-cookie"]
    assert cookie == f"{COOKIE}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    assert browser.get("/?q=a").status == 200


def test_from_a_page_of_another_site_it_begins_anew(browser: Browser) -> None:
    """A redirect would go on without the cookie there; the token is gone from the address, too."""
    browser.cookies = {}

    answer = browser.get(f"/?q=%22a&token={TOKEN}", sec_fetch_site="cross-site")

    assert answer.status == 200
    assert TOKEN not in answer.text
    assert 'content="0;url=/?q=%22a"' in answer.text
    assert TOKEN in answer.headers["set-cookie"]


@pytest.mark.parametrize("path", ["//elsewhere.example/", "/\\elsewhere.example"])
def test_the_redirect_stays_here(browser: Browser, path: str) -> None:
    """A path that a browser would take for another host is none."""
    answer = browser.get(f"{path}?token={TOKEN}")

    assert answer.headers["location"].lstrip("/\\").startswith("elsewhere.example")
    assert not answer.headers["location"].startswith(("//", "/\\"))


@pytest.mark.parametrize("address", ["/", "/state", "/static/viewer.js", "/s/x", "/nothing"])
@pytest.mark.parametrize("cookie", ["", f"{COOKIE}=wrong", f"other={TOKEN}", f"{COOKIE}="])
def test_without_the_cookie_nothing_is_shown(browser: Browser, address: str, cookie: str) -> None:
    """Not even whether there is something."""
    answer = browser.get(address, cookie=cookie or " ")

    assert answer.status == 403
    assert "token" in answer.text


@given(token=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=50))
def test_another_token_is_refused(token: str) -> None:
    """In the address and in the cookie."""
    guard = Guard(None, TOKEN, cookie=COOKIE)
    headers = {"host": HOST}

    assert guard.refusal("GET", headers, {"token": token}) != ""
    assert guard.refusal("GET", {**headers, "cookie": f"{COOKIE}={token}"}, {}) != ""
    assert guard.refusal("GET", {**headers, "cookie": f"a=b; {COOKIE}={TOKEN}"}, {}) == ""


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8378", "127.0.0.1.evil.example", "localhost.evil.example",
     "evil@127.0.0.1", "0.0.0.0", "10.0.0.1:8378", "[::2]", "127.0.0.1/x", "", "[", "a b"],
)  # fmt: skip
def test_another_host_is_refused(browser: Browser, host: str) -> None:
    """A name that somebody's server lets point to this machine is none of ours."""
    assert browser.get("/", host=host).status == 403
    assert browser.get(f"/?token={TOKEN}", host=host).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:8378", "[::1]:9", "localhost"])
def test_every_name_of_this_machine_will_do(browser: Browser, host: str) -> None:
    """On any port, since one may look through a tunnel."""
    assert browser.get("/", host=host).status == 200


@pytest.mark.parametrize(
    "origin", ["", "null", "http://evil.example", f"https://{HOST}", "http://127.0.0.1:1", HOST]
)
def test_a_form_of_another_page_is_refused(browser: Browser, origin: str) -> None:
    """Also of a page on another port of this machine, and of one that does not say who it is."""
    answer = browser.ask("POST", "/look", body=b"theme=dark", headers={"origin": origin})

    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_a_form_needs_the_cookie(browser: Browser) -> None:
    """The token in the address will not do."""
    browser.cookies = {}

    assert browser.post(f"/look?token={TOKEN}", theme="dark").status == 403
    assert ORIGIN.endswith(HOST)


@pytest.mark.parametrize("address", ["/", "/nothing", f"/?token={TOKEN}", "/state", "/?token=x"])
def test_every_answer_forbids_what_could_act(browser: Browser, address: str) -> None:
    """Errors and redirects too."""
    answer = browser.get(address)

    for name, value in HEADERS:
        assert answer.headers[name.decode()] == value.decode()
    for word in ("unsafe", "*", "http", "data:", "nonce"):
        assert word not in POLICY


async def test_a_web_socket_is_not_answered() -> None:
    """There is none here."""

    async def nothing(*_: object) -> None:
        raise AssertionError

    guard = Guard(nothing, TOKEN, cookie=COOKIE)
    await guard({"type": "websocket"}, nothing, nothing)  # type: ignore[arg-type]


async def test_the_start_and_the_end_are_passed_on() -> None:
    """The application inside may have something to do then."""
    heard = []

    async def inside(scope: object, _receive: object, _send: object) -> None:
        heard.append(scope)

    await Guard(inside, TOKEN, cookie=COOKIE)({"type": "lifespan"}, inside, inside)  # type: ignore[arg-type]
    assert heard == [{"type": "lifespan"}]
