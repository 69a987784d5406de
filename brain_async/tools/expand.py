"""The tool expand: from one object to its parts and neighbours."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brain_async.engine import Engine
from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.parameters import ID, INTEGER, Parameter, choice, texts
from brain_async.tools.search import limit_parameter
from brain_async.tools.tool import Tool

__all__ = ["expand_tool"]

MAX_RELATION_TYPES = 50


def expand_tool(engine: Engine) -> Tool:
    """expand(object_id, relation_types?, max_hops?, direction?, limit?)."""
    return Tool(
        name="expand",
        description=(
            "Go from one object to what stands around it. Without relation_types: the parts of a parent, in order, or for a "
            "part its parent and the parts beside it. With relation_types: the objects linked by them, over up to "
            f"{engine.config.max_expand_hops} hops. Use it to read on around a hit, or to answer how things are related. "
            "It needs an id; to get one, search."
        ),
        parameters=(
            Parameter(name="object_id", description="UUID of the object to start from.", shape=ID, required=True),
            Parameter(
                name="relation_types",
                description="Labels of links to follow, such as works_on; contains for the parts as well. Left out: the parts.",
                shape=texts(most=MAX_RELATION_TYPES),
            ),
            Parameter(
                name="max_hops",
                description=f"How many links to follow in a row, 1 to {engine.config.max_expand_hops}; 1 when left out.",
                shape=INTEGER,
            ),
            Parameter(
                name="direction",
                description="out follows links from the object, in those to it, both (when left out) either.",
                shape=choice("out", "in", "both"),
            ),
            limit_parameter(engine),
        ),
        run=_expand,
    )


async def _expand(session: Session, object_id: UUID, **options: Any) -> dict[str, Any]:
    return views.page(
        await session.expand(object_id, **options), nothing="this object has no parts or links of these relation_types"
    )
