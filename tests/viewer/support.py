"""A browser of sorts: asks the application without a network, and takes its pages apart."""

import asyncio
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from minutebook.config.values import Config
from minutebook.viewer.app import make_app
from minutebook.viewer.places import Places

TOKEN = "the-token-of-this-test"
HOST = "127.0.0.1:8378"
ORIGIN = f"http://{HOST}"
COOKIE = "minutebook"
TAGS = frozenset(
    {
        *("html", "head", "meta", "title", "link", "script", "body", "header", "nav", "main"),
        *("section", "article", "div", "p", "h1", "h2", "h3", "ol", "ul", "li", "dl", "dt", "dd"),
        *("table", "thead", "tbody", "tr", "th", "td", "form", "label", "input", "button"),
        *("select", "option", "details", "summary", "figure", "img", "pre", "a", "b", "br", "span"),
        *("svg", "rect", "line", "polyline"),
    }
)
"""Every element that a template of ours has."""
VOID = frozenset({"meta", "link", "input", "br", "img"})


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def page(self) -> "PageParser":
        """The body, taken apart."""
        found = PageParser()
        found.feed(self.text)
        found.close()
        return found


class PageParser(HTMLParser):
    """Elements and text of a page, as a browser that is given the source has them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """All text of the page."""
        return "".join(self.words)

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements with the names of their attributes."""
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]

    def attributes(self, name: str) -> list[str]:
        """Give each value of an attribute."""
        return [found[name] for _tag, found in self.elements if name in found]

    def check(self) -> None:
        """Hold that nothing here can act, and that nothing comes from elsewhere."""
        assert self.open == []
        for tag, attributes in self.elements:
            assert tag in TAGS
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            for name in ("href", "src", "action"):
                address = attributes.get(name, "/")
                assert address.startswith(("/", "#"))
                assert not address.startswith("//")
        scripts = [found for tag, found in self.elements if tag == "script"]
        assert [found.get("src", "").endswith("/static/viewer.js") for found in scripts] == [True]


class Browser:
    """Has the cookie, keeps the others that it is given, and sends the Origin of its forms."""

    def __init__(self, path: Path | None, *, config: Config | None = None, **options: Any) -> None:
        self.places = Places(path)
        self.app = make_app(self.places, config or Config(), token=TOKEN, **options)
        self.cookies = {COOKIE: TOKEN}

    @property
    def key(self) -> str:
        """The name of the first session."""
        return self.places.all()[0].key

    def get(self, address: str, **headers: str) -> Answer:
        """Ask for a page."""
        return self.ask("GET", address, headers=headers)

    def session(self, rest: str = "", **headers: str) -> Answer:
        """Ask for a page of the first session."""
        return self.get(f"/s/{self.key}{rest}", **headers)

    def post(self, address: str, **fields: object) -> Answer:
        """Send a form."""
        return self.ask("POST", address, body=urlencode(fields).encode())

    def ask(
        self,
        method: str,
        address: str,
        *,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; an empty header is left out."""
        told = {"host": HOST, "cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        if method == "POST":
            told |= {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
        told |= {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        path, _, query = address.partition("#")[0].partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in told.items() if v],
            "server": ("127.0.0.1", 8378),
            "client": ("127.0.0.1", 50_000),
        }
        answer = asyncio.run(_asked(self.app, scope, body))
        cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        if cookie:
            name, _, value = cookie.partition("=")
            self.cookies[name] = value
        return answer


async def _asked(app: Any, scope: dict[str, Any], body: bytes) -> Answer:
    sent: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    whole = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], headers, whole)
