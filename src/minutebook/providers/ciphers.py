"""Whose a cipher text is: what one provider wrote for itself, another one refuses. Pure.

OpenAI's reasoning and Anthropic's signatures look alike in a log, but OpenAI's are Fernet tokens
and begin alike. Gemini's are kept with a word before them, for they look like Anthropic's.
"""

from __future__ import annotations

from typing import Literal

OPENAI_LEAD = "gAAAA"
"""How OpenAI's cipher texts begin: the version byte 0x80 and the first bytes of a time stamp."""

GEMINI_LEAD = "gemini:"
"""What stands before a thought signature of Gemini's in the log."""


def maker_of(cipher: str) -> Literal["openai", "gemini", "other"]:
    """Say who made a cipher text, as far as it says so itself."""
    if cipher.startswith(OPENAI_LEAD):
        return "openai"
    return "gemini" if cipher.startswith(GEMINI_LEAD) else "other"
