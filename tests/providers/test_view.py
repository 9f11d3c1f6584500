"""What a view does with each kind of trouble, by example."""

import json

import pytest

from minutebook.codec import decode_line
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
    assistant,
    call,
    replace,
    system,
    tool,
    user,
)
from minutebook.providers.view import (
    LATE_RESULT,
    NO_OUTPUT,
    NOT_RUN,
    UNKNOWN_OUTCOME,
    View,
    make_view,
    marked,
)
from tests.providers.histories import PICTURE, numbered


def log(*lines: str) -> list[Message]:
    """Read messages as a log has them."""
    messages = [decode_line(line.encode("utf-8", "surrogatepass")) for line in lines]
    assert all(isinstance(message, Message) for message in messages)
    return [message for message in messages if isinstance(message, Message)]


def told(view: View) -> list[tuple[str, str]]:
    """Give role and text of each message of a view."""
    return [(message.role, message.text) for message in view.messages]


def test_results_move_up_to_their_calls_in_the_order_of_the_calls() -> None:
    """Whatever arrived between a call and its results stands behind them."""
    history = [
        user("go"),
        assistant("", tool_calls=[call("a", "f"), call("b", "f")]),
        tool("b", "of b"),
        user("are you there?"),
        assistant("yes"),
        tool("a", "of a"),
    ]

    view = make_view(None, history)

    assert told(view)[2:] == [
        ("tool", "of a"),
        ("tool", "of b"),
        ("user", "are you there?"),
        ("assistant", "yes"),
    ]
    assert marked(view) == frozenset()


def test_a_missing_result_is_marked_with_the_seq_of_its_call() -> None:
    """The model is told that the outcome is unknown; the caller is told which call it was."""
    history = numbered(
        [user("go"), assistant("", tool_calls=[call("p1", "x"), call("p2", "x")]), tool("p1", "r")]
    )

    view = make_view(None, history)

    assert told(view)[2:] == [("tool", "r"), ("tool", UNKNOWN_OUTCOME)]
    assert view.messages[-1].tool_call_id == "p2"
    assert marked(view) == {(4, "p2")}


def test_a_message_without_seq_counts_on_from_the_one_before() -> None:
    """So pairs are stable for histories that were never in a session."""
    history = [
        user("a"),
        replace(user("b"), seq=7),
        assistant("", tool_calls=[call("x", "f")]),
    ]

    assert marked(make_view(None, history)) == {(8, "x")}


def test_results_that_nobody_asked_for_are_left_out() -> None:
    """Neither an orphan nor a second result is sent."""
    history = [
        tool("gone", "orphan"),
        user("go"),
        assistant("", tool_calls=[call("a", "f")]),
        tool("a", "first"),
        tool("a", "second"),
    ]

    assert told(make_view(None, history))[2:] == [("tool", "first")]


def test_a_late_result_is_used_if_nothing_was_sent_for_it() -> None:
    """It takes its place at the call, as if it had come in time."""
    history = [
        assistant("", tool_calls=[call("a", "f")]),
        user("hello?"),
        tool("a", "late"),
    ]

    assert told(make_view(None, history)) == [
        ("assistant", ""),
        ("tool", "late"),
        ("user", "hello?"),
    ]


def test_a_late_result_becomes_a_note_where_a_marked_one_was_sent() -> None:
    """The marked result stays, so that what was sent is not changed; the model hears the rest."""
    history = numbered([assistant("", tool_calls=[call("a", "grep")]), user("hello?")])
    before = make_view(None, history)

    more = [*history, replace(tool("a", (TextPart("late"), picture())), seq=9)]
    view = make_view(None, more, settled=marked(before))

    assert view.messages[:3] == before.messages
    note = view.messages[3]
    assert (note.role, note.origin, note.seq) == ("user", "notice", 9)
    assert note.parts == (
        TextPart(LATE_RESULT.format(call="a", tool="grep")),
        TextPart("late"),
        picture(),
    )
    assert marked(view) == marked(before) == {(1, "a")}


