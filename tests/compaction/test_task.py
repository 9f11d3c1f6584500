"""The task of a summary, its requests, its parts, and how these are merged again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from minutebook.compaction.digest.write import digest
from minutebook.compaction.phrases import ALL, ENGLISH, Phrases, phrases_for
from minutebook.compaction.task import (
    OUTPUT_TOKENS_MIN,
    Capacity,
    Piece,
    SummaryTask,
    earlier_piece,
    has_headings,
    merges,
    parts,
    piece_of,
    request_for,
    task_of,
    with_lead,
)
from minutebook.errors import ConfigError
from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.providers import validate_anthropic, validate_chat
from minutebook.tokens.estimate import estimate_message, estimate_text
from minutebook.turns import cuts
from tests.cases import case
from tests.compaction.conversations import case_history, histories, lines, numbered, step

LARGE = Capacity(window_tokens=200_000, output_tokens_max=8_192)
SMALL = Capacity(window_tokens=7_200, output_tokens_max=8_192)
LEAST = Capacity(window_tokens=3_000, output_tokens_max=2_000)

SMALL_WINDOWS = st.sampled_from(
    [LEAST, SMALL, Capacity(window_tokens=4_500, output_tokens_max=900)]
)


def work(count: int, rows: int = 12) -> tuple[Message, ...]:
    """Make a conversation of so many exchanges, a person's words before every tenth."""
    found: list[Message] = []
    for number in range(count):
        if number % 10 == 0:
            found.append(user(f"Now see to module {number}, please."))
        found += step(
            f"c{number}", "read_file", lines(rows), f"Step {number}.", path=f"m{number}.py"
        )
    return numbered(found)


