"""Facts become lines: what each says, and what it is worth."""

import re

import pytest

from minutebook.compaction.digest.entries import (
    code,
    command_lines,
    error_lines,
    file_lines,
    focus_terms,
    focused,
    freshness,
    name_lines,
    quote_line,
    rank_names,
    weighed,
)
from minutebook.compaction.digest.facts import Facts, Quote
from minutebook.compaction.digest.names import names_in
from minutebook.compaction.digest.page import Line
from minutebook.compaction.phrases import ALL, CHINESE, ENGLISH, NEUTRAL, Phrases


@pytest.fixture
def facts() -> Facts:
    """Facts of each kind."""
    found = Facts(first=1, last=9, count=9)
    found.use_file("read", "src/app.py", 3)
    found.use_file("edit", "src/app.py", 5, "keep `row`")
    found.use_file("search", "a.md", 6)
    found.run("make", 3, "exit code 1", failed=True)
    found.run("pytest", 5, "", failed=False)
    found.fail("make", "error: bad row", 3)
    found.fail("run `it`", "error: worse", 4)
    found.work("make", 7)
    return found


def texts(lines: list[Line]) -> list[str]:
    """Give the lines' texts."""
    return [line.text for line in lines]


def test_files_are_told_in_a_sentence(facts: Facts) -> None:
    """Uses, last record, and the first line of the last change."""
    assert texts(file_lines(facts, ENGLISH)) == [
        "`src/app.py` was read 1×, edited 1×, last in record 5; `keep 'row'`",
        "`a.md` was searched 1×, last in record 6",
    ]
    assert texts(file_lines(facts, CHINESE))[1] == "`a.md` 已搜索 1 次，最近一次见记录 6"
    assert texts(file_lines(facts, NEUTRAL))[1] == "file `a.md`: search ×1, last record #6"


def test_a_change_is_worth_more_than_a_look(facts: Facts) -> None:
    """An agent must know what it has changed."""
    changed, searched = file_lines(facts, ENGLISH)

    assert changed.worth > 3 * searched.worth


def test_commands_are_told_with_failures_and_outcome(facts: Facts) -> None:
    """Neither is mentioned where there is none."""
    assert texts(command_lines(facts, ENGLISH)) == [
        "`make` was run 1×, last in record 3; it failed 1×; exit code 1",
        "`pytest` was run 1×, last in record 5",
    ]


def test_errors_are_told_with_what_became_of_them(facts: Facts) -> None:
    """Those that were not overcome are worth more."""
    resolved, unresolved = error_lines(facts, ENGLISH)

    assert resolved.text == (
        "error: bad row (from `make` in record 3); the same worked later in record 7"
    )
    assert unresolved.text == ("error: worse (from `run 'it'` in record 4); not seen to work since")
    assert unresolved.worth > resolved.worth


def test_a_quote_names_its_record_if_it_has_one() -> None:
    """A long one has a brief form."""
    assert quote_line(Quote("a", 3), ENGLISH).text == "a (record 3)"
    assert quote_line(Quote("a", 0), ENGLISH).text == "a"
    assert quote_line(Quote("a", 3), ENGLISH).brief == ""
    assert quote_line(Quote("a" * 500, 3), CHINESE).brief.endswith("a (记录 3)")


@pytest.mark.parametrize("phrases", ALL[:2], ids=["en", "zh"])
def test_names_never_outnumber_the_words_around_them(phrases: Phrases) -> None:
    """At least four ordinary words a line, and at least as many as names."""
    many = Facts(first=1, last=200, count=9)
    many.meet([f"name_{at}" for at in range(30)], 100, place="src/deep/app.py", own=True)
    many.meet([f"other_{at}" for at in range(30)], 120, place="", own=True)
    ranked = rank_names(many, said=(), visible=(), focus=())

    lines = name_lines(ranked, phrases, 1_000)

    assert sum(line.text.count("name_") + line.text.count("other_") for line in lines) == 60
    for line in lines:
        names = names_in(line.text)
        rest = line.text
        for name in names:
            rest = rest.replace(name, "")
        words = re.findall(r"[a-z]{2,}" if phrases is ENGLISH else r"[一-鿿]", rest)
        assert len(names) <= phrases.names_per_line + 2
        assert len(words) >= max(4, len(names))


def test_names_are_grouped_by_their_place() -> None:
    """By the last two parts of a path, those used apart from those seen; how often, on average."""
    found = Facts(first=1, last=9, count=9)
    used = [f"used_{at}" for at in range(7)]
    seen = [f"seen_{at}" for at in range(12)]
    for _ in range(3):
        found.meet(used, 3, place="src/deep/app.py", own=True)
    found.meet(seen, 4, place="make all", own=False)

    lines = texts(name_lines(rank_names(found, said=(), visible=(), focus=()), ENGLISH, 999))

    assert lines == [
        (
            f"In `deep/app.py` the work so far made use of {', '.join(used)}, about 3× each and"
            " last of all in record 3"
        ),
        (
            f"In `make all` the work so far came across {', '.join(sorted(seen))}, about 1× each"
            " and last of all in record 4"
        ),
    ]


