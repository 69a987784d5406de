"""The tool continue: the next page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brain_async.engine import Engine
from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.parameters import ID, Parameter
from brain_async.tools.search import limit_parameter
from brain_async.tools.tool import Tool

__all__ = ["continue_tool"]


def continue_tool(engine: Engine) -> Tool:
    """continue(result_set_id, limit?)."""
    return Tool(
        name="continue",
        description=(
            "Get the next page of the newest result that said has_more. Only one result can be continued: any later search, "
            "find or large expand replaces it. If the first page did not hold anything useful, better words find more "
            "than the next page does."
        ),
        parameters=(
            Parameter(
                name="result_set_id",
                description="UUID that the last page gave beside has_more.",
                shape=ID,
                required=True,
            ),
            limit_parameter(engine),
        ),
        run=_continue,
    )


async def _continue(session: Session, result_set_id: UUID, **options: Any) -> dict[str, Any]:
    return views.page(await session.continue_(result_set_id, **options), nothing="this was the last page")
