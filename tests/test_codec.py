"""One record, one line: what Kimi CLI wrote is written back byte for byte."""

import json
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import (
    PAGE_BYTES,
    checksum,
    clean,
    decode_line,
    decode_message,
    encode_line,
    frame,
    from_object,
    has_seq,
    is_ours,
    paged,
    with_seq,
)
from minutebook.errors import InvalidMessage
from minutebook.lines import scan
from minutebook.messages import Message, OtherPart, TextPart, call, replace, user
from minutebook.records import Batch, Other
from tests.cases import SHARED, case
from tests.formats.transcripts import JSON_VALUES
from tests.strategies import MESSAGES

KIMI = SHARED / "samples" / "kimi-cli"
KIMI_LOGS = sorted(KIMI.rglob("*.jsonl"))
COMPACT = [
    # As Kimi CLI writes them: no space, null and missing keys as they are.
    '{"role":"user","content":"hi"}',
    '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
    '{"role":"assistant","content":[{"type":"think","think":"hm","encrypted":null}]}',
    '{"role":"assistant","content":[{"type":"think","think":"hm"}]}',
    '{"role":"assistant","content":[{"type":"think","think":"hm","encrypted":"x"}]}',
    (
        '{"role":"assistant","content":"","tool_calls":[{"type":"function","id":"Shell:0",'
        '"function":{"name":"Shell","arguments":null}}]}'
    ),
    (
        '{"role":"assistant","content":"","tool_calls":[{"type":"function","id":"Shell:0",'
        '"function":{"name":"Shell"}}]}'
    ),
    '{"role":"tool","content":[],"tool_call_id":"Shell:0"}',
    '{"role":"user","content":[{"type":"image_url","image_url":{"url":"u","id":null}}]}',
    '{"role":"user","content":[{"type":"audio_url","audio_url":{"url":"u"}}]}',
    '{"role":"user","content":[{"type":"video_url","video_url":{"url":"u","id":"v"}}]}',
    '{"role":"oracle","content":"an unknown role","name":"n"}',
    '{"role":"user","content":"\u2028 and \x85"}',
]


def kimi_lines(path: Path) -> list[bytes]:
    """Give the messages of one sample that stand in it in the compact form."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        if b'"role"' not in line[:10] or line.startswith(b'{"role":"_'):
            continue
        value = json.loads(line)
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        known = {"role", "content", "name", "tool_calls", "tool_call_id"}
        if compact == line and set(value) <= known:
            found.append(line)
    return found


@given(MESSAGES)
def test_decoding_what_was_encoded_gives_the_message(message: Message) -> None:
    """Messages of every kind, unknown parts included."""
    line = encode_line(message)

    assert line.count(b"\n") == 1
    assert line.endswith(b"}\n")
    assert decode_line(line) == message


@given(JSON_VALUES)
def test_an_unknown_part_is_kept_whole(value: Any) -> None:
    """Whatever it holds."""
    message = Message(role="user", content=(OtherPart({"type": "later", "data": value}),))

    assert decode_line(encode_line(message)) == message


@pytest.mark.parametrize("line", COMPACT)
def test_a_compact_line_is_written_back_byte_for_byte(line: str) -> None:
    """A missing key stays missing, null stays null, text stays text, and a list a list."""
    assert encode_line(decode_line(line.encode())) == line.encode() + b"\n"


@pytest.mark.parametrize("path", KIMI_LOGS, ids=lambda path: path.parent.name)
def test_what_kimi_cli_wrote_is_written_back_byte_for_byte(path: Path) -> None:
    """Every compact message of the real files."""
    for line in kimi_lines(path):
        assert encode_line(decode_line(line)) == line + b"\n"


def test_the_real_files_of_kimi_cli_were_tried() -> None:
    """Where the samples are, the test before has hundreds of lines to try."""
    if not KIMI.is_dir():
        pytest.skip("the samples are not beside the repository")
    assert sum(len(kimi_lines(path)) for path in KIMI_LOGS) > 100


@given(st.text(st.characters(), max_size=40))
def test_what_is_encoded_is_strict_utf8(text: str) -> None:
    """A lone surrogate becomes U+FFFD, each one; everything else stays."""
    expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    written = encode_line(Message(role="user", content=text))

    decoded = decode_message(written)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert decoded.content == text
    else:
        assert str(decoded.content).count("\ufffd") <= expected.count("\ufffd")
    written.decode("utf-8", "strict")


def test_c065_new_text_is_cleaned_in_one_place() -> None:
    """C065.4, .5: halves become U+FFFD in text, names, arguments and keys; a pair is joined."""
    message = Message(
        role="assistant",
        content=(TextPart("a\ud83d"), OtherPart({"type": "x", "k\udc88": "\ud83d\ude80"})),
        name="n\udcb2",
        tool_calls=(call("c\ud83d", "f", '{"o":"\udc88"}'),),
    )
    value = json.loads(encode_line(message))
    assert value["content"] == [
        {"type": "text", "text": "a\ufffd"},
        {"type": "x", "k\ufffd": "\U0001f680"},
    ]
    assert value["name"] == "n\ufffd"
    assert value["tool_calls"][0]["id"] == "c\ufffd"
    assert value["tool_calls"][0]["function"]["arguments"] == '{"o":"\ufffd"}'


def test_c065_stored_lines_keep_their_bytes_and_are_read_clean() -> None:
    """C065.1, .2: each half reads as U+FFFD, the rocket is whole, the log is not touched."""
    log = case("C065").log()
    entries, problems = scan(log)
    messages = [entry.record for entry in entries if isinstance(entry.record, Message)]
    assert [problem.kind for problem in problems] == ["mended", "mended"]
    arguments = messages[1].calls[0].arguments
    assert json.loads(arguments) == {"options": ["now \ufffd", "later \ufffd", "both \U0001f680"]}
    assert messages[2].text == "bin: \ufffd\ufffd end"
    assert b"\\ud83d\\ude80" in log


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, float("nan"), [float("inf")]], ids=lambda value: str(value)[:6]
)
def test_a_value_that_is_no_json_is_refused_or_written_as_null(value: object) -> None:
    """It never makes a line that a strict reader refuses."""
    message = Message(role="user", content=(OtherPart({"type": "x", "value": value}),))
    try:
        line = encode_line(message)
    except InvalidMessage:
        return
    assert json.loads(line)["content"][0]["value"] in (None, [None], [1, 2])


def test_a_value_that_is_too_deep_is_refused() -> None:
    """It could not be read again."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    try:
        with pytest.raises(InvalidMessage):
            encode_line(Message(role="user", content=(OtherPart({"type": "x", "v": deep}),)))
    finally:
        # Taken apart by hand: freeing it in one go nests as deep as it is.
        while deep:
            deep = deep.pop()


