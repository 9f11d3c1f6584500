"""What the tests of the chain share: conversations, a world without time, a digest."""

from collections.abc import Sequence

from minutebook.compaction.digest.write import digest
from minutebook.compaction.task import SummaryTask, task_of
from minutebook.messages import Message, user
from minutebook.models.chain import Attempt, Judge, World, Written, write_summary
from minutebook.models.retry import Retries
from minutebook.models.summarizer import Summarizer
from minutebook.tokens.estimate import estimate_message
from tests.compaction.conversations import lines, numbered, step

GOOD = "## Task\n- See to the modules one after the other. (record 1)"


def work(tokens: int) -> tuple[Message, ...]:
    """Make a conversation of at least so many tokens: exchanges, and a person's words."""
    found: list[Message] = []
    size = number = 0
    while size < tokens:
        new = [user(f"Now see to module {number}, please.")] if number % 8 == 0 else []
        output = lines(10 + number * 7 % 23, f"m{number}")
        new += step(f"c{number}", "read_file", output, f"Step {number}.", path=f"m{number}.py")
        size += sum(map(estimate_message, new))
        found += new
        number += 1
    return numbered(found)


def task_for(tokens: int) -> SummaryTask:
    """Make the task for such a conversation."""
    return task_of(work(tokens), 1_000)


class Clockwork:
    """A world in which waiting takes no time and is written down."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    @property
    def world(self) -> World:
        """What the chain is given."""
        return World(sleep=self._sleep, chance=lambda: 1.0, now=lambda: 1_700_000_000.0)


class Digests:
    """The real digest, which notes what it was asked to cover."""

    def __init__(self) -> None:
        self.covered: list[list[int | None]] = []

    def __call__(self, messages: Sequence[Message], budget_tokens: int) -> str:
        self.covered.append([message.seq for message in messages])
        return digest(messages, budget_tokens)


async def written(
    task: SummaryTask,
    *models: Summarizer,
    retries: Retries | None = None,
    clockwork: Clockwork | None = None,
    digests: Digests | None = None,
    seen: list[Attempt] | None = None,
    judge: Judge = lambda _task, _text: "",
) -> Written:
    """Have a summary written in such a world."""
    return await write_summary(
        task,
        models,
        digest=digests or Digests(),
        judge=judge,
        retries=retries,
        world=(clockwork or Clockwork()).world,
        on_attempt=lambda attempt: seen.append(attempt) if seen is not None else None,
    )
