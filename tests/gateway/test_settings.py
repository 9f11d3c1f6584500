from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import ConfigError
from minutebook.gateway.settings import is_loopback, make_settings, refusal

UPSTREAM = {"upstream": {"openai": "https://provider.example"}}


@pytest.mark.parametrize(
    "values",
    [
        {"upstream": {}},
        {"upstream": {"openai": "ftp://x"}},
        {"upstream": {"v1": "https://x"}},
        {"upstream": {"a/b": "https://x"}},
        {**UPSTREAM, "listen": "8377"},
        {**UPSTREAM, "listen": "0.0.0.0:8377"},
        {**UPSTREAM, "window": 0},
        {**UPSTREAM, "body_bytes_max": 0},
        {**UPSTREAM, "seconds_max": 0},
        {**UPSTREAM, "preset": "no-such"},
        {**UPSTREAM, "no_such": 1},
        {**UPSTREAM, "redact": "perhaps"},
    ],
)
def test_a_setting_that_makes_no_sense_is_an_error(values: dict[str, Any]) -> None:
    """It names the setting; so does an address that others reach, without a token."""
    with pytest.raises(ConfigError):
        make_settings(values)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8377"}, None),
        ({"host": "localhost"}, None),
        ({"host": "[::1]:8377"}, None),
        ({"host": "gateway.example:80"}, None),
        ({}, 403),
        ({"host": "rebound.example"}, 403),
        ({"host": "127.0.0.1.rebound.example"}, 403),
        ({"host": "user@127.0.0.1"}, 403),
        ({"host": "["}, 403),
        ({"host": "localhost", "origin": "https://other.example"}, 403),
        ({"host": "localhost", "origin": "null"}, 403),
        ({"host": "localhost", "origin": "http://localhost:3000"}, None),
    ],
)
def test_other_sites_and_rebound_names_are_refused(
    headers: dict[str, str], status: int | None
) -> None:
    """Only the names that are known get in, in Host and in Origin."""
    settings = make_settings({**UPSTREAM, "hosts": ["gateway.example"]})
    refused = refusal(settings, headers)

    assert (refused and refused[0]) == status


def test_a_token_is_asked_for_where_one_is_set() -> None:
    """Beyond loopback one has to be set."""
    settings = make_settings({**UPSTREAM, "listen": "0.0.0.0:1", "token": "é-word"})
    host = {"host": "localhost"}

    assert refusal(settings, host) == refusal(settings, {**host, "x-minutebook-token": "x"})
    assert (refusal(settings, host) or (0,))[0] == 401
    assert refusal(settings, {**host, "x-minutebook-token": "é-word"}) is None


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_host_and_origin_are_judged(host: str, origin: str) -> None:
    """Nothing is raised for what stands in a header."""
    refusal(make_settings(UPSTREAM), {"host": host, "origin": origin})


def test_loopback() -> None:
    """The addresses that only this machine reaches."""
    assert is_loopback("127.0.0.9")
    assert is_loopback("::1")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("provider.example")
