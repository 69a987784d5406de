"""The tool link: an edge between two objects."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.parameters import ID, NUMBER, Parameter, text
from brain_async.tools.tool import Tool

__all__ = ["link_tool"]

MAX_NOTE_CHARS = 16_000
MAX_NAME_CHARS = 250


def link_tool() -> Tool:
    """link(from_id, to_id, relation_type, note?, status?, role?, confidence?, evidence_id?)."""
    return Tool(
        name="link",
        description=(
            "Record that two existing objects are related. Both must be objects of their own: a part has to be represented "
            "by its parent. Linking the same two with the same relation_type again replaces what the link says. Not to put a "
            "part under a parent: save it with parent_id."
        ),
        parameters=(
            Parameter(name="from_id", description="UUID of the object the link starts at.", shape=ID, required=True),
            Parameter(name="to_id", description="UUID of the object the link leads to.", shape=ID, required=True),
            Parameter(
                name="relation_type",
                description="Short label, read from the first object to the second, such as works_on.",
                shape=text(most=256, required=True),
                required=True,
            ),
            Parameter(
                name="note",
                description="Why or how they are related, in a sentence; find_links finds it.",
                shape=text(most=MAX_NOTE_CHARS),
            ),
            Parameter(
                name="status", description="State of the relation, such as proposed.", shape=text(most=MAX_NAME_CHARS)
            ),
            Parameter(
                name="role", description="What the first is in it, such as owner.", shape=text(most=MAX_NAME_CHARS)
            ),
            Parameter(name="confidence", description="How sure it is, above 0 and up to 1.", shape=NUMBER),
            Parameter(name="evidence_id", description="UUID of the object or part that shows it.", shape=ID),
        ),
        access="write",
        run=_link,
    )


async def _link(session: Session, from_id: UUID, to_id: UUID, relation_type: str, **meta: Any) -> dict[str, Any]:
    edge = await session.link(from_id, to_id, relation_type, **meta)
    return {
        "from_id": str(edge.from_id),
        "to_id": str(edge.to_id),
        "relation_type": edge.relation_type,
        "linked": True,
        **views.link_meta(edge.meta, status="link_status"),
    }
