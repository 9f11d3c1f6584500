"""The registry of formats, other packages' too."""

from importlib.metadata import EntryPoint

import pytest

from minutebook.errors import FormatError
from minutebook.formats import reading, registry
from minutebook.formats.reading import read_source, recognise
from minutebook.formats.registry import FORMATS, GROUP, Plugins, every_format, loaded, plugins
from minutebook.formats.source import Source
from minutebook.formats.value import Format, Reading

MARK = b'{"chronicle": 1, "role": "user", "content": "a"}'


def detect(source: Source) -> str | None:
    """Know a file by a word of its own; fail on one that asks for it."""
    if b"break detect" in source.data:
        raise ZeroDivisionError
    return "it says chronicle" if b"chronicle" in source.data else None


def read(source: Source, index: int) -> Reading:
    """Read nothing, or fail."""
    if b"break read" in source.data:
        raise KeyError(index)
    return Reading(format="chronicle", evidence="it says chronicle", records=())


CHRONICLE = Format(
    name="chronicle", description="a test", looks_for="the word", detect=detect, read=read
)
TWICE = [CHRONICLE, CHRONICLE]


def chronicles() -> list[Format]:
    """Give formats by a call."""
    return [CHRONICLE]


def point(name: str, attribute: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{attribute}", GROUP)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this file importable under its name, as a package's module is."""
    import sys

    module = type(sys)(__name__)
    vars(module).update(globals())
    monkeypatch.setitem(sys.modules, __name__, module)


@pytest.mark.parametrize("attribute", ["CHRONICLE", "chronicles"])
def test_a_package_brings_a_format_along(here: None, attribute: str) -> None:
    """As a value, or as a function that gives some."""
    assert loaded([point("a", attribute)]) == Plugins(formats=(CHRONICLE,))


def test_what_cannot_be_used_is_reported_and_stops_nothing(here: None) -> None:
    """A module that is missing, a value of another kind, a name that is taken."""
    found = loaded([
        EntryPoint("gone", "no.such.module:x", GROUP), point("odd", "MARK"),
        point("twice", "TWICE"),
    ])  # fmt: skip

    assert found.formats == (CHRONICLE,)
    assert [problem.partition(" ")[0] for problem in found.problems] == ["gone", "odd", "twice"]


def test_each_format_has_a_name_of_its_own_and_says_what_it_is() -> None:
    """Ours in the order in which they are asked, the plain ones last."""
    names = [form.name for form in FORMATS]

    assert len(set(names)) == len(names)
    assert names[-2:] == ["anthropic", "openai-chat"]
    assert all(form.description and form.looks_for for form in FORMATS)
    assert [form.name for form in every_format()][: len(names) - 2] == names[:-2]
    assert isinstance(plugins(), Plugins)


@pytest.fixture
def with_chronicle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a format of another package into the registry, and one that is broken."""
    found = Plugins(formats=(CHRONICLE,), problems=("gone (x:y) could not be loaded",))
    monkeypatch.setattr(registry, "plugins", lambda: found)
    monkeypatch.setattr(reading, "plugins", lambda: found)


def test_others_formats_are_asked_before_the_plain_ones(with_chronicle: None) -> None:
    """A file that ours would take as a plain chat is theirs by its own mark."""
    form, evidence = recognise(Source(MARK))

    assert (form.name, evidence) == ("chronicle", "it says chronicle")
    assert read_source(Source(MARK)).format == "chronicle"


def test_others_failures_are_our_own_errors(with_chronicle: None) -> None:
    """In looking and in reading; and what could not be loaded is named where nothing fits."""
    with pytest.raises(FormatError, match="chronicle failed while it looked"):
        read_source(Source(b"break detect"))
    with pytest.raises(FormatError, match="chronicle failed while it read"):
        read_source(Source(b"chronicle, break read"))
    with pytest.raises(FormatError, match=r"the word.*; format gone \(x:y\) could not be loaded"):
        read_source(Source(b"hello"))


def test_nothing_is_loaded_for_a_file_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are asked only when no particular format of ours takes the file."""

    def refuse() -> Plugins:
        raise AssertionError

    monkeypatch.setattr(registry, "plugins", refuse)

    assert read_source(Source(b'{"role":"_checkpoint","id":0}\n')).format == "kimi"
