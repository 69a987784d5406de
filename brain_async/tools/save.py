"""The tools save_discovery, save_fact and save_memory: objects of the kinds that the host maps them to."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from brain_async.engine import Engine
from brain_async.errors import InvalidKindError
from brain_async.model.kind import KindSpec
from brain_async.model.object import Object
from brain_async.model.results import rich_from_object
from brain_async.session import Session
from brain_async.tools import views
from brain_async.tools.failure import RefusalError
from brain_async.tools.pairs import properties
from brain_async.tools.parameters import ID, Parameter, text
from brain_async.tools.tool import Tool

__all__ = ["WriteKinds", "save_tools"]

MAX_TITLE_CHARS = 1_000
MAX_SUMMARY_CHARS = 10_000
MAX_CONTENT_CHARS = 1_000_000
MAX_CONTENT_TYPE_CHARS = 250

_PURPOSES = {
    "discovery": "something found out while working that others will want to know: a cause, a conclusion, a pattern",
    "fact": "a fact that holds beyond this conversation and that someone stated or a source shows",
    "memory": "something to remember for later conversations: a preference, a decision, what was agreed",
}


class WriteKinds(msgspec.Struct, frozen=True, kw_only=True):
    """The kind that each save tool writes. Where it is blank there is no such tool."""

    discovery: str = ""
    fact: str = ""
    memory: str = ""


def save_tools(engine: Engine, kinds: WriteKinds) -> list[Tool]:
    """One tool for each mapped kind. Raises InvalidKindError when kinds are registered and a mapped one is not."""
    registered = {spec.kind: spec for spec in engine.catalog}
    tools = []
    for purpose in _PURPOSES:
        kind = getattr(kinds, purpose).strip()
        if registered and kind and kind not in registered:
            raise InvalidKindError(
                f"write_kinds.{purpose} is {kind!r}, which is not registered: use one of {', '.join(registered)}",
                field=f"write_kinds.{purpose}",
            )
        if kind:
            tools.append(_save_tool(purpose, kind, registered.get(kind)))
    return tools


def _save_tool(purpose: str, kind: str, spec: KindSpec | None) -> Tool:
    """save_<purpose>(title, summary?, content?, content_type?, properties?, parent_id?, object_id?)."""
    name = f"save_{purpose}"
    parent_only = spec is not None and spec.is_parent and not spec.is_part
    part_only = spec is not None and spec.is_part and not spec.is_parent
    parent = Parameter(
        name="parent_id",
        description=f"UUID of the object it becomes a part of{'' if part_only else '; left out, it stands on its own'}.",
        shape=ID,
        required=part_only,
    )
    return Tool(
        name=name,
        description=(
            f"Save {_PURPOSES[purpose]}. Stored as a {kind}. Search first, so that nothing is saved twice. Write title and "
            "summary so that someone who does not know this conversation finds and understands it. With object_id it "
            "replaces that object whole: everything you leave out is emptied, so read it first."
        ),
        parameters=(
            Parameter(
                name="title",
                description="What it says, in one line.",
                shape=text(most=MAX_TITLE_CHARS, required=True),
                required=True,
            ),
            Parameter(
                name="summary", description="The gist, in one to three sentences.", shape=text(most=MAX_SUMMARY_CHARS)
            ),
            Parameter(name="content", description="The full text.", shape=text(most=MAX_CONTENT_CHARS, trim=False)),
            Parameter(
                name="content_type",
                description="Media type of the content, such as text/markdown.",
                shape=text(most=MAX_CONTENT_TYPE_CHARS),
            ),
            *(() if spec is not None and not spec.fields else (_properties(kind, spec),)),
            *(() if parent_only else (parent,)),
            Parameter(name="object_id", description=f"UUID of the {kind} to replace; left out, a new one.", shape=ID),
        ),
        access="write",
        run=partial(_save, kind),
    )


def _properties(kind: str, spec: KindSpec | None) -> Parameter:
    return Parameter(
        name="properties",
        description=f"Properties of the {kind}.",
        shape=properties(spec),
        required=spec is not None and any(field.required for field in spec.fields),
    )


async def _save(kind: str, session: Session, object_id: UUID | None = None, **fields: Any) -> dict[str, Any]:
    if object_id is not None:
        found = await session.read(object_id)
        if found.kind != kind:
            # Without this a tool for one kind could overwrite objects of every other.
            raise RefusalError(
                "wrong_kind",
                f"object_id is a {found.kind}, and this tool writes a {kind}",
                argument="object_id",
                hint="leave object_id out to save a new object, and link the two",
            )
    stored = await session.put(Object(id=object_id, kind=kind, **fields))
    return views.whole(rich_from_object(stored, content=True))
