"""The guess at a conversation's language: by script or small words, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.language import guess, language_of
from minutebook.messages import assistant, tool, user
from tests.cases import case
from tests.compaction.conversations import case_history


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Please fix the build, and do not touch the tests.", "English"),
        ("Preciso corrigir o cálculo do frete, mas não mexa na tabela.", "Portuguese"),
        ("Necesito arreglar el error en los tests, pero no cambies la tabla.", "Spanish"),
        ("Répare le build et ne casse pas les tests, c'est tout.", "French"),
        ("Bitte den Fehler in der Datei beheben und nicht den Test.", "German"),
        ("Correggi il bug nella funzione di login e non toccare il resto.", "Italian"),
        ("Popraw błąd w pliku i nie zmieniaj testów, to jest ważne.", "Polish"),
        ("hãy sửa lỗi này cho tôi, không đổi tên", "Vietnamese"),
        ("修复登录页面的 bug，不要改 API", "Chinese"),
        ("ビルドを直してください", "Japanese"),
        ("빌드를 고쳐 주세요 부탁합니다", "Korean"),
        ("Почини сборку, пожалуйста", "Russian"),
        ("Виправ збірку, будь ласка, і не чіпай їх", "Ukrainian"),
        ("أصلح البناء من فضلك", "Arabic"),
        ("لطفا این خطا را درست کن و چیزی را تغییر نده", "Persian"),
        ("Φτιάξε το build σε παρακαλώ", "Greek"),
    ],
)
def test_a_language_is_told_by_its_script_or_its_small_words(text: str, language: str) -> None:
    """One sentence is enough."""
    assert guess([text]) == language


@pytest.mark.parametrize("text", ["", "ok", "run", "pytest -q src/app.py", "```\nthe and of\n```"])
def test_what_says_nothing_gives_no_guess(text: str) -> None:
    """A wrong guess would be worse than none; code, paths and quoted words say nothing."""
    assert guess([text]) == ""


def test_people_decide_and_replies_only_without_a_word_of_theirs() -> None:
    """English tool output and replies don't outvote the user."""
    english = assistant("I will read the file and then run the tests for you.")
    people = [user("Não mexa na tabela, por favor, e já está."), english, tool("a", "the of and")]

    assert language_of(people) == "Portuguese"
    assert language_of([english]) == "English"
    assert language_of([]) == ""


def test_case_c045_the_portuguese_session_is_known_as_such() -> None:
    """Case C045: the language of C045's session is Portuguese, from its first messages on."""
    case("C045")
    messages = case_history("C045")

    assert language_of(messages) == "Portuguese"
    assert language_of(messages[:2]) == "Portuguese"


@given(st.lists(st.text(max_size=200), max_size=5))
def test_any_text_gives_a_name_or_none(texts: list[str]) -> None:
    """Never raises, and what comes out is a word."""
    assert guess(texts).isalpha() or guess(texts) == ""
