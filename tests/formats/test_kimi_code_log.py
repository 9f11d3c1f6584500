"""Kimi Code's context, replayed from its log."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.kimi_code_log import GIVEN_UP, Log, Slot, origin_kind
from minutebook.messages import TextPart, call

STEPS = st.lists(
    st.one_of(
        st.sampled_from(["user", "note", "step", "clear", "stray"]),
        st.tuples(st.just("calls"), st.integers(1, 3), st.integers(0, 3)),
        st.tuples(st.just("undo"), st.integers(-1, 3)),
        st.tuples(st.just("mask"), st.integers(0, 9)),
        st.tuples(st.just("compact"), st.one_of(st.none(), st.integers(0, 4)),
                  st.one_of(st.none(), st.integers(0, 3))),
        st.tuples(st.just("open"), st.integers(0, 9)),
        st.tuples(st.just("close"), st.integers(0, 9)),
        st.tuples(st.just("root"), st.integers(0, 9)),
    ),
    max_size=14,
)  # fmt: skip


def slot(text: str, role: str = "user", kind: str = "user") -> Slot:
    made = Slot(role, at=None, kind=kind)
    made.parts.append(TextPart(text))
    return made


def result(call_id: str, text: str = "done") -> Slot:
    made = slot(text, "tool")
    made.call_id = call_id
    return made


def names(log: Log, places: list[int]) -> list[str]:
    """Name messages by their text, replies by how many calls they have."""
    found = []
    for at in places:
        said = log.slots[at]
        text = "".join(part.text for part in said.parts if isinstance(part, TextPart))
        text = text or (said.message.text if said.message is not None else "")
        found.append(text or f"{said.role}+{len(said.calls)}")
    return found


def replies(log: Log, uuid: str, *ids: str) -> None:
    """Make a step with calls."""
    log.step(uuid, None)
    for name in ids:
        log.call(uuid, call(name, "f"))


@given(STEPS)
def test_whatever_happens_each_message_is_in_one_place(steps: list[Any]) -> None:
    """A slot is in the context once, or left, or out of it; what is sent is made of slots."""
    log = Log()
    for number, step in enumerate(steps):
        match step:
            case "user" | "note":
                log.add(slot(f"{step}{number}", kind="user" if step == "user" else "injection"))
            case "step":
                log.step(f"s{number}", None)
                reply = log.reply(f"s{number}")
                assert reply is not None
                reply.parts.append(TextPart("said"))
            case "clear":
                log.clear()
            case "stray":
                assert not log.result(result("none"))
            case ("calls", int(calls), int(answers)):
                replies(log, f"s{number}", *(f"c{number}-{at}" for at in range(calls)))
                for at in range(min(calls, answers)):
                    assert log.result(result(f"c{number}-{at}", "x" * 500))
            case ("undo", int(count)):
                log.undo(count)
            case ("mask", int(cutoff)):
                log.mask(cutoff)
            case ("compact", count, head):
                record = {"keptUserMessageCount": count, "keptHeadUserMessageCount": head,
                          "compactedCount": 1, "tokensAfter": 5}  # fmt: skip
                log.compact(record, slot("summary", kind="compaction_summary"))
            case ("open", int(at)):
                log.spine("spine.open", {"id": "t", "openedAt": at}, slot(""))
            case ("close", int(at)):
                log.spine("spine.close", {"id": "t", "closedAt": at}, slot("note"))
            case ("root", int(at)):
                root = {"epochStartAt": at, "epochMemoryAt": at - 1 if at else None}
                log.spine("spine.root_compact", root, slot(""))
            case _:
                raise AssertionError
    log.finish()

    assert len(set(log.context)) == len(log.context)
    assert not log.left & set(log.context)
    assert len(set(log.view())) == len(log.view())
    assert set(log.view()) <= set(range(len(log.slots)))
    assert log.blanked() <= set(log.context)


def test_messages_wait_behind_open_calls() -> None:
    """Results come first; calls that the next step overtakes have a made-up result."""
    log = Log()
    log.add(slot("task"))
    replies(log, "s1", "c1", "c2")
    log.add(slot("more"))
    log.result(result("c1"))
    assert names(log, log.context) == ["task", "assistant+2", "done"]

    log.step("s2", None)

    assert names(log, log.context) == ["task", "assistant+2", "done", GIVEN_UP, "more"]
    log.finish()
    assert log.step_of("s1") is log.slots[1]
    assert log.step_of("none") is None


def test_a_step_that_says_nothing_leaves_no_message() -> None:
    """And parts that come before any step have no reply to go to."""
    log = Log()
    assert log.reply("none") is None
    log.call("none", call("c", "f"))
    log.step("s1", None)
    log.step("s2", None)

    assert log.context == []


def test_an_undo_cuts_at_the_users_messages() -> None:
    """Injections before them stay; it stops at a summary, and does all or nothing."""
    log = Log()
    log.compact({}, slot("so far", kind="compaction_summary"))
    for text, kind in (("a", "user"), ("note", "injection"), ("b", "user"), ("c", "")):
        log.add(slot(text, kind=kind))

    log.undo(4)
    assert names(log, log.context) == ["so far", "a", "note", "b", "c"]
    log.undo(0)
    log.undo(2)

    assert names(log, log.context) == ["so far", "a", "note"]
    assert log.reverts == 1
    assert names(log, sorted(log.left)) == ["b", "c"]


def test_a_compaction_keeps_users_or_a_tail() -> None:
    """The newest of them, the first and the last ones around a notice, or what older logs say."""

    def kept(**record: Any) -> list[str]:
        log = Log()
        for text in ("a", "b", "c", "d"):
            log.add(slot(text))
            log.add(slot("r", "assistant", ""))
        log.compact(record, slot("so far", kind="compaction_summary"))
        return names(log, log.context)

    assert kept(keptUserMessageCount=2) == ["c", "d", "so far"]
    assert kept(keptUserMessageCount=9) == ["a", "b", "c", "d", "so far"]
    assert kept(keptUserMessageCount=0) == ["so far"]
    head = kept(keptUserMessageCount=3, keptHeadUserMessageCount=1)
    assert (head[0], head[2:]) == ("a", ["c", "d", "so far"])
    assert kept(compactedCount=6) == ["so far", "d", "r"]


def test_an_estimate_follows_a_compaction_that_ends_the_context() -> None:
    """Not one with a tail, which the estimate covers too."""
    log, tailed = Log(), Log()
    log.compact({"keptUserMessageCount": 0, "tokensAfter": 7}, slot("s"))
    tailed.add(slot("a"))
    tailed.compact({"compactedCount": 0, "tokensAfter": 7}, slot("s"))

    assert log.slots[0].usage is not None
    assert log.slots[0].usage.estimated
    assert tailed.slots[-1].usage is None


def test_closed_tasks_are_replaced_by_their_notes() -> None:
    """The outermost one counts; an open one is sent as it is."""
    log = Log()
    for text in "abcdefgh":
        log.add(slot(text))
    log.spine("spine.open", {"id": "1", "openedAt": 1}, slot(""))
    log.spine("spine.open", {"id": "1.1", "openedAt": 2}, slot(""))
    log.spine("spine.next", {"closedId": "1.1", "closedAt": 3, "openedId": "1.2"}, slot("n1"))
    assert names(log, log.view()) == ["a", "b", "n1", "e", "f", "g", "h"]

    log.spine("spine.close", {"id": "1", "closedAt": 5}, slot("n2"))

    assert names(log, log.view()) == ["a", "n2", "g", "h"]
    log.spine("spine.close", {"id": "none", "closedAt": 5}, slot("n3"))
    log.spine("spine.other", {}, slot(""))
    assert names(log, log.view()) == ["a", "n2", "g", "h"]


def test_a_root_compaction_begins_anew_behind_its_summary() -> None:
    """A cut before it brings all of before back, and mends the tasks that it goes through."""
    log = Log()
    for text in ("a", "b", "c", "so far", "d"):
        log.add(slot(text))
    log.spine("spine.open", {"id": "1", "openedAt": 1}, slot(""))
    log.spine("spine.close", {"id": "1", "closedAt": 2}, slot("n"))
    log.spine("spine.root_compact", {"epochStartAt": 4, "epochMemoryAt": 3}, slot(""))
    assert names(log, log.view()) == ["so far", "d"]

    log.spine("spine.truncate_repair", {"cut": 2}, slot(""))

    assert names(log, log.view()) == ["a", "n", "c", "so far", "d"]
    log.spine("spine.truncate_repair", {"cut": 1}, slot(""))
    assert names(log, log.view()) == ["a", "b", "c", "so far", "d"]


def test_only_long_results_before_the_cutoff_are_blanked() -> None:
    """And an undo takes the cutoff back."""
    log = Log()
    log.add(slot("a"))
    replies(log, "s", "c1", "c2")
    log.result(result("c1", "x" * 500))
    log.result(result("c2", "short"))
    log.mask(9)

    assert names(log, sorted(log.blanked())) == ["x" * 500]
    log.undo(1)
    assert (log.cutoff, log.blanked()) == (0, set())
    log.clear()
    assert log.view() == []


def test_an_origin_says_who_typed_a_command() -> None:
    """A missing one says nothing."""
    typed = {"origin": {"kind": "skill_activation", "trigger": "user-slash"}}

    assert origin_kind(typed) == ("skill_activation", True)
    assert origin_kind({}) == ("", False)
    assert Slot("user", at=None, kind="skill_activation", typed=True).real
    assert not Slot("user", at=None, kind="skill_activation").real
