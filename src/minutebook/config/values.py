"""What a configuration is: typed values, each with where it came from. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from minutebook.budget import BACKGROUND_WAIT_SECONDS, Policy
from minutebook.errors import ConfigError
from minutebook.hooks import Command
from minutebook.store.collecting import Retention

INHERITS = -1
"""A profile's threshold that says: as without the profile."""
PERCENT_LEAST, PERCENT_MOST = 5, 100
"""What else a profile's threshold may be."""

DEFAULT = "default"
"""The source of a value that nobody has set."""


class SummarizerSettings(Struct, frozen=True, kw_only=True):
    """A model that writes summaries, and where it is."""

    kind: Literal["openai", "anthropic"]
    """Whose API it speaks; `openai` for every compatible server."""
    model: str = ""
    """Empty: `MINUTEBOOK_SUMMARY_MODEL`."""
    base_url: str = ""
    """Empty: `MINUTEBOOK_SUMMARY_BASE_URL`, then what the SDK takes."""
    key_env: str = ""
    """The variable that holds the key. Empty: `MINUTEBOOK_SUMMARY_API_KEY`, then the SDK's own."""
    window: int | None = None
    """In tokens; None: what is known of the model."""
    max_output: int | None = None
    """Its longest reply in tokens."""


class TagRule(Struct, frozen=True, kw_only=True):
    """Which messages get a tag by themselves. All of its conditions have to hold."""

    tag: str
    role: str = ""
    """The message's role; empty for any."""
    tool: str = ""
    """The tool that it is a result of, or that it calls; empty for any message."""
    matches: str = ""
    """A regular expression that is searched in its text; empty for any text."""
    protected: bool = False
    """Whether it also survives every compaction word for word."""


class Profile(Struct, frozen=True, kw_only=True):
    """A way of working that a user may switch to."""

    name: str
    threshold_percent: float = INHERITS
    """The share of the window, in percent from 5 to 100, that triggers a compaction; −1
    inherits `compaction.trigger_ratio`."""


class Config(Struct, frozen=True, kw_only=True):
    """All that a user may set, put together; see `docs/configuration.md`."""

    preset: str = "default"
    profile: str = ""
    """The profile in force; empty for none."""
    policy: Policy = Policy()
    """The preset's policy with what was set, the profile's threshold included."""
    model: str = ""
    window: int | None = None
    """The main model's context window in tokens, if it was set."""
    max_output: int | None = None
    """The main model's longest reply in tokens, if it was set."""
    background_fraction: float | None = None
    """From which share of the trigger on a summary is prepared in the background; None: never."""
    background_wait_seconds: float = BACKGROUND_WAIT_SECONDS
    """How long is waited for it at the limit."""
    prompt: str = ""
    """The instruction for summaries, in the place of ours; empty: ours."""
    instructions: tuple[str, ...] = ()
    """What is added to the instruction."""
    summarizers: tuple[SummarizerSettings, ...] = ()
    """Who writes summaries: the first that can. None at all: the built-in digest."""
    hooks: tuple[Command, ...] = ()
    retention: Retention = Retention()
    tags: tuple[TagRule, ...] = ()
    profiles: tuple[Profile, ...] = ()
    file: str = ""
    """The file that was read; empty if none was."""
    sources: dict[str, str] = {}
    """Where each key that was set comes from: `minutebook.toml:12`, a variable, or `argument`."""

    def source(self, key: str) -> str:
        """Say where the value of a key comes from."""
        return self.sources.get(key, DEFAULT)


class Problem(Struct, frozen=True, kw_only=True):
    """Something that is wrong with a configuration."""

    key: str
    """The key, with its tables: `compaction.target_ratio`; empty for the whole."""
    what: str
    remedy: str = ""
    place: str = ""
    """The file, the variable, or `argument`."""
    line: int | None = None
    """Of the file, from 1."""

    @property
    def where(self) -> str:
        """The place, the line and the key."""
        place = self.place if self.line is None else f"{self.place}:{self.line}"
        return ": ".join(part for part in (place, self.key) if part)

    @property
    def told(self) -> str:
        """What is wrong, and what to do."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what

    def __str__(self) -> str:
        """Give it as one line."""
        return f"{self.where}: {self.told}"


class WrongConfig(ConfigError):
    """A configuration with problems; the first is told, all are in `problems`."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Take the problems, at least one, in the order of the file."""
        first = problems[0]
        self.problems = tuple(problems)
        self.key = first.key
        self.place = first.place
        self.line = first.line
        self.remedy = first.remedy
        more = len(problems) - 1
        rest = f" (and {more} more; `minutebook config check` lists them)" if more else ""
        super().__init__(first.where, f"{first.told}{rest}")
