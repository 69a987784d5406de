"""Checks of KindReader and KindWriter. Kinds are shared by all namespaces, so the checks use names of their own."""

from __future__ import annotations

from uuid import uuid4

import anyio

from brain_async.errors import InvalidKindError
from brain_async.model.kind import ContextSpec, FieldSpec, FieldType, KindSpec
from brain_async.testing.subjects import CheckedKindStore, raises

__all__ = ["CHECKS"]


async def _listed(store: CheckedKindStore, prefix: str) -> list[KindSpec]:
    kinds = await store.list_kinds()
    assert [spec.kind for spec in kinds] == sorted(spec.kind for spec in kinds), "kinds are sorted by name"
    return [spec for spec in kinds if spec.kind.startswith(prefix)]


async def check_kinds_round_trip(store: CheckedKindStore) -> None:
    """Kinds are read back as they were put, sorted by name, case-sensitive."""
    prefix = f"kind-{uuid4().hex}-"
    field = FieldSpec(
        name="amount",
        type=FieldType.NUMBER.value,
        operators=("eq", "in"),
        description="in euros, 'quoted' \\",
        required=True,
        examples=("10", "20.5"),
    )
    specs = [
        KindSpec(kind=f"{prefix}b", description="Grüße", is_parent=True, fields=(field,)),
        KindSpec(
            kind=f"{prefix}a",
            is_part=True,
            lexical_context=ContextSpec(parent_title=True, date=True, properties=("amount",), sibling_radius=2),
            embedding_context=ContextSpec(),
        ),
        KindSpec(kind=f"{prefix}B"),
    ]
    await store.put_kinds(specs)
    assert await _listed(store, prefix) == sorted(specs, key=lambda spec: spec.kind)


async def check_kinds_are_replaced_by_name(store: CheckedKindStore) -> None:
    """A second put of a name replaces the whole spec and leaves the other kinds alone."""
    prefix = f"kind-{uuid4().hex}-"
    old = KindSpec(kind=f"{prefix}a", description="old", is_part=True, fields=(FieldSpec(name="x", type="string"),))
    kept = KindSpec(kind=f"{prefix}b", description="kept")
    await store.put_kinds([old, kept])
    new = KindSpec(kind=old.kind, description="new")
    await store.put_kinds([new])
    assert await _listed(store, prefix) == [new, kept]
    await store.put_kinds([])
    assert await _listed(store, prefix) == [new, kept]


async def check_a_blank_kind_name_is_refused(store: CheckedKindStore) -> None:
    """A blank name raises InvalidKindError, and nothing of its batch is stored."""
    prefix = f"kind-{uuid4().hex}-"
    for blank in ("", "  "):
        await raises(InvalidKindError, store.put_kinds([KindSpec(kind=f"{prefix}a"), KindSpec(kind=blank)]))
    assert await _listed(store, prefix) == []


async def check_concurrent_kinds_in_opposite_order(store: CheckedKindStore) -> None:
    """The same kinds put in both orders at once never deadlock."""
    prefix = f"kind-{uuid4().hex}-"
    specs = [KindSpec(kind=f"{prefix}{n:02}") for n in range(50)]
    with anyio.fail_after(60):
        for _ in range(3):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(store.put_kinds, specs)
                tasks.start_soon(store.put_kinds, specs[::-1])
    assert await _listed(store, prefix) == specs


CHECKS = (
    check_kinds_round_trip,
    check_kinds_are_replaced_by_name,
    check_a_blank_kind_name_is_refused,
    check_concurrent_kinds_in_opposite_order,
)
