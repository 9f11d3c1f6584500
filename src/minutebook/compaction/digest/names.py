"""Find the references in a text: paths, identifiers, numbers, links. Pure, no state.

A reference is what an agent has to write exactly and can't work out again: `src/app.py`,
`parse_line`, `max_tokens=512`, `https://…`, `a1b2c3d`, `v2.1.0`. An ordinary word is none,
nor is a number of one or two digits.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

TEXT_CHARS_MAX = 60_000
"""How much of one text is looked at; of a longer one, head and tail. Keeps the time for a
message bounded, whatever a tool has printed."""

NAME_CHARS_MAX = 160
"""A longer run of characters is data (base64, minified code), not a name."""

WORDS_MIN = 4
"""A line of ours with fewer ordinary words tells nothing of its references."""

_PROSE = re.compile(r"[^\W\d_]+")
# What an ellipsis follows was cut off: half a name would be another name.
_TOKEN = re.compile(
    r"(?>https?://[^\s<>\"'`|\\^{}\[\]…]+"
    r"|[A-Za-z0-9_$@~/.À-ɏ][\w$@~/.+:%#À-ɏ-]*[\w/])(?!…)"
)
_LAST_WORD = re.compile(r"(?<=\s)\S{1,200}\Z")
_FIRST_WORD = re.compile(r"\A\S{1,200}(?=\s)")
_ESCAPE = re.compile(r"\\[nrt](?=\w)")
_URL = re.compile(r"https?://[\w.-]+\.?[\w-]*")
_EXTENSION = re.compile(
    r"\.(?:[cm]?[jt]sx?|py[ix]?|md|rst|txt|json[l5c]?|ya?ml|toml|lock|cfg|ini|conf|env|sh|bash|zsh"
    r"|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|lua|pl|r|sql|html?|css|scss|vue|svelte|xml|csv"
    r"|tsv|log|patch|diff|proto|ipynb|tf|gradle|png|jpe?g|gif|svg|pdf|zip|gz|tgz|whl|service)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$]*)*\Z")
_POSITION = re.compile(r"([^:]*\.[A-Za-z]\w{0,5})(?::\d+|-\d+(?=-|\Z))")
_NUMBER = re.compile(r"v?\d[\d_.,]*\d(?:%|[A-Za-z]{1,3})?\Z")
_HEX = re.compile(r"[0-9a-f]{7,64}\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")
_TICKET = re.compile(r"[A-Z][A-Z0-9]{1,9}-\d+\Z")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")


_WORDS = re.compile(r"[A-Za-z-]+(?:/[A-Za-z-]+)+|[\d./]+")
_FOLDER_NAMES = """
src lib app apps bin cmd pkg packages internal docs doc test tests spec scripts tools examples
config build dist node_modules vendor public static assets components home usr etc var tmp opt
core server client web api
"""
_FOLDERS = frozenset(_FOLDER_NAMES.split())


def bounded(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Give a text, or head and tail of one that is too long, two parts to one."""
    if len(text) <= chars_max:
        return text
    head = chars_max * 2 // 3
    # Not inside of a word: half a name would be another name.
    first = _LAST_WORD.sub("", text[:head])
    return f"{first}\n{_FIRST_WORD.sub('', text[head - chars_max :])}"


def names_in(text: str) -> list[str]:
    """Give the distinct references of a text, in order of their first appearance."""
    return list(dict.fromkeys(filter(None, map(reference, dict.fromkeys(_tokens(text))))))


def most_named(text: str, count_max: int, without: str = "") -> list[str]:
    """Give the identifiers and paths that a text names most often, none that *without* holds."""
    found: list[str] = []
    for token, _ in Counter(_tokens(text)).most_common():
        if len(found) >= count_max:
            break
        name = reference(token)
        if name and kind_of(name) in {"identifier", "path"} and name not in without:
            found.append(name)
    return list(dict.fromkeys(found))