def test_few_names_of_a_place_go_to_the_others() -> None:
    """A line for one name costs more than the name; a file is not its own place."""
    found = Facts(first=1, last=9, count=9)
    found.meet(["a_b", "src/deep/app.py"], 3, place="src/deep/app.py", own=True)
    found.meet(["c_d"], 4, place="make all", own=True)
    found.meet(["e_f"], 4, place="make all", own=False)

    lines = texts(name_lines(rank_names(found, said=(), visible=(), focus=()), ENGLISH, 99))

    assert lines == [
        (
            "Elsewhere in this conversation use was made of c_d, src/deep/app.py, a_b, "
            "about 1× each"
            " and last of all in record 4"
        ),
        (
            "Elsewhere in this conversation there came up e_f, about 1× each and last of all in"
            " record 4"
        ),
    ]


def test_names_of_files_that_are_read_often_are_worth_more() -> None:
    """And those of a crowd less."""
    found = Facts(first=1, last=9, count=9)
    found.meet(["a_b"], 3, place="src/often.py", own=False)
    found.meet(["c_d"], 3, place="src/once.py", own=False)
    found.meet([f"row_{at}" for at in range(1_200)], 3, place="src/crowd.py", own=False)
    for _ in range(4):
        found.use_file("read", "src/often.py", 3)
    found.use_file("read", "lib/once.py", 3)
    for _ in range(4):
        found.use_file("read", "src/crowd.py", 3)

    ranked = rank_names(found, said=(), visible=(), focus=())

    worths = {stat.name: worth for worth, stat in ranked}
    assert worths["a_b"] > worths["c_d"] > worths["row_1"] > 0


def test_names_of_files_that_the_task_names_outlive_all_others() -> None:
    """However long ago the file was read, and by whichever path."""
    found = Facts(first=1, last=600, count=9)
    found.task = Quote("please split src/main.py into parts", 1)
    found.meet(["old_name"], 2, place="/home/me/project/src/main.py", own=False)
    found.meet(["new_name"], 420, place="src/other.py", own=False)

    assert [stat.name for _, stat in rank_names(found, said=(), visible=(), focus=())] == [
        "old_name",
        "new_name",
    ]

    found.task = None
    ranked = rank_names(found, said=(), visible=(), focus=())
    assert [stat.name for _, stat in ranked] == ["new_name", "old_name"]


def test_names_are_ranked_by_use_age_and_kind() -> None:
    """What is said elsewhere on the page isn't said again."""
    found = Facts(first=1, last=100, count=9)
    found.meet(["used_new", "1234", "visible_one", "said_one"], 100, place="", own=True)
    found.meet(["used_old"], 1, place="", own=True)
    found.meet(["seen_new"], 100, place="", own=False)
    found.meet(["seen_focus"], 100, place="", own=False)

    ranked = rank_names(found, said=["said_one"], visible=["visible_one"], focus=["focus"])

    names = [stat.name for _, stat in ranked]
    assert names[:2] == ["seen_focus", "used_new"]
    assert "said_one" not in names
    for lower in ("used_old", "seen_new", "1234", "visible_one"):
        assert names.index(lower) > 1


def test_no_room_is_no_names() -> None:
    """Not even the best one."""
    assert name_lines([], ENGLISH, 100) == []
    found = Facts(first=1, last=9, count=9)
    found.meet(["a_b"], 3, place="", own=True)
    assert name_lines(rank_names(found, said=(), visible=(), focus=()), ENGLISH, -5) == []


def test_worth_falls_with_age_and_rises_with_the_focus() -> None:
    """To a half after sixty records; each term of the focus counts."""
    line = Line("the parser of src/app.py", 40, 8.0, brief="b")

    assert weighed(line, 3, 100, ()) == Line(line.text, 40, 4.0, 3, "b")
    assert weighed(line, 3, 100, ["parser", "app", "none"]).worth == 4.0 * 41
    assert freshness(-5) == freshness(0) == 1.0
    assert focused("x", ["y"]) == 1.0


def test_a_focus_is_split_into_what_can_be_found() -> None:
    """Words of three letters and more; Chinese by every two characters."""
    assert focus_terms("The parser, in src/app.py!") == {"the", "parser", "src/app.py"}
    assert focus_terms("解析器 a") == {"解析", "析器"}
    assert focus_terms("ação") == {"ação"}
    assert focus_terms("") == frozenset()


def test_code_fits_between_back_quotes() -> None:
    """On one line."""
    assert code("a`b\nc") == "a'b c"
