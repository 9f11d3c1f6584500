"""Make stored text safe to print: no byte of it may steer the terminal. Pure.

A session holds what tools and web pages gave it. Printed as it is, an escape sequence could
rename the window, move the cursor over what stands above, or write into the keyboard buffer,
and a direction override could show one command as another.
"""

from __future__ import annotations

import re

_PICTURES = 0x2400
"""Unicode's pictures of the C0 controls stand here, in their order: U+241B shows ESC."""
_PICTURE_OF_DELETE = "\u2421"

HARMFUL = re.compile(
    "["
    # C0 but tab and line feed, delete, and C1 with its one-byte escapes and the line feed NEL.
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    # Line and paragraph separators: some terminals and pagers break lines at them.
    "\u2028\u2029"
    # Embeddings, overrides and isolates: they change the order in which text is shown.
    "\u202a-\u202e\u2066-\u2069"
    # Half a pair: no terminal's encoding has it.
    "\ud800-\udfff"
    # Tag characters: text that no one sees and a model reads.
    "\U000e0000-\U000e007f"
    "]"
)
"""What may not reach a terminal: one character that could steer it, or that nobody sees."""
_BREAKS = re.compile(r"[\t\n]+")


def harmless(text: str) -> str:
    """Give *text* with every control, direction override and lone surrogate made visible.

    Tabs and line feeds stay, and a carriage return before a line feed goes. The pictures of
    controls (␛ for ESC) and names (‹U+202E›) that stand for the rest are harmless themselves,
    so doing it twice changes nothing more.
    """
    if text.isascii() and text.isprintable():
        return text
    return HARMFUL.sub(_shown, text.replace("\r\n", "\n"))


def harmless_line(text: str) -> str:
    """Give *text* as `harmless` does, on one line: line breaks and tabs become spaces."""
    return _BREAKS.sub(" ", harmless(text)).strip(" ")


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return _PICTURE_OF_DELETE if code == 0x7F else f"‹U+{code:04X}›"
