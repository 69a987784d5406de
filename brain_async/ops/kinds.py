"""The verbs on kinds: register, apply, load, sync, freeze, schema."""

from __future__ import annotations

from collections.abc import Sequence

from brain_async.catalog.normalize import normalize_kinds
from brain_async.errors import CatalogFrozenError, KindNotFoundError, KindWritesUnsupportedError
from brain_async.model.kind import CORE_FILTER_KEYS, FilterUsage, KindSchema, KindSpec
from brain_async.ops.arguments import checked, checked_list
from brain_async.ops.deps import Deps

__all__ = ["apply_kinds", "load_kinds_from_store", "register_kinds", "schema", "sync_kinds_to_store"]

FILTER_USAGE = FilterUsage(
    tools=("search", "find_exact", "find_objects"),
    note=(
        "Use only the listed field names as filter keys, besides the core keys "
        f"{', '.join(CORE_FILTER_KEYS)}. Filtering on a property needs a kind filter when kinds are registered: "
        "call schema with a kind first."
    ),
)


def register_kinds(deps: Deps, kinds: Sequence[KindSpec]) -> None:
    """See ``Engine.register_kinds``."""
    deps.catalog.register(checked_list(kinds, "kinds"))


async def apply_kinds(deps: Deps, kinds: Sequence[KindSpec]) -> None:
    """See ``Engine.apply_kinds``."""
    if deps.catalog.frozen:
        raise CatalogFrozenError
    normalized = normalize_kinds(checked_list(kinds, "kinds"))
    if deps.can.kind_writer is not None and normalized:
        await deps.can.kind_writer.put_kinds(sorted(normalized, key=lambda spec: spec.kind))
    deps.catalog.replace(normalized)


async def load_kinds_from_store(deps: Deps) -> None:
    """See ``Engine.load_kinds_from_store``."""
    if deps.can.kind_reader is None:
        raise KindWritesUnsupportedError("the store does not keep kinds: it does not implement KindReader")
    if deps.catalog.frozen:
        raise CatalogFrozenError
    deps.catalog.replace(await deps.can.kind_reader.list_kinds())


async def sync_kinds_to_store(deps: Deps) -> None:
    """See ``Engine.sync_kinds_to_store``."""
    if deps.can.kind_writer is None:
        raise KindWritesUnsupportedError("the store does not keep kinds: it does not implement KindWriter")
    if deps.catalog:
        await deps.can.kind_writer.put_kinds(deps.catalog.kinds)


async def schema(deps: Deps, kind: str) -> KindSchema:
    """See ``Engine.schema``."""
    wanted = checked(kind, str, "kind").strip()
    kinds: Sequence[KindSpec] = deps.catalog.kinds
    if not kinds and deps.can.kind_reader is not None:
        kinds = await deps.can.kind_reader.list_kinds()
    if wanted:
        kinds = [spec for spec in kinds if spec.kind == wanted]
        if not kinds:
            raise KindNotFoundError(wanted)
    return KindSchema(kinds=tuple(kinds), filter_usage=FILTER_USAGE)
