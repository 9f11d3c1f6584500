"""A small file of each format, with most of what the format can hold."""

import json
from typing import Any

from minutebook.codec import encode_line
from minutebook.records import SystemPrompt
from tests.formats import (
    test_cline_sdk,
    test_codex,
    test_gemini,
    test_kimi_code,
    test_mini_swe_agent,
    test_openai_responses,
    test_opencode,
    test_openhands,
    test_openhands_v0,
    test_pi,
    test_sharegpt,
    test_swe_agent,
)
from tests.formats.transcripts import answer, boundary, dump, said, summary, typed, use, words

TASK = [
    {"role": "user", "content": [words("a")], "ts": 1, "condenseParent": "X"},
    {"role": "assistant", "content": [use("t1")]},
    {"role": "user", "content": [words("so far")], "isSummary": True, "condenseId": "X"},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": []}]},
]
CHAT = [
    {"role": "system", "content": "p"},
    {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "content": "done"},
]
CLAUDE = [
    typed("u1", None, "task"),
    boundary("b1", "u1"),
    summary("s1", "b1"),
    said("a1", "s1", "m1", words("b"), usage={"output_tokens": 3}),
    said("a2", "a1", "m1", use("t1")),
    said("a3", "a2", "m1", use("t2")),
    answer("r2", "a3", "t2"),
    answer("r1", "a2", "t1"),
    typed("u2", "a1", "left"),
    {"type": "last-prompt", "leafUuid": "r1"},
]


def document(value: Any) -> bytes:
    """Write one JSON value on several lines."""
    return json.dumps(value, indent=1).encode()


FILES: dict[str, bytes] = {
    "native": encode_line(SystemPrompt(content="p")) + b'{"role":"user","content":"a","seq":1}\n',
    "kimi": b'{"role": "_checkpoint", "id": 0}\n{"role":"user","content":"a"}\n',
    "kimi-code": dump(test_kimi_code.WHOLE),
    "claude-code": dump(CLAUDE),
    "codex": dump(test_codex.WHOLE),
    "pi": dump(test_pi.WHOLE),
    "gemini-cli": document({**test_gemini.HEADER, "messages": test_gemini.WHOLE}),
    "opencode": document({"info": test_opencode.SESSION, "messages": test_opencode.WHOLE}),
    "openhands": dump(test_openhands.WHOLE),
    "openhands-v0": document(test_openhands_v0.WHOLE),
    "swe-agent": document(test_swe_agent.WHOLE),
    "mini-swe-agent": document(test_mini_swe_agent.WHOLE),
    "cline-sdk": document(test_cline_sdk.DOCUMENT),
    "sharegpt": document([{"conversations": test_sharegpt.TURNS}]),
    "openai-responses": document(test_openai_responses.ITEMS),
    "anthropic": document(TASK),
    "openai-chat": json.dumps({"messages": CHAT}).encode() + b"\n" + json.dumps(CHAT).encode(),
}
"""By the name of the format."""
