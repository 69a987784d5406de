"""Indexes: which ones a graph needs, and making, waiting for and dropping them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from helixdb import IndexSpec, ReadBatch, Traversal, VectorDistanceMetric, WriteBatch, g, read_batch, write_batch

from brain_async.errors import SearchIndexNotReadyError
from helixgraph.client import Connection
from helixgraph.properties import LABEL, RELATION_LABEL, index_name
from helixgraph.request import Template

__all__ = [
    "create_indexes",
    "drop_index",
    "edge_indexes",
    "holds",
    "node_indexes",
    "remove_embeddings",
    "text_index",
    "vector_index",
]

_FIRST_POLL = 0.02  # seconds; an empty store's indexes are there in as much
_LONGEST_POLL = 0.25  # polling more often takes the processor from the build itself
_GOING_ON = frozenset({"queued", "running"})
_EMBEDDINGS_AT_ONCE = 256


def text_index(*, tenants: bool) -> IndexSpec:
    """The index of entity texts."""
    return IndexSpec.node_text(LABEL, "search_text", "namespace_id" if tenants else None)


def vector_index(dimension: int, *, tenants: bool) -> IndexSpec:
    """The index of embeddings, by cosine."""
    tenant = "namespace_id" if tenants else None
    return IndexSpec.node_vector(LABEL, "embedding", dimension, VectorDistanceMetric.COSINE, tenant)


def node_indexes(dimension: int, properties: Sequence[str] = (), *, tenants: bool, vectors: bool) -> list[IndexSpec]:
    """Every index over nodes, and over these of the host's properties; ``vectors=False`` leaves the vector index for later."""
    return [
        IndexSpec.node_unique_equality(LABEL, "object_id"),
        IndexSpec.node_equality(LABEL, "namespace_id"),
        IndexSpec.node_equality(LABEL, "kind"),
        IndexSpec.node_range(LABEL, "updated_at"),
        *(IndexSpec.node_range(LABEL, name) for name in ("object_id", "scan_key")),
        IndexSpec.node_unique_equality(RELATION_LABEL, "name"),
        *(IndexSpec.node_equality(LABEL, index_name(name)) for name in properties),
        text_index(tenants=tenants),
        *([vector_index(dimension, tenants=tenants)] if vectors else []),
    ]


def edge_indexes(label: str, *, noted: bool) -> list[IndexSpec]:
    """The indexes over the edges of a label: by their ends, in order of them, and ``noted``: by their notes."""
    return [
        IndexSpec.edge_equality(label, "edge_key"),
        *(IndexSpec.edge_range(label, name) for name in ("edge_key", "scan_key")),
        *([IndexSpec.edge_text(label, "search_text")] if noted else []),
    ]


async def create_indexes(connection: Connection, specs: Sequence[IndexSpec], *, wait: bool = True) -> None:
    """Make those that are missing and ``wait`` for all. Idempotent, also when several processes do it at once.

    Raises SearchIndexNotReadyError when one is blocked or aborted, or exists with another definition.
    """
    batch = write_batch()
    for number, spec in enumerate(specs):
        batch = batch.var_as(f"i{number}", g().create_index_if_not_exists(spec))
    names = [f"i{number}" for number in range(len(specs))]
    receipts = await _write(connection, batch.returning(names))
    if not wait:
        return
    for name, spec in zip(names, specs, strict=True):
        await _built(connection, receipts[name], spec)


async def drop_index(connection: Connection, spec: IndexSpec) -> None:
    """Drop the index of these properties, if there is one, and wait until it is gone."""
    batch = write_batch().var_as("i0", g().drop_index(spec)).returning(["i0"])
    try:
        receipts = await _write(connection, batch)
    except SearchIndexNotReadyError:
        return  # there is none
    await _built(connection, receipts["i0"], spec)


async def remove_embeddings(connection: Connection) -> None:
    """Take the embedding off every node: those of another length would block the build of a vector index."""
    found = g().n_with_label(LABEL).has_key("embedding").limit(_EMBEDDINGS_AT_ONCE)
    batch = write_batch().var_as("rows", found.remove_property("embedding")).returning(["rows"])
    rows: object = True
    while rows:
        rows = (await _write(connection, batch))["rows"]


async def holds(connection: Connection, nodes: int) -> bool:
    """Whether there are more than ``nodes`` nodes."""
    found = g().n_with_label(LABEL).limit(nodes + 1).count()
    count: int = (await _read(connection, read_batch().var_as("count", found).returning(["count"])))["count"]
    return count > nodes


async def _built(connection: Connection, receipt: dict[str, Any], spec: IndexSpec) -> None:
    operation = receipt.get("operation_id")
    if not isinstance(operation, str):
        return  # it is active already
    poll = _FIRST_POLL
    while True:
        status = await _operation(connection, g().get_index_operation(operation))
        if status.get("status") == "succeeded":
            return
        if status.get("status") not in _GOING_ON:
            raise SearchIndexNotReadyError(_explained(spec, status))
        await asyncio.sleep(poll)
        poll = min(_LONGEST_POLL, poll * 1.5)


def _explained(spec: IndexSpec, status: dict[str, Any]) -> str:
    name = f"the {spec.variant} index on {spec.fields['label']}.{spec.fields['property']}"
    state = status.get("status")
    reason = status.get("blocker_code") or status.get("error_code") or "no reason given"
    return (
        f"{name} is {state} ({reason}; operation {status.get('operation_id')}): mend the data it names, or await "
        "graph.rebuild_indexes(), which drops the index and builds it again"
    )


async def _operation(connection: Connection, step: Traversal) -> dict[str, Any]:
    found: dict[str, Any] = (await _read(connection, read_batch().var_as("s", step).returning(["s"])))["s"]
    return found


async def _write(connection: Connection, batch: WriteBatch) -> dict[str, Any]:
    return await connection.write(Template(batch, {}).request())


async def _read(connection: Connection, batch: ReadBatch) -> dict[str, Any]:
    return await connection.read(Template(batch, {}).request())
