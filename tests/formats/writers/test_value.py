"""What a writer gives."""

from minutebook.formats.openai_chat import read
from minutebook.formats.writers.value import checked
from minutebook.messages import user


def test_what_is_lost_is_found_by_reading_the_file_again() -> None:
    """Not by what a writer believes."""
    records = [user("first"), user("second")]
    data = b'{"messages":[{"role":"user","content":"first"}]}'

    written = checked(data, records, read)

    assert written.data == data
    assert written.lost["messages"] == 1
