"""KindCatalog: the kinds one process knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from brain_async.catalog.normalize import normalize_kinds
from brain_async.errors import CatalogFrozenError
from brain_async.model.kind import FieldSpec, KindSpec

__all__ = ["KindCatalog"]

_NO_FIELDS: Mapping[str, FieldSpec] = MappingProxyType({})


class _Snapshot(msgspec.Struct, frozen=True):
    """One state of a catalog. Replaced as a whole, so that a reader never sees half of a change."""

    by_name: Mapping[str, KindSpec]
    fields: Mapping[str, Mapping[str, FieldSpec]]


class KindCatalog:
    """Kinds by name (case-sensitive), normalised. An empty one means that any kind and any property goes."""

    def __init__(self, specs: Iterable[KindSpec] = ()) -> None:
        """Raises InvalidKindError as ``normalize_kinds``."""
        self._frozen = False
        self._snapshot = _snapshot(normalize_kinds(specs))

    def __repr__(self) -> str:
        return f"KindCatalog({list(self._snapshot.by_name)}, frozen={self._frozen})"

    def register(self, specs: Iterable[KindSpec]) -> None:
        """Add kinds, replacing those of the same name; all or none.

        Raises CatalogFrozenError, and InvalidKindError as ``normalize_kinds``.
        """
        self._change(specs, keep=self._snapshot.by_name)

    def replace(self, specs: Iterable[KindSpec]) -> None:
        """Make these the only kinds. Raises as ``register``."""
        self._change(specs, keep={})

    def freeze(self) -> None:
        """Refuse every later change; there is no way back."""
        self._frozen = True

    @property
    def frozen(self) -> bool:
        """Whether changes are refused."""
        return self._frozen

    @property
    def kinds(self) -> tuple[KindSpec, ...]:
        """All kinds, sorted by name."""
        return tuple(self._snapshot.by_name.values())

    def get(self, kind: str) -> KindSpec | None:
        """The kind of this exact name, or None."""
        return self._snapshot.by_name.get(kind)

    def fields_of(self, kind: str) -> Mapping[str, FieldSpec]:
        """The fields of a kind by name; empty for an unknown kind."""
        return self._snapshot.fields.get(kind, _NO_FIELDS)

    def __len__(self) -> int:
        return len(self._snapshot.by_name)

    def __contains__(self, kind: object) -> bool:
        return kind in self._snapshot.by_name

    def _change(self, specs: Iterable[KindSpec], *, keep: Mapping[str, KindSpec]) -> None:
        if self._frozen:
            raise CatalogFrozenError
        changed = {**keep, **{spec.kind: spec for spec in normalize_kinds(specs)}}
        self._snapshot = _snapshot(changed.values())


def _snapshot(specs: Iterable[KindSpec]) -> _Snapshot:
    ordered = sorted(specs, key=lambda spec: spec.kind)
    return _Snapshot(
        by_name={spec.kind: spec for spec in ordered},
        fields={spec.kind: {field.name: field for field in spec.fields} for spec in ordered},
    )
