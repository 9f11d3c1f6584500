"""Kimi CLI's own context, driven over a pipe: one JSON command a line, one JSON answer a line.

Run by the Python of the environment that Kimi CLI is installed in, which need not have
minutebook: `tests.kimi.kimi` starts it.
"""

import asyncio
import importlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

Context: Any = importlib.import_module("kimi_cli.soul.context").Context
KaosPath: Any = importlib.import_module("kaos.path").KaosPath
Session: Any = importlib.import_module("kimi_cli.session").Session
Message: Any = importlib.import_module("kosong.message").Message


async def answer(context: Any, command: dict[str, Any]) -> Any:
    """Do one thing; give the context that is open afterwards."""
    match command:
        case {"do": "open", "path": path}:
            context = Context(Path(path))
            await context.restore()
        case {"do": "append", "messages": messages}:
            await context.append_message([Message.model_validate(one) for one in messages])
        case {"do": "checkpoint", "marker": marker}:
            await context.checkpoint(marker)
        case {"do": "revert", "to": number}:
            await context.revert_to(number)
        case {"do": "usage", "tokens": tokens}:
            await context.update_token_count(tokens)
        case {"do": "clear"}:
            await context.clear()
        case {"do": "find", "share": share, "folder": folder, "id": session_id}:
            os.environ["KIMI_SHARE_DIR"] = share
            found = await Session.find(KaosPath(folder), session_id)
            context = Context(found.context_file)
            await context.restore()
        case {"do": "prompt", "text": text}:
            await context.write_system_prompt(text)
        case _:
            raise ValueError(command)
    return context


def state(context: Any) -> dict[str, Any]:
    """Give what the context holds."""
    return {
        "history": [json.loads(one.model_dump_json(exclude_none=True)) for one in context.history],
        "system_prompt": context.system_prompt,
        "token_count": context.token_count,
        "checkpoints": context.n_checkpoints,
    }


async def main() -> None:
    """Answer until the pipe is closed."""
    logging.disable()
    context: Any = None
    for line in sys.stdin:
        try:
            context = await answer(context, json.loads(line))
            found = state(context)
        except Exception as error:  # noqa: BLE001 - whatever it is goes over the pipe
            found = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
