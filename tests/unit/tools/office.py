"""A small knowledge base of people, projects and their notes, and what the tools' tests do with it."""

from __future__ import annotations

import json
from typing import Any, NoReturn
from uuid import UUID

from brain_async import Engine, FieldSpec, FieldType, KindSpec, Object, SearchContext
from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryStore
from brain_async.tools import Toolset, WriteKinds

NAMESPACE = UUID(int=1)
ELSEWHERE = UUID(int=2)
ADA, BEN, LOOM, ADAS_NOTE, LOOM_NOTE, STRANGER = (UUID(int=100 + n) for n in range(6))

KINDS = (
    KindSpec(kind="fact"),
    KindSpec(kind="note", is_part=True),
    KindSpec(
        kind="person",
        description="Someone who works here.",
        is_parent=True,
        fields=(
            FieldSpec(name="team", type=FieldType.STRING, description="Where they work.", examples=("engines",)),
            FieldSpec(name="level", type=FieldType.NUMBER),
            FieldSpec(name="remote", type=FieldType.BOOLEAN),
            FieldSpec(name="since", type=FieldType.DATETIME, required=True),
        ),
    ),
    KindSpec(kind="project", is_parent=True),
)
WRITE_KINDS = WriteKinds(discovery="note", fact="fact", memory="person")


async def filled_engine(**options: Any) -> Engine:
    """What ``fill`` puts, in memory."""
    engine = Engine(MemoryStore(), **{"graph": MemoryGraph(), "ledger": MemoryEdgeLedger(), "kinds": KINDS, **options})
    await fill(engine)
    return engine


async def fill(engine: Engine) -> None:
    """Put two people and a project with their notes into NAMESPACE, and a stranger into ELSEWHERE."""
    here, there = engine.session(NAMESPACE), engine.session(ELSEWHERE)
    since = {"since": "2020-01-01"}
    person = {"team": "engines", "level": 3, **since}
    await here.put(Object(id=ADA, kind="person", title="Ada", summary="Builds engines.", properties=person))
    await here.put(Object(id=BEN, kind="person", title="Ben", properties={"team": "sales", **since}))
    await here.put(Object(id=LOOM, kind="project", title="Card loom"))
    note = "The loom reads one card a turn. The risk is paper."
    await here.put(Object(id=ADAS_NOTE, kind="note", title="Plan", content="Cards for the loom.", parent_id=ADA))
    await here.put(Object(id=LOOM_NOTE, kind="note", title="Minutes", content=note, parent_id=LOOM))
    await here.link(ADA, LOOM, "works_on", note="since the first sketch", status="active")
    await there.put(Object(id=STRANGER, kind="person", title="Zed", summary="Secret loom.", properties=since))
    await there.put(Object(id=UUID(int=200), kind="note", title="Spy", content="secret loom cards", parent_id=STRANGER))


async def filled_toolset(**options: Any) -> Toolset:
    """All tools over ``filled_engine``, in NAMESPACE."""
    engine = await filled_engine()
    return Toolset(engine, SearchContext(NAMESPACE), **{"write_kinds": WRITE_KINDS, **options})


def parsed(text: str) -> dict[str, Any]:
    """JSON text, read strictly."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    value: dict[str, Any] = json.loads(text, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


async def called(toolset: Toolset, name: str, **arguments: object) -> dict[str, Any]:
    """The answer of a call that worked."""
    value = parsed(await toolset.call(name, arguments))
    assert "error" not in value, value
    return value


async def refused(toolset: Toolset, name: str, arguments: Any) -> dict[str, str]:
    """The error of a call that did not work."""
    value = parsed(await toolset.call(name, arguments))
    assert list(value) == ["error"], value
    error: dict[str, str] = value["error"]
    assert {"code", "message"} <= set(error) <= {"code", "message", "argument", "hint"}
    assert all(isinstance(told, str) and told for told in error.values())
    return error