@given(st.lists(st.binary(max_size=50), max_size=4))
def test_a_batch_of_two_or_more_stands_behind_its_header(bodies: list[bytes]) -> None:
    """The header says how many lines, how many bytes, and their check sum."""
    lines = [body.replace(b"\n", b"") + b"\n" for body in bodies]
    framed = frame(lines)
    body = b"".join(lines)

    assert framed.endswith(body)
    header = framed.removesuffix(body)
    if len(lines) < 2:
        assert header == b""
    else:
        batch = decode_line(header)
        assert isinstance(batch, Batch)
        assert (batch.n, batch.bytes, batch.hash) == (len(lines), len(body), checksum(body))


@given(st.lists(st.integers(1, 3 * PAGE_BYTES), min_size=1, max_size=12), st.integers(0, 10**12))
def test_a_batch_of_many_pages_has_a_guard_in_each(sizes: list[int], offset: int) -> None:
    """Before the first line that begins there; and it is told where each line begins."""
    lines = [b"x" * (size - 1) + b"\n" for size in sizes]
    data, found = paged(lines, offset)

    starts = found or tuple(
        accumulate(map(len, lines[:-1]), initial=len(data) - sum(map(len, lines)))
    )
    assert [data[start : start + len(line)] for start, line in zip(starts, lines, strict=True)] == (
        lines
    )
    if len(lines) == 1:
        assert data == lines[0]
        return
    begun, guarded, at = 0, {offset // PAGE_BYTES}, 0
    for start, line in zip(starts, lines, strict=True):
        for guard in data[at:start].splitlines(keepends=True):
            batch = decode_line(guard)
            assert isinstance(batch, Batch)
            assert batch.n == len(lines) - begun
            assert batch.bytes == len(data) - at - len(guard)
            guarded.add((offset + at) // PAGE_BYTES)
            at += len(guard)
            assert (batch.hash == checksum(data[at:])) == (at == len(guard))
        assert (offset + start) // PAGE_BYTES in guarded
        begun, at = begun + 1, start + len(line)


@given(st.binary(), st.binary())
def test_a_check_sum_can_be_taken_in_pieces(first: bytes, second: bytes) -> None:
    """Going on from where the first piece ended gives the sum of both."""
    assert checksum(second, zlib.crc32(first)) == checksum(first + second)
    assert checksum(b"") == "crc32:00000000"


@given(MESSAGES, st.integers(1, 1 << 53))
def test_seq_is_spliced_in_as_the_last_key(message: Message, seq: int) -> None:
    """Every other byte stays, and the line then is that message with that number."""
    line = encode_line(message)
    spliced = with_seq(line, seq)

    assert spliced.startswith(line[:-2])
    assert spliced == line[:-2] + f',"seq":{seq}}}\n'.encode()
    if seq < 1 << 53:
        assert decode_line(spliced) == replace(message, seq=seq)
        assert has_seq(spliced)
    assert not has_seq(line)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n", b""])
def test_seq_is_spliced_in_whatever_the_line_ends_with(end: bytes) -> None:
    """The line ends with one newline afterwards; spaces inside stay."""
    line = b'{"role": "user", "content": "a" }' + end
    assert with_seq(line, 7) == b'{"role": "user", "content": "a","seq":7}\n'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"role":"user","content":"a","seq":3}', True),
        ('{"role":"user","content":"a"}', False),
        ('{"role":"user","content":"\\"seq\\":3"}', False),
        ('{"role":"user","content":[{"type":"x","seq":3}]}', False),
        ('{"role":"user","content":"a","seq":0}', False),
        ('{"role":"user","content":"a","seq":9007199254740992}', False),
        ('{"role":"user","content":"a","seq":"3"}', False),
        ('{"role":"user","content":"a","seq":null}', False),
        ('{"role":"user","seq":3', False),
    ],
)
def test_only_a_usable_number_of_the_message_itself_counts(line: str, told: bool) -> None:
    """A number inside of the text or of a part is none."""
    assert has_seq(line.encode()) is told


