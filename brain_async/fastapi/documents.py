"""The OpenAPI schemas of the structs. They stand in each operation whole: a router cannot add to the host's components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from brain_async.fastapi.problems import PROBLEM_TYPE, Problem

__all__ = ["body_document", "responses_document", "schema_of"]

_REF = "#/{name}"


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of ``kind``, without references."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template=_REF)
    inlined: dict[str, Any] = _inlined(schema, {_REF.format(name=name): part for name, part in components.items()})
    return inlined


def _inlined(schema: Any, components: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(item, components) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        return _inlined(components[schema["$ref"]], components)
    return {key: _inlined(value, components) for key, value in schema.items()}


def body_document(kind: Any) -> dict[str, Any]:
    """``requestBody`` of an operation."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema_of(kind)}}}}


def responses_document(reply: Any, description: str, *, events: bool = False) -> dict[int | str, dict[str, Any]]:
    """``responses`` of an operation: its reply (None for none), and a problem for all else."""
    problem = {PROBLEM_TYPE: {"schema": schema_of(Problem)}}
    content: dict[str, Any] = {} if reply is None else {"application/json": {"schema": schema_of(reply)}}
    if events:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {
        **(
            {204: {"description": description}}
            if reply is None
            else {200: {"description": description, "content": content}}
        ),
        "default": {"description": "A problem", "content": problem},
    }
