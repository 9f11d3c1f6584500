"""Texts are found by the words in them, in languages with and without spaces."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.tools.search import LEAD_CHARACTERS, WORDS_MAX, excerpt_start, search, words_of

TEXTS = st.text(alphabet="ab 数据库é_.", max_size=12)


@given(st.lists(TEXTS, max_size=8), TEXTS)
def test_what_is_found_holds_a_word_and_what_holds_one_is_found(
    texts: list[str], query: str
) -> None:
    """No text comes twice, and none without a reason."""
    words = words_of(query)

    found = search(texts, words)

    assert len(set(found)) == len(found)
    long = [word for word in words if not (word.isascii() and len(word) <= 3)]
    for at, text in enumerate(texts):
        holds_any = any(word in text.casefold() for word in words)
        holds_long = any(word in text.casefold() for word in long)
        assert (at in found) <= holds_any
        assert holds_long <= (at in found)


@given(st.text(), st.text(max_size=40))
def test_an_excerpt_begins_inside_of_the_text(text: str, query: str) -> None:
    """Whatever is looked for, and whatever the text is made of."""
    start = excerpt_start(text, words_of(query))

    assert 0 <= start <= len(text)


def test_words_are_found_without_regard_to_case_each_once() -> None:
    """In the order in which they were asked for."""
    assert words_of("The Parser, the PARSER; and Straße.") == ("the", "parser", "and", "strasse")


def test_names_are_split_at_their_signs() -> None:
    """Paths and dotted names are words with signs between."""
    assert words_of("src/app_config.py") == ("src", "app_config", "py")


def test_chinese_is_looked_for_by_neighbours() -> None:
    """There are no spaces to split at, and the query need not stand there as a whole."""
    texts = ["今天天气很好。", "连接被拒绝：数据库没有启动。", "数据在文件里。"]

    words = words_of("数据库连接 失败")

    assert words == ("数据", "据库", "库连", "连接", "失败")
    assert search(texts, words) == [1, 2]


def test_other_scripts_without_spaces_are_too() -> None:
    """Japanese, Korean and Thai, each beside Latin words."""
    assert words_of("テスト失敗 test") == ("テス", "スト", "ト失", "失敗", "test")
    assert words_of("서버가") == ("서버", "버가")
    assert words_of("猫") == ("猫",)
    assert search(["黒い猫がいる", "犬"], words_of("猫")) == [0]


def test_a_word_is_found_inside_of_others() -> None:
    """So that one finds the names that were made of it."""
    assert search(["raise ConfigError", "app_config.load()", "nothing"], ("config",)) == [1, 0]


def test_a_short_word_is_found_only_by_itself() -> None:
    """Or it would be found everywhere."""
    assert search(["this is it", "this list", "ls -l is_x"], ("is",)) == [2, 0]


def test_the_more_words_and_the_rarer_the_better() -> None:
    """Of two texts with one word each, the one with the rarer word comes first."""
    texts = ["error in parser", "error in lexer", "error error error", "lexer and error: E1077"]

    assert search(texts, words_of("error E1077 lexer"))[:2] == [3, 1]
    assert search(texts, words_of("parser lexer"))[0] == 0


def test_of_equal_texts_the_last_comes_first() -> None:
    """What is newer is more likely meant."""
    assert search(["same words", "same words"], ("words",)) == [1, 0]


def test_a_query_of_endless_words_is_bounded() -> None:
    """Each costs a walk through all texts."""
    assert len(words_of(" ".join(f"word{number}" for number in range(1_000)))) == WORDS_MAX


def test_an_excerpt_shows_the_longest_word_with_some_lines_before() -> None:
    """From the beginning of a line where one is near."""
    text = "first line\n" + "x" * 500 + "\nthe second line\nConnectionRefused in db.py\n"

    start = excerpt_start(text, words_of("in connectionrefused"))

    assert text[start:].startswith("the second line")
    assert excerpt_start("a" * 1_000 + "needle", ("needle",)) == 1_000 - LEAD_CHARACTERS
    assert excerpt_start("needle", ("needle",)) == 0
    assert excerpt_start("hay", ("needle",)) == 0
