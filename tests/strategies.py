"""What Hypothesis draws for sessions: messages of every kind, operations, records, wild bytes."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    assistant,
    call,
    replace,
    system,
    tool,
    user,
)
from minutebook.records import (
    Batch,
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Next,
    Other,
    Record,
    Revert,
    Rotated,
    SystemPrompt,
    Tag,
    Usage,
)

WORDS = ("fix", "the", "build", "修复", "错误", "src/a.py", "error: exit 2", "\u2028", "ok", "17")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
SHORT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ARGUMENTS = st.sampled_from(["{}", '{"path": "src/a.py"}', '{"command": "make"}', "{broken", None])
CALL_IDS = st.sampled_from(["Shell:0", "Shell:1", "c-7"])
"""Few, so that they repeat, as Kimi CLI's do."""
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ThinkPart, TEXTS),
    st.builds(ThinkPart, TEXTS, st.none()),
    st.just(ImagePart(MediaUrl("https://example.org/a.png"))),
    st.just(AudioPart(MediaUrl("data:audio/wav;base64,UklGRg==", "a1"))),
    st.builds(lambda text: OtherPart({"type": "chart", "points": [1, None, text]}), SHORT),
)
CONTENTS = st.one_of(TEXTS, SHORT, st.lists(PARTS, min_size=2, max_size=3).map(tuple))
CALLS: st.SearchStrategy[ToolCall] = st.builds(
    call, CALL_IDS, st.sampled_from(["Shell", "ReadFile", "WriteFile"]), ARGUMENTS
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(user, CONTENTS, pin=st.sampled_from([False, False, False, True])),
    st.builds(assistant, CONTENTS, tool_calls=st.lists(CALLS, max_size=3)),
    st.builds(tool, CALL_IDS, CONTENTS, error=st.booleans()),
    st.builds(system, CONTENTS),
    st.builds(lambda text: replace(user(text), origin="injection"), TEXTS),
    st.builds(lambda text: Message(role="oracle", content=text, name="n"), SHORT),
)


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """Draw a reply with parallel calls, and the results of them all."""
    calls = [
        call(f"p{number}", draw(st.sampled_from(["Shell", "ReadFile"])), draw(ARGUMENTS))
        for number in range(draw(st.integers(1, 3)))
    ]
    results = [tool(made.id, f"{draw(TEXTS)}\n" * draw(st.integers(1, 20))) for made in calls]
    return [assistant(draw(TEXTS), tool_calls=calls), *draw(st.permutations(results))]


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    """Draw so much talk that a small window is soon full."""
    said: list[Message] = []
    for number in range(draw(st.integers(2, 5))):
        said += [user(f"question {number}: {draw(TEXTS)}"), *draw(exchanges())]
        said += [assistant(draw(TEXTS) * 4)]
    return said


BATCHES = st.one_of(st.lists(MESSAGES, min_size=1, max_size=3), exchanges())


@dataclass(frozen=True)
class Do:
    """One operation of a session; `which` picks among what is there, modulo how many there are."""

    name: str
    which: int = 0
    value: Any = None


WHICH = st.integers(0, 12)
OPERATIONS: st.SearchStrategy[Do] = st.one_of(
    st.builds(Do, st.just("append"), value=st.tuples(BATCHES, st.none())),
    st.builds(Do, st.just("append"), value=st.tuples(talks(), st.none())),
    st.builds(Do, st.just("append"), value=st.tuples(BATCHES, st.integers(1, 9_000))),
    st.builds(Do, st.just("usage"), value=st.integers(0, 9_000)),
    st.builds(Do, st.just("prompt"), value=st.sampled_from(["", "You fix builds.", "Be brief."])),
    st.builds(Do, st.just("checkpoint"), value=st.booleans()),
    st.builds(Do, st.just("checkpoint"), value=st.booleans()),
    st.builds(Do, st.just("revert"), WHICH, st.sampled_from([None, None, "it was in vain"])),
    st.builds(Do, st.just("revert unknown"), st.sampled_from([-1, 77, 1 << 70])),
    st.builds(Do, st.just("undo"), value=st.booleans()),
    st.builds(Do, st.just("restore"), WHICH),
    st.just(Do("clear")),
    st.builds(Do, st.just("compact"), value=st.sampled_from([None, 0.05, 0.3])),
    st.builds(Do, st.just("pin"), WHICH, st.sampled_from([True, True, False])),
    st.builds(Do, st.just("pin_any"), WHICH),
    st.builds(Do, st.just("tag"), WHICH, st.sampled_from([(), ("a",), ("b", "c")])),
    st.just(Do("reopen")),
)
STORIES = st.lists(OPERATIONS, min_size=10, max_size=40)
FORKING_STORIES = st.lists(
    st.one_of(OPERATIONS, OPERATIONS, OPERATIONS, st.builds(Do, st.just("fork"), WHICH)),
    min_size=10,
    max_size=30,
)

NEXTS = st.one_of(st.none(), st.builds(Next, st.integers(0, 9), st.integers(1, 30)))
ROTATED = st.one_of(st.none(), st.builds(Rotated, st.integers(1, 4)))
SEQS = st.one_of(
    st.none(), st.integers(1, 12), st.sampled_from([0, -3, 1 << 53, (1 << 53) - 1, 1 << 70])
)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(lambda message, seq: replace(message, seq=seq), MESSAGES, SEQS),
    st.builds(SystemPrompt, SHORT),
    st.builds(Checkpoint, st.integers(-1, 6), SHORT, label=st.none() | SHORT),
    st.builds(Usage, st.integers(-2, 900), estimated=st.booleans()),
    st.builds(Compaction, SHORT, parent=ROTATED, next=NEXTS),
    st.builds(Revert, SHORT, ROTATED, next=NEXTS, reason=st.sampled_from(["revert", "undo"])),
    st.builds(Clear, SHORT, ROTATED, NEXTS),
    st.builds(Fork, SHORT, next=NEXTS),
    st.builds(
        Tag,
        st.integers(1, 12),
        pin=st.sampled_from([None, True, False]),
        tags=st.sampled_from([None, (), ("a",)]),
    ),
    st.just(Other("_later")),
    st.just(Batch(2, 0, "crc32:00000000")),
)
"""Any record that a log may hold, in any order: numbers repeat, jump and are of no use."""
