"""The tool find_links: edges by the text of their notes."""

from __future__ import annotations

from typing import Any

from brain_async.engine import Engine
from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.parameters import Parameter, text
from brain_async.tools.search import limit_parameter, query_parameter
from brain_async.tools.tool import Tool

__all__ = ["find_links_tool"]


def find_links_tool(engine: Engine) -> Tool:
    """find_links(relation_type, query, limit?)."""
    return Tool(
        name="find_links",
        description=(
            "Find links of one relation_type by the text of their notes: why or how two objects are linked. Returns both "
            "ends of each link. Not for the links of an object you know: expand it."
        ),
        parameters=(
            Parameter(
                name="relation_type",
                description="The label of the links, such as works_on; one call looks at one label.",
                shape=text(most=256, required=True),
                required=True,
            ),
            query_parameter("Words of the note."),
            limit_parameter(engine, "Links"),
        ),
        run=_find_links,
    )


async def _find_links(session: Session, relation_type: str, query: str, **options: Any) -> dict[str, Any]:
    return views.links(await session.find_links(relation_type, query, **options))
