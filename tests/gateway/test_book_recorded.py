"""What real clients sent, as `record` has written it down, sent again through the gateway."""

import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")

# isort: split
import json
from pathlib import Path
from typing import Any

from minutebook.testing.scripted import Answer, Call, Failure
from minutebook.testing.server import ProviderServer
from tests.gateway.support import ANTHROPIC, KEY, running

RECORDED = Path(__file__).parent / "recorded"
SDK_SESSIONS = [0, 0, 0, 0, 1, 1, 2]
SESSIONS = {
    "openai-sdk": SDK_SESSIONS,
    "anthropic-sdk": SDK_SESSIONS,
    "kimi-cli": [0, 0, 0, 0, 1],
}
"""Which session each request is of, numbered as they begin."""
GOES_ON = ["Read the page.", "first", "words", "read it", "And then?", "second"]
FORKED = [*GOES_ON[:4], "And else?", "once more"]
ANEW = ["Something new.", "anew"]


def recorded(name: str) -> list[dict[str, Any]]:
    """Give a client's requests, each with what it was answered."""
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def answered(answer: dict[str, Any]) -> Answer | Failure:
    """Give an answer as the scripted provider takes it."""
    if "status" in answer:
        return Failure(status=answer["status"])
    if "call" not in answer:
        return Answer(text=answer["text"])
    arguments = json.dumps({"path": "page.txt"})
    call = Call(name=answer["tool"], id=answer["call"], arguments=arguments)
    return Answer(text=answer["text"], calls=(call,))


@pytest.mark.parametrize("name", sorted(SESSIONS))
async def test_each_request_finds_its_session(tmp_path: Path, name: str) -> None:
    """A fault asked again goes on, a change forks, the same once more reverts; all is kept."""
    sent = recorded(name)
    with ProviderServer([answered(one["answer"]) for one in sent]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            found: list[str] = []
            for one in sent:
                headers = ANTHROPIC if one["path"] == "/v1/messages" else KEY
                status, _, told = await gateway.ask(one["path"], one["body"], headers)
                assert status == one["answer"].get("status", 200)
                found.append(told["x-minutebook-session"])
            order = list(dict.fromkeys(found))
            texts = [shown(gateway.texts()[session]) for session in order]
            full = {
                text.text
                for session in order
                for text in gateway.gateway.book.held[session].open_session.history(full=True)
            }
            assert not gateway.gateway.doubts
        assert [one.body for one in upstream.received] == [one["body"] for one in sent]

    assert [order.index(session) for session in found] == SESSIONS[name]
    assert texts == ([GOES_ON, ANEW] if name == "kimi-cli" else [GOES_ON, FORKED, ANEW])
    assert full >= {one["answer"]["text"] for one in sent if "text" in one["answer"]}


def shown(texts: list[str]) -> list[str]:
    """Leave out how Kimi CLI numbers the lines of a page."""
    return ["words" if text.endswith("words") else text for text in texts]


def test_nothing_of_a_machine_is_in_what_was_recorded() -> None:
    """No address, no folder, no key."""
    for path in sorted(RECORDED.iterdir()):
        text = path.read_text()
        assert not [sign for sign in ("://", "/tmp", "/home", "/root", "sk-") if sign in text]
