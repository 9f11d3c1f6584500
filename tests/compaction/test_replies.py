"""Which replies may take the place of a conversation, and which only look as if."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.phrases import CHINESE, ENGLISH
from minutebook.compaction.replies import Refusal, SummaryReply, check
from minutebook.compaction.task import Capacity, SummaryRequest, SummaryTask, request_for, task_of
from minutebook.messages import user
from tests.compaction.conversations import lines, numbered

CAPACITY = Capacity(window_tokens=100_000, output_tokens_max=8_000)
GOOD = "## Task\n- Fix the parser of the table. (record 1)\n- Port 7040 stays. (record 2)"
TASK = task_of(numbered([user(lines(120)), user("and mind port 7040")]), 800)
REQUEST = request_for(TASK, CAPACITY)


def judged(text: str = "", *, request: SummaryRequest = REQUEST, **more: Any) -> str:
    """Give the kind of refusal, or the text that would be kept behind an equal sign."""
    found = check(SummaryReply(text=text, **more), request)
    return found.kind if isinstance(found, Refusal) else f"={found}"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "S1",
        "S2: early and late so far.",
        "O usuário quer corrigir o frete; não mexer na tabela de impostos.",
        "## 任务\n- 修复登录页面（记录 3）",
        "Error handling was added to src/app.py; 400 lines were changed.",
        "Timeout of the client is 30 s now.",
        "The user said: I can't use port 80. So 7040 it is.",
        "The page has a <details> element with a `<summary>` inside; that is what was fixed.",
        '{"task": "fix the parser", "port": 7040}',
        "500 rows were read, then 404 of them were kept.",
    ],
)
def test_a_summary_is_kept_as_it_is(text: str) -> None:
    """Short ones, foreign ones, and such as tell of errors, refusals and tags."""
    assert judged(text) == f"={text}"


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u200b\ufeff\u2060 \u00a0", "---\n…\n**"])
def test_case_c027_a_blank_reply_is_none(text: str) -> None:
    """Case C027: empty, white space, zero-width characters, and signs alone."""
    assert judged(text, finish="end_turn") == "blank"


def test_headings_without_entries_are_blank() -> None:
    """A form that was not filled in."""
    assert judged("## Task\n\n## Still open\n") == "blank"


@pytest.mark.parametrize(
    ("text", "thinking"),
    [
        ("<think>first I read it all", ""),
        ("<think>plan</think>\n \u200b", ""),
        ("<Reasoning>plan</reasoning>", ""),
        ("", "a long plan"),
    ],
)
def test_only_thinking_is_no_summary(text: str, thinking: str) -> None:
    """In tags or apart, closed or not."""
    assert judged(text, thinking=thinking) == "thinking"


def test_thinking_before_a_summary_is_taken_away() -> None:
    """What is kept is the summary alone."""
    assert judged(f"<think>plan\n\nmore</think>\n\n{GOOD}") == f"={GOOD}"


@pytest.mark.parametrize(
    "finish",
    [
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "FinishReason.MAX_TOKENS",
        "incomplete",
        "max_output_tokens",
        "model_context_window_exceeded",
    ],
)
def test_case_c029_what_was_cut_off_is_refused(finish: str) -> None:
    """Case C029: OpenAI's length, Anthropic's max_tokens, Gemini's, the Responses API's."""
    assert judged(GOOD, finish=finish) == "cut"


@pytest.mark.parametrize("finish", ["", "stop", "end_turn", "STOP", "stop_sequence", "eos"])
def test_an_ordinary_end_is_none_of_our_business(finish: str) -> None:
    """Whatever it is called, a reason not known included."""
    assert judged(GOOD, finish=finish) == f"={GOOD}"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<summary>Port 7040.</summary>", "=Port 7040."),
        ("Here it is:\n<summary>\nPort 7040.\n</summary>\nGlad to help!", "=Port 7040."),
        ("<summary><summary>Port 7040.</summary></summary>", "=Port 7040."),
        ("<summary>Port 7040.</summary></summary></summary>", "=Port 7040."),
        ("Port 7040.</summary></summary>", "=Port 7040."),
        ("Port 7040.\n</summary>\n", "=Port 7040."),
        ("<minutes>\nPort 7040.\n</minutes>", "=Port 7040."),
        ("```markdown\nPort 7040.\n```", "=Port 7040."),
        ("<summary>Facts one to four: the port is 70", "cut"),
        ("Good.\n</summary>\n<summary>\nFacts one to", "cut"),
        ("The tag <summary> is closed by </summary> there.",) * 2,
    ],
)
def test_case_c029_tags_around_the_summary_follow_one_rule(text: str, kept: str) -> None:
    """Case C029: inner text alone; a tag never closed means cut; stray closing tags go."""
    assert judged(text) == (f"={kept}" if kept == text else kept)


@pytest.mark.parametrize(
    "text",
    [
        '{"tool":"run","args":{}}',
        '{"name": "run", "arguments": {"cmd": "ls"}}',
        '[{"type": "tool_use", "id": "a", "name": "run", "input": {}}]',
        '{"tool_calls": [{"function": {"name": "run", "arguments": "{}"}}]}',
        '{"type": "function", "function": {"name": "run", "parameters": {}}}',
        '```json\n{"action": "run", "action_input": "ls"}\n```',
        '<tool_call>\n{"name": "run"}\n</tool_call>',
        "<function_calls>\n<invoke name='run'>",
        '[TOOL_CALLS][{"name": "run"}]',
        "<|tool_call|>run",
        "Let me look at the files first, then I will write it.\n\n<tool_call>run</tool_call>",
        'I will read on.\n\n```json\n{"tool": "read", "args": {"path": "a"}}\n```',
    ],
)
def test_case_c031_a_tool_call_in_text_is_no_summary(text: str) -> None:
    """Case C031: as JSON, in tags, fenced, alone or at the end of a promise."""
    assert judged(text) == "tool call"


@pytest.mark.parametrize(
    "more",
    [
        {"calls": ("run",), "finish": "tool_use"},
        {"calls": ("run",)},
        {"finish": "tool_calls"},
        {"finish": "MALFORMED_FUNCTION_CALL"},
    ],
)
def test_case_c031_a_tool_call_is_no_summary(more: dict[str, Any]) -> None:
    """Case C031: whatever text stands beside it."""
    assert judged(GOOD, **more) == "tool call"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "抱歉，我无法完成这个请求。",
        "Desculpe, não posso ajudar com isso.",
    ],
)
def test_a_refusal_is_no_summary(text: str) -> None:
    """By its words, where it is short and has none of our headings."""
    assert judged(text) == "refusal"
    assert judged(f"{text}\n\n{GOOD}").startswith("=")
    assert judged(text + " The table was read." * 40).startswith("=")


@pytest.mark.parametrize(
    "more",
    [{"refused": "no"}, {"finish": "refusal"}, {"finish": "content_filter"}, {"finish": "SAFETY"}],
)
def test_a_refusal_by_the_providers_word_is_no_summary(more: dict[str, Any]) -> None:
    """Whatever text came before it."""
    assert judged(GOOD, **more) == "refusal"


@pytest.mark.parametrize(
    "text",
    [
        "upstream timed out",
        "Error: upstream timed out",
        "Internal Server Error",
        "502 Bad Gateway",
        "HTTP 503: try later",
        "openai.RateLimitError: Error code: 429",
        "Traceback (most recent call last):\n  File",
        "<!DOCTYPE html><html><body>Bad gateway</body></html>",
        '{"error": {"message": "overloaded"}}',
        '{"type": "error", "message": "x"}',
        "Rate limit exceeded, retry in 3s",
    ],
)
def test_case_c033_an_error_text_is_no_summary(text: str) -> None:
    """Case C033: what a gateway or a client wrote in the reply's place."""
    assert judged(text) == "error text"
    assert judged(GOOD, finish="error") == "error text"


