import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway.mapping import map_item
from minutebook.gateway.redaction import Redactor, restored
from tests.cases import case

KEY = b"k" * 32
SECRETS = {
    "provider-key": "sk-test-0000000000000000000000000000FAKE",
    "url-password": "postgres://admin:hunter2fake@10.0.0.5:5432/prod",
    "cloud-key": "AKIAFAKEFAKEFAKE0000",
    "private-key": "-----BEGIN PRIVATE KEY-----\nMIIFAKE\n-----END PRIVATE KEY-----",
    "github-token": "ghp_" + "a1B2" * 9,
    "assigned": "API_KEY='q8w7e6r5t4'",
    "bearer": "Authorization: Bearer abcdefghijklmnopqrstuvwx",
}


@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_each_mask_names_its_kind(kind: str) -> None:
    """And the same secret has the same placeholder, and another one another."""
    text = f"before {SECRETS[kind]} after"

    made = Redactor(KEY).text(text)

    assert f"[redacted:{kind}#" in made
    assert made == Redactor(KEY).text(text) == Redactor(KEY).text(made)
    assert made.startswith("before ")
    assert made.endswith(" after")


@given(st.lists(st.sampled_from([*SECRETS.values(), "word", "北京", '"', "\n"]), max_size=6))
def test_what_is_sent_gets_its_secrets_back(words: list[str]) -> None:
    """Texts, and arguments, which are JSON in a string."""
    redactor = Redactor(KEY)
    text = " ".join(words)
    item = {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": json.dumps({"a": text})}}
        ],
    }
    (message,) = map_item("chat", json.dumps(item).encode()).messages

    made = redactor.message(message)
    call = {"arguments": made.calls[0].arguments}

    assert restored([made.text], redactor.found) == [text]
    assert json.loads(restored(call, redactor.found)["arguments"]) == {"a": text}


def test_c114_secrets_go_and_hashes_stay() -> None:
    """C114: none of the five secrets is left; the git hash and the uuid stay."""
    told = []
    for line in case("C114").raw().splitlines():
        event = json.loads(line)
        if event["type"] == "message":
            raw = json.dumps({"role": event["role"], "content": event["content"]}).encode()
            for message in map_item("messages", raw).messages:
                clean = Redactor(KEY).message(message)
                told += [clean.text, *(call.arguments for call in clean.calls)]
    text = "\n".join(told)

    for secret in ("sk-test-", "hunter2fake", "AKIAFAKE", "MIIFAKE"):
        assert secret not in text
    assert "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b" in text
    assert "123e4567-e89b-42d3-a456-426614174000" in text
