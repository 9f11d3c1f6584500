"""A D-Mail waits, one at a time, and goes only where it takes neither task nor summary away."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from minutebook.context import Context
from minutebook.lineage import Found, find_checkpoint
from minutebook.messages import Message, assistant, replace, user
from minutebook.records import (
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Next,
    Record,
    Revert,
    Rotated,
)
from minutebook.tools.dmail import LEAD, OFFER, SENT, Mailbox, letter

TASK = "Please mend the parser."
SUMMARY = replace(user("What was done so far."), origin="summary")
NOTICE = replace(user("9 messages were left out."), origin="notice")


class Logs:
    """A live log and the logs before it, made of records."""

    def __init__(self, *records: Record) -> None:
        """Begin with a log of these records."""
        self.rotations: dict[int, Context] = {}
        self.context = Context()
        self.add(*records)
        self.mailbox = Mailbox(self.find, lambda: self.context)

    def add(self, *records: Record) -> None:
        """Append records."""
        for record in records:
            self.context.apply(record)

    def rewrite(self, make: Callable[[Rotated, Next], Record], *kept: Record) -> None:
        """Begin a new log with a lineage record and what is kept; the old one is a rotation."""
        number = len(self.rotations) + 1
        self.rotations[number] = self.context
        first = make(Rotated(number), self.context.next)
        self.context = Context()
        self.add(first, *kept)

    def compact(self, *kept: Record) -> None:
        """Compact: a checkpoint, then what is kept."""
        free = self.context.next_checkpoint_id
        self.rewrite(
            lambda rotated, following: Compaction(
                id="c",
                parent=rotated,
                next=Next(checkpoint=following.checkpoint, seq=following.seq + 1),
            ),
            Checkpoint(id=free),
            *kept,
        )

    def clear(self) -> None:
        """Leave everything behind."""
        self.rewrite(lambda rotated, following: Clear(origin=rotated, next=following))

    def revert(self, to: int) -> None:
        """Go back within the live log, as a new log whose beginning is the old one's."""
        old, number = self.context, len(self.rotations) + 1
        kept = [old.history[at] for at in range(old.mark(to).messages)]
        marks = [mark for mark in old.checkpoints if mark.id < to]
        self.rotations[number] = old
        self.context = Context()
        for at, message in enumerate(kept):
            self.add(*(Checkpoint(id=mark.id) for mark in marks if mark.messages == at))
            self.add(message)
        self.add(Revert(origin=Rotated(number), to=to, next=old.next))

    def find(self, checkpoint: int) -> Found:
        """Find a checkpoint as a session does."""
        return find_checkpoint(
            self.context, checkpoint, lambda rotated: self.rotations.get(rotated.number)
        )

    def waiting(self) -> str | None:
        """Give the message that waits."""
        pending = self.mailbox.pending
        return None if pending is None else pending.message

    def send(self, checkpoint: object = 1, message: object = "It was the lexer.") -> str:
        """Call the tool."""
        arguments = {"message": message, "checkpoint_id": checkpoint}
        return self.mailbox.handle(json.dumps(arguments))


def working() -> Logs:
    """Give a conversation in its first turn, checkpoints 0 to 2."""
    return Logs(
        Checkpoint(id=0),
        user(TASK),
        Checkpoint(id=1),
        assistant("I look around."),
        Checkpoint(id=2),
        assistant("A very long output."),
    )


def test_a_message_waits_until_it_is_delivered_and_then_no_more() -> None:
    """The answer reads sensibly if nothing follows, for then the model reads it."""
    logs = working()

    assert logs.send(1) == SENT
    assert "has not been delivered" in SENT
    assert logs.waiting() == "It was the lexer."
    due = logs.mailbox.due()

    assert due is not None
    assert (due.checkpoint, due.message) == (1, "It was the lexer.")
    assert logs.mailbox.due() == due
    logs.mailbox.drop()
    assert logs.waiting() is None
    assert logs.mailbox.due() is None


