"""Which forms a session can be written in."""

from minutebook.formats.registry import FORMATS
from minutebook.formats.writers.registry import WRITERS, writer_of


def test_names_are_unique_and_find_their_writer() -> None:
    """And nothing else is found."""
    assert len({writer.name for writer in WRITERS}) == len(WRITERS)
    assert all(writer_of(writer.name) is writer for writer in WRITERS)
    assert writer_of("no such") is None


def test_what_can_be_read_is_called_the_same() -> None:
    """But for Markdown, which is for people."""
    assert {writer.name for writer in WRITERS} - {one.name for one in FORMATS} == {"markdown"}


def test_each_writer_says_what_its_files_are() -> None:
    """In one line."""
    assert all(writer.description and "\n" not in writer.description for writer in WRITERS)
