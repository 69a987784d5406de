"""A task group whose lone error leaves it as itself, so that no caller ever meets an ExceptionGroup."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

__all__ = ["task_group"]


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """``anyio.create_task_group``; of several errors the first is raised, with its own cause."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as errors:
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from first.__cause__
