"""The log of changes of a Gemini session."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.gemini_log import Session

Message = dict[str, Any]
NAMES = st.sampled_from("abcde")
MESSAGES = st.builds(
    lambda name, text: {"id": name, "type": "user", "content": text}, NAMES, st.sampled_from("xyz")
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), MESSAGES),
        st.tuples(st.just("set"), st.lists(MESSAGES, max_size=4, unique_by=lambda m: m["id"])),
        st.tuples(st.just("rewind"), NAMES),
    ),
    max_size=10,
)


def message(name: str, text: str = "x") -> Message:
    return {"id": name, "type": "user", "content": text}


def live(session: Session) -> list[Message]:
    return [session.written[at] for at in session.live]


@given(CHANGES)
def test_what_is_live_is_what_a_slow_replay_gives(changes: list[tuple[str, Any]]) -> None:
    """By id: the last version counts, a list replaces all, a rewind drops from there on."""
    session = Session()
    slow: dict[str, Message] = {}
    for kind, value in changes:
        if kind == "put":
            session.put(value)
            slow[value["id"]] = value
        elif kind == "set":
            session.set({"messages": value})
            slow = {item["id"]: item for item in value}
        else:
            session.rewind(value)
            names = list(slow)
            for name in names[names.index(value) if value in names else 0 :]:
                del slow[name]

    said = [(item["id"], item["content"]) for item in live(session)]
    assert [text for _, text in said] == [item["content"] for item in slow.values()]
    shown = [at for at in range(len(session.written)) if at not in session.outdated]
    assert set(session.live) <= set(shown)
    assert not set(session.live) & session.left
    assert set(session.whole.values()) <= session.outdated


def test_a_version_takes_the_place_of_the_one_before() -> None:
    """Also of one that stands for a longer one."""
    session = Session()
    session.put(message("a", "long"))
    session.put(message("b"))
    session.set({"messages": [message("a", "…"), message("b")], "summary": "s"})
    session.put(message("a", "… and more"))

    assert live(session) == [message("a", "… and more"), message("b")]
    assert session.written[next(iter(session.whole.values()))] == message("a", "long")
    assert (session.compactions, session.maskings) == (0, 1)
    assert session.about == {"summary": "s"}


def test_a_list_that_leaves_some_out_is_a_compression() -> None:
    """Messages that say the same under other ids are the same; the first list is none."""
    session = Session()
    session.set({"messages": [message("a", "1"), message("b", "2")]})
    assert session.compactions == 0

    session.set({"messages": [message("n", "summary"), message("m", "2")]})

    assert session.compactions == 1
    assert [item["content"] for item in live(session)] == ["summary", "2"]
    assert len(session.written) == 3
    session.set({"messages": [message("n", "summary"), message("m", "2")]})
    assert session.compactions == 1
    session.set({"messages": 5})
    assert len(session.live) == 2


def test_an_unknown_place_rewinds_everything() -> None:
    """As the program does; a message without an id has no place."""
    session = Session()
    session.put({"type": "user"})
    session.put(message("a"))

    session.rewind("gone")
    session.rewind(5)

    assert session.live == []
    assert session.reverts == 2
    assert len(session.left) == 2
