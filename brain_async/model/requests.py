"""What the verbs take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from brain_async.config import ChannelName

__all__ = [
    "ExpandManyRequest",
    "ExpandRecipe",
    "ExpandRequest",
    "FindLinksRequest",
    "FindObjectsRequest",
    "SearchRequest",
]


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A search or find_exact.

    Attributes:
        query: plain text; no operator has a meaning.
        filters: see ``validate_filters``.
        limit: page size; 0 or below is the engine's default.
        scope_ids: only these objects and their parts; empty is no restriction.
        channels: run exactly these; None runs the engine's.
        respell: whether words that the corpus does not hold are respelt; None is as the engine's config says. find_exact
            never does.
        explain: fill in ``RichObject.explain`` and ``SearchPage.explanation``.
        explain_ids: ids to explain the absence of, with ``explain``.
    """

    query: str
    filters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    limit: int = 0
    scope_ids: Sequence[UUID] = ()
    channels: Sequence[ChannelName] | None = None
    respell: bool | None = None
    explain: bool = False
    explain_ids: Sequence[UUID] = ()


class FindObjectsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A find_objects. ``kinds`` overrides a kind filter."""

    query: str
    kinds: Sequence[str] = ()
    filters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    limit: int = 0


class FindLinksRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A find_links: text on the notes of one relation."""

    relation_type: str
    query: str
    limit: int = 0


class ExpandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An expand. No labels at all asks for containment; ``want_containment`` adds it to graph labels.

    ``max_hops`` of 0 or below is 1, and is capped by the engine; a ``direction`` that is neither out nor in is both.
    """

    object_id: UUID | None
    relation_types: Sequence[str] = ()
    want_containment: bool = False
    max_hops: int = 1
    direction: str = "both"
    limit: int = 0


class ExpandManyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An expand_many: seeds in order share one ``budget`` of objects (0 or below is 1000)."""

    seed_ids: Sequence[UUID]
    relation_types: Sequence[str] = ()
    want_containment: bool = False
    max_hops: int = 1
    direction: str = "both"
    budget: int = 0


class ExpandRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """A named expand, registered by the host."""

    name: str
    relation_types: Sequence[str] = ()
    want_containment: bool = False
    max_hops: int = 1
    direction: str = "both"