def test_our_lines_are_told_from_those_of_kimi_cli() -> None:
    """Ours: a message with a number, a special record with its readable line."""
    assert is_ours(encode_line(replace(user("a"), seq=1)))
    assert is_ours(b'{"role":"_usage","token_count":4,"content":"4 tokens"}')
    assert not is_ours(b'{"role":"user","content":"a"}')
    assert not is_ours(b'{"role": "_usage", "token_count": 4}')


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "role",
                "content",
                "tool_calls",
                "seq",
                "at",
                "id",
                "name",
                "pin",
                "elided",
                "origin",
                "tool_call_id",
                "function",
                "type",
            ]
        ),
        JSON_VALUES,
    )
)
def test_any_json_object_with_a_role_gives_a_record(value: dict[str, Any]) -> None:
    """Values of the wrong type are left out or kept as parts; only a role is needed."""
    value["role"] = "user"
    record = from_object(value)

    assert isinstance(record, Message)
    assert record.role == "user"
    assert record.seq is None or (type(record.seq) is int and 0 < record.seq < 1 << 53)
    encode_line(record)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, {"role": 3}, {"content": "a"}])
def test_what_has_no_role_is_no_record(value: object) -> None:
    """An array, a number, an object without a role or with a role that is no text."""
    with pytest.raises(ValueError, match="role"):
        from_object(value)


def test_odd_shapes_are_read_as_far_as_they_go() -> None:
    """Arguments that are a value become text; a call without its parts has empty ones."""
    record = from_object(
        {
            "role": "assistant",
            "content": {"type": "text", "text": "one part by itself"},
            "tool_calls": [
                {"id": "a", "function": {"name": "f", "arguments": {"x": [1]}}},
                {"function": None},
                "odd",
            ],
            "at": 5,
            "pin": 1,
        }
    )
    assert isinstance(record, Message)
    assert record.text == "one part by itself"
    assert [made.arguments for made in record.calls] == ['{"x": [1]}', "", ""]
    assert [made.id for made in record.calls] == ["a", "", ""]
    assert (record.at, record.pin) == (5.0, False)


def test_parts_of_no_known_shape_are_kept_whole() -> None:
    """Text among the parts is text; the rest stays what it was."""
    content = ["a", 3, {"type": "image_url"}, {"no": "type"}, {"type": "_other", "data": {}}]
    record = from_object({"role": "user", "content": content})
    assert isinstance(record, Message)
    assert record.content == (
        TextPart("a"),
        OtherPart({"type": "unknown", "value": 3}),
        OtherPart({"type": "image_url"}),
        OtherPart({"no": "type"}),
        OtherPart({"type": "_other", "data": {}}),
    )


def test_a_special_record_of_another_kind_or_shape_is_kept_by_its_role() -> None:
    """It is counted and ignored; the log has its bytes."""
    assert from_object({"role": "_later", "x": 1}) == Other(role="_later")
    assert from_object({"role": "_checkpoint", "id": "three"}) == Other(role="_checkpoint")


@given(JSON_VALUES)
def test_cleaning_leaves_clean_values_alone(value: Any) -> None:
    """Only halves of surrogate pairs are touched."""
    assert clean(value) == value