def test_an_empty_late_result_says_so() -> None:
    """A note has its stated form too."""
    history = numbered([assistant("", tool_calls=[call("a", "f")]), tool("a", " ")])

    view = make_view(None, history, settled={(1, "a")})

    assert view.messages[-1].text.endswith(NO_OUTPUT)


def test_the_real_result_wins_over_a_made_up_one() -> None:
    """Case C013: one result, at the call, and the choice does not depend on order."""
    history = [
        assistant("", tool_calls=[call("t7", "f")]),
        Message("tool", "interrupted", tool_call_id="t7", origin="notice"),
        user("and?"),
        tool("t7", "real output"),
    ]

    view = make_view(None, history)

    assert told(view) == [("assistant", ""), ("tool", "real output"), ("user", "and?")]
    assert marked(view) == frozenset()


def test_a_made_up_result_that_was_sent_stays() -> None:
    """It is a marked result as well: named by its own seq, followed by a note."""
    history = numbered(
        [
            assistant("", tool_calls=[call("t7", "f")]),
            Message("tool", "interrupted", tool_call_id="t7", origin="notice"),
            user("and?"),
        ]
    )
    before = make_view(None, history)

    view = make_view(None, [*history, tool("t7", "real")], settled=marked(before))

    assert marked(before) == marked(view) == {(4, "t7")}
    assert view.messages[:3] == before.messages == tuple(history)
    assert view.messages[3].text.endswith("real")


def test_arguments_that_were_cut_off_are_sent_as_an_empty_object() -> None:
    """Case C011: the call was not run, and that is what its result says."""
    history = [assistant("", tool_calls=[call("k9", "shell", '{"command": "rm -rf build/tm')])]

    view = make_view(None, history)

    assert view.messages[0].calls[0].arguments == "{}"
    assert view.messages[1].text == NOT_RUN


def test_a_stored_result_of_a_cut_off_call_is_kept() -> None:
    """What the agent wrote about it is better than anything of ours."""
    history = [
        assistant("", tool_calls=[call("k7", "shell", '{"command": "ls -')]),
        tool("k7", "error: bad arguments"),
    ]

    assert make_view(None, history).messages[1] is history[1]


@pytest.mark.parametrize("missing", ['"id":"",', '"id":null,', ""])
def test_a_missing_id_is_made_from_seq_and_position(missing: str) -> None:
    """Case C007: calls and results are paired by position and get ids that stay the same."""
    history = log(
        '{"role":"assistant","content":"","seq":5,"tool_calls":[{"type":"function",'
        f'{missing}"function":{{"name":"write"}}}}]}}',
        '{"role":"tool","content":"ok"}',
    )

    view = make_view(None, history)

    assert view.messages[0].calls[0].id == view.messages[1].tool_call_id == "call_5_0"
    assert view.messages[1].text == "ok"


def test_repeated_ids_are_told_apart_by_the_seq_of_their_message() -> None:
    """Kimi CLI's ids begin anew; the first of a kind keeps its id."""
    batch = [assistant("", tool_calls=[call("Shell:0", "Shell")]), tool("Shell:0", "out")]

    view = make_view(None, numbered([*batch, *batch]))

    ids = [message.tool_call_id or message.calls[0].id for message in view.messages]
    assert ids == ["Shell:0", "Shell:0", "Shell:0-7", "Shell:0-7"]


