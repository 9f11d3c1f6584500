"""What there is to see: each page is a template's name and the values that it shows.

Nothing here knows HTTP; `app` says which address asks for which page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from minutebook.budget import Limits, limits
from minutebook.config.values import Config
from minutebook.errors import ConfigError
from minutebook.messages import Message
from minutebook.models.windows import window_of
from minutebook.operations import fixed_tokens
from minutebook.records import Revert
from minutebook.store import metadata
from minutebook.store.disk import Disk
from minutebook.store.names import folder_of
from minutebook.tokens.breakdown import share
from minutebook.tools.originals import whole_text
from minutebook.viewer import charts, conversation
from minutebook.viewer.ancestry import costs, items, kinds, left_by, logs_of, positions
from minutebook.viewer.library import Library, Open, Recent, stamp_of
from minutebook.viewer.logs import Log, largest
from minutebook.viewer.places import Place, Places
from minutebook.viewer.rendering import brief
from minutebook.viewer.telling import Room, excerpt, picture_of, tell

SESSIONS_A_PAGE = 50
CHECKPOINTS_SHOWN = 50
KINDS_MAX = 32
"""Of how many compactions the sizes by kind are kept: they are the same on each of its pages."""
PROBLEMS_SHOWN = 50
RECORD_CHARACTERS = 200_000
"""How much of a message its own page shows at once."""
SORTS: dict[str, Callable[[Place], Any]] = {
    "modified": lambda place: -place.listed.modified,
    "title": lambda place: place.listed.title.casefold(),
    "messages": lambda place: -place.listed.messages,
    "tokens": lambda place: -place.listed.tokens,
    "rewrites": lambda place: -place.listed.rotations,
}
"""By what the sessions may be put in order."""


class NotThere(Exception):
    """Nothing has this address."""


class Page(Struct, frozen=True, kw_only=True):
    """A page that is to be rendered."""

    template: str
    values: dict[str, Any]


class Picture(Struct, frozen=True, kw_only=True):
    """A picture of the log."""

    media_type: str
    data: bytes


class Pages:
    """The pages about the sessions of some places."""

    def __init__(self, places: Places, config: Config) -> None:
        """Take the sessions, and the configuration whose bounds are drawn."""
        self.places = places
        self._config = config
        self._library = Library()
        self._kinds: Recent[tuple[dict[str, int], dict[str, int]]] = Recent(KINDS_MAX)

    def place(self, key: str) -> Place:
        """Find a session by its name in addresses.

        Raises:
            NotThere: If there is none.
        """
        found = self.places.find(key)
        if found is None:
            raise NotThere
        return found

    def sessions(self, query: Mapping[str, str]) -> Page:
        """List the sessions: searched, of one agent, in an order, a page at a time."""
        everything = self.places.all()
        words, agent = query.get("q", "").strip(), query.get("agent", "")
        order = query.get("sort", "")
        order = order if order in SORTS else "modified"
        wanted = words.casefold()
        found = [
            place
            for place in everything
            if (not agent or place.listed.agent == agent)
            and (wanted in place.listed.title.casefold() or wanted in place.listed.path.casefold())
        ]
        found.sort(key=SORTS[order])
        first = number_in(query, "from") // SESSIONS_A_PAGE * SESSIONS_A_PAGE
        shown = found[first : first + SESSIONS_A_PAGE]
        return Page(
            template="sessions.html",
            values={
                "rows": [
                    {"place": place, "share": share(place.listed.tokens, _window(place))}
                    for place in shown
                ],
                "agents": sorted({place.listed.agent for place in everything} - {""}),
                "agent": agent,
                "q": words,
                "sort": order,
                "sorts": tuple(SORTS),
                "first": first,
                "count": len(found),
                "step": SESSIONS_A_PAGE,
                "stamp": self._stamp_of_all(everything),
            },
        )

    def session(self, key: str) -> Page:
        """Show one session: the window, the largest items, the curve, the lineage."""
        with self._library.open(self.place(key)) as opened:
            facts, bounds = opened.facts(), self._bounds(opened)
            logs = [log.index for _number, log in opened.logs()]
            tokens = facts["tokens"]
            return Page(
                template="session.html",
                values={
                    **_heading(opened),
                    "facts": facts,
                    "bounds": bounds,
                    "bar": charts.bar(tokens, tokens["by_kind"], bounds),
                    "curve": charts.curve(logs[::-1], tokens["with_pending"], bounds),
                    "largest": largest(opened.live, excerpt),
                    "logs": logs_of(opened, facts),
                    "problems": facts["problems"][:PROBLEMS_SHOWN],
                    "count": opened.live.index.count,
                    "undoable": any(
                        not (isinstance(step.record, Revert) and step.record.reason == "undo")
                        for step in opened.live.index.rewritten
                    ),
                },
            )

    def log(self, key: str, name: str, query: Mapping[str, str]) -> Page:
        """Show a page of a log's messages; a search, if words are given."""
        with self._library.open(self.place(key)) as opened:
            number, log = _log(opened, name)
            words = query.get("q", "").strip()
            count = log.index.count
            first = min(number_in(query, "from"), max(count - 1, 0))
            first = conversation.first_of_page(first)
            values = {
                **_heading(opened),
                "name": name,
                "number": number,
                "count": count,
                "q": words,
                "first": first,
                "step": conversation.PAGE_MESSAGES,
                "seqs": (log.index.seqs[0], log.index.seqs[-1]) if count else (0, 0),
            }
            if words:
                hits = conversation.search(log, words, number_in(query, "from"))
                return Page(template="found.html", values={**values, "hits": hits})
            prompt = opened.surveyed.survey.system_prompt if number is None and not first else None
            rows = conversation.rows(opened, log, first, live=number is None)
            return Page(
                template="log.html",
                values={
                    **values,
                    "rows": rows,
                    "prompt": None
                    if prompt is None
                    else tell(Message(role="system", content=prompt), Room()),
                    "after": [
                        mark
                        for mark in log.index.checkpoints
                        if mark.messages == count and first + len(rows) == count
                    ][-CHECKPOINTS_SHOWN:],
                },
            )

    def seek(self, key: str, name: str, seq: int) -> int | None:
        """Give where the page of a log begins that has a message; None if the log has it not."""
        with self._library.open(self.place(key)) as opened:
            _number, log = _log(opened, name)
            found = log.index.position(seq)
            return None if found is None else conversation.first_of_page(found)

    def record(self, key: str, seq: int, query: Mapping[str, str]) -> Page:
        """Show one message whole, a part at a time if it is very long."""
        with self._library.open(self.place(key)) as opened:
            if "log" in query:
                number, log = _log(opened, query["log"])
                position = log.index.position(seq)
                found = None if position is None else (number, log, position)
            else:
                found = opened.find(seq)
            if found is None:
                raise NotThere
            number, log, position = found
            (message,) = log.read([position])
            text = "\n".join(filter(None, (message.thinking, whole_text(message))))
            at = min(number_in(query, "at"), max(len(text) - 1, 0))
            at = at // RECORD_CHARACTERS * RECORD_CHARACTERS
            long = len(text) > RECORD_CHARACTERS
            return Page(
                template="record.html",
                values={
                    **_heading(opened),
                    "told": tell(
                        message, Room(0 if long else 2 * RECORD_CHARACTERS), most=RECORD_CHARACTERS
                    ),
                    "text": text[at : at + RECORD_CHARACTERS] if long else "",
                    "at": at,
                    "length": len(text),
                    "step": RECORD_CHARACTERS,
                    "seq": seq,
                    "number": number,
                    "covered": conversation.covered(opened, log.index, seq),
                    "versions": [
                        {"number": other, "elided": one.index.elided.get(seq, "")}
                        for other, one in opened.logs()
                        if one.index.position(seq) is not None
                    ],
                },
            )

    def compaction(self, key: str, name: str, query: Mapping[str, str]) -> Page:
        """Show what a compaction did, item by item."""
        with self._library.open(self.place(key)) as opened:
            found = opened.compaction(name)
            if found is None:
                raise NotThere
            number, log, record = found
            parent = None if record.parent is None else opened.log(record.parent.number)
            values = {
                **_heading(opened),
                "record": record,
                "costs": costs(
                    record, None if parent is None else parent.index, opened.surveyed.model
                ),
                "checks": [item for item in (record.checks or {}).items() if item[1]][:20],
                "number": number,
                "before": None,
                "items": [],
                "count": 0,
                "first": 0,
                "step": conversation.PAGE_MESSAGES,
                "after": {},
                "made": [
                    conversation.line_of(message)
                    for message in log.read(positions(log.index, record.made))
                ],
            }
            if parent is not None:
                count = parent.index.count
                first = min(number_in(query, "from"), max(count - 1, 0))
                first = conversation.first_of_page(first)
                stamp = (key, name, count, parent.index.ends[-1] if count else 0)
                before, after = self._kinds.get(
                    stamp,
                    lambda: (
                        kinds(parent, range(count)),
                        kinds(log, left_by(record, log.index)),
                    ),
                )
                values |= {
                    "before": before,
                    "after": after,
                    "items": items(record, parent, log, first),
                    "count": count,
                    "first": first,
                }
            return Page(template="compaction.html", values=values)

    def picture(self, key: str, name: str, seq: int, part: int) -> Picture:
        """Give a picture that a message holds.

        Raises:
            NotThere: If it holds none there that may be shown.
        """
        with self._library.open(self.place(key)) as opened:
            _number, log = _log(opened, name)
            position = log.index.position(seq)
            if position is None:
                raise NotThere
            (message,) = log.read([position])
        found = picture_of(message.parts[part]) if part < len(message.parts) else None
        if found is None:
            raise NotThere
        return Picture(media_type=found[0], data=base64.b64decode(found[1]))

    def heading(self, key: str) -> dict[str, Any]:
        """Give what stands at the top of each page of a session."""
        with self._library.open(self.place(key)) as opened:
            return _heading(opened)

    def after(self, key: str, checkpoint: int) -> dict[str, Any] | None:
        """Say what a revert to a checkpoint would leave behind; None if no log has it."""
        with self._library.open(self.place(key)) as opened:
            for number, log in opened.logs():
                for mark in reversed(log.index.checkpoints):
                    if mark.id == checkpoint:
                        count = log.index.count
                        shown = range(mark.messages, min(count, mark.messages + 20))
                        return {
                            "mark": mark,
                            "number": number,
                            "left": count - mark.messages,
                            "lines": [conversation.line_of(one) for one in log.read(shown)],
                        }
        return None

    def state(self, key: str) -> dict[str, Any]:
        """Give what changes whenever a session does; costs a look at its files."""
        return {"stamp": digest(stamp_of(self.place(key).path))}

    def state_of_all(self) -> dict[str, Any]:
        """Give what changes whenever one of the sessions does."""
        return {"stamp": self._stamp_of_all(self.places.all())}

    def _stamp_of_all(self, found: Sequence[Place]) -> str:
        return digest(tuple((place.key, place.listed.modified) for place in found))

    def _bounds(self, opened: Open) -> Limits | None:
        """Give the bounds of the session's window; None where it is not known or too small."""
        found = opened.surveyed
        try:
            return limits(
                self._config.policy,
                window=found.window,
                max_output=self._config.max_output,
                fixed=fixed_tokens(found.survey.system_prompt, ()),
            )
        except ConfigError:
            return None


def digest(stamp: object) -> str:
    """Give a stamp as a short word."""
    return hashlib.blake2b(repr(stamp).encode(), digest_size=8).hexdigest()


def number_in(query: Mapping[str, str], name: str) -> int:
    """Read a whole number of an address; 0 where there is none."""
    word = query.get(name, "")
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 15 else 0


def _heading(opened: Open) -> dict[str, Any]:
    found = opened.surveyed
    return {
        "place": opened.place,
        "key": opened.place.key,
        "title": brief(found.title or opened.place.listed.title or opened.place.listed.path),
        "stamp": digest(opened.stamp),
        "is_session": opened.store is not None,
    }


def _log(opened: Open, name: str) -> tuple[int | None, Log]:
    """Find a log by its name in addresses: `now`, or a rotation's number."""
    number = None if name == "now" else number_in({"n": name}, "n")
    found = opened.log(number)
    if found is None:
        raise NotThere
    return number, found


def _window(place: Place) -> int | None:
    """Give a listed session's window as far as its `session.json` tells."""
    known, _problem = metadata.load(Disk(), folder_of(Path(place.path)))
    if known is None:
        return None
    return known.window or (window_of(known.model) if known.model else None)
