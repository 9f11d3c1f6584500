"""Sentences that matter are found and quoted word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.statements import (
    SENTENCE_CHARS_MAX,
    cut,
    decision_weight,
    is_rule,
    is_slight,
    open_items,
    quoted,
    report,
    sentences,
    telling,
    unmarked,
)


@given(st.text(max_size=500))
def test_sentences_are_quoted_word_for_word(text: str) -> None:
    """Each stands in the text as it is, but for those that were too long."""
    for sentence in sentences(text):
        assert sentence in text or sentence.endswith("…")
        assert len(sentence) <= SENTENCE_CHARS_MAX


def test_a_text_is_split_at_sentences_and_lines() -> None:
    """Marks that close a sentence stay with it; code and scraps go, abbreviations don't split."""
    text = """## Plan
**This is the cause.** It is in e.g. `app.py`. Really!
- [ ] write docs
```
x = 1
```
先修复它。再运行测试！ --"""

    assert sentences(text) == [
        "Plan",
        "**This is the cause.**",
        "It is in e.g. `app.py`.",
        "Really!",
        "write docs",
        "先修复它。",
        "再运行测试！",
    ]


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Never touch main.py.", True),
        ("Do NOT call eval anywhere.", True),
        ("Please don't rename it.", True),
        ("Make sure the tests pass", True),
        ("Use only tabs.", True),
        ("不要改动 main.py", True),
        ("必须用 Python 3.11", True),
        ("Responda sempre em português.", True),
        ("Não mexa na tabela de impostos.", True),
        ("Никогда не трогай main.py", True),
        ("main.py は変更しないでください。", True),
        ("Should it always do that?", False),
        ("I don't know what it is", False),
        ("别人也遇到了这个问题", False),
        ("Fix the parser", False),
        ("it is not there", False),
    ],
)
def test_rules_are_told_by_their_cues(sentence: str, rule: object) -> None:
    """In several languages; questions and confessions are none."""
    assert is_rule(sentence) is rule


@pytest.mark.parametrize(
    ("sentence", "weight"),
    [
        ("The root cause is the cache in app.py.", 2.0),
        ("I replaced the parser with a table.", 1.0),
        ("Now I'll use the table instead of a list.", 2.0),
        ("Let me check that it works now.", 0.0),
        ("原因是缓存没有失效，需要清理一下缓存", 2.0),
        ("Here are the files of the parser.", 0.0),
        ("It was fixed.", 0.0),
    ],
)
def test_decisions_weigh_more_than_what_is_merely_said(sentence: str, weight: float) -> None:
    """And what is only announced weighs nothing."""
    assert decision_weight(sentence) == weight


def test_what_is_still_to_do_is_found() -> None:
    """Unticked boxes first, then sentences that say so."""
    text = "I fixed it. Next: run the linter.\n- [ ] write docs\n- [x] write code"

    assert open_items(text) == ["write docs", "Next: run the linter."]
    assert open_items("接下来运行测试。") == ["接下来运行测试。"]
    assert open_items("All done here.") == []


def test_a_lead_in_is_joined_with_what_it_leads_to() -> None:
    """And scraps of fewer than four words go."""
    text = "Done!\nChanges made:\n- Removed the local cache.\n- Perfect.\nAnd now:"

    assert telling(text) == ["Changes made: Removed the local cache."]


def test_a_report_is_the_sentences_that_tell_most() -> None:
    """In their order."""
    text = (
        "Sorry, let me say that.\nHere is some talk without anything.\n"
        "The problem is in parse_line of the file.\nMore talk of no kind at all.\n"
        "I fixed src/app.py for good."
    )

    assert report(text) == [
        "The problem is in parse_line of the file.",
        "I fixed src/app.py for good.",
    ]
    assert report("This first sentence has enough words. Short one here too.", 1) == [
        "This first sentence has enough words."
    ]
    assert report("Ok.") == []


@pytest.mark.parametrize(
    ("text", "slight"),
    [
        ("/model opus please do", True),
        ("ok", True),
        ("fix it now", False),
        ("修复这个解析器", False),
        ("好的", True),
    ],
)
def test_nods_and_commands_are_slight(text: str, slight: object) -> None:
    """They are no task."""
    assert is_slight(text) is slight


def test_long_texts_are_cut_and_marked() -> None:
    """A sentence at its end between words, a person's text in its middle with a count."""
    assert cut("one two three", 9) == "one two…"
    assert cut("abcdefghijk", 9) == "abcdefgh…"
    assert quoted(f"  {'a' * 20}{'b' * 20} ", 12) == "aaaaaaaa […28…] bbbb"
    assert quoted(" short ", 12) == "short"


def test_list_marks_are_no_part_of_a_line() -> None:
    """Whatever kind they are."""
    assert [unmarked(line) for line in ("- a", "12) b", "### c", " [x] d", "* e", "f")] == list(
        "abcdef"
    )
