"""A slice of the campaign that sends generated sessions to a strict server."""

from benchmarks.providers import violations


def test_no_provider_has_anything_against_generated_sessions() -> None:
    """Of fixed seeds; `make campaign-providers` sends 10 000."""
    found = violations(60)

    assert found.pop("requests") == 360
    assert dict(found) == {}
