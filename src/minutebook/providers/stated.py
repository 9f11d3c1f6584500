"""The stated texts that stand in a request where a provider needs something to stand. Pure."""

from __future__ import annotations

NEUTRAL_START = "<system>The conversation begins here.</system>"
"""The user message of a request that would have none, or would begin with a reply."""

SHOWN_BELOW = "<system>The result is shown in the message behind the results.</system>"
"""The text of a result that is nothing but media."""

ERROR_LEAD = "<system>ERROR:"
"""How the first text of a failed result begins, as Kimi CLI writes it."""
