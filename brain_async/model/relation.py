"""Edges between first-class objects, their metadata, and the relation an expanded object carries."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

__all__ = [
    "CONTAINMENT_LABELS",
    "Direction",
    "Edge",
    "EdgeKey",
    "EdgeMeta",
    "Neighbor",
    "Relation",
    "canonical_relation_type",
    "is_containment_relation",
    "normalize_relation_types",
    "split_relation_types",
]

Direction = Literal["out", "in", "both"]

CONTAINMENT_LABELS = frozenset({"contains", "part_of", "partof"})


def canonical_relation_type(label: str) -> str:
    """The one spelling of a label everywhere (link, expand, find_links): trimmed and lower-cased."""
    return label.strip().lower()


def is_containment_relation(label: str) -> bool:
    """Whether ``label`` asks for the parts of a parent rather than for edges of the graph."""
    return canonical_relation_type(label) in CONTAINMENT_LABELS


def normalize_relation_types(labels: list[str] | tuple[str, ...]) -> list[str]:
    """``labels`` trimmed, blanks dropped, deduplicated ignoring case; order and first spelling kept."""
    first_spelling: dict[str, str] = {}
    for label in labels:
        if trimmed := label.strip():
            first_spelling.setdefault(trimmed.lower(), trimmed)
    return list(first_spelling.values())


def split_relation_types(labels: list[str] | tuple[str, ...]) -> tuple[list[str], bool]:
    """(graph labels, whether containment was asked for) of normalised ``labels``; none at all asks for containment."""
    normalized = normalize_relation_types(labels)
    graph = [label for label in normalized if not is_containment_relation(label)]
    return graph, len(graph) < len(normalized) or not normalized


class EdgeMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a link says about itself. Unset is "" or None; confidence 0 means unset."""

    note: str = ""
    status: str = ""
    role: str = ""
    confidence: float = 0.0
    evidence_id: UUID | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def is_zero(self) -> bool:
        """Whether all seven fields are unset."""
        return self == EdgeMeta()


class EdgeKey(msgspec.Struct, frozen=True):
    """The identity of an edge. ``relation_type`` is canonical."""

    from_id: UUID
    to_id: UUID
    relation_type: str

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "relation_type", canonical_relation_type(self.relation_type))


class Edge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A directed, labelled edge between two first-class objects of one namespace."""

    from_id: UUID
    to_id: UUID
    relation_type: str
    namespace_id: UUID | None = None
    meta: EdgeMeta = EdgeMeta()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "relation_type", canonical_relation_type(self.relation_type))

    @property
    def key(self) -> EdgeKey:
        """(from, to, label): there is one edge per key."""
        return EdgeKey(self.from_id, self.to_id, self.relation_type)


class Neighbor(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One edge seen from a frontier node: ``direction`` is "out" when the node is its source, else "in"."""

    object_id: UUID
    relation_type: str
    direction: Literal["out", "in"]
    meta: EdgeMeta = EdgeMeta()


class Relation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an object was reached: over which edge, in which direction, at which hop, from which seed."""

    type: str = ""
    direction: str = ""
    depth: int = 0
    source_id: UUID | None = None
    meta: EdgeMeta = EdgeMeta()
