"""Which formats can be mended."""

from minutebook.formats.mending.registry import MENDERS, of_lines
from minutebook.formats.registry import FORMATS


def test_every_mender_is_that_of_a_known_format() -> None:
    """By its name."""
    assert MENDERS.keys() <= {one.name for one in FORMATS}


def test_the_lines_alone_are_mended_where_no_more_is_known() -> None:
    """What they say stays."""
    data = b'{"type":"session"}{"type":"message"}\n'
    assert MENDERS["pi"](data) == of_lines(data)
    assert of_lines(data).data == b'{"type":"session"}\n{"type":"message"}\n'
