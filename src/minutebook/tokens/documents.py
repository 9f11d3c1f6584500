"""How many pages a PDF in a base64 payload has, where it can be told. Pure.

Only its two ends are read: the first kilobytes of a file made for the web say the number of
pages, and in others the root of the page tree often stands near the end, and in clear text.
"""

from __future__ import annotations

import re
from typing import Final

from minutebook.tokens.payloads import bytes_at, size_bytes

PAGE_TOKENS = 2250
"""A page: Anthropic says 1500 to 3000, as its text goes; Gemini 258; OpenAI text and picture."""

PAGES_MAX = 2_000
"""More pages no provider takes (Gemini: 1000, Anthropic: 600)."""

PAGE_BYTES_MIN = 50
"""A file that has less for each page doesn't tell the truth."""

END_BYTES = 49_152
"""How much of either end is read: decoding it takes some 50 microseconds."""

_LINEAR: Final = re.compile(rb"/Linearized\b[^>]*?/N\s+(\d{1,6})\b")
_PAGES: Final = re.compile(
    rb"/Type\s*/Pages\b[^>]*?/Count\s+(\d{1,6})\b|/Count\s+(\d{1,6})\b[^>]*?/Type\s*/Pages\b"
)


def pdf_pages(text: str, start: int = 0) -> int | None:
    """Give the pages of the PDF whose base64 begins at *start* of *text*.

    None for what is no PDF, or doesn't show its pages there. Never raises.
    """
    if bytes_at(text, start, 0, 5) != b"%PDF-":
        return None
    head = bytes_at(text, start, 0, END_BYTES)
    size = size_bytes(text, start)
    found = [int(linear[1]) for linear in _LINEAR.finditer(head)]
    if not found:
        rest = max(END_BYTES, size - END_BYTES)
        tail = bytes_at(text, start, rest, END_BYTES)
        # The root of the tree counts all pages, a branch only its own.
        found = [int(one[1] or one[2]) for part in (head, tail) for one in _PAGES.finditer(part)]
    pages = max(found, default=0)
    return pages if 0 < pages <= min(PAGES_MAX, size // PAGE_BYTES_MIN) else None
