"""Ids that are unique, fit, and stay as they are."""

import re

from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import assistant, call
from minutebook.providers.ids import UniqueIds, ids_for, name_like

WISHES = st.lists(
    st.tuples(st.sampled_from(["a", "a-1", "a-1-2", "b", "x" * 12]), st.sampled_from(["", "1"])),
    max_size=12,
)


@given(WISHES, st.one_of(st.none(), st.just(11)))
def test_no_id_is_given_twice(wishes: list[tuple[str, str]], characters_max: int | None) -> None:
    """Whatever was wished for, each id is new and short enough."""
    ids = UniqueIds(characters_max=characters_max)

    given_out = [ids.give(wanted, hint) for wanted, hint in wishes]

    assert len(set(given_out)) == len(given_out)
    assert all(len(found) <= (characters_max or 100) for found in given_out)


@given(WISHES, st.integers(0, 12))
def test_what_comes_later_changes_no_id(wishes: list[tuple[str, str]], stop: int) -> None:
    """The first wishes get the same ids, however many follow."""
    some, all_of_them = UniqueIds(), UniqueIds()

    first = [some.give(*wish) for wish in wishes[:stop]]

    assert [all_of_them.give(*wish) for wish in wishes][:stop] == first


def test_a_free_wish_is_granted_as_it_is() -> None:
    """Only the second of a kind is changed: by its hint, then by a number."""
    ids = UniqueIds()

    given_out = [ids.give("Shell:0", "17") for _ in range(4)]

    assert given_out == ["Shell:0", "Shell:0-17", "Shell:0-17-2", "Shell:0-17-3"]


def test_a_thousand_equal_wishes_take_a_thousand_steps() -> None:
    """The numbers that are known to be taken are not tried again."""
    ids = UniqueIds()

    assert [ids.give("a") for _ in range(1000)][-1] == "a-1000"


def test_a_long_id_ends_in_the_check_sum_of_the_whole() -> None:
    """So two that begin alike stay apart, on every run."""
    ids = UniqueIds(characters_max=20)

    assert ids.give("y" * 21) == "yyyyyyyyyyy-9ff34932"
    assert len(ids.give("\ud83d" * 21)) == 20


@given(st.text(max_size=200))
def test_a_name_is_of_plain_letters(text: str) -> None:
    """It fits the providers' pattern, and one that fits already is not changed."""
    name = name_like(text, characters_max=64)

    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", name)
    assert name_like(name, characters_max=64) == name


def test_a_name_without_a_letter_is_unknown() -> None:
    """An empty name is refused everywhere."""
    assert name_like("") == "unknown"
    assert name_like("my tool") == "my_tool"


def test_each_call_of_a_view_has_an_id_of_the_request() -> None:
    """What fits stays; what is alike once it is spelled stays apart."""
    messages = [assistant(tool_calls=[call(wish, "f") for wish in ("a_0", "a:0", "b")])]

    assert ids_for(messages) == {"a_0": "a_0", "a:0": "a:0", "b": "b"}
    assert ids_for(messages, spelled=name_like) == {"a_0": "a_0", "a:0": "a_0-2", "b": "b"}
