"""The log of changes of a Gemini CLI session, replayed. Pure.

A message with an id that is there already takes its place; `$set.messages` replaces all there
are, and keeps those that it repeats; `$rewindTo` drops a message and all after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minutebook.formats.mapping import compact_json, table, text


class Session:
    """The state of a session while its log of changes is replayed; feed it in file order."""

    def __init__(self) -> None:
        """Begin empty."""
        self.about: dict[str, Any] = {}
        """What is known of the session, without its messages."""
        self.written: list[dict[str, Any]] = []
        """Every version of every message, in the order of writing."""
        self.live: list[int] = []
        """The messages that there are now, as indices of `written`."""
        self.left: set[int] = set()
        """What a rewind dropped."""
        self.outdated: set[int] = set()
        """Versions that another one took the place of."""
        self.whole: dict[int, int] = {}
        """Of a version that a replacement of all messages has changed: the one before."""
        self.compactions = 0
        """How often a replacement of all messages left some out."""
        self.maskings = 0
        """How often one left none out and changed some."""
        self.reverts = 0
        self.changed_at = 0
        """How many versions were written when a replacement last changed what is sent."""
        self._place: dict[str, int] = {}

    def put(self, message: dict[str, Any]) -> None:
        """Take a message, in the place of the one of the same id if there is one."""
        at = len(self.written)
        self.written.append(message)
        name = text(message.get("id"))
        place = self._place.get(name, -1)
        if place >= 0:
            old = self.live[place]
            self.outdated.add(old)
            if old in self.whole:
                self.whole[at] = self.whole.pop(old)
            self.live[place] = at
            return
        if name:
            self._place[name] = len(self.live)
        self.live.append(at)

    def set(self, change: dict[str, Any]) -> None:
        """Change what is known of the session; a list of messages replaces all there are."""
        self.about.update({key: value for key, value in change.items() if key != "messages"})
        messages = change.get("messages")
        if isinstance(messages, list):
            self._replace(map(table, messages))

    def rewind(self, name: object) -> None:
        """Drop a message and all after it; everything if there is no such message."""
        self.reverts += 1
        start = self._place.get(name, 0) if isinstance(name, str) else 0
        self.left.update(self.live[start:])
        del self.live[start:]
        self._index()

    def _replace(self, messages: Iterable[dict[str, Any]]) -> None:
        by_id = dict(reversed([(text(self.written[at].get("id")), at) for at in self.live]))
        by_words: dict[str, list[int]] = {}
        for at in reversed(self.live):
            by_words.setdefault(_words(self.written[at]), []).append(at)
        begun, waiting = bool(self.live), set(self.live)
        now: list[int] = []
        changed = False
        for message in messages:
            name = text(message.get("id"))
            same = by_words.get(_words(message)) or [-1]
            old = by_id.get(name, -1) if name else -1
            old = old if old in waiting else next((at for at in same if at in waiting), -1)
            waiting.discard(old)
            if old >= 0 and _words(self.written[old]) == _words(message):
                now.append(old)
                continue
            changed = True
            if old >= 0:
                self.outdated.add(old)
                self.whole[len(self.written)] = self.whole.pop(old, old)
            now.append(len(self.written))
            self.written.append(message)
        self.live = now
        self._index()
        if begun and (waiting or changed):
            self.compactions += bool(waiting)
            self.maskings += not waiting
            self.changed_at = len(self.written)

    def _index(self) -> None:
        self._place = {}
        for place, at in enumerate(self.live):
            name = text(self.written[at].get("id"))
            if name:
                self._place[name] = place


def _words(message: dict[str, Any]) -> str:
    """Give what a message says, without its id and its time: equal for equal messages."""
    return compact_json([message.get(key) for key in ("type", "content", "toolCalls")])
