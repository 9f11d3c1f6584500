"""The ledger: exact words are carried on by rule, in sentences, within a budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.budget import Policy
from minutebook.compaction.digest.facts import Facts
from minutebook.compaction.digest.gather import gather
from minutebook.compaction.digest.names import names_in, ordinary_words
from minutebook.compaction.ledger import (
    LEDGER_TOKENS_MAX,
    is_ledger,
    ledger_room,
    with_ledger,
    without_ledgers,
)
from minutebook.compaction.phrases import ALL, CHINESE, ENGLISH, Phrases
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.compaction.shown import Shown
from minutebook.messages import Message, assistant, replace, user
from minutebook.turns import cuts
from tests.compaction.conversations import histories, lines, numbered, step

LEAD = ENGLISH.ledger_lead.partition("{")[0]


def goal(history: tuple[Message, ...], phrases: Phrases = ENGLISH) -> Goal:
    """Give a goal that knows the facts of a history."""
    return Goal(
        policy=Policy(),
        phrases=phrases,
        target=10_000,
        limit=40_000,
        room=10_000,
        ledger=2_000,
        facts=gather(history),
    )


def left(history: tuple[Message, ...], *stays: int) -> Draft:
    """Begin a compaction, and leave only some records in the draft."""
    draft = begin(Request(history=history))
    return draft.replaced([item for item in draft.items if item.message.seq in stays])


def ledger_of(draft: Draft) -> str:
    """Give the text of the one ledger of a draft."""
    (text,) = [item.message.text for item in draft.items if is_ledger(item.message)]
    return text


WORK = numbered(
    [
        user("Fix src/parser.py please. Never touch config/legacy.toml."),
        *step(
            "a",
            "read_file",
            "def parse_line(row_text):\n    return SHARED_LIMIT",
            path="src/parser.py",
        ),
        *step("b", "bash", "Exit code: 1\nValueError: bad row 512", command="python run.py"),
        *step("c", "todo", "ok", todos=[{"title": "write docs/parser.md", "status": "pending"}]),
        assistant("I looked at parse_line."),
        user("And now?"),
        assistant("I go on."),
    ]
)


def test_what_nobody_can_read_any_more_stands_in_the_ledger() -> None:
    """A directive, an entry of the list, an unsolved error, and names with their places."""
    draft, detail = with_ledger(left(WORK, 10, 11), goal(WORK), 600)

    text = ledger_of(draft)
    assert text.startswith("Ledger of records 1 to 10: exact words from earlier messages")
    assert (
        "- The user asked for this to hold from then on: Never touch config/legacy.toml. (record 1)"
        in text.split("\n")
    )
    assert "has this: write docs/parser.md (pending) (record 6)" in text
    assert "- ValueError: bad row 512 (from `python run.py` in record 5); not seen to" in text
    for name in ("src/parser.py", "parse_line", "row_text", "SHARED_LIMIT"):
        assert name in text
    assert detail == f"{text.count(chr(10))} lines of exact words are carried on"


def test_what_can_be_read_is_not_told_again() -> None:
    """In kept messages, or in lines of ours that tell what they are about."""
    draft = left(WORK, *range(1, 11))

    assert with_ledger(draft, goal(WORK), 600) == (draft, "")


def test_a_bare_list_of_names_is_no_memory() -> None:
    """Names in a line of ours without words are told again in a sentence."""
    bare = Message(role="user", content="- parse_line, row_text, SHARED_LIMIT", origin="summary")
    history = (*WORK, replace(bare, seq=99))
    draft = begin(Request(history=history))
    kept = draft.replaced([draft.items[-1]])

    assert not {"parse_line", "row_text"} & Shown(kept.messages).names
    assert "parse_line" in ledger_of(with_ledger(kept, goal(history), 600)[0])


@given(histories(), st.sampled_from(ALL), st.integers(60, 900))
@settings(max_examples=60)
def test_a_ledger_fits_its_room_and_its_lines_are_sentences(
    history: tuple[Message, ...], phrases: Phrases, room: int
) -> None:
    """In every language: at least four ordinary words, and no more references than words."""
    draft = left(history)

    after, _ = with_ledger(draft, goal(history, phrases), room)

    assert after.tokens - draft.tokens <= room
    for item in after.items:
        for line in item.message.text.split("\n")[1:]:
            names = names_in(line)
            assert ordinary_words(line) >= 4
            if line.startswith(tuple(text.partition("{")[0] for text in _name_leads(phrases))):
                assert len(names) <= ordinary_words(line)


def _name_leads(phrases: Phrases) -> list[str]:
    return [
        f"- {template}"
        for template in (
            phrases.names,
            phrases.names_used,
            phrases.loose_names,
            phrases.loose_names_used,
        )
    ]


@pytest.mark.parametrize("phrases", ALL, ids=["en", "zh", "neutral"])
def test_a_ledger_is_read_back(phrases: Phrases) -> None:
    """The next compaction knows what it told, in whatever language it was written."""
    draft, _ = with_ledger(left(WORK), goal(WORK, phrases), 900)
    carried = replace(draft.items[0].message, seq=50)

    facts = gather([carried])

    assert [quote.text for quote in facts.rules] == ["Never touch config/legacy.toml."]
    assert [quote.text for quote in facts.open] == ["write docs/parser.md (pending)"]
    assert [failure.text for failure in facts.errors.values()] == ["ValueError: bad row 512"]
    assert {"parse_line", "row_text", "src/parser.py"} <= set(facts.names)
    assert facts.names["parse_line"].uses == 1
    assert facts.names["row_text"].uses == 0
    assert facts.count == 0


def test_names_of_the_task_and_the_newest_part_come_first() -> None:
    """Before any number of names that are worth more."""
    many = [f"name_{at}" for at in range(400)]
    history = numbered(
        [
            user("Look at old_target please"),
            *step("a", "read_file", " ".join(many), path="src/many.py"),
            assistant(" ".join(many)),
            *[assistant("Hm.") for _ in range(12)],
        ]
    )

    draft, _ = with_ledger(left(history), goal(history), 120)

    assert "old_target" in ledger_of(draft)


def test_embeddings_raise_what_is_near_to_the_focus() -> None:
    """A caller's vectors decide between names of equal worth."""
    from minutebook.compaction.relevance import Relevance

    names = [f"thing_{at}" for at in range(200)]
    history = numbered([user("x y z"), assistant(" ".join(names)), *[user("ok")] * 13])
    near = Relevance("focus", lambda texts: [_vector(text) for text in texts])
    plain = goal(history)
    from msgspec.structs import replace as changed

    without, _ = with_ledger(left(history), plain, 150)
    with_near, _ = with_ledger(left(history), changed(plain, relevance=near), 150)

    assert "thing_199" not in ledger_of(without)
    assert "thing_199" in ledger_of(with_near)


