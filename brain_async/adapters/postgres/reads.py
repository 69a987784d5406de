"""Reading objects: one statement a call, lists of ids as one array, scope in every statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from brain_async.adapters.postgres.pool import Connections
from brain_async.adapters.postgres.rows import OBJECT_COLUMNS, object_from_row
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.ports.store import PASSAGE_CHARS, Hydration

__all__ = [
    "EVIDENCE_CHARS",
    "HYDRATE_SQL",
    "get",
    "get_many",
    "hydrate",
    "hydrate_statement",
    "list_children",
    "read_passages",
    "scan",
]

EVIDENCE_CHARS = 512
"""What is read of a part's content for its snippet."""

_VISIBLE = "o.deleted_at is null and ($1::uuid is null or o.namespace_id = $1)"

GET_SQL = f"select {OBJECT_COLUMNS}, o.content from brain_objects o where o.id = $2 and {_VISIBLE}"

GET_MANY_SQL = f"""
select {OBJECT_COLUMNS}
from unnest($2::uuid[]) with ordinality wanted(id, number) join brain_objects o using (id)
where {_VISIBLE} order by number
"""

HYDRATE_SQL = "select * from brain_hydrate($1, $2::uuid[], $3::uuid[])"

LIST_CHILDREN_SQL = f"""
select {OBJECT_COLUMNS}
from unnest($2::uuid[]) with ordinality wanted(parent_id, number)
cross join lateral (
    select * from brain_objects c
    where c.parent_id = wanted.parent_id and c.deleted_at is null and ($1::uuid is null or c.namespace_id = $1)
    order by c.position nulls last, c.id
    limit $3
) o
order by number, o.position nulls last, o.id
"""

PASSAGES_SQL = f"""
select o.id, o.title, o.summary, o.parent_id,
    case when $3 then left(o.content, {PASSAGE_CHARS}) else '' end as content,
    case when $4 then halfvec_send(o.embedding) end as embedding
from brain_objects o where o.id = any($2::uuid[]) and {_VISIBLE}
"""

SCAN_SQL = f"""
select {OBJECT_COLUMNS}, o.content, halfvec_send(o.embedding) as embedding
from brain_objects o
where {_VISIBLE} and (o.parent_id is null) = $2 and ($3::uuid is null or o.id > $3)
order by o.id limit $4
"""


def hydrate_statement(scope: Scope, object_ids: Sequence[UUID], part_ids: Sequence[UUID]) -> tuple[str, list[Any]]:
    """(sql, arguments) of hydrate."""
    return HYDRATE_SQL, [scope.namespace_id, list(object_ids), list(part_ids)]


async def get(connections: Connections, scope: Scope, object_id: UUID) -> Object | None:
    """As in the port."""
    async with connections.session() as connection:
        row = await connection.fetchrow(GET_SQL, scope.namespace_id, object_id)
    return None if row is None else object_from_row(row, content=row["content"])


async def get_many(connections: Connections, scope: Scope, object_ids: Sequence[UUID]) -> list[Object]:
    """As in the port."""
    if not object_ids:
        return []
    async with connections.session() as connection:
        rows = await connection.fetch(GET_MANY_SQL, scope.namespace_id, list(dict.fromkeys(object_ids)))
    return [object_from_row(row) for row in rows]


async def hydrate(
    connections: Connections, scope: Scope, object_ids: Sequence[UUID], part_ids: Sequence[UUID]
) -> Hydration:
    """As in the port."""
    if not object_ids and not part_ids:
        return Hydration(objects={}, parts={})
    sql, arguments = hydrate_statement(scope, object_ids, part_ids)
    async with connections.session() as connection:
        rows = await connection.fetch(sql, *arguments)
    objects: dict[UUID, Object] = {}
    parts: dict[UUID, Object] = {}
    for row in rows:
        if row["whole"]:
            objects[row["id"]] = object_from_row(row)
        else:
            parts[row["id"]] = Object(
                id=row["id"],
                title=row["title"],
                parent_id=row["parent_id"],
                position=row["position"],
                content=row["content"],
            )
    return Hydration(objects=objects, parts=parts)


async def list_children(
    connections: Connections, scope: Scope, parent_ids: Sequence[UUID], *, limit: int | None
) -> dict[UUID, list[Object]]:
    """As in the port."""
    children: dict[UUID, list[Object]] = {parent_id: [] for parent_id in parent_ids}
    if not children or (limit is not None and limit <= 0):
        return children
    async with connections.session() as connection:
        rows = await connection.fetch(LIST_CHILDREN_SQL, scope.namespace_id, list(children), limit)
    for row in rows:
        children[row["parent_id"]].append(object_from_row(row))
    return children


async def read_passages(
    connections: Connections, scope: Scope, object_ids: Sequence[UUID], *, content: bool, embedding: bool
) -> dict[UUID, Object]:
    """As in the port."""
    if not object_ids:
        return {}
    async with connections.session() as connection:
        rows = await connection.fetch(PASSAGES_SQL, scope.namespace_id, list(object_ids), content, embedding)
    return {
        row["id"]: Object(
            id=row["id"],
            title=row["title"],
            summary=row["summary"],
            parent_id=row["parent_id"],
            content=row["content"],
            embedding=_embedding(row["embedding"]),
        )
        for row in rows
    }


async def scan(
    connections: Connections, scope: Scope, *, first_class: bool, after: UUID | None, limit: int
) -> list[Object]:
    """As in the port."""
    if limit <= 0:
        return []
    async with connections.session() as connection:
        rows = await connection.fetch(SCAN_SQL, scope.namespace_id, first_class, after, limit)
    return [
        object_from_row(
            row,
            content=row["content"],
            embedding=_embedding(row["embedding"]),
        )
        for row in rows
    ]


def _embedding(sent: bytes | None) -> tuple[float, ...] | None:
    return None if sent is None else tuple(HalfVector.from_binary(sent).to_list())
