"""Write the digest of a part of a conversation: `gather`, then `render`. Pure, no model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minutebook.compaction.digest.gather import gather
from minutebook.compaction.digest.render import render
from minutebook.compaction.phrases import Phrases, phrases_for
from minutebook.compaction.relevance import Relevance
from minutebook.messages import Message


def digest(
    messages: Sequence[Message],
    budget_tokens: int,
    *,
    phrases: Phrases | None = None,
    focus: str = "",
    visible: Collection[str] = (),
    task: Message | None = None,
    relevance: Relevance | None = None,
) -> str:
    """Give a structured summary of *messages* in at most *budget_tokens* tokens.

    Equal input gives equal text. A summary of ours among the messages is carried on. The
    texts are those of *phrases*, or of the messages' own language. *visible* are names that
    the reader sees elsewhere anyway; *task* is the message that says what it is all about, if
    that isn't among the messages: then it is only called to mind. *relevance*
    ranks lines by a caller's embeddings. Empty when there is nothing
    to tell or no room to.

    Takes time linear in the length of the messages, of which overlong ones are read at
    their ends only: 5 000 messages take under a second.
    """
    facts = gather(messages, task=task)
    if not facts.count:
        return ""
    texts = phrases or phrases_for(messages)
    return render(facts, budget_tokens, texts, focus=focus, visible=visible, relevance=relevance)
