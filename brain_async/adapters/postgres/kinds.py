"""The durable rows of kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from brain_async.adapters.postgres.pool import Connections
from brain_async.adapters.postgres.writes import retrying
from brain_async.errors import InvalidKindError
from brain_async.model.kind import ContextSpec, FieldSpec, FieldType, KindSpec

__all__ = ["list_kinds", "put_kinds"]

_CONTEXTS = ("lexical_context", "embedding_context")
_FIELD_TYPES = frozenset(type_.value for type_ in FieldType)

# Ordered by code point, like Python's sorted; the insert in that order, so that writers never deadlock.
LIST_KINDS_SQL = """select spec::text as spec from brain_kinds order by kind collate "C" """

PUT_KINDS_SQL = """
insert into brain_kinds (kind, spec)
select u.kind, u.spec::jsonb from unnest($1::text[], $2::text[]) u(kind, spec)
order by u.kind collate "C"
on conflict (kind) do update set spec = excluded.spec, updated_at = now()
"""


def _decode(text: str) -> KindSpec:
    spec: dict[str, Any] = msgspec.json.decode(text)
    fields = tuple(
        FieldSpec(
            name=field["name"],
            type=_field_type(field.get("type", "")),
            operators=tuple(field.get("operators", ())),
            description=field.get("description", ""),
            required=field.get("required", False),
            examples=tuple(field.get("examples", ())),
        )
        for field in spec.get("fields", ())
    )
    return KindSpec(
        kind=spec["kind"],
        description=spec.get("description", ""),
        is_part=spec.get("is_part", False),
        is_parent=spec.get("is_parent", False),
        fields=fields,
        **{name: msgspec.convert(spec[name], ContextSpec) for name in _CONTEXTS if name in spec},
    )


def _field_type(name: str) -> FieldType | str:
    return FieldType(name) if name in _FIELD_TYPES else name


async def list_kinds(connections: Connections) -> list[KindSpec]:
    """As in the port."""
    async with connections.session() as connection:
        return [_decode(row["spec"]) for row in await connection.fetch(LIST_KINDS_SQL)]


async def put_kinds(connections: Connections, kinds: Sequence[KindSpec]) -> None:
    """As in the port; of two specs of one name in a batch the later counts."""
    if any(not kind.kind.strip() for kind in kinds):
        raise InvalidKindError("a kind needs a non-blank name", field="kind")
    latest = {kind.kind: msgspec.json.encode(kind).decode() for kind in kinds}
    if not latest:
        return

    async def once() -> None:
        async with connections.transaction() as connection:
            await connection.execute(PUT_KINDS_SQL, list(latest), list(latest.values()))

    await retrying(once)