def test_a_copy_of_the_instruction_is_no_summary() -> None:
    """Ours or the caller's, whole or mostly; a summary that borrows a phrase is one."""
    own = request_for(
        SummaryTask(
            messages=TASK.messages,
            budget_tokens=800,
            prompt="Tell what matters to whom in ten lines and leave out the rest of it.",
        ),
        CAPACITY,
    )
    part = REQUEST.system.partition("\n\n")[0]

    assert judged(part) == "copy"
    assert judged(REQUEST.own_text[-400:]) == "copy"
    assert judged(own.system, request=own) == "copy"
    assert judged(f"{GOOD}\n- The agent carries on from them alone. (record 3)").startswith("=")


def test_what_is_not_smaller_than_what_it_replaces_is_refused() -> None:
    """Equal is not smaller; the earlier summary and the pieces count among what is replaced."""
    small = request_for(task_of(numbered([user("fix the parser of the table")]), 200), CAPACITY)
    found = check(SummaryReply(text=GOOD), small)

    assert isinstance(found, Refusal)
    assert found.kind == "not smaller"
    assert "tokens are not smaller than the" in found.detail
    assert judged("Fix it.", request=small) == "=Fix it."


def test_headings_of_the_conversations_language_count_as_such() -> None:
    """A text under Chinese headings that begins with an apology is a summary."""
    request = request_for(task_of(TASK.messages, 800, phrases=CHINESE), CAPACITY)

    assert judged("抱歉的话：见下。\n## 任务\n- 修复（记录 1）", request=request).startswith("=")
    assert judged("抱歉，我无法\n## Task\n- a", request=request) == "refusal"
    assert REQUEST.task.phrases is ENGLISH


def test_lone_surrogates_in_a_reply_are_mended() -> None:
    """What is kept can be written as UTF-8."""
    assert judged("Port 7040 \ud83d stays.") == "=Port 7040 \ufffd stays."


@given(st.text(max_size=400), st.text(max_size=20), st.text(max_size=20))
def test_any_reply_is_judged_and_no_refusal_quotes_it(
    text: str, finish: str, thinking: str
) -> None:
    """Never raises; what is kept is not blank; a refusal's detail is our own words."""
    found = check(SummaryReply(text=text, finish=finish, thinking=thinking), REQUEST)

    if isinstance(found, str):
        assert any(char.isalnum() for char in found)
    else:
        assert found.detail
