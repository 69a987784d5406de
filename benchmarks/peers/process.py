"""A peer's process as the driver sees it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

__all__ = ["PEERS", "PeerSpec", "Worker", "open_worker"]

_BENCHMARKS = Path(__file__).resolve().parent.parent
_ROOT = _BENCHMARKS.parent
_LINE_LIMIT = 64 * 1024 * 1024
_STOP_SECONDS = 30.0
_TAIL = 2_000


@dataclass(frozen=True)
class PeerSpec:
    """How a peer is run: its package in ``peers``, whose virtual environment it has, its arguments, and the
    ``hnsw.ef_search`` its database has (at least the depth it asks of its vector leg)."""

    package: str
    arguments: tuple[str, ...] = ()
    ef_search: int = 64

    @property
    def python(self) -> Path:
        """The interpreter of its virtual environment; ours is the one that runs this."""
        if self.package == "ours":
            return Path(sys.executable)
        return _ROOT / "build" / "peers" / self.package / "venv" / "bin" / "python"


PEERS = {
    "ours": PeerSpec("ours", ("auto",)),
    "ours_textsearch": PeerSpec("ours", ("pg_textsearch",)),
    "langchain": PeerSpec("langchain"),
    "llamaindex": PeerSpec("llamaindex"),
    "txtai": PeerSpec("txtai", ("postgres",), ef_search=100),
    "txtai_local": PeerSpec("txtai", ("local",)),
    "floor": PeerSpec("floor"),
}


class Worker:
    """A running peer. Requests are answered one after another."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self._process = process
        self._log = log

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """The answer to one request. Raises RuntimeError with the end of the peer's log when it died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"op": op, **fields}).encode() + b"\n")
            await self._process.stdin.drain()
            line = await self._process.stdout.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise RuntimeError(f"{self.name} ended at {op!r}:\n{self._log.read_text(errors='replace')[-_TAIL:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def resident_mb(self) -> float:
        """Resident memory of the process, in MB of 10^6 bytes."""
        return round(psutil.Process(self._process.pid).memory_info().rss / 1e6, 1)


@asynccontextmanager
async def open_worker(name: str, logs: Path) -> AsyncIterator[Worker]:
    """Start the peer ``name`` and stop it again. Its standard error goes to a file in ``logs``."""
    spec = PEERS[name]
    if not spec.python.exists():
        raise SystemExit(f"{name} is not installed: run `make bench-peers`")
    paths = [str(_BENCHMARKS), str(_ROOT)] if spec.package == "ours" else [str(_BENCHMARKS)]
    log = logs / f"{name}.log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            str(spec.python),
            "-m",
            f"peers.{spec.package}.worker",
            *spec.arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            limit=_LINE_LIMIT,
        )
    try:
        yield Worker(name, process, log)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
