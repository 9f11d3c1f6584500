"""Say what a provider's error means: too many tokens, too many bytes, too soon, or else. Pure.

Takes whatever a client has in its hands: an exception of an SDK (openai, anthropic,
google-genai, boto3, LiteLLM, httpx), a response's body, an event of a stream that began with
200, or text. Codes and status decide before texts do; texts are matched by `overflow_forms`.

The order in which it decides, and why:

1. Rate limits come first: their texts speak of tokens too.
2. Too many tokens, also with status 413 or 500, as some servers send it. Where the text tells
   input and window apart and the input alone would fit, the reply's room is what is too much.
3. Limits of the output alone, of bytes and pictures, and what a person has to mend.
4. A history that breaks the provider's rules, a server's bad moment, any other bad request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from minutebook.providers import overflow_forms as forms

Kind = Literal[
    "context_overflow",
    "output_reserve_too_big",
    "body_too_large",
    "rate_limit",
    "bad_parameter",
    "bad_history",
    "transient",
    "no_access",
    "unknown",
]
"""What an error means. `context_overflow`: compact, then send once more. `output_reserve_too_big`:
ask for a shorter reply first. `body_too_large`: fewer or smaller pictures. `rate_limit` and
`transient`: send the same again, later. The others: not again unchanged."""

TEXT_CHARS_MAX = 8_000
"""How much of one text is looked at; an error that is longer repeats the request."""

TOLD_CHARS_MAX = 300
"""How much of the error's own words is kept for people."""

ITEMS_MAX = 200
"""How many values of one error are looked at."""

CAUSES_MAX = 5
"""How far back from an error that says nothing to what led to it."""

WINDOW_MIN = 256
"""A smaller number is no window: a length, a position, a code."""

_BODY_KEYS = frozenset(
    (
        *("error", "errors", "error_message", "errormessage", "error_type", "errortype"),
        *("message", "msg", "detail", "details", "reason", "title", "description", "cause"),
        *("code", "type", "status", "status_code", "statuscode", "httpstatuscode"),
        *("body", "raw", "metadata", "data", "sse", "event", "object", "innererror"),
        *("response", "responsemetadata", "n_prompt_tokens", "n_ctx"),
    )
)
"""The keys of a body that are followed. Some servers echo the request, and those words say
nothing about it."""

_STATUS_KEYS = frozenset(("status", "status_code", "statuscode", "httpstatuscode", "code"))
_CODE_KEYS = frozenset(("code", "type", "status", "reason", "error_type", "errortype"))
_ATTRIBUTES = (
    "status_code",
    "http_status",
    "status",
    "code",
    "type",
    "message",
    "body",
    "response",
    "details",
    "error",
)
_NUMBER = r"(\d[\d,_]*)"
_ACCESS_STATUSES = frozenset((401, 402, 403, 404))
_TRANSIENT_STATUSES = frozenset((408, 409, 425, 499, 529))


class Fault(Struct, frozen=True, kw_only=True):
    """What an error says."""

    kind: Kind
    status: int | None = None
    """The HTTP status, as far as one is known; that of the first error inside a 200 stream."""
    window_tokens: int | None = None
    """The model's window, if the text tells."""
    input_tokens: int | None = None
    """The request's size as the server counted it. Some servers stop counting at the window:
    then it is just above."""
    output_tokens: int | None = None
    """The room asked for the reply."""
    excess_tokens: int | None = None
    """By how much it was too much."""
    limit_tokens: int | None = None
    """Of a rate limit: what may be sent in the time that it counts."""
    told: str = ""
    """The beginning of the error's own words, for people; never for a model."""

    @property
    def waiting_helps(self) -> bool:
        """Whether the same request may succeed later: not if it alone is over the rate limit."""
        if self.kind == "transient":
            return True
        over = self.limit_tokens and self.input_tokens and self.input_tokens > self.limit_tokens
        return self.kind == "rate_limit" and not over


def classify(error: object, *, status: int | None = None) -> Fault:
    """Say what an error means. Never raises, whatever *error* is.

    *status* is the HTTP status where the object doesn't hold it. A text that is no error at
    all is `unknown`.
    """
    found = _classify(error, status)
    cause, depth = _cause_of(error), 0
    while found.kind == "unknown" and cause is not None and depth < CAUSES_MAX:
        found = _classify(cause, status)
        cause, depth = _cause_of(cause), depth + 1
    return found


