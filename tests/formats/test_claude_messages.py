"""Lines to messages: merged, dated, and told apart by who wrote them."""

from typing import Any

import pytest

from minutebook.formats.claude_lines import records
from minutebook.formats.claude_messages import Assembly, body_of, cleared
from minutebook.formats.claude_tree import plant
from minutebook.messages import Message, assistant, call, replace, tool
from minutebook.records import Usage
from tests.formats.transcripts import (
    answer,
    dump,
    record,
    said,
    stamp,
    summary,
    typed,
    use,
    words,
)


def assembled(*given_records: dict[str, Any]) -> tuple[list[Message | Usage], dict[str, int]]:
    """Put all records together, as if each were on the branch."""
    data = dump(given_records)
    tree = plant(records(data)[0])
    everything = set(range(len(tree.nodes)))
    assembly = Assembly(data, tree, path=everything, sent=everything)
    for at in sorted(everything):
        assembly.feed(at)
    spoken = [item for slot in assembly.slots for _, item in slot.records()]
    return spoken, dict(assembly.counts)


def undated(items: list[Message | Usage]) -> list[Message | Usage]:
    return [replace(item, at=None) if isinstance(item, Message) else item for item in items]


def test_the_lines_of_a_reply_are_one_message() -> None:
    """Blocks in file order, usage once, results behind, whatever stood between the lines."""
    early, late = {"input_tokens": 3, "output_tokens": 1}, {"input_tokens": 3, "output_tokens": 9}
    items, _ = assembled(
        said("a1", None, "m1", words("look"), usage=early, timestamp=stamp(5)),
        said("a2", "a1", "m1", use("t1"), usage=late, timestamp=stamp(6)),
        answer("r1", "a2", "t1", "one", timestamp=stamp(7)),
        said("a3", "r1", "m1", use("t2"), usage=late),
        typed("u1", "a3", "meanwhile", isMeta=True),
        answer("r2", "a3", "t2", "two"),
    )

    arguments = '{"path":"a b"}'
    assert undated(items) == [
        assistant(
            "look", tool_calls=[call("t1", "Read", arguments), call("t2", "Read", arguments)]
        ),
        Usage(token_count=12, content="12 tokens", input=3, output=9, model="m-1"),
        tool("t1", "one"),
        tool("t2", "two"),
        Message(role="user", content="meanwhile", origin="injection"),
    ]
    times = [item.at for item in items[:3] if isinstance(item, Message)]
    assert times == [1767322805.0, 1767322807.0]


def test_a_copy_of_a_line_adds_nothing() -> None:
    """A line off the branch is taken for what it has alone, and a call counts once."""
    data = dump(
        [
            said("a1", None, "m1", words("look"), use("t1")),
            said("a2", None, "m1", words("look"), use("t1"), words("more")),
            said("a3", None, "m1", words("more"), use("t2")),
        ]
    )
    assembly = Assembly(data, plant(records(data)[0]), path={0, 2}, sent={0, 2})
    for at in range(3):
        assembly.feed(at)
    ((_, message),) = [item for slot in assembly.slots for item in slot.records()]

    assert isinstance(message, Message)
    assert [part.text for part in message.parts if hasattr(part, "text")] == ["look", "more"]
    assert [item.id for item in message.calls] == ["t1", "t2"]


def test_a_reply_without_an_id_stands_alone() -> None:
    """Two lines without `message.id` are two messages."""
    line = said("a1", None, "", words("a"))
    items, _ = assembled(line, {**line, "uuid": "a2", "message": {**line["message"], "id": None}})

    assert undated(items) == [assistant("a"), assistant("a")]


