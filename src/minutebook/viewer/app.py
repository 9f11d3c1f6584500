"""Which address asks for which page, and what may be sent to it. Needs the extra `viewer`.

The application is ASGI behind its guard, so it can be served by itself or stand below a path
of another one.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from minutebook.cli.wording import sentence
from minutebook.config.values import Config
from minutebook.errors import MinutebookError
from minutebook.integrations.extras import needing
from minutebook.messages import Message
from minutebook.tokens.breakdown import by_kind
from minutebook.viewer.changing import Changes, Preview, holder_of
from minutebook.viewer.guard import Guard
from minutebook.viewer.pages import NotThere, Page, Pages, number_in
from minutebook.viewer.places import Places
from minutebook.viewer.rendering import THEMES, link_to, make_templates, render
from minutebook.viewer.telling import Room, tell
from minutebook.viewer.texts import LANGUAGES, choose, say_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = {
    "viewer.css": "text/css; charset=utf-8",
    "viewer.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Our own files; only these names are known."""
FORM_BYTES_MAX = 16 << 10
YEAR_SECONDS = 365 * 24 * 3600
LANGUAGE_COOKIE = "minutebook_language"
THEME_COOKIE = "minutebook_theme"

Handler = Callable[["Request"], "Response"]
Sender = Callable[["Request", Mapping[str, str]], "Response"]


def make_app(
    places: Places,
    config: Config,
    *,
    token: str,
    cookie: str = "minutebook",
    base: str = "",
    allow_write: bool = False,
) -> Guard:
    """Make the viewer of some sessions.

    Args:
        places: The sessions.
        config: The policy whose bounds are drawn, and by which a compaction is made.
        token: What the first address has to carry.
        cookie: The cookie's name that the token becomes.
        base: The path that it stands below, without a slash at its end; empty for none.
        allow_write: Whether sessions may be changed.

    Raises:
        ConfigError: If the extra is not installed.
    """
    with needing("viewer"):
        import jinja2  # noqa: F401 - asked for here, so that the error comes at once
        from starlette.applications import Starlette
        from starlette.routing import Mount, Route
    site = Site(Pages(places, config), Changes(config), base=base, allow_write=allow_write)
    routes: list[Any] = [
        Route(path, handler, methods=[method]) for method, path, handler in site.routes()
    ]
    inside = Starlette(
        routes=[Mount(base, routes=routes)] if base else routes,
        exception_handlers={404: site.not_there, 405: site.not_allowed},
    )
    return Guard(inside, token, cookie=cookie, path=base or "/")