def _classify(error: object, status: int | None) -> Fault:
    """Say what one error by itself means, whatever led to it."""
    facts = _Facts()
    facts.read(error)
    if status is not None:
        facts.statuses.insert(0, status)
    text = "\n".join((*facts.texts, *facts.fields))
    numbers = _numbers(text, forms.NUMBERS)
    kind = _kind(facts, text, facts.status, numbers)
    if kind not in {"context_overflow", "output_reserve_too_big"}:
        numbers = _numbers(text, forms.RATE_NUMBERS) if kind == "rate_limit" else {}
    first = facts.texts[0] if facts.texts else ""
    return Fault(
        kind=kind,
        status=facts.status,
        window_tokens=_window(numbers),
        input_tokens=_input(numbers),
        output_tokens=numbers.get("output"),
        excess_tokens=numbers.get("excess"),
        limit_tokens=numbers.get("limit"),
        told=" ".join(first[: 4 * TOLD_CHARS_MAX].split())[:TOLD_CHARS_MAX],
    )


def _cause_of(error: object) -> BaseException | None:
    """Give the error that an exception stands for, if it says that there is one."""
    if not isinstance(error, BaseException):
        return None
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _kind(facts: _Facts, text: str, status: int | None, numbers: Mapping[str, int]) -> Kind:
    """Decide, in the order that the module states."""
    codes = facts.codes
    if codes & forms.OVERFLOW_CODES:
        return _input_or_output(numbers)
    if (codes & forms.ACCESS_CODES and not codes & forms.RATE_CODES) or _found(
        forms.ACCESS_TEXTS, text
    ):
        return "no_access"
    if status == 429 or codes & forms.RATE_CODES or _found(forms.RATE_TEXTS, text):
        large = "long context" in text.lower()
        return "context_overflow" if large else "rate_limit"
    if status in _ACCESS_STATUSES:
        return "no_access"
    if _found(forms.OVERFLOW_TEXTS, text):
        return _input_or_output(numbers)
    if _found(forms.OUTPUT_TEXTS, text):
        return "bad_parameter"
    if status == 413 or codes & forms.BODY_CODES or _found(forms.BODY_TEXTS, text):
        return "body_too_large"
    if status is not None and (status >= 500 or status in _TRANSIENT_STATUSES):
        return "transient"
    if _found(forms.HISTORY_TEXTS, text) and (status is None or 400 <= status < 500):
        return "bad_history"
    if codes & forms.TRANSIENT_CODES or _found(forms.TRANSIENT_TEXTS, text):
        return "transient"
    if (status is not None and 400 <= status < 500) or "invalid_request_error" in codes:
        return "bad_parameter"
    return "unknown"


def _input_or_output(numbers: Mapping[str, int]) -> Kind:
    """Tell a request that is too large from one that only asks for too long a reply."""
    given, window, output = _input(numbers), _window(numbers), numbers.get("output", 0)
    if given is not None and window is not None and output and given < window:
        return "output_reserve_too_big"
    return "context_overflow"


def _window(numbers: Mapping[str, int]) -> int | None:
    """Give the window, unless the other numbers say that it can't be one."""
    window = numbers.get("window")
    if window is None or window < WINDOW_MIN:
        return None
    whole = numbers.get("total")
    given = _input(numbers)
    if given is not None:
        whole = max(whole or 0, given + numbers.get("output", 0))
    return window if whole is None or whole >= window else None


def _input(numbers: Mapping[str, int]) -> int | None:
    """Give the input; where only the whole is told, that less the output."""
    if "input" in numbers:
        return numbers["input"]
    if "total" in numbers:
        return max(0, numbers["total"] - numbers.get("output", 0))
    return None


@cache
def any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Compile patterns of the table into one that finds any of them."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


