"""The loop: every step is in the log before the next, and every request is valid and fits."""

import json
from pathlib import Path

import pytest

from minutebook.chat.loop import turn
from minutebook.errors import MinutebookError
from minutebook.testing.scripted import Answer, Call, Failure, Step
from minutebook.testing.server import ProviderServer
from minutebook.testing.wire import openai_overflow
from tests.chat.desk import User, chatting, sent


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_turn_goes_on_until_nothing_is_called(tmp_path: Path, api: str) -> None:
    """A checkpoint before each call of the model; results go back; the status line ends it."""
    steps: list[Step | str] = [
        Answer(
            text="I write.",
            calls=(Call(name="write", arguments='{"path":"a.txt","content":"hi"}'),),
        ),
        Answer(
            calls=(
                Call(name="run", arguments='{"command":"cat a.txt; exit 3"}'),
                Call(name="read", arguments='{"path":"a.txt"}'),
            )
        ),
        "Done.",
    ]
    user = User()
    with ProviderServer(steps) as server:
        async with chatting(tmp_path, server, user, api=api) as chat:
            await turn(chat, "write a file")
            history = chat.session.context.history
            results = [message.text for message in history if message.role == "tool"]
            checkpoints = len(chat.session.context.checkpoints)
        server.check()

    assert results == ["2 characters written", "hi\nexit code 3", "hi"]
    assert checkpoints == 3
    assert (tmp_path / "work" / "a.txt").read_text() == "hi"
    assert [what.split()[0] for what in user.asked] == ["write", "run", "read"]
    assert "I write." in user.seen
    assert "Done." in user.seen
    assert user.seen[-1].startswith("[")


async def test_what_does_not_fit_is_compacted_and_an_overflow_teaches_the_window(
    tmp_path: Path,
) -> None:
    """The user sees that, and the turn is completed."""
    long = "some words of a long output\n" * 500
    calls = [Answer(calls=(Call(name="read", arguments='{"path":"long.txt"}'),)) for _ in range(12)]
    user = User()
    with ProviderServer([*calls, "Read."], window_tokens=20_000) as server:
        async with chatting(
            tmp_path, server, user, window=20_000, allowed=frozenset({"read"})
        ) as chat:
            (tmp_path / "work" / "long.txt").write_text(long)
            await turn(chat, "read it again and again")
        server.check()
    assert user.asked == []
    assert "compacting…" in user.seen
    assert any(line.startswith("compacted: ") for line in user.seen)

    failure = Failure(status=400, body=openai_overflow(9_000, 100, 8_000))
    with ProviderServer([failure, "Now it fits."]) as server:
        async with chatting(tmp_path / "b", server, user) as chat:
            await turn(chat, "go " * 200)
            assert chat.session.settings.known_window() == 8_000


async def test_a_failure_ends_the_turn_and_loses_nothing(tmp_path: Path) -> None:
    """What was said is in the log, and the next turn goes on."""
    user = User()
    failure = Failure(status=401, message="no")
    with ProviderServer([failure, "Hello."]) as server:
        async with chatting(tmp_path, server, user) as chat:
            with pytest.raises(Exception, match="401") as caught:
                await turn(chat, "hello?")
            assert not isinstance(caught.value, MinutebookError)
            await turn(chat, "and now?")
            history = chat.session.context.history
            texts = [message.text for message in history if message.origin != "checkpoint"]
    assert texts == ["hello?", "and now?", "Hello."]


async def test_the_librarys_own_tools_work(tmp_path: Path) -> None:
    """A D-Mail goes back, a summary is put in place, the history is recalled."""
    user = User()
    dmail = Call(name="send_dmail", arguments='{"message":"It was the lexer.","checkpoint_id":0}')
    recall = Call(name="recall_history", arguments='{"records":[1]}')
    condense = Call(name="condense", arguments=json.dumps({"message": "All is done."}))
    with ProviderServer([Answer(calls=(recall,)), Answer(calls=(dmail,)), "ok"]) as server:
        async with chatting(tmp_path, server, user) as chat:
            await chat.session.append({"role": "user", "content": "the task"})
            await turn(chat, "go")
            origins = [message.origin for message in chat.session.context.history]
        assert "dmail" in origins
        assert "[record 1, user]" in json.dumps(sent(server)[1])
        assert "It was the lexer." in json.dumps(sent(server)[2])
    with ProviderServer([Answer(calls=(condense,)), "ok"]) as server:
        async with chatting(tmp_path / "b", server, user) as chat:
            for number in range(30):
                await chat.session.append(
                    {"role": "user", "content": f"question {number}"},
                    {"role": "assistant", "content": f"answer {number} " * 60},
                )
            await turn(chat, "make room")
            assert any(
                "All is done." in message.text
                for message in chat.session.context.history
                if message.origin == "summary"
            )
