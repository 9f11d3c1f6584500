"""`recall_history` reads originals back, by number or by words, within its budget."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import ConfigError, StoreError
from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.tokens.estimate import estimate_text
from minutebook.tools.originals import NAME
from minutebook.tools.recall import (
    EXCERPT_SHARE,
    FOUND_MAX,
    RECORDS_MAX,
    TOKENS_LEAST,
    Recall,
)


def numbered(*messages: Message) -> list[Message]:
    """Give messages with their numbers, from 1."""
    return [replace(message, seq=at + 1) for at, message in enumerate(messages)]


HISTORY = numbered(
    user("Mend the parser; never touch the lexer."),
    assistant("I read it.", tool_calls=[call("c1", "read", '{"path":"src/parser.py"}')]),
    tool("c1", "def parse(): raise ConnectionRefused"),
    replace(assistant("数据库连接被拒绝，端口是 5433。"), active=False),
    assistant(tool_calls=[call("c2", NAME, '{"query":"ConnectionRefused"}')]),
    tool("c2", "[record 3, result of read]\ndef parse(): raise ConnectionRefused"),
)


def ask(history: Sequence[Message] = HISTORY, tokens_max: int = 4_000, **arguments: Any) -> str:
    """Call the tool."""
    return Recall(lambda: history, tokens_max=tokens_max).handle(json.dumps(arguments))


def test_records_are_read_by_their_numbers_in_order() -> None:
    """Word for word, each with its number, who wrote it, and whether it is still in view."""
    assert ask(records=[4, 2, 1]) == (
        "[record 1, user]\nMend the parser; never touch the lexer.\n\n"
        '[record 2, assistant]\nI read it.\nread {"path":"src/parser.py"}\n\n'
        "[record 4, assistant, no longer in view]\n数据库连接被拒绝，端口是 5433。"
    )


def test_a_result_is_shown_with_its_tools_name() -> None:
    """The call that asked for it may be far away."""
    assert ask(records=[3]).startswith("[record 3, result of read]\n")


def test_records_are_found_by_words() -> None:
    """In the texts and in what calls were given."""
    assert ask(query="lexer") == "[record 1, user]\nMend the parser; never touch the lexer."
    assert ask(query="src/parser.py").startswith("[record 2, assistant]")


def test_chinese_records_are_found() -> None:
    """Although the words stand there in another order."""
    assert ask(query="拒绝连接数据库").startswith("[record 4, assistant, no longer in view]")


def test_its_own_results_and_calls_are_left_out() -> None:
    """A copy is no second source, neither by word nor by number."""
    assert ask(query="ConnectionRefused").count("[record") == 1
    assert ask(records=[6]) == "There is no record 6."
    assert ask(records=[5]) == "[record 5, assistant]\n"


def test_both_may_be_asked_for_and_nothing_comes_twice() -> None:
    """First what was named, then what was found."""
    answer = ask(records=[3], query="parse")

    assert [line for line in answer.splitlines() if line.startswith("[record")] == [
        "[record 3, result of read]",
        "[record 2, assistant]",
        "[record 1, user]",
    ]


def test_missing_records_are_named() -> None:
    """The first ones, if there are many."""
    assert ask(records=[1, 40]).startswith("There is no record 40.\n\n[record 1, user]")
    assert ask(records=list(range(100, 130))) == (
        "There is no record 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 and 20 more."
    )


def test_nothing_found_is_said() -> None:
    """An empty answer would look like a fault."""
    assert ask(query="swordfish") == "Nothing was found."
    assert ask([], query="swordfish") == "Nothing was found."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "Give `records`"),
        ({"query": " .,"}, "Give `records`"),
        ({"query": 7}, "`query`"),
        ({"records": "all"}, "`records`"),
        ({"records": [1, None]}, "`records`"),
        ({"records": [True]}, "`records`"),
        ({"records": list(range(RECORDS_MAX + 1))}, "at most"),
        ({"records": [1], "from_character": -1}, "`from_character`"),
        ({"records": [1], "from_character": "end"}, "`from_character`"),
    ],
)
def test_arguments_that_make_no_sense_are_answered(arguments: dict[str, Any], words: str) -> None:
    """In words for the model."""
    assert words in ask(**arguments)


def test_arguments_are_read_with_patience() -> None:
    """One number in place of a list, digits in place of numbers."""
    assert ask(records=1) == ask(records=["1"]) == ask(records=[1.0])
    assert Recall(lambda: HISTORY).handle("{") == "The arguments are not JSON."


def test_a_history_that_cannot_be_read_is_told() -> None:
    """A missing rotation is no reason to end the agent's step."""

    def missing() -> Sequence[Message]:
        raise StoreError("rotation 3 is missing", path="s/context_3.jsonl")

    assert Recall(missing).handle({"records": [1]}) == (
        "The history cannot be read: s/context_3.jsonl: rotation 3 is missing"
    )