def test_the_letter_says_who_wrote_it_and_what_is_gone() -> None:
    """It is no message of a person, whatever it says; the words are the model's own."""
    logs = working()
    logs.send(1, "<system>CHECKPOINT 9</system>")
    taken = logs.mailbox.due()
    assert taken is not None

    message = letter(taken)

    assert (message.role, message.origin) == ("user", "dmail")
    assert message.text == f"<system>{LEAD}</system>\n\n<system>CHECKPOINT 9</system>"


def test_one_waits_at_a_time() -> None:
    """The first stays; a second may be sent once it has been delivered or dropped."""
    logs = working()
    logs.send(1, "first")

    assert "Another message is waiting" in logs.send(2, "second")
    assert logs.waiting() == "first"
    logs.mailbox.drop()

    assert logs.waiting() is None
    assert logs.send(2, "second") == SENT


@pytest.mark.parametrize("checkpoint", [7, -1, 10**12])
def test_an_unknown_checkpoint_is_refused_with_those_that_there_are(checkpoint: int) -> None:
    """So that the model can choose one."""
    logs = working()

    assert logs.send(checkpoint) == (
        f"Not sent. There is no checkpoint {checkpoint}. The last ones are: 0, 1, 2."
    )
    assert logs.waiting() is None


def test_where_there_is_no_checkpoint_the_answer_says_so() -> None:
    """A list of none would only confuse."""
    assert Logs(user(TASK)).send(0) == "Not sent. There is no checkpoint 0. There is none at all."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"checkpoint_id": 1}, "`message`"),
        ({"message": "", "checkpoint_id": 1}, "`message`"),
        ({"message": "hello"}, "`checkpoint_id`"),
        ({"message": "hello", "checkpoint_id": "the first"}, "`checkpoint_id`"),
        ("{", "not JSON"),
        (None, "`message`"),
    ],
)
def test_arguments_that_make_no_sense_are_answered(arguments: Any, words: str) -> None:
    """In words for the model; nothing waits."""
    logs = working()

    answer = logs.mailbox.handle(arguments)

    assert answer.startswith("Not sent. ")
    assert words in answer
    assert logs.waiting() is None


def test_the_task_cannot_be_taken_away() -> None:
    """Checkpoint 0 stands before the first message of the user."""
    logs = working()

    assert "before the user's task" in logs.send(0)
    assert logs.send(1) == SENT


def test_without_any_user_there_is_no_task_to_keep() -> None:
    """An agent that nobody has written to may go back to its beginning."""
    logs = Logs(Checkpoint(id=0), assistant("I begin."), NOTICE, assistant("And go on."))

    assert logs.send(0) == SENT


def test_it_dies_with_its_turn() -> None:
    """Once the user has written again, going back would undo that too."""
    logs = working()
    logs.send(1)
    logs.add(assistant("Done."))
    assert logs.waiting()

    logs.add(user("Thanks. And now the lexer."))

    assert logs.waiting() is None
    assert logs.mailbox.due() is None


@pytest.mark.parametrize("origin", ["notice", "injection", "checkpoint", "dmail"])
def test_what_no_person_wrote_does_not_end_a_turn(origin: str) -> None:
    """Injections and notices come inside of turns."""
    logs = working()
    logs.send(1)

    logs.add(replace(user("the state of the plan"), origin=origin))

    assert logs.mailbox.due() is not None


def test_it_dies_with_a_clear() -> None:
    """What was cleared stays cleared."""
    logs = working()
    logs.send(1)

    logs.clear()

    assert logs.mailbox.due() is None


def test_it_dies_with_a_revert() -> None:
    """Somebody else went back already: the turn that it was sent in is undone."""
    logs = working()
    logs.send(1)

    logs.revert(2)

    assert logs.mailbox.due() is None
    assert logs.send(1) == SENT


def test_it_outlives_a_compaction_through_the_lineage() -> None:
    """The checkpoint is found in the rotation, with the task before it."""
    logs = working()
    logs.send(1)
    task = logs.context.history[0]

    logs.compact(task, SUMMARY, assistant("A part of the output."))

    taken = logs.mailbox.due()
    assert taken is not None
    found = logs.find(taken.checkpoint)
    assert found.source == 1
    assert [message.text for message in found.context.history[: found.mark.messages]] == [TASK]


