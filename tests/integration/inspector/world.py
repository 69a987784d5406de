"""A small knowledge base behind the inspector, in memory, its links in a Cortex ledger."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from brain_async import EdgeMeta, Engine, FieldSpec, KindSpec, Object, Scope
from brain_async.adapters.memory import MemoryGraph, MemoryKeyValueStore, MemoryStore
from brain_async.cortex import CortexEdgeLedger
from tests.integration.engine.world import DIMENSION, WordEmbedder

KINDS = [
    KindSpec(
        kind="deal",
        is_parent=True,
        description="A sale in progress",
        fields=(
            FieldSpec(name="stage", type="string", examples=("won", "lost"), description="Where it stands"),
            FieldSpec(name="amount", type="number"),
        ),
    ),
    KindSpec(kind="person", is_parent=True),
    KindSpec(kind="note", is_part=True),
]

LINKS = [
    (0, 1, "owned_by", "Ada closes it"),
    (0, 2, "references", "the older contract"),
    (2, 0, "supersedes", "a newer price"),
    (0, 2, "derived_from", "copied from the template"),
    (3, 0, "contradicts", "the two cannot both be signed"),
    (2, 3, "references", "named in the annex"),
    (1, 4, "reports_to", "since spring"),
    (4, 5, "reports_to", "since winter"),
    (5, 6, "member_of", ""),
]
TITLES = [
    ("deal", "Lemon grove lease"),
    ("person", "Ada Byron"),
    ("deal", "Lemon grove lease of 1998"),
    ("deal", "Orchard sale to the county council"),
    ("person", "Grace Murray"),
    ("person", "Edsger"),
    ("person", "Guild of surveyors"),
]


def inspected_engine(**options: Any) -> Engine:
    """An empty engine that has every ability."""
    parts: dict[str, Any] = {
        "graph": MemoryGraph(),
        "ledger": CortexEdgeLedger(MemoryKeyValueStore()),
        "embedder": WordEmbedder(),
        "kinds": KINDS,
    }
    return Engine(options.pop("store", None) or MemoryStore(dimension=DIMENSION), **{**parts, **options})


async def fill(engine: Engine, namespace: UUID | None = None) -> tuple[Scope, list[UUID]]:
    """Its scope, and the ids of TITLES in their order, each with two parts, linked by LINKS."""
    scope = Scope(namespace or uuid4())
    ids = []
    for kind, title in TITLES:
        properties = {"stage": "won", "amount": 1200.5} if kind == "deal" else {}
        stored = await engine.put(
            scope, Object(kind=kind, title=title, properties=properties, content=f"About {title}.")
        )
        ids.append(stored.key)
        for position, text in enumerate((f"{title}: the lemons are picked in May.", "Rent is paid every quarter.")):
            part = Object(kind="note", title=f"Note {position}", content=text, parent_id=stored.key, position=position)
            await engine.put(scope, part)
    for source, target, label, note in LINKS:
        await engine.link(scope, ids[source], ids[target], label, EdgeMeta(note=note))
    return scope, ids