@cache
def number_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of numbers, each N of it a group."""
    return re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE)


def _found(patterns: tuple[str, ...], text: str) -> bool:
    return any_of(patterns).search(text) is not None


def _numbers(text: str, table: forms.Numbers) -> dict[str, int]:
    """Read the numbers of a text by a table; of each kind the first that is found."""
    numbers: dict[str, int] = {}
    for names, pattern in table:
        found = number_pattern(pattern).search(text)
        groups = [group for group in found.groups() if group] if found else []
        for name, group in zip(names, groups, strict=False):
            numbers.setdefault(name, int(group.replace(",", "").replace("_", "")[:15]))
    return numbers


class _Facts:
    """Gathers status, codes and texts out of an error, whatever it is made of."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.codes: set[str] = set()
        self.texts: list[str] = []
        self.fields: list[str] = []
        # Held, so that no later object gets the number of one that is gone.
        self._seen: dict[int, object] = {}
        self._left = ITEMS_MAX

    @property
    def status(self) -> int | None:
        """The first status that is an error's; else the first of all."""
        errors = [status for status in self.statuses if status >= 400]
        return next(iter(errors or self.statuses), None)

    def read(self, value: object) -> None:
        """Read anything; what can't be read says nothing."""
        waiting: list[object] = [value]
        while waiting and self._left:
            self._left -= 1
            try:
                self._read_one(waiting.pop(0), waiting)
            except Exception:  # noqa: BLE001, S112 - an odd object may raise anything anywhere
                continue

    def _read_one(self, item: object, waiting: list[object]) -> None:
        if isinstance(item, str | bytes | bytearray):
            self._read_text(item, waiting)
        elif item is None or isinstance(item, int | float) or id(item) in self._seen:
            return
        else:
            self._seen[id(item)] = item
            if isinstance(item, Mapping):
                self._read_mapping(item, waiting)
            elif isinstance(item, list | tuple):
                waiting += item[:ITEMS_MAX]
            else:
                self._read_object(item, waiting)

    def _read_text(self, value: str | bytes | bytearray, waiting: list[object]) -> None:
        if not isinstance(value, str):
            value = bytes(value[:TEXT_CHARS_MAX]).decode("utf-8", "replace")
        text = value[:TEXT_CHARS_MAX].strip()
        pieces = [text]
        if "data:" in text:
            # A stream's events: each line of data is a body of its own.
            pieces += [line[5:].strip() for line in text.split("\n") if line.startswith("data:")]
        decoded = [body for piece in pieces if (body := _decoded(piece)) is not None]
        waiting += decoded
        if not decoded and text and text not in self.texts:
            self.texts.append(text)

    def _read_mapping(self, item: Mapping[Any, Any], waiting: list[object]) -> None:
        for key, inner in list(item.items())[:ITEMS_MAX]:
            name = str(key).lower() if isinstance(key, str) else ""
            if name not in _BODY_KEYS:
                continue
            self._note(name, inner)
            if name in {"n_prompt_tokens", "n_ctx"} and isinstance(inner, int):
                self.fields.append(f"{name} {inner}")
            # A code is no sentence; one that is may stand under `type` or `status` as well.
            elif name not in _CODE_KEYS or not isinstance(inner, str) or " " in inner:
                waiting.append(inner)

    def _read_object(self, item: object, waiting: list[object]) -> None:
        if isinstance(item, BaseException):
            self.codes.update(kind.__name__.lower() for kind in type(item).__mro__)
            waiting += item.args
            if isinstance(item, BaseExceptionGroup):
                waiting += item.exceptions
        for name in _ATTRIBUTES:
            inner = _attribute(item, name)
            self._note(name.replace("http_", ""), inner)
            if name == "response" and inner is not None and not isinstance(inner, Mapping):
                # Of an HTTP response nothing but the status: its body may not be read yet.
                self._note("status_code", _attribute(inner, "status_code"))
            elif name not in {"code", "type", "status"}:
                waiting.append(inner)
        if isinstance(item, BaseException):
            waiting.append(_text_of(item))

    def _note(self, name: str, value: object) -> None:
        """Take a value for a status or a code if it stands where one does."""
        if isinstance(value, bool):
            return
        if name in _STATUS_KEYS and isinstance(value, int) and 100 <= value < 600:
            self.statuses.append(value)
        elif name in _STATUS_KEYS and isinstance(value, str) and value.isdecimal():
            if len(value) == 3 and value[0] in "45":
                self.statuses.append(int(value))
            self.codes.add(value)
        elif name in _CODE_KEYS and isinstance(value, str | int) and len(str(value)) < 80:
            self.codes.add(str(value).lower())


def _decoded(text: str) -> object | None:
    """Decode a text that is a JSON object or list; None if it isn't."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _attribute(item: object, name: str) -> Any:
    try:
        return getattr(item, name, None)
    except Exception:  # noqa: BLE001 - an odd object's property may raise anything
        return None


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - and so may its text
        return ""
