"""The tool find_objects: whole entities of given kinds."""

from __future__ import annotations

from typing import Any

from brain_async.engine import Engine
from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.parameters import Parameter, texts
from brain_async.tools.search import filters_parameter, limit_parameter, query_parameter
from brain_async.tools.tool import Tool

__all__ = ["find_objects_tool"]

MAX_TOLD_KINDS = 100


def find_objects_tool(engine: Engine) -> Tool:
    """find_objects(query, kinds?, filters?, limit?)."""
    kinds = [spec.kind for spec in engine.catalog]
    return Tool(
        name="find_objects",
        description=(
            "Find whole objects, such as people, deals or projects, by what they are: name, summary and properties. Use it "
            "to collect the entities of a kind or to find where to start an expand. Not for passages of text: use search."
        ),
        parameters=(
            query_parameter("What the objects are about, in plain words."),
            Parameter(
                name="kinds",
                description="Only these kinds; replaces a filter on kind.",
                shape=texts(most=MAX_TOLD_KINDS, known=kinds if len(kinds) <= MAX_TOLD_KINDS else ()),
            ),
            filters_parameter(engine),
            limit_parameter(engine),
        ),
        run=_find_objects,
    )


async def _find_objects(session: Session, query: str, **options: Any) -> dict[str, Any]:
    return views.page(await session.find_objects(query, **options))
