"""A digest is within its budget, says the most important first, and is deterministic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.facts import Facts, Quote
from minutebook.compaction.digest.gather import gather
from minutebook.compaction.digest.render import render
from minutebook.compaction.phrases import ALL, CHINESE, ENGLISH, Phrases
from minutebook.compaction.relevance import Relevance
from minutebook.messages import Message
from minutebook.tokens.estimate import estimate_text
from tests.compaction.conversations import histories
from tests.compaction.digest.test_parse import SESSION


@given(histories(), st.integers(0, 1_500), st.sampled_from(ALL))
def test_a_digest_is_within_its_budget(
    history: tuple[Message, ...], budget: int, phrases: Phrases
) -> None:
    """Or empty, if not even its first line fits."""
    text = render(gather(history), budget, phrases, focus="parse_line main.py")

    assert estimate_text(text) <= budget
    assert text == render(gather(history), budget, phrases, focus="parse_line main.py")


def test_an_english_digest_reads_like_minutes() -> None:
    """All sections of a small session, word for word."""
    assert render(gather(SESSION), 2_000, ENGLISH) == (
        "Minutes of records 1 to 17. This message stands for 17 earlier messages of this"
        " conversation; each is kept word for word and can be asked back by its record number."
        " Nothing below is a new request.\n"
        "\n"
        "## Task\n"
        "- Fix the parser please\n"
        "  and run the tests (record 1)\n"
        "\n"
        "## Standing instructions\n"
        "- Never touch main.py. (record 16)\n"
        "\n"
        "## Said by the user\n"
        "- Never touch main.py. And then go on (record 16)\n"
        "\n"
        "## Where the work stands\n"
        "- The problem is in keep_row. (record 17)\n"
        "- So the table of rows is kept.\n"
        "\n"
        "## Still open\n"
        "- write docs (pending) (record 14)\n"
        "- Next: the docs. (record 17)\n"
        "\n"
        "## Files touched\n"
        "- `src/app.py` was read 1×, edited 1×, last in record 5; `keep_row(b); c`\n"
        "\n"
        "## Commands run\n"
        "- `make 'all'` was run 1×, last in record 9; it failed 1×; exit code 2\n"
        "- `pytest -q` was run 2×, last in record 11; it failed 1×; 5 passed\n"
        "- `python run.py` was run 1×, last in record 13; it failed 1×\n"
        "\n"
        "## Errors met\n"
        "- error: bad row (from `make 'all'` in record 9); not seen to work since\n"
        "- ValueError: worse; much (from `python run.py` in record 13); not seen to work since\n"
        "\n"
        "## Names, numbers and links in use\n"
        "- Elsewhere in this conversation there came up read_all, about 1× each and last of all in"
        " record 3"
    )


def test_a_chinese_digest_is_chinese() -> None:
    """Headings and our own sentences."""
    text = render(gather(SESSION), 2_000, CHINESE)

    assert text.startswith("纪要：记录 1 至 17。")
    assert (
        "## 涉及的文件\n- `src/app.py` 已读取 1 次、修改 1 次，最近一次见记录 5；`keep_row(b); c`"
        in text
    )


@pytest.mark.parametrize(("budget", "chars"), [(120, 80), (250, 150), (2_000, 600)])
def test_the_task_is_quoted_as_far_as_it_fits(budget: int, chars: int) -> None:
    """Head and tail, with a mark between."""
    facts = Facts(task=Quote("begin " + "x " * 2_000 + " end", 1), first=1, last=1, count=1)

    text = render(facts, budget, ENGLISH)

    assert "- begin x" in text
    assert "] x" in text
    assert len(text) > chars


def test_in_a_small_digest_instructions_come_before_names() -> None:
    """A line or two of each section, the most important sections first."""
    facts = gather(SESSION)
    facts.meet([f"name_{at}" for at in range(200)], 17, place="a.py", own=True)

    text = render(facts, 160, ENGLISH)

    assert "Fix the parser" in text
    assert "Never touch main.py" in text
    assert text.count("name_") < 20


def test_what_earlier_summaries_told_gets_coarser() -> None:
    """While there is newer to tell, it takes at most its share; rules stay."""
    facts = Facts(first=1, last=200, count=200, told=100)
    facts.rules = [Quote("Never touch main.py.", 5)]
    facts.decisions = [Quote(f"Old decision number {at} was made.", at) for at in range(1, 100)]
    facts.requests = [Quote(f"Old wish number {at} was this.", at) for at in range(1, 100)]
    for at in range(60):
        facts.use_file("edit", f"src/new_{at}.py", 150 + at % 50)
    facts.meet([f"new_name_{at}" for at in range(200)], 190, place="src/new_1.py", own=True)

    text = render(facts, 1_000, ENGLISH)

    old = [line for line in text.split("\n") if line.startswith("- Old ")]
    assert "Never touch main.py." in text
    assert 0 < estimate_text("\n".join(old)) <= 400
    assert text.count("new_name_") > 20


def test_embeddings_decide_between_lines_of_equal_worth() -> None:
    """In every section, and among the names."""
    facts = Facts(first=1, last=9, count=9)
    facts.decisions = [Quote(f"Decision about thing {at} was made.", 5) for at in range(100)]
    facts.meet([f"name_{at}" for at in range(100)], 5, place="", own=True)
    near = Relevance("focus", lambda texts: [_vector(text) for text in texts])

    plain = render(facts, 260, ENGLISH)
    nearer = render(facts, 260, ENGLISH, relevance=near)

    assert "thing 99 " not in plain
    assert "name_99" not in plain
    assert "thing 99 " in nearer
    assert "name_99" in nearer


def _vector(text: str) -> list[float]:
    return [1.0, 0.0] if "focus" in text or "99" in text else [0.0, 1.0]


def test_worthless_names_come_after_all_else() -> None:
    """Numbers that only an output held don't push out what was done."""
    facts = Facts(first=1, last=900, count=9)
    facts.meet([str(1_000 + at) for at in range(500)], 900, place="", own=False)
    for at in range(30):
        facts.run(f"make part_{at}", 5, "", failed=False)

    text = render(facts, 1_500, ENGLISH)

    assert text.count("`make part_") == 30