def test_what_is_blank_or_unknown_is_left_out_and_its_neighbours_stay() -> None:
    """Cases C096 and C073: no empty message, no empty part, no message lost with a part."""
    history = [
        user("a"),
        assistant(()),
        user("  \n"),
        assistant((TextPart("c"), TextPart(""))),
        Message("user", (TextPart("known"), OtherPart({"type": "hologram"}))),
        Message("user", (OtherPart({"type": "hologram"}),)),
        Message("user", None),
        Message("oracle", "unknown role"),
        Message("user", (ThinkPart("only a model thinks"),)),
        assistant((ThinkPart("thought"),)),
        assistant((ThinkPart("", "sig"), OtherPart({"type": "redacted_thinking", "data": "x"}))),
    ]

    assert told(make_view(" ", history)) == [("user", "a"), ("assistant", "c"), ("user", "known")]
    assert make_view(" ", history).system_prompt is None


@pytest.mark.parametrize("content", [None, "", (), (OtherPart({"type": "hologram"}),)])
def test_an_empty_result_says_that_it_is_empty(content: str | tuple[OtherPart] | None) -> None:
    """Its call needs a result, and a result needs a text."""
    history = [
        assistant("", tool_calls=[call("a", "f")]),
        Message("tool", content, tool_call_id="a"),
    ]

    assert make_view(None, history).messages[1].text == NO_OUTPUT


def test_half_pairs_are_replaced_and_whole_ones_joined() -> None:
    """Case C065: in texts, arguments, keys, names and ids, on both sides of a pair."""
    asked = call("t\ud83d", "a\ud83dsk", '{"\ud83d": ["later \\udc88", "both \\ud83d\\ude80"]}')
    history = [
        user("pick \ud83d one"),
        assistant("", tool_calls=[asked]),
        tool("t\ud83d", (TextPart("bin: \udcb2\udc8f end"), picture("https://e.org/\ud83d"))),
    ]

    view = make_view("so \udc88", history)

    assert view.system_prompt == "so \ufffd"
    assert view.messages[0].text == "pick \ufffd one"
    sent = view.messages[1].calls[0]
    assert (sent.id, sent.name) == ("t\ufffd", "a\ufffdsk")
    assert json.loads(sent.arguments) == {"\ufffd": ["later \ufffd", "both 🚀"]}
    assert view.messages[2].tool_call_id == "t\ufffd"
    assert view.messages[2].text == "bin: \ufffd\ufffd end"
    json.dumps([view.to_openai(), view.to_anthropic()], ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "part",
    [
        ImagePart(MediaUrl("ms://\ud83d")),
        AudioPart(MediaUrl("ms://\ud83d")),
        VideoPart(MediaUrl("ms://\ud83d")),
    ],
)
def test_addresses_are_mended_too(part: ImagePart | AudioPart | VideoPart) -> None:
    """No part of a message may hold what cannot be encoded."""
    view = make_view(None, [Message("user", (part,))])

    json.dumps(view.to_openai(model="kimi-latest"), ensure_ascii=False).encode()


def test_mended_thinking_loses_its_signature() -> None:
    """It would not be what was signed; without a word left it is gone."""
    parts = (
        ThinkPart("hm \ud83d", "sig"),
        ThinkPart("hm", "sig\ud83d"),
        ThinkPart("", "sig\ud83d"),
        TextPart("so"),
    )

    view = make_view(None, [assistant(parts)])

    assert view.messages[0].parts == (ThinkPart("hm \ufffd"), ThinkPart("hm"), TextPart("so"))


def test_media_of_the_model_and_the_system_are_named() -> None:
    """No API takes pictures there, and a text says what stood in their place."""
    history = [assistant((picture(),)), Message("system", (picture("https://e.org/a.png"),))]

    assert told(make_view(None, history)) == [
        ("assistant", "[picture left out: image/png]"),
        ("system", "[picture left out: https://e.org/a.png]"),
    ]


def test_system_and_developer_messages_stay_in_their_place() -> None:
    """What they are for one provider is decided there."""
    history = [user("a"), system("be brief"), Message("developer", "in French")]

    assert list(make_view(None, history).messages) == history


def picture(url: str = PICTURE) -> ImagePart:
    """Make a picture part."""
    return ImagePart(MediaUrl(url))
