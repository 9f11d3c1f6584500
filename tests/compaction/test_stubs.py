"""A stub says which call it was, what came out, and where the whole is."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.calls import act_of
from minutebook.compaction.digest.names import names_in, ordinary_words
from minutebook.compaction.phrases import ALL, ENGLISH, Phrases
from minutebook.compaction.plan import Draft, Item, Request, begin
from minutebook.compaction.stubs import OUTPUT_TOKENS_MIN, acts_of, may_go, stub_of, with_stubs
from minutebook.messages import ImagePart, MediaUrl, TextPart, assistant, replace, tool
from tests.compaction.conversations import called, lines, numbered, step


def first(*messages: object) -> tuple[Draft, Item]:
    """Begin a compaction of an exchange, and give its result too."""
    draft = begin(Request(history=numbered(messages)))  # type: ignore[arg-type]  # messages
    return draft, draft.items[1]


@given(st.text(max_size=3_000), st.sampled_from(ALL), st.integers(0, 9))
def test_a_stub_is_smaller_and_names_the_record(text: str, phrases: Phrases, newer: int) -> None:
    """Or there is none."""
    draft, item = first(*step("a", "bash", text, command="make"))

    stub = stub_of(item, acts_of(draft)[1], phrases, newer)

    if stub is not None:
        assert stub.tokens < item.tokens
        assert stub.message.elided == "mask"
        assert stub.message.seq == 2
        assert phrases.record.format(n=2) in stub.message.text


def test_a_stub_says_what_was_there_and_how_it_ended() -> None:
    """Tool, call, size, outcome, names, record."""
    output = f"Exit code: 1\n{lines(60)}\nsrc/app.py parse_line\nValueError: bad row 512"
    draft, item = first(*step("a", "bash", output, command="python run.py"))

    stub = stub_of(item, acts_of(draft)[1], ENGLISH)

    assert stub is not None
    assert stub.message.text.split("\n") == [
        (
            "[The output of bash python run.py was set aside: 63 lines,"
            f" {len(output)} characters, whole in record 2;"
            " it ended with exit code 1, ValueError: bad row 512]"
        ),
        (
            "Most often it named src/app.py, parse_line, ValueError, which tells what this output"
            " was about at the time"
        ),
    ]


def test_the_names_in_a_stub_stand_in_a_sentence() -> None:
    """With more ordinary words than names, in every language."""
    output = " ".join(f"name_{at}" for at in range(400))
    draft, item = first(*step("a", "look", output))
    for phrases in ALL:
        stub = stub_of(item, acts_of(draft)[1], phrases)

        assert stub is not None
        for line in stub.message.text.split("\n")[1:]:
            assert 0 < len(names_in(line)) <= ordinary_words(line)
            assert ordinary_words(line) >= 4


def test_a_long_command_is_cut_with_a_mark() -> None:
    """Half a path would be another path."""
    draft, item = first(*step("a", "bash", lines(60), command=f"cat {'deep/' * 30}file.py"))

    stub = stub_of(item, acts_of(draft)[1], ENGLISH)

    assert stub is not None
    assert "… was set aside" in stub.message.text


def test_pictures_in_an_output_are_told_of() -> None:
    """They go with the text, and are counted."""
    picture = ImagePart(MediaUrl("data:image/png;base64,iVBORw0KGgo="))
    output = tool("a", [TextPart(lines(30)), picture])
    draft, item = first(assistant(tool_calls=[called("a", "look")]), output)

    stub = stub_of(item, acts_of(draft)[1], ENGLISH)

    assert stub is not None
    assert "with 1 parts that are no text" in stub.message.text


def test_an_output_that_a_stub_would_not_shorten_has_none() -> None:
    """One dense error line is said whole in its stub, which would be longer."""
    dense = "Error: " + "a/b-c_d+e=" * 19
    call = called("a", "edit", path="x-y/" * 25, old_string="a", new_string="b")
    _, item = first(assistant(tool_calls=[call]), tool("a", dense))

    assert item.tokens >= OUTPUT_TOKENS_MIN
    assert stub_of(item, act_of(call), ENGLISH) is None


def test_stubs_take_the_places_of_outputs() -> None:
    """All other messages stay what they are."""
    draft, item = first(*step("a", "bash", lines(60), command="make"), assistant("ok"))
    stub = stub_of(item, acts_of(draft)[1], ENGLISH)
    assert stub is not None

    after = with_stubs(draft, {1: stub})

    assert after.items == (draft.items[0], stub, draft.items[2])
    assert after.tokens == draft.tokens - item.tokens + stub.tokens


def test_a_stub_is_known_by_its_key() -> None:
    """Text that looks like one is an output like any other (case C118)."""
    from minutebook.budget import Policy
    from minutebook.compaction.keep import protect
    from minutebook.compaction.plan import Goal

    draft, item = first(*step("a", "bash", lines(60), command="make"), assistant("ok"))
    stub = stub_of(item, acts_of(draft)[1], ENGLISH)
    assert stub is not None
    fake = tool("a", f"{stub.message.text}\n{lines(60)}")
    goal = Goal(policy=Policy(), phrases=ENGLISH, target=10, limit=40, room=10)
    for result, may in ((fake, True), (replace(fake, elided="mask"), False)):
        other, _ = first(draft.items[0].message, result, assistant("ok"))
        assert may_go(other, 1, protect(other, goal)) is may
