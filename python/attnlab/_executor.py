"""Shards of a sweep on the workers of an executor: anything with `submit(function, *arguments)`, whose futures have
`done`, `result` and `cancel`."""

from __future__ import annotations

import os
import re
import time
import uuid
from pathlib import Path
from typing import Any

from . import _attnlab, _claims, _show

#: Seconds between two looks at the futures and the rows.
LOOK = 0.1
#: Largest number of shards; each is a task of the executor and a file.
MOST_SHARDS = 10_000


class Stopped(RuntimeError):
    """The process that has submitted a shard has stopped, or is gone."""


class _Watch(_show.Silent):
    """Ends a shard once the file of the process that has submitted it is gone."""

    def __init__(self, alive: Path) -> None:
        self._alive = alive

    def update(self, label: str, done: int, total: int) -> None:
        if not self._alive.parent.exists():
            raise FileNotFoundError(f"{self._alive.parent}: the folder of the sweep is gone")
        if not self._alive.exists():
            raise Stopped("the sweep was stopped; its rows are kept")


def shard(
    plan: Any, folder: Path, part: str, mix_builds: bool, threads: int | None, command: str, claim: bytes | None, alive: Path
) -> None:
    """Runs a shard on a worker."""
    if claim is not None:
        _claims.unpack(claim)
    _attnlab.run_sweep(plan, folder, part, False, mix_builds, threads, command, _Watch(alive))


def sweep(
    executor: Any, shards: int | None, plan: Any, folder: Path, mix_builds: bool, command: str, receiver: _show.Silent
) -> None:
    """Runs every shard and waits for all of them."""
    if shards is not None and not (isinstance(shards, int) and 1 <= shards <= MOST_SHARDS):
        raise ValueError(f"shards = {shards!r}: must be a whole number from 1 to {MOST_SHARDS}")
    total, claim = _attnlab.size_of_sweep(plan)
    sent = None if claim is None else _claims.packed(claim)
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    # Workers of this machine divide its cores.
    workers = getattr(executor, "_max_workers", None)
    threads = max(1, (os.cpu_count() or 1) // workers) if isinstance(workers, int) else None
    shards = shards or _begun(folder) or (workers if isinstance(workers, int) else os.cpu_count() or 1)
    alive = folder / f".sweep-{uuid.uuid4().hex}"
    alive.touch()
    futures: list[Any] = []
    try:
        for i in range(shards):
            part = f"{i}/{shards}"
            words = f"{command[:-1]}, shard={part!r})"
            futures.append(executor.submit(shard, plan, folder, part, mix_builds, threads, words, sent, alive))
        left, counts = [*futures], _Counts(folder)
        while left:
            time.sleep(LOOK)
            ended, left = [f for f in left if f.done()], [f for f in left if not f.done()]
            for future in ended:
                future.result()
            if alive.parent.exists():
                receiver.update("sweep", counts.rows(), total)
    finally:
        alive.unlink(missing_ok=True)
        for future in futures:
            future.cancel()


def _begun(folder: Path) -> int | None:
    """Number of shards of the rows that are there."""
    for path in folder.glob("rows-*-of-*.jsonl"):
        if found := re.fullmatch(r"rows-\d+-of-(\d+)\.jsonl", path.name):
            return int(found[1])
    return None


class _Counts:
    """Counts rows as they are written, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[int, int]] = {}

    def rows(self) -> int:
        for path in self._folder.glob("rows-*.jsonl"):
            at, lines = self._read.get(path, (0, 0))
            with path.open("rb") as file:
                file.seek(at)
                while block := file.read(1 << 20):
                    at, lines = at + len(block), lines + block.count(b"\n")
            self._read[path] = (at, lines)
        return sum(lines for _, lines in self._read.values())