TEXT = st.text(alphabet="abc 数据库é\n", max_size=400)


@given(
    st.lists(TEXT, min_size=1, max_size=6),
    st.integers(1, 40),
    st.integers(TOKENS_LEAST, 600),
    st.sampled_from(["", "abc", "数据库", "a"]),
    st.integers(0, 9_000),
)
def test_an_answer_keeps_to_its_budget(
    texts: list[str], times: int, tokens_max: int, query: str, start: int
) -> None:
    """However long the records, and whatever is asked for."""
    history = numbered(*(user(text * times) for text in texts))

    answer = ask(
        history,
        tokens_max,
        records=list(range(1, len(texts) + 40)),
        query=query,
        from_character=start,
    )

    assert estimate_text(answer) <= tokens_max


def test_a_long_record_can_be_read_to_its_end() -> None:
    """Each answer says where to go on, and together they are the record, word for word."""
    text = "".join(f"line {number} 数据\n" for number in range(2_000))
    history = numbered(user(text))
    pieces, start = [], 0

    while True:
        answer = ask(history, 400, records=[1], from_character=start)
        head, _, rest = answer.partition("\n")
        assert head == "[record 1, user]"
        if start:
            before, _, rest = rest.partition("\n")
            assert before == f"[{start} characters come before this]"
        piece, more, where = rest.rpartition("\n[")
        if not more or "from_character=" not in where:
            pieces.append(rest)
            break
        pieces.append(piece)
        start += len(piece)
        assert where == f"{len(text) - start} characters more: from_character={start}]"

    assert "".join(pieces) == text
    assert len(pieces) > 5


def test_beyond_its_end_a_record_says_what_came_before() -> None:
    """A start that is too far is no error."""
    assert ask(records=[1], from_character=9_999) == (
        "[record 1, user]\n[39 characters come before this]\n"
    )


def test_what_has_no_room_is_named() -> None:
    """So that it can be asked for alone."""
    history = numbered(*(user("word " * 300) for _ in range(4)))

    answer = ask(history, 400, records=[1, 2, 3, 4])

    assert answer.startswith("[record 1, user]")
    assert answer.endswith("No room for record 2, 3, 4; ask for them alone.")


def test_what_a_query_finds_is_shown_around_the_words() -> None:
    """One long record does not take the whole answer."""
    long = "filler line\n" * 3_000 + "the needle is here\n" + "filler line\n" * 3_000
    history = numbered(user(long), user("a needle as well"))

    answer = ask(history, 1_000, query="needle")

    assert "the needle is here" in answer
    assert "a needle as well" in answer
    assert "characters come before this" in answer
    assert estimate_text(answer) < 1_000 * (EXCERPT_SHARE + 0.1)


def test_a_query_brings_a_bounded_number_of_records() -> None:
    """The best and newest of them."""
    history = numbered(*(user(f"needle {number}") for number in range(FOUND_MAX + 5)))

    answer = ask(history, query="needle")

    assert answer.count("[record") == FOUND_MAX
    assert answer.startswith(f"[record {FOUND_MAX + 5}, user]")


def test_a_budget_that_is_too_small_is_refused() -> None:
    """When the handler is made, not when it is called."""
    with pytest.raises(ConfigError, match="tokens_max"):
        Recall(lambda: HISTORY, tokens_max=TOKENS_LEAST - 1)
