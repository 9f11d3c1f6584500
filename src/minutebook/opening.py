"""Opening a session: the library's front door."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from minutebook.companions import Companions
from minutebook.reports import Settings, describe
from minutebook.session import NO_COMPANIONS, Session
from minutebook.store.collecting import Retention
from minutebook.store.files import Durability, FileStore
from minutebook.store.names import folder_of

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Mapping, Sequence

    from minutebook.config.building import ReadySummarizer
    from minutebook.config.values import Config
    from minutebook.session import Clock

DEFAULT_PRESET = "default"


@asynccontextmanager
async def open_session(  # noqa: PLR0913 - each is one thing that a caller may say by name
    path: str | os.PathLike[str],
    *,
    mode: Literal["w", "r"] = "w",
    create: bool = True,
    window: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    max_output: int | None = None,
    preset: str = DEFAULT_PRESET,
    durability: Durability = "disk",
    lock_timeout: float = 0,
    allow_missing_log: bool = False,
    retention: Retention | None = Retention(),  # noqa: B008 - frozen
    companions: Companions = NO_COMPANIONS,
    config: Config | None = None,
    clock: Clock = time.time,
) -> AsyncIterator[Session]:
    """Open the session in the folder *path* (or of the `context.jsonl` in it).

    Args:
        path: The session's folder; made, with those above it, if *create*.
        mode: `w` for its one writer, `r` for a reader, which takes no lock and writes nothing.
        create: False makes a missing session an error.
        window: The model's context window in tokens. Needed by `fit` and `compact` only.
            Without it: what `session.json` says, else what is known of the model.
        model: The model's name; without it, what `session.json` says.
        tools: The tool schemas that every request carries; they take room too.
        max_output: The model's output limit in tokens.
        preset: The policy of compaction: `default`, `kimi`, `kilo`, or `off`, which never compacts
            by itself and refuses what is over the limit.
        durability: `disk` acknowledges an append once it survives power loss, `process` once
            it survives the death of this process.
        lock_timeout: How many seconds to wait for another writer.
        allow_missing_log: Open a folder that has rotations but no log, to restore one.
        retention: What becomes of rotations on closing; None: nothing.
        companions: Hooks, listeners, background tasks and injection providers.
        config: What `load_config` gave: policy, window, model, retention, hooks, summarisers,
            instructions and rules for tags. What is said here by name comes before it.
        clock: Gives the time in seconds since 1970.

    Raises:
        SessionLocked: If another writer holds it.
        StoreError: If it is missing, cannot be read, or has rotations but no log.
        ConfigError: If there is no such preset, or a summariser of *config* cannot be made.
    """
    settings = Settings.of(
        window=window,
        model=model,
        tools=tools,
        max_output=max_output,
        preset_name=preset,
        retention=retention if mode == "w" else None,
    )
    summarizers: tuple[ReadySummarizer, ...] = ()
    if config is not None:
        from minutebook.config.building import make_summarizers

        settings = settings.with_config(config, preset_is_said=preset != DEFAULT_PRESET)
        summarizers = make_summarizers(config) if mode == "w" else ()
        companions = companions.with_config(config, summarizers)
    folder = folder_of(path)
    store = await FileStore.open(
        folder,
        mode=mode,
        create=create,
        durability=durability,
        lock_timeout=lock_timeout,
        allow_missing_log=allow_missing_log,
        about=describe(folder, settings, created=clock()),
    )
    session = Session(
        store, settings.described_by(store.metadata), companions=companions, clock=clock
    )
    try:
        session.replay()
        yield session
    finally:
        await session.close()
        for summarizer in summarizers:
            await summarizer.close()
