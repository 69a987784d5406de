"""The tool read: one object, whole."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.parameters import ID, Parameter
from brain_async.tools.tool import Tool

__all__ = ["read_tool"]


def read_tool() -> Tool:
    """read(object_id)."""
    return Tool(
        name="read",
        description=(
            "Read one object whole: its content, summary and properties. Use it on an id that another tool returned, "
            "when the snippets are not enough. Do not use it to look for something, and never invent an id: "
            "search or find_exact first."
        ),
        parameters=(
            Parameter(
                name="object_id", description="UUID of the object, as a result gave it.", shape=ID, required=True
            ),
        ),
        run=_read,
    )


async def _read(session: Session, object_id: UUID) -> dict[str, Any]:
    return views.whole(await session.read(object_id))
