"""The pages of a PDF, where they can be told."""

from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import OtherPart
from minutebook.tokens.documents import END_BYTES, PAGE_TOKENS, PAGES_MAX, pdf_pages
from minutebook.tokens.estimate import estimate_part
from minutebook.tokens.media import PAYLOAD_TOKENS, estimate_payload


def pages(data: bytes) -> int | None:
    """Read the pages of a PDF from its base64."""
    return pdf_pages(b64encode(data).decode())


def pdf(*pieces: bytes, size: int = 400_000) -> bytes:
    """Write a PDF with the last piece at its end."""
    head, tail = b"%PDF-1.7\n" + b"".join(pieces[:-1]), pieces[-1]
    return head.ljust(size - len(tail), b"%") + tail


@given(st.binary(max_size=600))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """What isn't one has none."""
    assert pages(b"%PDF-1.4" + data) is None or b"Count" in data
    assert pages(data) is None or data.startswith(b"%PDF-")


def test_a_file_made_for_the_web_says_its_pages_first() -> None:
    """They stand in its first object."""
    first = b"1 0 obj\n<< /Linearized 1 /L 400000 /H [ 600 200 ] /O 5 /E 9000 /N 12 /T 399 >>"
    assert pages(pdf(first, b"%%EOF")) == 12


def test_the_root_of_the_page_tree_counts_all() -> None:
    """At either end of the file, in either order of its keys; a branch counts only its own."""
    root = b"2 0 obj\n<</Type /Pages /Kids [3 0 R 4 0 R] /Count 37>>"
    branch = b"3 0 obj\n<</Count 20 /Kids [5 0 R] /Type/Pages>>"
    assert pages(pdf(branch, root)) == 37
    assert pages(pdf(root, branch)) == 37
    assert pages(pdf(branch, b"%%EOF")) == 20


def test_pages_that_can_not_be_read_are_not_guessed() -> None:
    """The tree stands in the middle, or packed; other things count too; the file lies."""
    root = b"2 0 obj\n<</Type /Pages /Kids [3 0 R] /Count 37>>"
    middle = b"%PDF-1.7\n".ljust(2 * END_BYTES, b"%") + root + b"%" * 2 * END_BYTES
    assert pages(middle) is None
    assert pages(pdf(b"<</Type /Outlines /Count 37>>", b"%%EOF")) is None
    assert pages(pdf(b"<</Type /Pages /Count %d>>" % (PAGES_MAX + 1), b"%%EOF")) is None
    assert pages(pdf(root, b"%%EOF", size=900)) is None


def test_a_document_costs_by_the_page() -> None:
    """In a block of a kind that isn't known; a constant where its pages can't be told."""
    payload = b64encode(pdf(b"<</Type /Pages /Count 9>>", b"%%EOF")).decode()
    assert estimate_payload(payload) == 9 * PAGE_TOKENS
    source = {"type": "base64", "media_type": "application/pdf", "data": payload}
    cost = estimate_part(OtherPart({"type": "document", "source": source}))
    assert 0 < cost - 9 * PAGE_TOKENS < 60
    assert estimate_payload(b64encode(pdf(b"", b"%%EOF")).decode()) == PAYLOAD_TOKENS