def piece(number: int, tokens: int) -> Piece:
    """Make a piece of about so many tokens."""
    text = f"## Task\n- piece {number}\n" + lines(tokens // 15)
    return Piece(text=text, first=number * 10, last=number * 10 + 9, count=10)


def test_a_task_tells_earlier_summaries_apart_from_what_is_new() -> None:
    """What a summary said before is what is brought up to date, without its first line."""
    lead = ENGLISH.lead.format(first=1, last=9, count=9)
    history = [
        Message("user", f"{lead}\n\n## Task\n- old", origin="summary", seq=10),
        *numbered([user("go on, please, and do it in the new way")]),
    ]

    task = task_of(history, 500, focus="ports", further=["Be brief."])

    assert task.previous == "## Task\n- old"
    assert [message.text for message in task.messages] == [
        "go on, please, and do it in the new way"
    ]
    assert task.language == "English"
    assert task.replaces_tokens > estimate_text(task.previous)
    assert task_of(history, 500, language="Dutch").language == "Dutch"


def test_the_span_and_the_size_are_those_of_what_is_covered() -> None:
    """Of messages and of pieces alike; without numbers it is none."""
    history = work(3)
    task = task_of(history, 500)
    merging = SummaryTask(budget_tokens=500, pieces=(piece(1, 100), piece(2, 100)))

    assert task.span == (1, len(history))
    assert task.replaces_tokens == sum(map(estimate_message, history))
    assert merging.span == (10, 29)
    assert piece_of(merging, "text").count == 20
    assert SummaryTask(budget_tokens=1).span == (0, 0)


def test_case_c043_the_request_holds_an_error_unshortened() -> None:
    """Case C043: what failed, and why, reaches the summariser as it was."""
    error = "EPERM writing /srv/out (read-only mount)"
    task = task_of(numbered([user("go"), *step("c", "write", error, path="/srv/out/a")]), 400)

    assert f"> {error}" in request_for(task, LARGE).user


def test_case_c031_old_calls_are_quoted_text_and_the_request_is_plain() -> None:
    """Case C031: no tool definitions are needed; the request is valid for both providers."""
    request = request_for(task_of(work(3), 400), LARGE)
    said = {"role": "user", "content": request.user}

    assert 'called read_file with {"path": "m0.py"}' in request.user
    assert "> row 0001" in request.user
    assert validate_anthropic.violations([said], system=request.system) == []
    assert validate_chat.violations([{"role": "system", "content": request.system}, said]) == []


def test_case_c045_every_request_states_the_language() -> None:
    """Case C045: first, update, part, merge, and with an instruction of the caller's own."""
    case("C045")
    task = task_of(case_history("C045"), 300)
    first = request_for(task, LARGE)
    updated = request_for(structs.replace(task, previous="antes"), LARGE)
    part = request_for(structs.replace(task, part=2, parts=3), LARGE)
    merge = request_for(structs.replace(task, messages=(), pieces=(piece(1, 50),)), LARGE)
    own = request_for(structs.replace(task, prompt="Make it short."), LARGE)

    for request in (first, updated, part, merge, own):
        assert "language of the user's messages, which seems to be Portuguese" in request.user
    assert "Responda sempre em português." in first.user


def test_case_c041_an_update_holds_the_earlier_summary_and_all_that_came_since() -> None:
    """Case C041: the second summary request has the first summary and every message after it."""
    case("C041")
    history = case_history("C041")
    covered = [message for message in history if message.seq is not None][:-2]

    user_text = request_for(task_of(covered, 200), LARGE).user

    for wanted in ("early-03", "early-04", "early-05", "early-06", "late-08", "late-09"):
        assert wanted in user_text
    assert "S1" in user_text
    assert "late-10" not in user_text


def test_a_focus_and_own_instructions_are_in_the_request() -> None:
    """`prompt` takes the place of ours, `further` is added, the closing stays."""
    task = task_of(work(1), 300, focus="the port", prompt="Do it my way.", further=["No lists."])
    request = request_for(task, LARGE)

    assert request.system == "Do it my way.\n\nBeyond that:\n\nNo lists."
    assert "The focus: the port" in request.user
    assert "Do it my way." in request.own_text
    assert "row 0001" not in request.own_text


def test_the_record_is_fenced_and_numbered() -> None:
    """The material stands between lines of its own that name its records."""
    text = request_for(task_of(work(2), 300), LARGE).user

    assert text.count("===== record 1 to 5 ") == 2
    assert "[5] result of read_file:" in text


def test_a_reply_is_allowed_twice_its_budget_within_the_window() -> None:
    """At least a thousand tokens, at most a quarter of the window or what the model can."""
    task = task_of(work(2), 3_000)

    assert request_for(task, LARGE).output_tokens_max == 6_000
    assert request_for(structs.replace(task, budget_tokens=10), LARGE).output_tokens_max == (
        OUTPUT_TOKENS_MIN
    )
    assert request_for(task, SMALL).output_tokens_max == SMALL.window_tokens // 4
    assert request_for(task, LARGE, output_tokens_max=9_999).output_tokens_max == 8_192


def test_a_task_that_fits_is_not_divided() -> None:
    """It is its own one part, and so is a task of pieces."""
    task = task_of(work(3), 300)
    merging = SummaryTask(budget_tokens=300, pieces=(piece(1, 50), piece(2, 50)))

    assert parts(task, LARGE) == [task]
    assert parts(merging, SMALL) == [merging]
    assert merges(merging, merging.pieces, SMALL) == [merging]


@given(histories(turns_max=10), SMALL_WINDOWS)
def test_parts_hold_every_message_once_and_no_request_exceeds_the_window(
    history: tuple[Message, ...], capacity: Capacity
) -> None:
    """Nothing lost, repeated or moved; no exchange split; each part is its own one part."""
    task = task_of(history, 2_000)

    divided = parts(task, capacity)

    assert [m for part in divided for m in part.messages] == list(task.messages)
    starts = [0]
    for part in divided:
        starts.append(starts[-1] + len(part.messages))
    assert set(starts) <= set(cuts(task.messages))
    for part in divided:
        request = request_for(part, capacity)
        assert request.tokens + request.output_tokens_max <= capacity.window_tokens
        assert parts(part, capacity) == [part]


def test_parts_are_numbered_and_leave_the_earlier_summary_to_the_merging() -> None:
    """The summary so far is in none of them: it becomes the first of the pieces."""
    task = structs.replace(task_of(work(60), 2_000), previous="## Task\n- before")
    divided = parts(task, SMALL)

    assert len(divided) > 2
    assert [part.part for part in divided] == list(range(1, len(divided) + 1))
    assert {part.parts for part in divided} == {len(divided)}
    assert {part.previous for part in divided} == {""}
    assert {part.budget_tokens < task.budget_tokens for part in divided} == {True}
    assert earlier_piece(task) == Piece(text="## Task\n- before", first=0, last=0, count=1)
    assert earlier_piece(divided[0]) is None


def test_an_earlier_summary_that_leaves_no_room_is_merged_instead_of_clipped() -> None:
    """One part then, without it."""
    task = structs.replace(task_of(work(20), 500), previous=lines(300))

    divided = parts(task, SMALL)

    assert len(divided) == 1
    assert divided != [task]
    assert divided[0].messages == task.messages
    assert divided[0].previous == ""


@pytest.mark.parametrize("count", [1, 40])
def test_an_exchange_larger_than_the_window_is_clipped_and_not_split(count: int) -> None:
    """All its results are in one part, the largest cut to a common size."""
    calls = [call(f"c{number}", "read", "{}") for number in range(count)]
    results = [tool(f"c{number}", lines(4_000 // count)) for number in range(count)]
    history = numbered([user("go"), assistant(tool_calls=calls), *results, user("and on")])
    task = structs.replace(task_of(history, 300), result_tokens_max=None)

    divided = parts(task, LEAST)
    request = request_for(divided[-1], LEAST)

    assert any(len(part.messages) >= count + 1 for part in divided)
    assert request.tokens + request.output_tokens_max <= LEAST.window_tokens
    assert all(
        f"[{seq}] result of read" in "".join(request_for(part, LEAST).user for part in divided)
        for seq in range(3, 3 + min(count, 3))
    )


def test_a_huge_words_of_a_person_are_clipped_only_where_they_must() -> None:
    """Head and tail are shown, and how much is missing."""
    history = numbered([user("BEGIN " + lines(2_000) + " END")])

    whole = request_for(task_of(history, 300), LARGE).user
    cut = request_for(task_of(history, 300), SMALL).user

    assert "left out" not in whole
    assert "BEGIN row 0001" in cut
    assert " END\n" in cut
    assert "characters left out" in cut


@given(st.lists(st.integers(20, 3_000), min_size=2, max_size=30), SMALL_WINDOWS)
def test_rounds_of_merging_come_down_to_one(sizes: list[int], capacity: Capacity) -> None:
    """Each round has fewer pieces, in order, every one in it, each request within the window."""
    task = task_of(work(2), 1_000)
    pieces = [piece(number, size) for number, size in enumerate(sizes, 1)]
    rounds = 0
    while len(pieces) > 1:
        groups = merges(task, pieces, capacity)
        flat = [
            one
            for group in groups
            for one in (group.pieces if isinstance(group, SummaryTask) else (group,))
        ]
        assert flat == pieces
        assert len(groups) < len(pieces)
        for group in groups:
            if isinstance(group, SummaryTask):
                request = request_for(group, capacity)
                assert request.tokens + request.output_tokens_max <= capacity.window_tokens
        if len(groups) == 1:
            assert isinstance(groups[0], SummaryTask)
            assert groups[0].budget_tokens == task.budget_tokens
        pieces = [
            piece_of(group, "short") if isinstance(group, SummaryTask) else group
            for group in groups
        ]
        rounds += 1
    assert rounds <= 5
    assert pieces[0].count == 10 * len(sizes)


def test_pieces_are_named_by_their_records() -> None:
    """Minutes of records, and those that were there before."""
    task = task_of(work(2), 400)
    before = Piece(text="old", first=0, last=9, count=1)
    (merging,) = merges(task, [before, piece(1, 30)], SMALL)
    assert isinstance(merging, SummaryTask)

    text = request_for(merging, SMALL).user

    assert "===== earlier minutes " in text
    assert "===== minutes 10 to 19 " in text


@pytest.mark.parametrize("window", [200, 1_200])
def test_a_window_without_room_for_material_is_refused(window: int) -> None:
    """It names the setting and what takes the room."""
    capacity = Capacity(window_tokens=window, output_tokens_max=500)
    task = task_of(work(40), 300)

    for refused in (
        lambda: request_for(task, capacity),
        lambda: parts(task, capacity),
        lambda: merges(task, [piece(1, 50), piece(2, 50)], capacity),
    ):
        with pytest.raises(ConfigError, match="summarizer window"):
            refused()


def test_pieces_that_cannot_fit_one_request_are_refused() -> None:
    """Who passes over `merges` is told."""
    capacity = Capacity(window_tokens=2_400, output_tokens_max=300)
    pieces = tuple(piece(number, 300) for number in range(1, 90))

    with pytest.raises(ConfigError, match="too small for 89 pieces"):
        request_for(SummaryTask(budget_tokens=300, pieces=pieces), capacity)


@pytest.mark.parametrize("chosen", ALL, ids=lambda chosen: chosen.language or "neutral")
def test_a_summary_with_a_lead_is_read_back_by_the_digest(chosen: Phrases) -> None:
    """A model's entries under our headings are carried on by rule."""
    heading, record = chosen.headings["rules"], chosen.record.format(n=4)
    text = f"## {heading}\n- Never call eval_all anywhere ({record})"
    stored = with_lead(text, chosen, first=1, last=9, count=9)
    history = [Message("user", stored, origin="summary", seq=10), replace(user("go on"), seq=11)]

    assert stored.startswith(chosen.lead.format(first=1, last=9, count=9))
    assert task_of(history, 400).previous == text
    assert "Never call eval_all anywhere" in digest(history, 600, phrases=chosen)


def test_a_summary_of_another_form_gets_no_lead() -> None:
    """The digest would look for our headings in it, find none, and carry nothing."""
    assert with_lead("S1: all is well", ENGLISH, first=1, last=9, count=9) == "S1: all is well"
    assert not has_headings("## Other\n- a", ENGLISH)
    assert has_headings("x\n## Task \n- a", ENGLISH)


def test_the_headings_are_those_of_the_conversations_language() -> None:
    """A Chinese conversation is asked for Chinese headings, by a rule in English."""
    history = numbered([user("修复登录页面的按钮，不要改 API")])
    request = request_for(task_of(history, 400, phrases=phrases_for(history)), LARGE)

    assert "## 任务" in request.system
    assert "which seems to be Chinese" in request.user