def test_what_the_client_wrote_itself_was_no_reply() -> None:
    """Errors of the API and made-up replies are counted and left out."""
    error = said("a1", None, "m1", words("API Error"), isApiErrorMessage=True)
    synthetic = said("a2", None, "m2", words("No response requested."))
    synthetic["message"]["model"] = "<synthetic>"

    assert assembled(error, synthetic) == ([], {"client_replies": 2})


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("fix it", "user"),
        ("<command-message>plan</command-message>\n<command-name>/plan</command-name>", "user"),
        ("<bash-input>ls</bash-input>", "user"),
        ("<command-name>/compact</command-name>", "injection"),
        ("<local-command-stdout>Compacted</local-command-stdout>", "injection"),
        ("[Request interrupted by user for tool use]", "injection"),
        ("  <system-reminder>x</system-reminder>", "injection"),
    ],
)
def test_user_records_are_told_apart_by_how_they_begin(text: str, origin: str) -> None:
    """The client writes into the user's role too."""
    plain, _ = assembled(typed("u1", None, text))
    in_blocks, _ = assembled(typed("u1", None, [words(text)]))

    assert undated(plain) == [Message(role="user", content=text, origin=origin)]
    assert undated(in_blocks) == undated(plain)


def test_summaries_hidden_and_shown_records() -> None:
    """A summary is sent although only shown; another record that is only shown is not."""
    items, counts = assembled(
        summary("s1", None), typed("u1", "s1", "note", isVisibleInTranscriptOnly=True)
    )

    assert undated(items) == [Message(role="user", content="what was done", origin="summary")]
    assert counts == {"only_shown": 1}


def test_what_was_typed_while_the_agent_worked_is_a_users() -> None:
    """Queued words come as an attachment; the client's own notes are counted."""

    def attached(uuid: str, **attachment: Any) -> dict[str, Any]:
        return record("attachment", uuid, None, attachment=attachment)

    items, counts = assembled(
        attached("t1", type="queued_command", prompt="also this", commandMode="prompt"),
        attached("t2", type="queued_command", prompt=[words("task done")], commandMode="task"),
        attached("t3", type="task_reminder", content=[]),
        record("attachment", "t4", None, attachment="?"),
    )

    assert undated(items) == [
        Message(role="user", content="also this", origin="user"),
        Message(role="user", content="task done", origin="injection"),
    ]
    assert counts == {"attachments": 2}


def test_a_result_whose_call_is_not_there_stands_where_it_is() -> None:
    """And the text beside a result becomes a message of its own (case C009)."""
    both = [{"type": "tool_result", "tool_use_id": "t9", "content": "late"}, words("RULE")]
    items, _ = assembled(typed("u1", None, both))

    assert undated(items) == [
        tool("t9", "late"),
        Message(role="user", content="RULE", origin="user"),
    ]


def test_records_without_a_message_are_empty_messages() -> None:
    """Damage inside of a record does not raise."""
    items, _ = assembled(record("user", "u1", None), record("assistant", "a1", "u1", message=3))

    assert [item.content for item in items if isinstance(item, Message)] == ["", ""]


def test_only_wanted_results_are_lent() -> None:
    """A node off the branch gives the results that are waited for, each once."""
    data = dump([said("a1", None, "m1", use("t1"), use("t2")), answer("r1", "a1", "t1")])
    assembly = Assembly(data, plant(records(data)[0]), path={0}, sent={0})
    assembly.feed(0)
    wanted = assembly.unanswered()

    assert wanted == {"t1", "t2"}
    assert assembly.lend(1, wanted)
    assert wanted == {"t2"}
    assert not assembly.lend(1, wanted)
    assert assembly.unanswered() == {"t2"}


def test_a_mended_record_still_says_what_it_said() -> None:
    """The body is read from the record's own bytes, in the tolerant way where needed."""
    data = dump([typed("u1", None, "x")]).replace(b'"x"', b'"\\ud83d"')
    (node,), _ = records(data)

    assert body_of(data, node).message == {"role": "user", "content": "\ufffd"}


def test_the_last_microcompaction_that_names_a_call_counts() -> None:
    """Each call id has the byte of that boundary."""

    def microcompaction(uuid: str, ids: Any) -> dict[str, Any]:
        about = {"compactedToolIds": ids}
        return record(
            "system", uuid, None, subtype="microcompact_boundary", microcompactMetadata=about
        )

    data = dump([microcompaction("b1", ["t1", "t2"]), microcompaction("b2", ["t2"])])
    nodes, _ = records(data + dump([microcompaction("b3", None), typed("u1", None, "a")]))

    assert cleared(nodes) == {"t1": nodes[0].start, "t2": nodes[1].start}
