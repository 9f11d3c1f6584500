"""A Chat Completions server that says what a script tells it to. Loopback only, no network."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

Body = dict[str, Any]


def calling(*commands: str) -> Body:
    """Make a reply that calls the tool `shell` once for each command."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "shell", "arguments": json.dumps({"command": command})},
        }
        for number, command in enumerate(commands)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def saying(text: str) -> Body:
    """Make a reply of plain text."""
    return {"role": "assistant", "content": text}


class ScriptedServer(HTTPServer):
    """Gives the replies of its script in order, and keeps the requests that it got."""

    def __init__(self, replies: Sequence[Body]) -> None:
        """Listen on a free port of the loopback interface."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Body] = []
        self._replies = list(replies)

    @property
    def base_url(self) -> str:
        """What a client takes for its base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def answer(self, request: Body) -> Body | None:
        """Give the next completion; None once the script is at its end."""
        self.requests.append(request)
        if not self._replies:
            return None
        reply = self._replies.pop(0)
        size = len(json.dumps(request["messages"])) // 4
        return {
            "id": f"completion-{len(self.requests)}",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls" if "tool_calls" in reply else "stop",
                    "message": reply,
                }
            ],
            "usage": {"prompt_tokens": size, "completion_tokens": 10, "total_tokens": size + 10},
        }


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ScriptedServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        answer = self.server.answer(json.loads(self.rfile.read(length)))
        body = json.dumps(answer or {"error": {"message": "the script is at its end"}}).encode()
        self.send_response(200 if answer else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(*replies: Body) -> Iterator[ScriptedServer]:
    """Serve a script in a thread of its own until the block ends."""
    with ScriptedServer(replies) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