def told_in(text: str) -> set[str]:
    """Give the references that lines of ours tell of.

    A bare list of names is no memory: a line counts if it has at least `WORDS_MIN` ordinary
    words and no more references than words.
    """
    told: set[str] = set()
    for line in text.split("\n"):
        names = names_in(line)
        if names and len(names) <= (words := ordinary_words(line)) and words >= WORDS_MIN:
            told.update(names)
    return told


def ordinary_words(line: str) -> int:
    """Count the words of a line that stand in no reference; two wide characters are one."""
    count = 0
    wide = 0
    for word in _PROSE.findall(_TOKEN.sub(_without_reference, line)):
        if word[0] < "\u2e80":
            count += len(word) > 1
        else:
            wide += len(word)
    return count + wide // 2


def _without_reference(found: re.Match[str]) -> str:
    return " " if reference(found[0]) else found[0]


def _tokens(text: str) -> list[str]:
    """Give the runs of characters that may be references, in order."""
    text = bounded(text)
    if "\\" in text:
        # In JSON and source code `\nname` is a line break before a name.
        text = _ESCAPE.sub(" ", text)
    return _TOKEN.findall(text)


@lru_cache(maxsize=1 << 14)
def reference(token: str) -> str:
    """Give the reference that a run of characters is, without what only surrounds it.

    Empty if it is an ordinary word. The cache holds only strings that it was asked for.
    """
    if len(token) > NAME_CHARS_MAX and not token.startswith("http"):
        return ""
    name = token.rstrip(".,:;!?#+-/)")
    position = _POSITION.match(name)
    if position:
        # `src/app.py:12:def` and `src/app.py-13-`, as grep and compilers write them.
        name = position[1]
    name = name.lstrip(".,:;+#%") if name[:1] in ",:;+#%" else name
    if len(name) < 3:
        return ""
    return name if kind_of(name) else ""


@lru_cache(maxsize=1 << 14)
def kind_of(name: str) -> str:
    """Say what a name is: `url`, `path`, `number`, `id` or `identifier`; empty for a word."""
    if _URL.match(name):
        return "url"
    if name[0].isdigit() or (name[0] == "v" and name[1:2].isdigit()):
        if _UUID.match(name) or (_HEX.match(name) and not name.isdigit()):
            return "id"
        if _NUMBER.match(name):
            return "number" if sum(map(str.isdigit, name)) >= 3 else ""
    if "/" in name:
        return "path" if _is_path(name) else ""
    if _EXTENSION.search(name) and name[0] not in "/:":
        return "path"
    if _UUID.match(name) or _TICKET.match(name):
        return "id"
    if _HEX.match(name) and any(map(str.isdigit, name)):
        return "id"
    if _IDENTIFIER.match(name) and _is_coined(name):
        return "identifier"
    return "identifier" if name.count("-") >= 2 and name.replace("-", "").isalnum() else ""


def _is_path(name: str) -> bool:
    """Tell a path from words with a slash between them (and/or, 3/4)."""
    if any(char in name for char in "%#$+") or "//" in name:
        return False
    parts = [part for part in name.split("/") if part]
    if _EXTENSION.search(name) or "_" in name:
        return True
    if name[0] in "/~.@":
        return len(parts) > 1 and len(name) > 4
    # "and/or", "input/output/error": words alone make a path only below a known folder.
    return parts[0] in _FOLDERS or (len(parts) > 1 and not _WORDS.fullmatch(name))


def _is_coined(name: str) -> bool:
    """Tell an identifier from a word: something in it that prose doesn't have."""
    if any(char in name for char in "_$:") or "->" in name:
        return len(name.strip("_$:")) >= 3
    if "." in name:
        head, _, tail = name.partition(".")
        return len(tail) >= 2 and (len(head) >= 2 or len(tail) >= 4)
    if _CAMEL.search(name) or _CONSTANT.match(name):
        return len(name) >= 4
    return len(name) >= 4 and any(map(str.isdigit, name)) and name[0].isalpha()