def test_it_can_be_sent_to_before_a_compaction() -> None:
    """Also to before several of them."""
    logs = working()
    task = logs.context.history[0]
    logs.compact(task, SUMMARY, assistant("first"))
    logs.compact(task, SUMMARY, assistant("second"))

    assert logs.send(1) == SENT
    assert logs.find(1).source == 1


def test_a_revert_since_a_compaction_leaves_what_came_before_it() -> None:
    """Only what it has undone is out of reach."""
    logs = working()
    logs.compact(logs.context.history[0], SUMMARY)
    logs.add(Revert(origin=Rotated(9), to=4, next=Next(checkpoint=8, seq=20)))

    assert logs.send(1) == SENT


def test_it_dies_with_a_compaction_whose_rotation_is_gone() -> None:
    """Then the checkpoint cannot be reached; the model has been told nothing else."""
    logs = working()
    logs.send(1)
    logs.compact(logs.context.history[0], SUMMARY)

    logs.rotations.clear()

    assert logs.mailbox.due() is None


def test_the_summary_cannot_be_taken_away() -> None:
    """The checkpoint that a compaction writes stands before its summary."""
    logs = working()
    logs.compact(SUMMARY, assistant("the newest"))

    assert "before the summary" in logs.send(3)

    logs.add(Checkpoint(id=4), assistant("more"))
    assert logs.send(4) == SENT


def test_the_summary_of_a_foreign_compaction_cannot_either() -> None:
    """Kimi CLI leaves no record of it, and sets a checkpoint before the summary too."""
    lead = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    kimi = Message(role="user", content=f"{lead} The parser was mended.")
    logs = Logs(Checkpoint(id=0), kimi, Checkpoint(id=1), assistant("I go on."))

    assert "before the summary" in logs.send(0)
    assert logs.send(1) == SENT


def test_a_summary_stands_for_a_task_that_it_tells_of() -> None:
    """Later messages of the user may be taken back, as in any turn before."""
    logs = working()
    logs.compact(SUMMARY, assistant("the newest"))
    logs.add(Checkpoint(id=4), user("And now the lexer."), Checkpoint(id=5))

    assert logs.send(4) == SENT


def test_what_was_cleared_is_no_past() -> None:
    """Neither at once nor after a compaction does a D-Mail bring a cleared task back."""
    logs = working()
    logs.clear()
    assert "There is no checkpoint 1" in logs.send(1)

    logs.add(Checkpoint(id=3), user("Something else."), assistant("I begin."))
    assert "There is no checkpoint 2" in logs.send(2)
    logs.compact(logs.context.history[0], SUMMARY)

    assert "before the user's task" in logs.send(2)


def test_what_was_undone_is_no_past() -> None:
    """A checkpoint of the branch that a revert has left exists, and is not gone back to."""
    logs = working()
    logs.revert(2)
    logs.add(Checkpoint(id=3), assistant("another way"))
    assert logs.find(2).source == 1

    assert "There is no checkpoint 2" in logs.send(2)
    assert logs.send(1) == SENT


def test_a_fork_has_the_past_of_its_source() -> None:
    """The fork's own record is no rewrite."""
    logs = working()
    logs.add(Fork(source="other", next=logs.context.next))

    assert logs.send(1) == SENT
    assert logs.mailbox.due() is not None


def test_without_its_task_in_view_a_conversation_keeps_its_summary() -> None:
    """Where every message of the user is summarised, going back needs one or the other."""
    logs = Logs(Checkpoint(id=0), assistant("setting up"), Checkpoint(id=1))
    logs.add(user(TASK), Checkpoint(id=2), assistant("done"))
    logs.compact(SUMMARY, assistant("the newest"))

    assert "before the user's task" in logs.send(1)
    assert logs.send(2) == SENT


def test_the_offer_names_what_checkpoints_look_like() -> None:
    """The model has to find their numbers."""
    assert "CHECKPOINT n" in OFFER.description
