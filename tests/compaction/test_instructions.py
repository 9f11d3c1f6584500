"""The words with which a summary is asked for."""

import pytest

from minutebook.compaction.instructions import closing, instruction, opening, with_further
from minutebook.compaction.phrases import ALL, CHINESE, ENGLISH, Phrases


@pytest.mark.parametrize("phrases", ALL, ids=lambda phrases: phrases.language or "neutral")
def test_the_instruction_asks_for_the_digests_headings(phrases: Phrases) -> None:
    """Each heading but that of carried lines is asked for, in the order of the digest."""
    text = instruction(phrases, updating=False, merging=False)
    asked = [
        text.find(f"\n{heading}: ")
        for name, heading in phrases.headings.items()
        if name != "earlier"
    ]

    assert min(asked) > 0
    assert f"## {phrases.headings['task']}\n- " in text
    assert phrases.record.format(n=12) in text


def test_case_c043_the_instruction_asks_for_what_summaries_lose() -> None:
    """Case C043: prohibitions, failed attempts with their reason, and exact values."""
    text = instruction(ENGLISH, updating=False, merging=False).lower()

    for asked in ("prohibition", "never be done", "led nowhere, with the reason", "exact values"):
        assert asked in text
    assert "never round" in text


def test_updating_and_merging_say_what_is_different() -> None:
    """An earlier summary is brought up to date; pieces become one."""
    plain = instruction(ENGLISH, updating=False, merging=False)

    assert "up to date" in instruction(ENGLISH, updating=True, merging=False)
    assert "one set of minutes" in instruction(ENGLISH, updating=False, merging=True)
    assert "up to date" not in plain
    assert "one set of minutes" not in plain


def test_further_instructions_are_added_and_blank_ones_are_not() -> None:
    """They stand behind the instruction."""
    assert with_further("a", ["", " "]) == "a"
    assert with_further("a", ["b", " c "]) == "a\n\nBeyond that:\n\nb\n\nc"
    assert instruction(ENGLISH, updating=False, merging=False, further=["b"]).endswith("b")


def test_the_opening_names_the_part() -> None:
    """A part is told to be one."""
    assert "part 2 of 5" in opening(part=2, parts=5, merging=False)
    assert "part" not in opening(part=1, parts=1, merging=False)
    assert "minutes" in opening(part=1, parts=1, merging=True)


def test_the_closing_states_the_language_the_length_and_nothing_else_but_text() -> None:
    """The rule stands with or without a guess; length is in words, or in characters."""
    text = closing(language="Portuguese", budget_tokens=1_000, focus="")

    assert "in the language of the user's messages, which seems to be Portuguese" in text
    assert "600 words" in text
    assert "focus" not in text
    assert text.endswith("with nothing else.")
    assert "language of the user's messages;" in closing(language="", budget_tokens=9, focus="")
    assert "1100 characters" in closing(language="Chinese", budget_tokens=1_000, focus="")
    assert "30 words" in closing(language="", budget_tokens=9, focus="")


def test_a_focus_outranks_every_rule() -> None:
    """It says so, and stands in the closing, so that it is there with any instruction."""
    text = closing(language="", budget_tokens=100, focus=" the database port ")

    assert "Above every rule so far" in text
    assert "The focus: the database port\n" in text


def test_headings_of_a_chinese_conversation_are_chinese() -> None:
    """So that the summary can be read back by rule."""
    assert "\n任务: " in instruction(CHINESE, updating=False, merging=False)
