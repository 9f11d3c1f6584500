"""The language of a conversation, and texts for each."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.names import told_in
from minutebook.compaction.phrases import (
    ALL,
    CHINESE,
    ENGLISH,
    NEUTRAL,
    SECTIONS,
    USES,
    Phrases,
    detect,
    phrases_for,
)
from minutebook.messages import Message, assistant, tool, user


def places(template: str) -> set[str]:
    """Give the names of the places in a template."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("phrases", ALL, ids=lambda phrases: phrases.language or "neutral")
def test_every_language_has_every_text_with_the_same_places(phrases: Phrases) -> None:
    """A place that one language lacks would be lost when a summary is read back."""
    assert set(phrases.headings) == set(SECTIONS)
    assert tuple(phrases.uses) == USES
    assert len(set(phrases.headings.values())) == len(SECTIONS)
    for field in Phrases.__struct_fields__:
        mine, english = getattr(phrases, field), getattr(ENGLISH, field)
        if isinstance(mine, str) and field != "language":
            assert places(mine) == places(english), field
        elif isinstance(mine, dict):
            assert {key: places(text) for key, text in mine.items()} == {
                key: places(text) for key, text in english.items()
            }


def test_leads_tell_their_languages_apart() -> None:
    """Each begins differently, so a summary is read by the table that wrote it."""
    assert len({phrases.lead[:5] for phrases in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("please fix the failing test in src/app.py", "en"),
        ("go", "en"),
        ("修复 tests/test_x.py 里的 bug, run pytest", "zh"),
        ("继续", "zh"),
        ("帮我看一下 src/minutebook/budget.py 和 README.md", "zh"),
        ("please translate 你好世界 into the other language of the page", "en"),
        ("Preciso corrigir o cálculo do frete. Não mexa na tabela.", ""),
        ("bitte den Fehler in main.py beheben", ""),
        ("je veux corriger le calcul", ""),
        ("Проверь file.py", ""),
        ("このバグを直してください", ""),
        ("오류를 고쳐줘", ""),
        ("```\nder die das und\n```\nfix this", "en"),
        ("`src/app.py`", None),
        ("src/app.py 42 !!", None),
        ("", None),
    ],
)
def test_the_language_is_told_by_people_s_words(text: str, language: str | None) -> None:
    """English, Chinese, another, or none to tell; code and paths don't count."""
    assert detect([text]) == language


@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_has_a_language_or_none(texts: list[str]) -> None:
    """Nothing is raised, and the answer is one of four."""
    assert detect(texts) in {"en", "zh", "", None}


def test_people_decide_and_the_assistant_only_where_they_say_nothing() -> None:
    """Tools never do, and injected text is no person's."""
    injected = Message(role="user", content="the file is open in the editor", origin="injection")
    english = assistant("The problem is in the parser of this file.")

    assert phrases_for([user("修复解析器"), english, injected]) is CHINESE
    assert phrases_for([assistant("问题在于解析器"), tool("c", "the end of the file")]) is CHINESE
    assert phrases_for([user("corrige el error del archivo"), english]) is NEUTRAL
    assert phrases_for([tool("c", "修复")]) is ENGLISH
    assert phrases_for([]) is ENGLISH


def test_the_newest_messages_decide() -> None:
    """People change their language; what they wrote long ago doesn't outvote that."""
    history = [user("please fix the tests of the app")] * 300 + [user("请继续修复测试")] * 200

    assert phrases_for(history) is CHINESE


@pytest.mark.parametrize("phrases", ALL, ids=lambda phrases: phrases.language or "neutral")
def test_a_full_line_of_names_is_a_sentence(phrases: Phrases) -> None:
    """It has no more references than ordinary words, place and record counted with the names."""
    names = [f"name_{at}" for at in range(phrases.names_per_line)]
    for template in (
        phrases.names,
        phrases.names_used,
        phrases.loose_names,
        phrases.loose_names_used,
        phrases.stub_names,
    ):
        line = template.format(
            place="src/app.py",
            names=phrases.comma.join(names),
            times=12,
            record=phrases.record.format(n=1_234),
        )

        assert set(names) <= told_in(line), line


@pytest.mark.parametrize("phrases", ALL, ids=lambda phrases: phrases.language or "neutral")
def test_lines_of_files_commands_errors_and_stubs_are_sentences(phrases: Phrases) -> None:
    """Four ordinary words at least, so that what they name is remembered."""
    record = phrases.record.format(n=7)
    uses = phrases.uses["edit"].format(n=2)
    lines = (
        phrases.file.format(path="src/app.py", uses=uses, record=record),
        phrases.command.format(command="make src/app.py", runs=2, record=record),
        phrases.error.format(text="bad src/app.py", source="make", record=record),
        phrases.stub.format(tool="read src/app.py", lines=3, chars=40, record=record),
        phrases.ledger_todo.format(text="src/app.py", record=record),
        phrases.ledger_rule.format(text="src/app.py", record=record),
    )

    for line in lines:
        assert "src/app.py" in told_in(line), line
