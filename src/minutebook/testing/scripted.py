"""A model that says what a script tells it to, and checks every request that it gets.

`ScriptedModel` takes a provider's place as a summariser; `server` speaks the same scripts
over HTTP. What a test has to notice (a call beyond the script, a request that breaks a rule)
raises `ScriptError`, which no handler of `Exception` in between can swallow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import Capacity, SummaryRequest
from minutebook.providers import validate_anthropic, validate_chat
from minutebook.tokens.estimate import estimate_text


class ScriptError(BaseException):
    """A test's expectation was broken. No `Exception`, so that retries don't swallow it."""


class ProviderError(Exception):
    """An error as a provider's client would raise it, for a scripted model without a wire."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """Say what the provider answered."""
        self.status_code = status
        self.body = body
        self.headers = dict(headers or {})
        super().__init__(f"status {status}: {body}")


class Call(Struct, frozen=True, kw_only=True):
    """A tool call in an answer."""

    name: str
    arguments: str = "{}"
    """JSON text; anything at all, to test what is done with it."""
    id: str = ""
    """Empty for one that is made up."""


class Answer(Struct, frozen=True, kw_only=True):
    """What the model says, whatever the wire calls things."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    """Why it ends, as its provider spells it; empty for the ordinary reason."""
    usage: Mapping[str, Any] | None = None
    """What the provider reports, in its own shape; None for what was counted."""
    hold: threading.Event | None = None
    """Answer only once this is set (or the server stops)."""
    broken_after: int | None = None
    """Over HTTP: close the connection after so many events of a stream, or bytes of a body."""


class Failure(Struct, frozen=True, kw_only=True):
    """An error in an answer's place."""

    status: int = 500
    body: Any = None
    """None: in the provider's own shape. A text or bytes go out as they are, else as JSON."""
    message: str = "scripted failure"
    headers: Mapping[str, str] = {}
    hold: threading.Event | None = None
    in_stream: bool = False
    """Over HTTP: begin a stream with status 200 and send the error as an event in it."""


Outcome = Answer | Failure
Step = Outcome | Callable[[Any], Outcome]
"""What comes next, or a function that works it out of the request."""


class Script:
    """Steps that are taken one after the other. Safe to share between threads."""

    def __init__(self, steps: Iterable[Step] = (), *, always: Step | None = None) -> None:
        """Take the steps in order; *always* answers every call after them."""
        self._steps = list(steps)
        self._always = always
        self._lock = threading.Lock()

    def next(self, request: Any) -> Outcome:
        """Give the outcome for a request.

        Raises:
            ScriptError: If the script is at its end.
        """
        with self._lock:
            step = self._steps.pop(0) if self._steps else self._always
        if step is None:
            raise ScriptError("a call beyond the end of the script")
        return step if isinstance(step, Answer | Failure) else step(request)

    @property
    def left(self) -> int:
        """How many steps have not been taken."""
        with self._lock:
            return len(self._steps)


class ScriptedModel:
    """A summariser with a script, which records and checks every request.

    It refuses one that is too large, that a provider's validator finds fault with, or that is
    beyond the script.
    """

    def __init__(
        self,
        steps: Iterable[Step | str] = (),
        *,
        always: Step | str | None = None,
        name: str = "scripted",
        window_tokens: int = 200_000,
        output_tokens_max: int = 8_192,
        count: Callable[[str], int] = estimate_text,
    ) -> None:
        """Take the script; a text is an answer with that text.

        *count* says how many tokens a text takes: the estimate, or a real vocabulary's count.
        """
        self.name = name
        self.capacity = Capacity(window_tokens=window_tokens, output_tokens_max=output_tokens_max)
        self.requests: list[SummaryRequest] = []
        self.script = Script(
            map(as_step, steps), always=None if always is None else as_step(always)
        )
        self._count = count

    async def __call__(self, request: SummaryRequest) -> SummaryReply:
        """Answer as the script says.

        Raises:
            ScriptError: If the request breaks a rule, or there is no step for it.
            ProviderError: Where the script says so.
        """
        self.requests.append(request)
        found = self.violations(request)
        if found:
            raise ScriptError(f"request {len(self.requests)}: {'; '.join(found)}")
        outcome = self.script.next(request)
        if isinstance(outcome, Failure):
            body = {"error": {"message": outcome.message}} if outcome.body is None else outcome.body
            raise ProviderError(outcome.status, body, outcome.headers)
        return SummaryReply(
            text=outcome.text,
            finish=outcome.finish,
            usage=outcome.usage,
            model=self.name,
            calls=tuple(call.name for call in outcome.calls),
            thinking=outcome.thinking,
        )

    def violations(self, request: SummaryRequest) -> list[str]:
        """List what is wrong with a request: its size, and what either wire would refuse."""
        tokens = self._count(request.system) + self._count(request.user)
        window = self.capacity.window_tokens
        found = []
        if tokens + request.output_tokens_max > window:
            found.append(f"{tokens} + {request.output_tokens_max} tokens for a window of {window}")
        if request.output_tokens_max > self.capacity.output_tokens_max:
            found.append(f"a reply of {request.output_tokens_max} tokens is more than it can")
        user = {"role": "user", "content": request.user}
        system = {"role": "system", "content": request.system}
        found += validate_chat.violations([system, user])
        found += validate_anthropic.violations([user], system=request.system)
        return found


def as_step(step: Step | str) -> Step:
    """Give a step; a text is an answer with that text."""
    return Answer(text=step) if isinstance(step, str) else step