class Site:
    """The handlers: each asks for a page, or for a change, and answers."""

    def __init__(self, pages: Pages, changes: Changes, *, base: str, allow_write: bool) -> None:
        """Take what is shown and what changes it."""
        self._pages = pages
        self._changes = changes
        self._base = base
        self._allow_write = allow_write
        self._templates = make_templates()

    def routes(self) -> list[tuple[str, str, Any]]:
        """Give method, path and handler of everything that can be asked for."""
        looks: list[tuple[str, Handler]] = [
            ("/", self._sessions),
            ("/state", lambda _: _json(self._pages.state_of_all())),
            ("/s/{key}", self._session),
            ("/s/{key}/log/{name}", self._log),
            ("/s/{key}/m/{seq}", self._record),
            ("/s/{key}/compaction", self._compaction),
            ("/s/{key}/picture", self._picture),
            ("/s/{key}/revert", self._before_revert),
            ("/s/{key}/state", lambda asked: _json(self._pages.state(_key(asked)))),
            ("/static/{name}", self._static),
        ]
        sends: list[tuple[str, Sender]] = [
            ("/s/{key}/revert", self._revert),
            ("/s/{key}/undo", self._undo),
            ("/s/{key}/pin", self._pin),
            ("/s/{key}/propose", self._propose),
            ("/s/{key}/apply", self._apply),
        ]
        return [
            *(("GET", path, self._looking(handler)) for path, handler in looks),
            ("POST", "/look", self._sending(self._look, changes=False)),
            *(("POST", path, self._sending(handler)) for path, handler in sends),
        ]

    def not_there(self, asked: Request, _error: Exception) -> Response:
        """Answer for an address that nothing has."""
        return self._error(asked, 404, "not_there", "not_there_why")

    def not_allowed(self, asked: Request, error: Exception) -> Response:
        """Answer for a method that an address does not take."""
        answer = self._error(asked, 405, "not_allowed", "not_there_why")
        answer.headers.update(getattr(error, "headers", None) or {})
        return answer

    # ---------------------------------------------------------------- pages

    def _sessions(self, asked: Request) -> Response:
        if self._pages.places.single:
            return self._go(f"/s/{self._pages.places.all()[0].key}")
        page = self._pages.sessions(asked.query_params)
        return self._page(asked, page, state="/state")

    def _session(self, asked: Request) -> Response:
        key = _key(asked)
        page = self._pages.session(key)
        return self._page(asked, page, state=f"/s/{key}/state")

    def _log(self, asked: Request) -> Response:
        key, name = _key(asked), asked.path_params["name"]
        seq = number_in(asked.query_params, "seq")
        if seq:
            first = self._pages.seek(key, name, seq)
            if first is None:
                # Not of this log: its own page finds it wherever it is.
                return self._go(f"/s/{key}/m/{seq}")
            return self._go(f"/s/{key}/log/{name}", {"from": first}, fragment=f"m{seq}")
        page = self._pages.log(key, name, asked.query_params)
        return self._page(asked, page, state=f"/s/{key}/state")

    def _record(self, asked: Request) -> Response:
        seq = number_in(asked.path_params, "seq")
        return self._page(asked, self._pages.record(_key(asked), seq, asked.query_params))

    def _compaction(self, asked: Request) -> Response:
        query = asked.query_params
        return self._page(asked, self._pages.compaction(_key(asked), query.get("id", ""), query))

    def _picture(self, asked: Request) -> Response:
        from starlette.responses import Response

        query = asked.query_params
        found = self._pages.picture(
            _key(asked),
            query.get("log", "now"),
            number_in(query, "seq"),
            number_in(query, "part"),
        )
        return Response(found.data, media_type=found.media_type)

    def _static(self, asked: Request) -> Response:
        from starlette.responses import Response

        name = asked.path_params["name"]
        if name not in STATIC:
            raise NotThere
        data = files("minutebook.viewer").joinpath("static", name).read_bytes()
        return Response(data, headers={"content-type": STATIC[name]})

    # ---------------------------------------------------------------- changes

    def _before_revert(self, asked: Request) -> Response:
        key = _key(asked)
        found = self._pages.after(key, number_in(asked.query_params, "to"))
        if found is None or not self._allow_write:
            raise NotThere
        values = {**self._pages.heading(key), "after": found}
        return self._page(asked, Page(template="revert.html", values=values))

    def _look(self, _asked: Request, form: Mapping[str, str]) -> Response:
        """Choose theme or language, and go back to the page that asked."""
        back = form.get("back", "/")
        inside = back.startswith("/") and not back.startswith(("//", "/\\"))
        answer = self._go(back if inside and back.isprintable() else "/", whole=True)
        for name, known, cookie in (
            ("theme", THEMES, THEME_COOKIE),
            ("language", LANGUAGES, LANGUAGE_COOKIE),
        ):
            if form.get(name) in known:
                answer.set_cookie(
                    cookie,
                    form[name],
                    max_age=YEAR_SECONDS,
                    path=self._base or "/",
                    httponly=True,
                    samesite="strict",
                )
        return answer

    def _revert(self, asked: Request, form: Mapping[str, str]) -> Response:
        key = _key(asked)
        path = self._pages.place(key).path
        number = self._changes.revert(path, number_in(form, "to"), form.get("note", ""))
        return self._go(f"/s/{key}", {"done": "revert", "log": number})

    def _undo(self, asked: Request, form: Mapping[str, str]) -> Response:
        key = _key(asked)
        number = self._changes.undo(self._pages.place(key).path, force="force" in form)
        return self._go(f"/s/{key}", {"done": "undo", "log": number})

    def _pin(self, asked: Request, form: Mapping[str, str]) -> Response:
        key, seq = _key(asked), number_in(form, "seq")
        self._changes.pin(self._pages.place(key).path, seq, pinned=form.get("pinned") == "1")
        return self._go(f"/s/{key}/log/now", {"seq": seq}, fragment=f"m{seq}")

    def _propose(self, asked: Request, form: Mapping[str, str]) -> Response:
        key = _key(asked)
        percent = number_in(form, "target")
        found = self._changes.propose(
            self._pages.place(key).path,
            form.get("focus", ""),
            percent / 100 if percent else None,
        )
        values = {**self._pages.heading(key), **_preview(found)}
        return self._page(asked, Page(template="preview.html", values=values))

    def _apply(self, asked: Request, form: Mapping[str, str]) -> Response:
        key = _key(asked)
        number = self._changes.apply(self._pages.place(key).path, form.get("id", ""))
        if number is None:
            return self._go(f"/s/{key}", {"done": "nothing"})
        return self._go(f"/s/{key}", {"done": "compact", "log": number})

    # ---------------------------------------------------------------- answers

    def _looking(self, handler: Handler) -> Handler:
        """Make a handler answer for what is not there and for our errors."""

        def answered(asked: Request) -> Response:
            try:
                return handler(asked)
            except NotThere:
                return self._error(asked, 404, "not_there", "not_there_why")
            except (MinutebookError, OSError) as error:
                return self._error(asked, 409, "error", sentence(error))

        return answered

    def _sending(
        self, handler: Sender, *, changes: bool = True
    ) -> Callable[[Request], Awaitable[Response]]:
        """Make a handler of a form: read within bounds, and refused where nothing may change."""

        async def answered(asked: Request) -> Response:
            from starlette.concurrency import run_in_threadpool

            if changes and not self._allow_write:
                return self._error(asked, 403, "not_allowed", "read_only")
            form = await _form(asked)
            if form is None:
                return self._error(asked, 400, "not_allowed", "not_there_why")
            return await run_in_threadpool(
                self._looking(lambda request: handler(request, form)), asked
            )

        return answered

    def _page(
        self, asked: Request, page: Page, *, status: int = 200, state: str | None = None
    ) -> Response:
        from starlette.responses import HTMLResponse

        values = dict(page.values)
        language = self._language(asked)
        if state is not None:
            values["state"] = state
        if "place" in values:
            values["holder"] = holder_of(values["place"].path) if values["is_session"] else None
            values["writable"] = (
                self._allow_write and values["is_session"] and values["holder"] is None
            )
        done = asked.query_params.get("done", "")
        if f"done.{done}" in {"done.revert", "done.undo", "done.compact", "done.nothing"}:
            values["done"] = say_in(language)(f"done.{done}", number_in(asked.query_params, "log"))
        here = asked.url.path + (f"?{asked.url.query}" if asked.url.query else "")
        theme = asked.cookies.get(THEME_COOKIE, "")
        text = render(
            self._templates,
            page.template,
            {"here": here if asked.method == "GET" else f"{self._base}/", **values},
            language=language,
            theme=theme if theme in THEMES else THEMES[0],
            base=self._base,
        )
        return HTMLResponse(text, status_code=status)

    def _error(self, asked: Request, status: int, heading: str, what: str) -> Response:
        """Say what went wrong, in the page's words where there are some."""
        say = say_in(self._language(asked))
        key = asked.path_params.get("key", "")
        known = status != 404 and bool(key) and self._pages.places.find(key) is not None
        values = {
            "heading": say(heading),
            "what": say(what, default=what),
            "back": f"/s/{key}" if known else "/",
        }
        return self._page(asked, Page(template="error.html", values=values), status=status)

    def _language(self, asked: Request) -> str:
        return choose(
            asked.cookies.get(LANGUAGE_COOKIE, ""), asked.headers.get("accept-language", "")
        )

    def _go(
        self,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        whole: bool = False,
        fragment: str = "",
    ) -> Response:
        from starlette.responses import RedirectResponse

        address = path if whole else link_to(self._base, path, query or {})
        return RedirectResponse(address + (f"#{fragment}" if fragment else ""), status_code=303)


