"""What a summariser is: any async callable that says, or is told, what it takes."""

import pytest

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import Capacity, SummaryRequest, request_for, task_of
from minutebook.errors import ConfigError
from minutebook.messages import user
from minutebook.models.summarizer import (
    FunctionSummarizer,
    Summarizer,
    as_summarizer,
    capacity_of,
    small_windows,
)
from minutebook.testing.scripted import ScriptedModel

REQUEST = request_for(
    task_of([user("go on")], 300), Capacity(window_tokens=50_000, output_tokens_max=1_000)
)


async def write(request: SummaryRequest) -> str:
    """Write a summary."""
    return f"about {len(request.task.messages)} message"


async def test_a_function_becomes_a_summariser_with_a_window() -> None:
    """Its name is the function's, unless one is given."""
    made = as_summarizer(write, window_tokens=9_000)

    assert isinstance(made, Summarizer)
    assert made.name == "write"
    assert made.capacity.window_tokens == 9_000
    assert await made(REQUEST) == "about 1 message"
    assert FunctionSummarizer(write, window_tokens=9_000, name="small").name == "small"


async def test_a_callable_object_is_named_after_its_class() -> None:
    """It has no name of its own."""

    class Writer:
        async def __call__(self, request: SummaryRequest) -> SummaryReply:
            return SummaryReply(text="ok")

    made = as_summarizer(Writer(), window_tokens=9_000)

    assert made.name == "Writer"
    assert await made(REQUEST) == SummaryReply(text="ok")


def test_a_whole_summariser_stays_as_it_is() -> None:
    """Its own window counts, not the one for bare callables."""
    model = ScriptedModel(window_tokens=4_000)

    assert as_summarizer(model, window_tokens=99) is model


def test_a_window_that_is_unknown_is_an_error_that_names_the_setting() -> None:
    """Guessing one would cut a request too late or too early."""
    with pytest.raises(ConfigError, match="summarizer window"):
        as_summarizer(write)
    with pytest.raises(ConfigError, match="no callable"):
        as_summarizer("gpt", window_tokens=9)  # type: ignore[arg-type]


@pytest.mark.parametrize(("window", "output"), [(0, 5), (-1, 5), (5, 0)])
def test_numbers_that_make_no_sense_are_refused(window: int, output: int) -> None:
    """No window and no reply of nothing."""
    with pytest.raises(ConfigError):
        capacity_of(window, output)


def test_case_c023_a_window_smaller_than_the_trigger_is_named_once() -> None:
    """Case C023: one sentence for each summariser that is too small, none for the others."""
    small = ScriptedModel(name="cheap", window_tokens=8_000)
    large = ScriptedModel(name="large", window_tokens=200_000)

    found = small_windows([small, large], 108_800)

    assert len(found) == 1
    assert "cheap takes 8000 tokens, less than the 108800" in found[0]
