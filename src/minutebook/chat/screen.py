"""What the user of a chat sees: words, calls, and one line on the window. Nothing steers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minutebook.cli.harmless import harmless, harmless_line
from minutebook.cli.rendering import number, percent
from minutebook.events import CompactionBegun, CompactionCommitted, Event
from minutebook.messages import Message, ToolCall
from minutebook.session import Session

ARGUMENTS_CHARACTERS_MAX = 200


class Screen:
    """Writes lines."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Take what writes one line."""
        self._write = write

    def line(self, text: str = "") -> None:
        """Write a line of ours, with whatever stands in it made harmless."""
        self._write(harmless(text))

    def says(self, reply: Message) -> None:
        """Show what the model said."""
        if reply.text.strip():
            self.line(reply.text.strip())

    def calls(self, call: ToolCall) -> None:
        """Show what the model calls."""
        self.line(f"→ {call.name} {harmless_line(call.arguments)[:ARGUMENTS_CHARACTERS_MAX]}")

    def event(self, event: Event) -> None:
        """Say that the session is being compacted, and what came of it."""
        match event:
            case CompactionBegun():
                self.line("compacting…")
            case CompactionCommitted(tokens_before=before, tokens_after=after):
                self.line(f"compacted: {number(before)} → {number(after)} tokens")
            case _:
                pass

    def status(self, session: Session) -> None:
        """Say how full the window is."""
        window = session.settings.known_window()
        if window is not None:
            self.line(f"[{percent(session.used, window)} of {number(window)} tokens]")

    def table(self, rows: Mapping[str, int]) -> None:
        """Show numbers by name."""
        width = max(map(len, rows), default=0)
        for name, count in rows.items():
            self.line(f"  {name.replace('_', ' '):<{width}}  {number(count):>10}")
