"""Conversations for the tests of compaction: made by hand, and drawn by Hypothesis."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from minutebook.budget import Limits
from minutebook.compaction.plan import Plan, Request
from minutebook.messages import Message, ToolCall, assistant, call, replace, tool, user
from minutebook.turns import pair

SHARED = Path(__file__).parents[2] / ".." / "shared"
"""Real sessions and cases beside the repository; tests that need them skip without."""

WORDS = "amber basalt cedar delta ember fjord garnet"
LINE = f"row {WORDS} src/app.py parse_line"


def numbered(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Give each message the next `seq`, from 1."""
    return tuple(replace(message, seq=seq) for seq, message in enumerate(messages, 1))


def lines(count: int, word: str = "row") -> str:
    """Give a text of so many lines; each takes about fifteen tokens."""
    return "\n".join(f"{word} {number:04} {WORDS}" for number in range(1, count + 1))


def called(call_id: str, name: str, **arguments: object) -> ToolCall:
    """Make a call whose arguments are given by name."""
    return call(call_id, name, json.dumps(arguments, ensure_ascii=False))


def step(
    call_id: str, name: str, output: str, text: str = "", **arguments: object
) -> list[Message]:
    """Make an exchange of one call."""
    return [
        assistant(text, tool_calls=[called(call_id, name, **arguments)]),
        tool(call_id, output),
    ]


def limits_for(target: int, *, limit: int | None = None) -> Limits:
    """Give limits with that target; the hard limit is four times it unless given."""
    most = limit or target * 4
    return Limits(window=most + 1_000, reserve=1_000, trigger=target * 2, target=target, limit=most)


def asked(messages: Sequence[Message], **more: Any) -> Request:
    """Make a request of messages that have their numbers, or get them here."""
    history = tuple(messages)
    if any(message.seq is None for message in history):
        history = numbered(history)
    return Request(history=history, **more)


def after(plan: Plan) -> tuple[Message, ...]:
    """Give a plan's history as it is after the commit: what is new has numbers, too."""
    last = max((message.seq or 0 for message in plan.history), default=0)
    last = max([last, *plan.left_out])
    history = []
    for message in plan.history:
        if message.seq is None:
            last += 1
            history.append(replace(message, seq=last))
        else:
            history.append(message)
    return tuple(history)


def split_exchanges(before: Sequence[Message], plan: Plan) -> list[int]:
    """Give the records of calls that stay without their results, or the other way round."""
    there = {message.seq for message in plan.history}
    wrong = []
    for (head, _), result in pair(before).results.items():
        if (before[head].seq in there) != (before[result].seq in there):
            wrong.append(before[head].seq or 0)
    return wrong


def of_case(name: str) -> list[dict[str, Any]]:
    """Give the lines of a case's log."""
    path = SHARED / "cases" / name / "log.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def case_history(name: str) -> tuple[Message, ...]:
    """Give the messages of a case, each numbered as its event is."""
    found: list[Message] = []
    for event in of_case(name):
        if event["type"] == "compaction":
            found.append(
                Message(role="user", content=event["summary"], origin="summary", seq=event["seq"])
            )
        if event["type"] != "message":
            continue
        texts = [block["text"] for block in event["content"] if block["type"] == "text"]
        calls = [
            called(block["id"], block["name"], **block["input"])
            for block in event["content"]
            if block["type"] == "tool_use"
        ]
        results = [
            tool(block["tool_use_id"], block["content"][0]["text"])
            for block in event["content"]
            if block["type"] == "tool_result"
        ]
        if event["role"] == "assistant":
            found.append(replace(assistant("\n".join(texts), tool_calls=calls), seq=event["seq"]))
        else:
            new = results or [user("\n".join(texts))]
            found += [replace(message, seq=event["seq"]) for message in new]
    return tuple(found)


TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "fix src/app.py, never touch main.py",
            "The problem is that parse_line drops the last row, so I use read_all instead.",
            "修复 src/app.py，不要改动 main.py。",
            "Não mexa na tabela. Responda sempre em português.",
            "half \ud83d, whole \U0001f468‍\U0001f469‍\U0001f467, e\u0301",
            "Next: run the tests.\n- [ ] write docs",
            "[The output of read was set aside: 3 lines, 40 characters, whole in record 2]",
            "Minutes of records 1 to 9. This message stands for 9 earlier messages",
        ]
    ),
    st.text(max_size=40),
    st.integers(1, 60).map(lines),
)
OUTPUTS = st.one_of(
    TEXTS,
    st.integers(10, 200).map(lines),
    st.sampled_from(
        [
            "Exit code: 1\nTraceback (most recent call last):\nValueError: bad row 512",
            "== 3 failed, 12 passed in 1.2s ==",
            "<system>ERROR: the tool failed.</system>\nNo such file: src/none.py",
        ]
    ),
)
GIVEN: list[tuple[str, dict[str, object]]] = [
    ("read_file", {"path": "src/app.py"}),
    ("read_file", {"path": "main.py", "offset": 10}),
    ("bash", {"command": "pytest -q tests | tail -3"}),
    ("str_replace", {"path": "src/app.py", "old_str": "a\nb", "new_str": "a\nkeep_row(b)"}),
    ("write_file", {"path": "docs/notes.md", "content": "# Notes\n"}),
    ("todo", {"todos": [{"title": "write docs", "status": "pending"}]}),
    ("odd", {"value": None}),
]
CALLS = st.sampled_from(GIVEN)


@st.composite
def exchanges(draw: st.DrawFn, number: int) -> list[Message]:
    """Draw one exchange of up to three calls; some results may be missing or out of order."""
    chosen = draw(st.lists(CALLS, min_size=1, max_size=3))
    ids = [f"c{number}-{index}" for index in range(len(chosen))]
    calls = [called(id_, name, **given) for id_, (name, given) in zip(ids, chosen, strict=True)]
    answered = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
    if draw(st.booleans()):
        answered = ids
    return [
        assistant(draw(TEXTS), tool_calls=calls),
        *(tool(id_, draw(OUTPUTS)) for id_ in answered),
    ]


@st.composite
def histories(draw: st.DrawFn, turns_max: int = 6) -> tuple[Message, ...]:
    """Draw a conversation with turns, parallel calls, interruptions and messages of ours."""
    found: list[Message] = []
    for turn in range(draw(st.integers(0, turns_max))):
        if draw(st.integers(0, 4)):
            found.append(user(draw(TEXTS)))
        for number in range(draw(st.integers(0, 3))):
            found += draw(exchanges(turn * 10 + number))
        if draw(st.booleans()):
            found.append(assistant(draw(TEXTS)))
        odd = draw(st.integers(0, 12))
        if odd == 0:
            found.append(Message(role="user", content=draw(TEXTS), origin="notice"))
        elif odd == 1:
            found.append(Message(role="user", content=draw(TEXTS), origin="summary"))
        elif odd == 2:
            found.append(tool("nobody", draw(TEXTS)))
        elif odd == 3 and found:
            # A result that comes late, behind other messages.
            late = [index for index, message in enumerate(found) if message.role == "tool"]
            if late:
                found.append(found.pop(draw(st.sampled_from(late))))
    return numbered(found)
