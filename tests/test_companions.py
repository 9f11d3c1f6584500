"""Who a session works with: none of them can do harm."""

from __future__ import annotations

from minutebook.companions import TASKS_MAX, Companions, Task
from minutebook.context import Context
from minutebook.events import CompactionEnded, Event

ENDED = CompactionEnded(trigger="manual", outcome="skipped", reason="nothing to do")


class Plan:
    """An injection provider that counts what it is told."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.told = 0

    def inject(self, context: Context) -> str | None:
        """Give the text."""
        assert context.history == ()
        return self.text

    def compacted(self) -> None:
        """Count."""
        self.told += 1


class Broken:
    """An injection provider that raises."""

    def inject(self, context: Context) -> str | None:
        """Raise."""
        raise RuntimeError(context)

    def compacted(self) -> None:
        """Raise."""
        raise RuntimeError


def test_every_listener_is_told_whatever_another_raises() -> None:
    """An event reaches those behind one that raises."""
    heard: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError(event)

    Companions(listeners=(broken, heard.append)).emit(ENDED)

    assert heard == [ENDED]


def test_a_snapshot_names_running_tasks_only() -> None:
    """Ended tasks are left out, long titles and long lists are cut."""
    tasks = [Task(id=f"t{number}", title="x" * 500) for number in range(TASKS_MAX + 3)]
    tasks.append(Task(id="done", title="over", running=False))

    message = Companions(background=lambda: tasks).snapshot()

    assert message is not None
    assert message.origin == "notice"
    lines = message.text.splitlines()
    assert len(lines) == TASKS_MAX + 3
    assert "and 3 more" in lines[-2]
    assert "done" not in message.text
    assert max(map(len, lines)) < 250


def test_without_running_tasks_there_is_no_snapshot() -> None:
    """No tasks, no callable, and one that raises all give nothing."""

    def broken() -> list[Task]:
        raise RuntimeError

    assert Companions().snapshot() is None
    assert Companions(background=list).snapshot() is None
    assert Companions(background=broken).snapshot() is None


def test_one_injection_that_fails_stops_nobody() -> None:
    """The others are asked and told all the same; blank text is nothing."""
    plan, blank = Plan("step 2 of 3"), Plan("  ")
    companions = Companions(injections=(Broken(), blank, plan))

    injected = list(companions.injected(Context()))
    companions.tell_compacted()

    assert [(message.text, message.origin) for message in injected] == [
        ("step 2 of 3", "injection")
    ]
    assert (plan.told, blank.told) == (1, 1)
