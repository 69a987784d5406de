"""Lines of stdin that can be waited for and given up: a thread that reads a terminal or pipe cannot be cancelled."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ["stdin_lines"]

_STDIN = 0
_CHUNK_BYTES = 1 << 16


@asynccontextmanager
async def stdin_lines() -> AsyncIterator[AsyncIterator[str]]:
    """The lines of stdin, UTF-8, until its end. Meanwhile file descriptor 0 reads as empty, so that no child takes one."""
    wire = os.dup(_STDIN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.close(nothing)
    send, receive = anyio.create_memory_object_stream[bytes](1)
    # The thread may wait for ever in its read, so it must neither hold up the end of the process nor lose its descriptor:
    # ``wire`` is never closed.
    loop = asyncio.get_running_loop()
    threading.Thread(target=_hand_over, args=(wire, loop, send), name="brain mcp stdin", daemon=True).start()
    try:
        async with aclosing(_decoded(receive)) as lines:
            yield lines
    finally:
        receive.close()
        os.dup2(wire, _STDIN)


async def _decoded(receive: MemoryObjectReceiveStream[bytes]) -> AsyncGenerator[str, None]:
    async for line in receive:
        yield line.decode("utf-8", "replace")


def _hand_over(wire: int, loop: asyncio.AbstractEventLoop, send: MemoryObjectSendStream[bytes]) -> None:
    # Whoever waited for the lines may be gone, and the loop closed.
    with suppress(OSError, RuntimeError, anyio.BrokenResourceError):
        for line in _lines(wire):
            if loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(send.send(line), loop).result()
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(send.close)


def _lines(wire: int) -> Iterator[bytes]:
    # Not a buffered file: its lock, held by a thread that waits, would abort the interpreter at its end.
    pieces: list[bytes] = []
    while chunk := os.read(wire, _CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield b"".join((*pieces, piece))
            pieces.clear()
        pieces.append(rest)
    if last := b"".join(pieces):
        yield last
