from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway.chains import chained, digest_of, root_of
from minutebook.gateway.mapping import map_item

KEY = b"k" * 32


def digests(api: Any, raw: bytes) -> list[bytes]:
    return [digest_of(one, KEY) for one in map_item(api, raw).messages]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            b'{"role":"user","content":"a"}',
            b'{"content": [{"type":"text","text":"a"}], "role": "user"}',
        ),
        (
            b'{"role":"user","content":[{"type":"text","text":"a"}]}',
            b'{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"e"}}]}',
        ),
        (
            b'{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"f","input":{"a":1,"b":2}}]}',
            (
                b'{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},'
                b'{"type":"tool_use","id":"i","name":"f","input":{"b": 2, "a": 1}}]}'
            ),
        ),
    ],
)
def test_what_clients_change_on_the_way_changes_no_hash(one: bytes, other: bytes) -> None:
    """Spacing, order, one text as a part, cache marks, thinking."""
    assert digests("messages", one) == digests("messages", other)


@given(st.text(), st.text())
def test_different_texts_have_different_hashes(one: str, other: str) -> None:
    """But for white space around them."""
    import msgspec

    made = [
        digests(
            "chat",
            msgspec.json.encode(
                {"role": "user", "content": text.encode("utf-8", "replace").decode()}
            ),
        )
        for text in (one, other)
    ]

    same = one.encode("utf-8", "replace").strip() == other.encode("utf-8", "replace").strip()
    assert same or one.strip() == other.strip() or made[0] != made[1]


def test_namespaces_and_names_never_meet() -> None:
    """The link before the first message differs, so every link behind it does."""
    roots = {root_of("a", KEY), root_of("b", KEY), root_of("a", KEY, "s"), root_of("a", b"x" * 32)}

    assert len(roots) == 4
    assert len({chained(root, b"d") for root in roots}) == 4
