"""Rollouts replayed: compactions, rollbacks, usage."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.codex_log import Log
from minutebook.formats.items import Piece
from minutebook.formats.value import Reading
from minutebook.formats.views import arrange
from minutebook.messages import TextPart, call
from minutebook.records import Usage
from tests.formats.altered import behind, holds, texts


def said(role: str, text: str, origin: str | None = None) -> Piece:
    return Piece(role=role, parts=(TextPart(text),), origin=origin, key=text)


def asked(text: str) -> Piece:
    return said("user", text, "user")


def is_user(piece: Piece) -> bool:
    return piece.origin == "user"


def reading(log: Log) -> Reading:
    found = log.arranged()
    records, left_out = arrange(found.items, sent=found.sent, why=found.why)
    return Reading(format="x", evidence="y", records=tuple(records), left_out=left_out)


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["user", "reply", "count", "result", "users"]),
        st.tuples(st.just("compact"), st.lists(st.integers(0, 9), max_size=4)),
        st.tuples(st.just("revert"), st.integers(-1, 4)),
    ),
    max_size=14,
)


@given(STEPS)
def test_whatever_happens_each_message_is_there_once(steps: list[object]) -> None:
    """Of a compaction's pieces those that are copies stand for their originals."""
    log = Log(real_user=is_user)
    once: list[str] = []
    users: set[str] = set()
    for number, step in enumerate(steps):
        match step:
            case "user":
                log.add(asked(f"u{number}"))
                users.add(f"u{number}")
            case "reply":
                log.add(said("assistant", f"a{number}"))
                once.append(f"a{number}")
            case "result":
                log.add(Piece(role="tool", parts=(TextPart(f"r{number}"),), call_id="c"))
                once.append(f"r{number}")
            case "count":
                log.count(Usage(token_count=number + 1))
            case "users":
                log.compact([*log.users(), said("user", f"s{number}", "summary")])
                once.append(f"s{number}")
            case ("compact", [*marks]):
                log.compact([asked(f"u{mark}") for mark in marks])
                users.update(f"u{mark}" for mark in marks)
            case ("revert", int(turns)):
                log.revert(turns)
            case _:
                raise AssertionError

    found = reading(log)

    holds(found)
    there = [text for message in found.everything for text in message.text.split("\n")]
    assert sorted(text for text in there if text not in users) == sorted(once)
    assert users == {text for text in there if text.startswith("u")}


def test_a_compaction_keeps_originals_where_they_were() -> None:
    """Once each: what is left out stands before what took its place."""
    log = Log(real_user=is_user)
    for piece in (asked("u1"), said("assistant", "a1"), asked("u2"), said("assistant", "a2")):
        log.add(piece)
    log.compact([said("user", "here", "injection"), asked("u1"), asked("u2"),
                 said("user", "so far", "summary")])  # fmt: skip
    log.add(asked("u3"))

    found = reading(log)

    assert texts(found.sent) == ["here", "u1", "u2", "so far", "u3"]
    assert texts(found.earlier) == ["a1", "a2"]
    assert texts(found.everything) == ["here", "u1", "a1", "u2", "a2", "so far", "u3"]
    assert log.compactions == 1


def test_a_reply_of_which_only_the_text_is_kept_is_shortened() -> None:
    """Its whole form, with thinking and calls, is on the branch."""
    log = Log(real_user=is_user)
    log.add(Piece(role="assistant", parts=(TextPart("thought"),), key="t"))
    log.add(said("assistant", "answer"))
    log.add(Piece(role="assistant", call=call("c", "f"), key="c"))
    log.compact([said("assistant", "answer")])

    found = reading(log)

    assert texts(found.sent) == ["answer"]
    assert texts(found.branch) == ["thought\nanswer"]
    assert [len(message.calls) for message in found.branch] == [1]


def test_usage_stands_behind_its_reply_whatever_came_between() -> None:
    """Results may be written before the count; a count without a reply stands where it is."""
    log = Log(real_user=is_user)
    log.add(asked("u"))
    log.add(Piece(role="assistant", call=call("c", "f")))
    log.add(Piece(role="tool", parts=(TextPart("r"),), call_id="c"))
    log.count(Usage(token_count=1))
    log.count(Usage(token_count=2))

    found = reading(log)

    assert behind(found) == ["assistant", "tool"]
    assert [type(record).__name__ for record in found.records] == [
        "Message", "Message", "Usage", "Message", "Usage",
    ]  # fmt: skip
    assert len(log.usages()) == 2


def test_a_count_ends_a_reply() -> None:
    """Two calls of the model in a row are two replies."""
    log = Log(real_user=is_user)
    log.add(said("assistant", "a"))
    log.count(Usage(token_count=1))
    log.add(said("assistant", "b"))

    assert texts(reading(log).sent) == ["a", "b"]


def test_a_rollback_drops_turns_and_what_they_compacted() -> None:
    """The context before the dropped turn is back; more turns than there are drop all."""
    log = Log(real_user=is_user)
    log.add(said("system", "rules"))
    for piece in (asked("u1"), said("assistant", "a1"), asked("u2"), said("assistant", "a2")):
        log.add(piece)
    log.compact([asked("u2")])
    log.revert(1)

    found = reading(log)

    assert texts(found.sent) == ["rules", "u1", "a1"]
    assert [item.message.text for item in found.left_out if item.why == "abandoned"] == ["u2", "a2"]
    log.revert(0)
    log.revert(9)
    assert texts(reading(log).sent) == ["rules"]
    assert log.reverts == 2


def test_without_a_list_a_compaction_keeps_the_beginning_and_the_users() -> None:
    """What stands before the first turn, and what users said."""
    log = Log(real_user=is_user)
    log.add(said("system", "rules"))
    log.add(asked("u1"))
    log.count(Usage(token_count=1))
    log.add(said("user", "noise", "injection"))
    log.add(said("assistant", "a1"))

    assert [piece.key for piece in log.users()] == ["rules", "u1"]
