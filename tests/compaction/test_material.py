"""How a conversation is shown to a summariser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction import material
from minutebook.compaction.material import (
    CUT_TOKENS_MIN,
    Entry,
    clipped,
    entries,
    fenced,
    shorten,
)
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    assistant,
    call,
    system,
    tool,
    user,
)
from minutebook.providers.strict_json import problem_of
from minutebook.tokens.estimate import estimate_text
from tests.compaction.conversations import histories, lines, numbered, step

PICTURE = ImagePart(MediaUrl("data:image/png;base64,iVBORw0KGgo="))


def shown(*messages: Message, **more: int | None) -> list[str]:
    """Give the texts of the entries of some messages."""
    return [entry.text for entry in entries(numbered(messages), **more)]


def test_entries_have_numbers_writers_calls_and_quoted_results() -> None:
    """A short conversation, as the summariser sees it."""
    texts = shown(
        user("fix it"),
        *step("c1", "read_file", "line one\nline two", "I look.", path="a.py"),
        system("be brief"),
    )

    assert texts == [
        "[1] user:\nfix it",
        '[2] assistant:\nI look.\ncalled read_file with {"path": "a.py"}',
        "[3] result of read_file:\n> line one\n> line two",
        "[4] system message:\nbe brief",
    ]


@pytest.mark.parametrize(
    ("origin", "writer"),
    [
        ("dmail", "note that the agent sent to itself"),
        ("import", "context that the user brought in"),
        ("injection", "put in by the program"),
        ("checkpoint", "put in by the program"),
        ("notice", "put in by the program"),
    ],
)
def test_what_no_user_wrote_is_not_called_a_users(origin: str, writer: str) -> None:
    """The origin names the writer, whatever the role."""
    message = Message(role="user", content="words", origin=origin, seq=7)

    assert entries([message])[0].text == f"[7] {writer}:\nwords"


def test_thinking_and_blank_parts_are_left_out() -> None:
    """What only thinks or is blank has no entry, and takes nothing."""
    message = assistant([ThinkPart("secret plan"), TextPart(" \n"), TextPart("done")])

    assert shown(message) == ["[1] assistant:\ndone"]
    assert entries([assistant(thinking="secret")])[0] == Entry(0, "", 0)
    assert entries([user("")])[0].text == ""


def test_media_and_unknown_parts_are_placeholders() -> None:
    """No payload is ever shown; redacted thinking is not even named."""
    sound = AudioPart(MediaUrl("https://example.org/a.wav"))
    parts: list[Part] = [
        PICTURE,
        sound,
        OtherPart({"type": "hologram", "payload": "zzz"}),
        OtherPart({}),
    ]
    secret = OtherPart({"type": "redacted_thinking", "data": "UkVE"})

    assert shown(user(parts))[0].split("\n") == [
        "[1] user:",
        "[picture left out: image/png]",
        "[sound left out: https://example.org/a.wav]",
        "[hologram left out]",
        "[unknown left out]",
    ]
    assert shown(Message("assistant", (secret, TextPart("hi")))) == ["[1] assistant:\nhi"]


def test_results_without_call_or_output_say_so() -> None:
    """A result whose call is elsewhere is still told apart from a user's words."""
    assert shown(tool("nobody", "text")) == ["[1] result of a call that is not shown:\n> text"]
    assert shown(*step("c", "run", ""))[1] == "[2] result of run:\n(no output)"


def test_long_results_and_arguments_are_shown_by_head_and_tail() -> None:
    """What a tool printed is limited, unless it is asked for whole; words of people are not."""
    long = lines(400)
    texts = shown(user(long), *step("c", "write", long, content=long), result_tokens_max=200)

    assert texts[0].endswith(long)
    assert all(estimate_text(text) < 260 and "left out" in text for text in texts[1:])
    assert "row 0001" in texts[2]
    assert "row 0400" in texts[2]
    assert shown(*step("c", "run", long), result_tokens_max=None)[1].count("\n") == 400


def test_what_json_cannot_carry_is_mended() -> None:
    """Lone surrogates and NUL become replacement characters."""
    text = shown(user("half \ud83d and \0 end"))[0]

    assert text == "[1] user:\nhalf \ufffd and \ufffd end"


def test_arguments_may_be_missing() -> None:
    """A call without arguments is shown with empty ones."""
    assert shown(assistant(tool_calls=[call("c", "stop", None)])) == [
        "[1] assistant:\ncalled stop with {}"
    ]


@given(histories())
def test_every_message_has_one_entry_that_can_be_sent(history: tuple[Message, ...]) -> None:
    """One for each, in order, with its number, counted right, as strict UTF-8."""
    found = entries(history)

    assert [entry.seq for entry in found if entry.text] == [
        message.seq for message, entry in zip(history, found, strict=True) if entry.text
    ]
    assert len(found) == len(history)
    assert all(entry.tokens == estimate_text(entry.text) for entry in found)
    assert problem_of([entry.text for entry in found]) is None


@given(st.text(max_size=3_000), st.integers(0, 300))
def test_a_shortened_text_fits_and_keeps_both_ends(text: str, tokens_max: int) -> None:
    """It takes no more than asked (but for the least), and begins and ends as the text does."""
    short = shorten(text, tokens_max)

    assert estimate_text(short) <= max(tokens_max, CUT_TOKENS_MIN) or short == text
    if short != text:
        head, _, tail = short.partition("\n[…")
        assert text.startswith(head)
        assert text.endswith(tail.partition("out …]\n")[2])


def test_a_cut_counts_what_is_missing_and_splits_no_character() -> None:
    """The mark tells the number; a joined emoji or an accent stays with its letter."""
    text = "\U0001f468\u200d\U0001f469" * 300 + "e\u0301" * 300
    short = shorten(text, 120)
    head, _, rest = short.partition("\n[… ")
    count, _, tail = rest.partition(" characters left out …]\n")

    assert len(head) + int(count) + len(tail) == len(text)
    assert not tail.startswith(("\u200d", "\u0301"))
    assert head + text[len(head) : -len(tail)] + tail == text


@pytest.mark.parametrize("tokens_max", range(60, 90))
def test_no_cut_falls_between_a_letter_and_its_accents(tokens_max: int) -> None:
    """At the head's end as little as at the tail's beginning."""
    text = "e\u0301\u0323\u0302" * 400
    head, _, rest = shorten(text, tokens_max).partition("\n[… ")
    tail = rest.partition("out …]\n")[2]

    assert text[len(head)] == "e"
    assert tail[0] == "e"


def test_a_fence_whose_sum_stands_in_the_text_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should somebody manage to write a text that holds its own check sum."""
    sums = iter(["crc32:aaaa", "crc32:bbbb"])
    monkeypatch.setattr(material, "checksum", lambda _: next(sums))

    assert fenced("the sum is aaaa", "record").startswith("===== record bbbb begins =====\n")


def test_an_entry_within_its_limit_stays_as_it_is() -> None:
    """Clipping touches only what is too large."""
    small, large = entries(numbered([user("short"), user(lines(200))]))

    assert clipped(small, 100) is small
    assert clipped(large, 100).tokens <= 100
    assert clipped(large, 100).seq == 2


@given(st.text(max_size=200))
def test_no_text_can_end_its_own_fence(text: str) -> None:
    """The closing line stands once, at the end, also around a text that holds a fence."""
    for inner in (text, fenced(text, "record")):
        whole = fenced(inner, "record")
        first, last = whole.split("\n")[0], whole.split("\n")[-1]
        assert whole == f"{first}\n{inner}\n{last}"
        assert first not in inner
        assert last not in inner
