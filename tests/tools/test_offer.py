"""What a tool is to a model: schemas that both APIs take, and arguments read with patience."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.tools import condense, dmail, recall
from minutebook.tools.offer import (
    BadArguments,
    Offer,
    number_argument,
    read_arguments,
    text_argument,
    whole_number,
)

OFFERS = [dmail.OFFER, recall.OFFER, condense.OFFER]
NAMES = [offer.name for offer in OFFERS]
JSON_TYPES = {"string", "integer", "array", "object"}


def schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Give a schema and all that it holds."""
    inner = [*schema.get("properties", {}).values()]
    inner += [schema["items"]] if "items" in schema else []
    return [schema, *(found for one in inner for found in schemas(one))]


@pytest.mark.parametrize("offer", OFFERS, ids=NAMES)
def test_each_tool_is_what_the_sdks_take(offer: Offer) -> None:
    """The SDKs' own types accept them, with nothing left over."""
    pydantic = pytest.importorskip("pydantic", reason="the SDKs are not installed")
    openai = pytest.importorskip("openai.types.chat", reason="the extra openai is not installed")
    anthropic = pytest.importorskip("anthropic.types", reason="the extra anthropic is missing")

    chat = pydantic.TypeAdapter(openai.ChatCompletionToolParam)
    messages = pydantic.TypeAdapter(anthropic.ToolParam)

    assert chat.validate_python(offer.to_openai()) == offer.to_openai()
    assert messages.validate_python(offer.to_anthropic()) == offer.to_anthropic()


@pytest.mark.parametrize("offer", OFFERS, ids=NAMES)
def test_each_tool_keeps_to_the_limits_of_both_apis(offer: Offer) -> None:
    """Its name, its description, and a schema of an object whose parts all say what they are."""
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", offer.name)
    assert 40 < len(offer.description) <= 1024
    assert offer.parameters["type"] == "object"
    assert offer.parameters["additionalProperties"] is False
    properties = offer.parameters["properties"]
    assert set(offer.parameters.get("required", ())) <= set(properties)
    assert all(one["description"] for one in properties.values())
    assert {one["type"] for one in schemas(offer.parameters)} <= JSON_TYPES
    assert json.loads(json.dumps(offer.to_openai())) == offer.to_openai()


def test_a_tool_is_found_among_a_requests_tools() -> None:
    """In either API's shape, and not by what merely looks like it."""
    others = [condense.OFFER.to_openai(), recall.OFFER.to_anthropic(), {"type": "web_search"}]

    assert dmail.OFFER.is_among([*others, dmail.OFFER.to_openai()])
    assert dmail.OFFER.is_among([*others, dmail.OFFER.to_anthropic()])
    assert not dmail.OFFER.is_among(others)
    assert not dmail.OFFER.is_among([])


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_arguments_are_read_from_text_and_from_objects(given_: dict[str, Any]) -> None:
    """Some clients hand over JSON, some what they have read from it."""
    assert read_arguments(given_) == given_
    assert read_arguments(json.dumps(given_)) == given_


@pytest.mark.parametrize("arguments", [None, "", "  \n", "null", "{}", {}])
def test_no_arguments_are_an_empty_object(arguments: str | dict[str, Any] | None) -> None:
    """However a provider spells that."""
    assert read_arguments(arguments) == {}


def test_raw_line_breaks_inside_of_a_string_are_read() -> None:
    """Local models write them, and there is only one thing that they can mean."""
    assert read_arguments('{"message": "one\ntwo"}') == {"message": "one\ntwo"}


@pytest.mark.parametrize("arguments", ["{", "[]", "7", '"text"', '{"a": }', "[" * 100_000])
def test_what_is_no_object_is_refused_in_words(arguments: str) -> None:
    """The words are for the model."""
    with pytest.raises(BadArguments, match="not"):
        read_arguments(arguments)


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_a_number_is_read_however_a_model_writes_it(number: int) -> None:
    """As a number, with a decimal point, or as digits in a text."""
    assert whole_number(number) == number
    assert whole_number(float(number)) == number
    assert whole_number(f" {abs(number)} ") == abs(number)


@pytest.mark.parametrize(
    "value", [None, True, 1.5, float("nan"), float("inf"), "", "-1", "1.0", "٣", "9" * 5_000, [1]]
)
def test_what_is_no_whole_number_is_none(value: object) -> None:
    """Nothing is guessed, and nothing raises."""
    assert whole_number(value) is None
    with pytest.raises(BadArguments, match="`n` has to be a whole number"):
        number_argument({"n": value}, "n")


@pytest.mark.parametrize("value", [None, "", " \n", 7, ["text"]])
def test_a_text_has_something_in_it(value: object) -> None:
    """Blank is no text, and neither is anything else."""
    with pytest.raises(BadArguments, match="`message` has to be a text"):
        text_argument({"message": value}, "message")


def test_a_text_is_given_as_it_is() -> None:
    """Nothing is trimmed: it may be code."""
    assert text_argument({"message": "  x\n"}, "message") == "  x\n"
    assert number_argument({"n": 3}, "n") == 3
