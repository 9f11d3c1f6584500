"""What a session works with beside its log: hooks, listeners, tasks, injections.

None of them can do harm: what a listener or an injection provider raises is dropped, and the
others are told all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, structs

from minutebook.context import Context
from minutebook.events import Event, Listener
from minutebook.hooks import Hooks
from minutebook.messages import Message, replace, user

if TYPE_CHECKING:
    from minutebook.compaction.plan import Embed
    from minutebook.config.values import Config, TagRule
    from minutebook.models.retry import Retries
    from minutebook.models.summarizer import Summarizer

TASKS_MAX = 20
"""How many running tasks a snapshot names; the rest are counted."""
TASK_CHARACTERS_MAX = 200


class Task(Struct, frozen=True, kw_only=True):
    """A task that runs in the background, as its snapshot names it."""

    id: str
    title: str
    """What it is for, in the agent's words; never the command that it runs."""
    running: bool = True
    """A task that has ended is left out."""


Background = Callable[[], Iterable[Task]]
"""Gives the agent's background tasks, just now. A sub-agent's session has none."""


class Injection(Protocol):
    """Text that an agent keeps in front of its model, as the state of its plan."""

    def inject(self, context: Context) -> str | None:
        """Give what is to be appended before the next call; None for nothing new."""
        ...

    def compacted(self) -> None:
        """Take note that what was injected may be gone."""
        ...


class Companions(Struct, frozen=True, kw_only=True):
    """All that a session was given to work with."""

    hooks: Hooks = Hooks()
    listeners: tuple[Listener, ...] = ()
    background: Background | None = None
    injections: tuple[Injection, ...] = ()
    summarizers: tuple[Summarizer, ...] = ()
    """Who writes summaries, the first that can; none: the built-in digest does."""
    retries: Retries | None = None
    """How often and how patiently; None: as `models.retry` says."""
    instructions: tuple[str, ...] = ()
    """What is added to every summary's instructions."""
    prompt: str = ""
    """An instruction in the place of ours."""
    embed: Embed | None = None
    """Tells the digest and the ledger how near lines are to the focus; None: by shared words.
    See `models.embedding` for one that runs offline."""
    tagging: tuple[TagRule, ...] = ()
    """Rules for tags, which are written with each new message that they match. What a protecting
    rule matches is protected in every compaction, messages older than the rule among them."""

    def with_config(self, config: Config, summarizers: tuple[Summarizer, ...]) -> Companions:
        """Give them with what a configuration says besides; what is here already comes first."""
        return structs.replace(
            self,
            hooks=structs.replace(self.hooks, commands=(*self.hooks.commands, *config.hooks)),
            summarizers=(*self.summarizers, *summarizers),
            instructions=(*self.instructions, *config.instructions),
            prompt=self.prompt or config.prompt,
            tagging=(*self.tagging, *config.tags),
        )

    def emit(self, event: Event) -> None:
        """Tell every listener."""
        for listener in self.listeners:
            with suppress(Exception):
                listener(event)

    def snapshot(self) -> Message | None:
        """Make the message that names the running tasks; None if there are none."""
        if self.background is None:
            return None
        try:
            running = [task for task in self.background() if task.running]
        except Exception:  # noqa: BLE001 - the agent's code; without it there is no snapshot
            return None
        if not running:
            return None
        lines = [f"- {task.id}: {_short(task.title)}" for task in running[:TASKS_MAX]]
        if len(running) > TASKS_MAX:
            lines.append(f"- and {len(running) - TASKS_MAX} more")
        text = "\n".join(["<system>Still running in the background:", *lines, "</system>"])
        return replace(user(text), origin="notice")

    def injected(self, context: Context) -> Iterator[Message]:
        """Ask every provider for its text; give it as messages."""
        for provider in self.injections:
            with suppress(Exception):
                text = provider.inject(context)
                if isinstance(text, str) and text.strip():
                    yield replace(user(text), origin="injection")

    def tell_compacted(self) -> None:
        """Tell every provider that the context was compacted."""
        for provider in self.injections:
            with suppress(Exception):
                provider.compacted()


def _short(text: str) -> str:
    """Give a task's title in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= TASK_CHARACTERS_MAX else f"{line[: TASK_CHARACTERS_MAX - 1]}…"
