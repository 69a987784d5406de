"""The tool schema: the kinds there are, and the fields that can be filtered on."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from brain_async.engine import Engine
from brain_async.session import Session
from brain_async.tools.parameters import Parameter, text
from brain_async.tools.tool import Tool

__all__ = ["schema_tool"]


def schema_tool(engine: Engine) -> Tool:
    """schema(kind?)."""
    return Tool(
        name="schema",
        description=(
            "List the kinds of objects in the knowledge base and the fields of each that filters can use. Call it before "
            "the first filter on anything but kind, title and dates, instead of guessing field names. It says nothing "
            "about the objects themselves: to find those, search."
        ),
        parameters=(
            Parameter(name="kind", description="Only this kind; leave it out to see all.", shape=text(most=256)),
        ),
        run=partial(_schema, engine),
    )


async def _schema(engine: Engine, _: Session, kind: str = "") -> dict[str, Any]:
    schema = await engine.schema(kind)
    view: dict[str, Any] = msgspec.to_builtins(schema)
    if not engine.has_object_search:
        usage = view["filter_usage"]
        usage["tools"] = [tool for tool in usage["tools"] if tool != "find_objects"]
    return view
