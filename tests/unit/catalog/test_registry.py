from __future__ import annotations

import pytest

from brain_async.catalog.registry import KindCatalog
from brain_async.errors import CatalogFrozenError, InvalidKindError
from brain_async.model.kind import FieldSpec, KindSpec


def names(catalog: KindCatalog) -> list[str]:
    return [spec.kind for spec in catalog.kinds]


def test_register_merges_and_replaces_the_same_name() -> None:
    catalog = KindCatalog([KindSpec(kind="note"), KindSpec(kind="deal", description="old")])
    catalog.register([KindSpec(kind=" deal", description="new"), KindSpec(kind="Account")])
    assert names(catalog) == ["Account", "deal", "note"]
    assert catalog.get("deal") == KindSpec(kind="deal", description="new")


def test_replace_forgets_what_is_not_in_the_batch() -> None:
    catalog = KindCatalog([KindSpec(kind="note")])
    catalog.replace([KindSpec(kind="deal")])
    assert names(catalog) == ["deal"]
    assert catalog.get("note") is None


def test_a_bad_batch_changes_nothing() -> None:
    catalog = KindCatalog([KindSpec(kind="note")])
    for change in (catalog.register, catalog.replace):
        with pytest.raises(InvalidKindError):
            change([KindSpec(kind="deal"), KindSpec(kind="")])
    assert names(catalog) == ["note"]


def test_empty_and_not_empty() -> None:
    catalog = KindCatalog()
    assert not catalog
    assert len(catalog) == 0
    catalog.register([KindSpec(kind="deal")])
    assert catalog
    assert "deal" in catalog
    assert "Deal" not in catalog


def test_fields_of_a_kind() -> None:
    catalog = KindCatalog([KindSpec(kind="deal", fields=(FieldSpec(name="amount", type="number"),))])
    assert list(catalog.fields_of("deal")) == ["amount"]
    assert not catalog.fields_of("unknown")


def test_a_frozen_catalog_refuses_every_change() -> None:
    catalog = KindCatalog([KindSpec(kind="deal")])
    assert not catalog.frozen
    catalog.freeze()
    catalog.freeze()
    assert catalog.frozen
    for change in (catalog.register, catalog.replace):
        with pytest.raises(CatalogFrozenError):
            change([KindSpec(kind="note")])
    assert names(catalog) == ["deal"]


def test_a_reader_keeps_the_state_it_took() -> None:
    catalog = KindCatalog([KindSpec(kind="deal")])
    before = catalog.kinds
    catalog.replace([])
    assert [spec.kind for spec in before] == ["deal"]
