"""SWE-agent's trajectories to records."""

from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.swe_agent import detect, read
from minutebook.formats.value import Reading
from minutebook.messages import TextPart
from minutebook.records import SystemPrompt
from minutebook.tokens.spent import Spent
from tests.formats.altered import altered, document_source, holds, origins, texts

Entry = dict[str, Any]


def entry(role: str, content: Any, **keys: Any) -> Entry:
    return {"role": role, "content": content, "agent": "main", **keys}


CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
HISTORY = [
    entry("system", "be kind"),
    entry("user", "demo", is_demo=True),
    entry("user", "task"),
    entry("assistant", "ok", tool_calls=[CALL], thought="ok", action="ls"),
    entry("tool", [{"type": "text", "text": "a\r\nb"}], tool_call_ids=["c1"]),
    entry("assistant", "more"),
    entry("user", "output"),
]
WHOLE = {
    "environment": "e",
    "trajectory": [{"action": "ls"}],
    "history": HISTORY,
    "info": {"model_stats": {"tokens_sent": 50, "tokens_received": 9}, "swe_agent_version": "1.0"},
}


def of(history: list[Entry], *steps: Any, **keys: Any) -> Reading:
    value = {**WHOLE, "history": history, "trajectory": [*steps], **keys}
    reading = read(document_source(value), 0)
    holds(reading)
    return reading


@given(altered({**WHOLE, "trajectory": [{"query": HISTORY[:4]}]}))
def test_any_values_are_read_or_are_no_trajectory(value: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = document_source(value)
    if detect(source):
        holds(read(source, 0))


def test_a_trajectory_is_its_history() -> None:
    """The first user's message that is no demonstration is the task; later ones are outputs."""
    reading = of(HISTORY)

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert texts(reading.sent) == ["demo", "task", "ok", "a\r\nb", "more", "output"]
    assert origins(reading.sent) == [
        "injection", "user", "assistant", "tool", "assistant", "injection",
    ]  # fmt: skip
    assert reading.sent[2].calls[0].id == reading.sent[3].tool_call_id == "c1"
    assert reading.counts == {"demonstrations": 1}
    assert reading.spent == Spent(calls=1, input=50, output=9)
    assert (reading.agent, reading.agent_version) == ("SWE-agent", "1.0")
    assert "trajectory and history" in reading.evidence


@pytest.mark.parametrize("key", ["query", "messages"])
def test_old_observations_are_sent_as_the_last_prompt_has_them(key: str) -> None:
    """Elided there, whole in the history."""
    elided = [*HISTORY[:4], {**HISTORY[4], "content": "old output"}]
    reading = of(HISTORY, {key: HISTORY[:2]}, {key: elided}, {"action": "x"})

    assert texts(reading.sent)[3] == "old output"
    assert reading.sent[3].elided == "mask"
    assert texts(reading.branch)[3] == "a\r\nb"
    assert reading.counts["blanked"] == 1


def test_a_prompt_that_does_not_fit_says_nothing() -> None:
    """Another role in the place, no content, or the same text in another form."""
    other = [HISTORY[0], entry("assistant", "x"), entry("user", ""), HISTORY[3],
             {**HISTORY[4], "content": "a\r\nb"}]  # fmt: skip

    assert of(HISTORY, {"query": other}).records == of(HISTORY).records


def test_other_agents_messages_are_not_sent() -> None:
    """Those of the first one are; the rest stays on the branch."""
    reading = of([*HISTORY, entry("user", "aside", agent="helper")])

    assert "aside" not in texts(reading.sent)
    assert texts(reading.branch)[-1] == "aside"
    assert reading.counts["unsent"] == 1


def test_a_trajectory_may_be_empty_and_has_one_conversation() -> None:
    """Without figures nothing was spent."""
    reading = of([entry("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
                 info={})  # fmt: skip

    assert reading.sent[0].content == (TextPart("a"), TextPart("b"))
    assert reading.spent is None
    assert of([]).sent == ()
    assert detect(document_source({"history": []})) is None
    with pytest.raises(FormatError, match="no conversation 1"):
        read(document_source(WHOLE), 1)
