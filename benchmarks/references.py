"""What counts as a reference, and as remembered: the measure's own rules, not the package's.

A reference is what an agent has to write exactly: a path, an identifier, a number that stands
for something, the name or text of an error. The patterns here are kept apart from those of
`minutebook.compaction`, so that the measure doesn't look through the eyes of what it measures.

A reference is remembered where it stands in an original message (text, or a value of a call's
arguments), or in a line of ours that has at least four ordinary words and no more references
than words. A bare list of names is no memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from minutebook.messages import Message

_ABBREVIATIONS = {"e.g", "i.e"}
WORDS_MIN = 4
"""A line of ours with fewer ordinary words tells nothing."""
NAME_CHARS_MAX = 200

_RUN = re.compile(r"https?://[^\s<>\"'`|\\^{}()\[\]]+|[\w$@~/.\-:%#+]+")
_ESCAPED = re.compile(r"\\[nrt]")
_EXTENSION = re.compile(r"\w\.[A-Za-z][A-Za-z0-9]{0,4}$")
_IDENTIFIER = re.compile(r"\$?[A-Za-z_][\w$]*(?:(?:\.|::|->|#)[A-Za-z_][\w$]*)*$")
_COINED = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\d|\.|::|->|\$")
_NUMBER = re.compile(r"v?\d[\d.,]*(?:%|[A-Za-z]{1,3})?$")
_HEX = re.compile(r"(?=.*\d)[0-9a-f]{7,64}$")
_ERROR_LINE = re.compile(
    r"^.*(?:\b[A-Z]\w*(?:Error|Exception)\b: |\berror(?:\[\w+\]| [A-Z]+\d+)?: |\bfatal: ).{12,}$",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
ERROR_CHARS_MAX = 160
TEXT_CHARS_MAX = 400_000


def references(text: str) -> set[str]:
    """Give the paths, identifiers, numbers and names of errors in a text."""
    text = _ESCAPED.sub(" ", text[:TEXT_CHARS_MAX])
    return {name for run in set(_RUN.findall(text)) if (name := reference(run))}


@lru_cache(maxsize=1 << 16)
def reference(run: str) -> str:
    """Give the reference that a run of characters is; empty for an ordinary word."""
    name = run.rstrip(".,:;") if run.startswith("http") else run.strip(",:;+#-").rstrip(".")
    name = re.sub(r"(?<=[A-Za-z])(?::\d+)+$", "", name)
    if not 3 <= len(name) <= NAME_CHARS_MAX or not any(map(str.isalnum, name)):
        return ""
    if name.startswith("http"):
        return name if "://" in name else ""
    if _NUMBER.match(name):
        digits = sum(map(str.isdigit, name))
        return name if digits >= 3 or (digits >= 2 and not name.isdigit()) else ""
    if "/" in name:
        return name if _is_path(name) else ""
    if name.lower() in _ABBREVIATIONS:
        return ""
    if _HEX.match(name) or (_EXTENSION.search(name) and "." in name):
        return name
    if _IDENTIFIER.match(name) and _COINED.search(name):
        return name
    return ""


def _is_path(name: str) -> bool:
    pieces = [piece for piece in name.split("/") if piece]
    if not pieces or not any(char.isalpha() for char in name):
        return False
    if len(pieces) < 2 or "//" in name:
        return False
    return name[0] in "/~." or bool(_EXTENSION.search(name)) or len(pieces) > 2 or "_" in name


def error_lines(text: str) -> set[str]:
    """Give the lines of a text that report an error, cut at their ends."""
    return {line.strip()[:ERROR_CHARS_MAX] for line in _ERROR_LINE.findall(text[:TEXT_CHARS_MAX])}


def values(arguments: str) -> str:
    """Give the values of a call's arguments, one a line; the names of arguments don't count."""
    try:
        decoded = json.loads(arguments or "{}", strict=False)
    except (ValueError, RecursionError):
        return arguments
    return "\n".join(_leaves(decoded))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def said(message: Message) -> str:
    """Give all of an original message that counts: text, and the values of arguments."""
    return "\n".join([message.text, *(values(call.arguments) for call in message.calls)])


def wanted(past: Sequence[Message], future: Sequence[Message]) -> set[str]:
    """Give the references that stand in *past* and that the agent itself uses in *future*."""
    known: set[str] = set()
    errors: set[str] = set()
    for message in past:
        text = said(message)
        known |= references(text)
        if message.role == "tool":
            errors |= error_lines(text)
    used: set[str] = set()
    texts = []
    for message in future:
        if message.role == "assistant":
            texts.append(said(message))
            used |= references(texts[-1])
    later = "\n".join(texts)
    return (known & used) | {line for line in errors if line in later}


def remembered(view: Iterable[Message], originals: Mapping[int, Message]) -> tuple[set[str], str]:
    """Give the references that a view holds by the rule, and its text for whole error lines.

    *originals* are the messages before, by `seq`.
    """
    found: set[str] = set()
    texts = []
    for message in view:
        original = originals.get(message.seq or 0)
        if original is not None and message.elided != "mask":
            # A clipped message is still its own words; the mark of the cut names no reference.
            text = said(message)
            found |= references(text)
            texts.append(text)
            continue
        for call in message.calls:
            found |= references(values(call.arguments))
        for line in message.text.split("\n"):
            names = references(line)
            if is_memory(line, names):
                found |= names
                texts.append(line)
    return found, "\n".join(texts)


def is_memory(line: str, names: set[str]) -> bool:
    """Tell whether a line of ours tells a reader what its references are about."""
    words = ordinary_words(line)
    return words >= WORDS_MIN and len(names) <= words


def ordinary_words(line: str) -> int:
    """Count the words of a line that stand in no reference; two wide characters are one."""
    count = 0
    for run in _RUN.findall(line):
        if reference(run):
            continue
        wide = len(_WIDE.findall(run))
        count += wide // 2
        count += sum(len(word) > 1 and not _WIDE.match(word) for word in _WORD.findall(run))
    return count


def recall(wanted_names: set[str], view: Iterable[Message], past: Sequence[Message]) -> float:
    """Give the share of *wanted_names* that a view of *past* still holds; 1 if none is wanted."""
    if not wanted_names:
        return 1.0
    found, text = remembered(view, {message.seq or 0: message for message in past})
    held = sum(name in found or (" " in name and name in text) for name in wanted_names)
    return held / len(wanted_names)