def _vector(text: str) -> list[float]:
    return [1.0, 0.0] if "focus" in text or "thing_199" in text else [0.0, 1.0]


def test_the_room_is_no_more_than_the_facts_can_use() -> None:
    """At most its share and a stated most."""
    none, some = Facts(), gather(WORK)

    assert ledger_room(none, 10_000, 0.25) == 60
    assert 100 < ledger_room(some, 100_000, 0.25) < 400
    assert ledger_room(some, 100, 0.25) == 25
    some.meet([f"name_{at}" for at in range(10_000)], 1, place="", own=True)
    assert ledger_room(some, 10_000, 0.25) == 2_500
    assert ledger_room(some, 10**6, 0.25) == LEDGER_TOKENS_MAX


def test_no_room_and_no_facts_mean_no_ledger() -> None:
    """The draft comes back as it was."""
    draft = left(WORK)
    bare = Goal(policy=Policy(), phrases=ENGLISH, target=1, limit=4, room=1)

    assert with_ledger(draft, goal(WORK), 59) == (draft, "")
    assert with_ledger(draft, bare, 1_000) == (draft, "")


def test_earlier_ledgers_leave_unless_they_are_marked() -> None:
    """A new one takes their place; a pinned one is a message like any other."""
    old = Message(role="user", content=ENGLISH.ledger_lead.format(first=1, last=2), origin="notice")
    history = (*WORK, replace(old, seq=20), replace(old, seq=21))

    draft = without_ledgers(begin(Request(history=history, pins=frozenset([21]))))

    assert [item.message.seq for item in draft.items] == [*range(1, 11), 21]
    assert without_ledgers(draft) is draft


def test_only_the_origin_makes_a_ledger() -> None:
    """A person may write the same words (case C118)."""
    text = ENGLISH.ledger_lead.format(first=1, last=2)

    assert is_ledger(Message(role="user", content=text, origin="notice"))
    assert not is_ledger(user(text))
    assert not is_ledger(Message(role="user", content=text))
    assert not is_ledger(Message(role="user", content=f"Well: {text}", origin="notice"))


def test_a_ledger_stands_behind_the_summary_and_before_what_waits() -> None:
    """It splits no exchange."""
    history = numbered(
        [user("Fix it all please"), *step("a", "bash", lines(30)), assistant("ok"), user("and?")]
    )
    draft = begin(Request(history=history))
    told = Message(role="user", content="told", origin="summary")
    from minutebook.compaction.plan import made

    with_summary = draft.replaced([draft.items[0], made(told), *draft.items[3:]])
    behind, _ = with_ledger(with_summary, goal(history), 300)
    first, _ = with_ledger(draft.replaced(draft.items[3:]), goal(history), 300)

    assert [item.message.origin for item in behind.items][:3] == ["user", "summary", "notice"]
    assert is_ledger(first.items[0].message)
    for after in (behind, first):
        at = [is_ledger(item.message) for item in after.items].index(True)
        assert at in cuts([item.message for item in after.items])
        assert after.items[-1].message.text == "and?"


def test_a_chinese_conversation_has_a_chinese_ledger() -> None:
    """Our words are in its language, the names as they are."""
    draft, _ = with_ledger(left(WORK), goal(WORK, CHINESE), 600)

    text = ledger_of(draft)
    assert text.startswith("备查：记录 1 至 10 ")
    assert "用户要求此后一直照办的是：Never touch config/legacy.toml. (记录 1)" in text
