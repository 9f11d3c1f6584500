"""Of repeated readings the newest stays; copies of what was said before go."""

from hypothesis import given

from minutebook.budget import Policy
from minutebook.compaction.dedupe import dedupe
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.messages import Message, assistant, replace
from tests.compaction.conversations import histories, lines, numbered, step

READ = {"path": "src/app.py"}


def goal(policy: Policy | None = None) -> Goal:
    """Give a goal; its target doesn't matter here."""
    return Goal(policy=policy or Policy(), phrases=ENGLISH, target=10, limit=40, room=10)


def draft(*messages: Message) -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages)))


def masked(before: Draft, after: Draft) -> list[int]:
    """Give the records of the outputs that were set aside."""
    return [
        new.message.seq or 0
        for new, old in zip(after.items, before.items, strict=True)
        if new is not old
    ]


@given(histories())
def test_only_outputs_change_and_the_request_shrinks(history: tuple[Message, ...]) -> None:
    """Or nothing does."""
    before = begin(Request(history=history))

    after, detail = dedupe(before, goal())

    assert detail
    assert after is before or after.tokens < before.tokens
    for new, old in zip(after.items, before.items, strict=True):
        assert new is old or (old.message.role, new.message.elided) == ("tool", "mask")


def test_of_repeated_reads_the_newest_stays() -> None:
    """The stub says where the newer one is; another part of the file is no repetition."""
    history = [*step("a", "read_file", lines(40), "", **READ), assistant("Again.")]
    history += [*step("b", "read_file", lines(41), "", **READ), assistant("And another part.")]
    history += [*step("c", "read_file", lines(42), "", **READ, offset=9), assistant("Done.")]
    before = draft(*history)

    after, detail = dedupe(before, goal())

    assert masked(before, after) == [2]
    assert "since record 5 holds a newer one" in after.items[1].message.text
    assert detail == "1 outputs that are there twice were set aside"


def test_a_masked_copy_is_no_newer_read() -> None:
    """An output that only exists as a stub does not replace a whole one."""
    gone = step("b", "read_file", lines(40), "", **READ)
    gone[1] = replace(gone[1], elided="mask")
    before = draft(*step("a", "read_file", lines(40), "", **READ), *gone, assistant("Done."))

    assert dedupe(before, goal()) == (before, "no output is repeated by a newer one")


def test_what_was_brought_back_is_set_aside() -> None:
    """The originals are in the log already."""
    back = step("a", "recall_history", lines(40), query="parser")
    before = draft(*back, assistant("I see."), *step("b", "bash", lines(40)), assistant("Done."))

    after, _ = dedupe(before, goal())

    assert masked(before, after) == [2]


def test_a_small_repetition_and_an_excluded_tool_stay() -> None:
    """A stub would be no shorter; an excluded tool's outputs are left alone."""
    small = [*step("a", "read_file", "x", "", **READ), *step("b", "read_file", "x", "", **READ)]
    large = [
        *step("a", "read_file", lines(40), "", **READ),
        *step("b", "read_file", lines(40), "", **READ),
        assistant("Done."),
    ]
    before, other = draft(*small, assistant("Done.")), draft(*large)

    assert dedupe(before, goal())[0] is before
    assert dedupe(other, goal(Policy(exclude_tools=("read_file",))))[0] is other