def _key(asked: Request) -> str:
    return str(asked.path_params["key"])


def _json(value: object) -> Response:
    from starlette.responses import Response

    return Response(json.dumps(value), media_type="application/json")


async def _form(asked: Request) -> dict[str, str] | None:
    """Read the fields of a form; None if it is too large, or no form."""
    kind = asked.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        return None
    body = b""
    async for piece in asked.stream():
        body += piece
        if len(body) > FORM_BYTES_MAX:
            return None
    try:
        found = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except (UnicodeDecodeError, ValueError):
        return None
    return {name: values[-1] for name, values in found.items()}


def _preview(found: Preview) -> dict[str, Any]:
    """Give what the page of a preview shows."""
    plan, measures = found.proposal.plan, found.proposal.measures
    kept = [message for message in plan.history if message.seq is not None]
    new: list[Message] = [message for message in plan.history if message.seq is None]
    after = by_kind(None, (), [*kept, *new], found.proposal.pins)
    fixed = {kind: measures.by_kind.get(kind, 0) for kind in ("system", "tools")}
    return {
        "preview": found.id,
        "plan": plan,
        "before": {kind: tokens for kind, tokens in measures.by_kind.items() if tokens},
        "after": {kind: tokens for kind, tokens in (after | fixed).items() if tokens},
        "made": [tell(message, Room()) for message in new],
    }
