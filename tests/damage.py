"""A log with a bit of everything, and the ways in which logs are damaged; for Hypothesis."""

from hypothesis import strategies as st

from minutebook.codec import encode_line, frame
from minutebook.messages import assistant, call, replace, tool, user
from minutebook.records import Checkpoint, Revert, SystemPrompt, Tag, Usage
from minutebook.sums import span_sum

KIMI = (
    b'{"role": "user", "content": "from elsewhere"}\n'
    b'{"role": "_checkpoint", "id": 7}\n'
    b'{"role": "assistant", "content": [{"type": "hologram", "data": 1}], "later": {"a": 1}}\n'
)


def log() -> bytes:
    """Write a log of ours with calls, open ones too, batches, sums, tags, and Kimi CLI's lines."""
    prompt = encode_line(SystemPrompt(content="Be brief."))
    calls = [call("a", "Shell"), call("b", "ReadFile", '{"path": "x.py"}'), call("a", "Shell")]
    parts = [
        [user("hello ü\u2028", pin=True)],
        [assistant("", tool_calls=calls), tool("a", "one"), tool("b", "two")],
        [user("again"), assistant("", tool_calls=[call("a", "Shell")])],
        [tool("a", "three"), tool("gone", "of no call")],
    ]
    found, span, seq = prompt, b"", 1
    for number, part in enumerate(parts):
        mark = Checkpoint(id=number, content=f"checkpoint {number}", sum=span_sum(span))
        lines = [
            encode_line(replace(message, seq=seq + index)) for index, message in enumerate(part)
        ]
        seq += len(part)
        more = encode_line(Tag(seq=1, content="marks message 1", tags=("t",)))
        count = encode_line(Usage(token_count=100 * seq, content="counted"))
        span = encode_line(mark) + frame([*lines, count]) + more
        found += span
    revert = Revert(content="reverted", to=9, sum=span_sum(span))
    later = b'{"role":"_later","content":"what is to come","keep":"me"}\n'
    return found + encode_line(revert) + later + KIMI + encode_line(replace(user("end"), seq=seq))


LOG = log()
WILD = st.one_of(
    st.binary(max_size=20),
    st.sampled_from(
        [b"\0" * 9, b"\n", b"\n\n", b"\r\n", b"{", b'{"role":"', b"\xef\xbb\xbf", KIMI]
    ),
    st.integers(0, len(LOG)).map(lambda start: LOG[start : start + 200]),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw the log with a few places cut out, written over, or with something put in; cut off."""
    data = LOG
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        gone = draw(st.sampled_from([0, 0, 1, 5, 300]))
        data = data[:start] + draw(WILD) + data[start + gone :]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


DAMAGED = damaged()
