"""What every group of benchmarks is given: sizes, rounds, and the logs to measure on."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.logs import write_agent_log, write_plain_log


class Bench:
    """One run of the benchmarks in one folder."""

    def __init__(
        self, folder: Path, *, sizes: tuple[int, ...], quick: bool, whole: bool = False
    ) -> None:
        """Measure logs of *sizes* messages below *folder*; *quick* takes fewer rounds.

        With *whole*, what is large is as large as it gets: 1 GB, 10 000 sessions.
        """
        self.folder = folder
        self.sizes = sizes
        self.quick = quick
        self.whole = whole
        self._agents: dict[int, tuple[Path, int]] = {}
        self._plain: dict[int, Path] = {}
        self._numbers = 0

    def rounds(self, many: int, messages: int) -> int:
        """Say how many rounds to take: fewer for large logs, two at least."""
        if self.quick:
            return 2
        return max(3, many // max(1, messages // 5_000))

    async def agent_log(self, messages: int) -> tuple[Path, int]:
        """Give a session as an agent writes it, and a checkpoint at 99 % of it. Read only."""
        if messages not in self._agents:
            folder = self.new_folder(f"agent_{messages}")
            self._agents[messages] = folder, await write_agent_log(folder, messages)
        return self._agents[messages]

    def plain_log(self, messages: int) -> Path:
        """Give a session whose log holds nothing but messages, a line each. Read only."""
        if messages not in self._plain:
            folder = self.new_folder(f"plain_{messages}")
            write_plain_log(folder, messages)
            self._plain[messages] = folder
        return self._plain[messages]

    def new_folder(self, name: str) -> Path:
        """Give a path below the folder that is not taken."""
        self._numbers += 1
        return self.folder / f"{self._numbers}_{name}"

    def forget(self, folder: Path) -> None:
        """Remove a folder that is not needed any more."""
        shutil.rmtree(folder, ignore_errors=True)
