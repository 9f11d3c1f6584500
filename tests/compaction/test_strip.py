"""Thinking of ended turns and old media go; origins, text and calls stay."""

import pytest
from hypothesis import given

from minutebook.budget import Policy
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.compaction.strip import part_kind, strip
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    VideoPart,
    assistant,
    replace,
    tool,
    user,
)
from tests.compaction.conversations import called, histories, lines, numbered, step

PICTURE = ImagePart(MediaUrl("https://example.org/screen.png"))
SOUND = AudioPart(MediaUrl("data:audio/wav;base64,UklGRg=="))
FILM = VideoPart(MediaUrl("https://example.org/film.mp4"))


def goal(target: int = 10, verbatim: float = 0.0, **more: bool) -> Goal:
    """Give a goal, all of it room for messages."""
    policy = Policy(verbatim_share=verbatim, **more)  # type: ignore[arg-type]  # flags
    return Goal(policy=policy, phrases=ENGLISH, target=target, limit=target * 4, room=target)


def draft(*messages: Message, pins: frozenset[int] = frozenset()) -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages), pins=pins))


def thinking(text: str, call_id: str) -> list[Message]:
    """Think for a while, call something, and get its result."""
    call = called(call_id, "bash", command="make")
    return [assistant(text, tool_calls=[call], thinking=lines(20)), tool(call_id, "ok")]


@given(histories())
def test_what_has_neither_stays_as_it_is(history: tuple[Message, ...]) -> None:
    """Texts and calls are not this step's."""
    before = begin(Request(history=history))

    assert strip(before, goal())[0] is before


def test_thinking_of_ended_turns_goes() -> None:
    """Text and calls of the reply stay; in the turn in progress all stays, byte for byte."""
    before = draft(
        user("go"), *thinking("I run it.", "a"), assistant("x"), user("on"), *thinking("", "b")
    )

    after, detail = strip(before, goal())

    stripped = after.items[1].message
    assert (stripped.text, stripped.thinking, stripped.elided) == ("I run it.", "", "strip")
    assert stripped.calls == before.items[1].message.calls
    assert after.items[5] is before.items[5]
    assert after.tokens < before.tokens
    assert detail.startswith("the thinking of 1 replies and the media of 0 messages")


def test_a_reply_that_is_only_thinking_keeps_it() -> None:
    """It would be blank without."""
    before = draft(user("go"), assistant("", thinking=lines(20)), user("on"), assistant("ok"))

    assert strip(before, goal())[0] is before


def test_marked_and_unanswered_messages_keep_their_thinking() -> None:
    """A pin is word for word."""
    history = [user("go"), *thinking("I run it.", "a"), user("on"), assistant("ok")]
    pinned = draft(*history, pins=frozenset([2]))

    assert strip(pinned, goal())[0] is pinned


@pytest.mark.parametrize(
    ("part", "kind", "line"),
    [
        (PICTURE, "image", "[A picture was left out here; record 1 holds it]"),
        (SOUND, "audio", "[A sound was left out here; record 1 holds it]"),
        (FILM, "video", "[A film was left out here; record 1 holds it]"),
    ],
)
def test_a_medium_leaves_a_line(
    part: ImagePart | AudioPart | VideoPart, kind: str, line: str
) -> None:
    """In its place, with the record that holds it."""
    before = draft(user([TextPart("See"), part]), assistant("ok"), user("on"), assistant("yes"))

    after, _ = strip(before, goal())

    assert part_kind(part) == kind
    assert after.items[0].message.parts == (TextPart("See"), TextPart(line))
    assert after.items[0].message.elided == "strip"


def test_the_oldest_media_go_first_and_no_more_than_needed() -> None:
    """Media of tool results too; those of the newest part stay."""
    shots = [user([TextPart("See"), PICTURE]), assistant("ok")] * 3
    before = draft(*shots, user("on"), assistant("yes"))

    after, _ = strip(before, goal(before.tokens - 20))
    kept, _ = strip(before, goal(before.tokens - 1, verbatim=0.99))

    assert [item is old for item, old in zip(after.items, before.items, strict=True)] == [
        False,
        *[True] * 7,
    ]
    assert kept.items[4] is before.items[4]


def test_c047_the_picture_of_an_unanswered_message_stays() -> None:
    """Whatever is aimed at: the model has not seen it."""
    before = draft(user([TextPart("What is this?"), PICTURE]))

    assert strip(before, goal())[0] is before


def test_the_policy_may_forbid_both() -> None:
    """Each by itself."""
    history = [user([TextPart("See"), PICTURE]), *thinking("I run it.", "a"), assistant("x")]
    before = draft(*history, user("on"), assistant("ok"))

    media, _ = strip(before, goal(drop_thinking=False))
    thoughts, _ = strip(before, goal(drop_media=False))

    assert [at for at in range(6) if media.items[at] is not before.items[at]] == [0]
    assert [at for at in range(6) if thoughts.items[at] is not before.items[at]] == [1]


def test_what_was_shortened_before_keeps_its_mark() -> None:
    """The first step that shortened a copy is the one that it names."""
    cut = replace(user([TextPart("See"), PICTURE]), elided="clip")
    before = draft(cut, assistant("ok"), *step("a", "bash", "x"), user("on"), assistant("yes"))

    assert strip(before, goal())[0].items[0].message.elided == "clip"
