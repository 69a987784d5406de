"""What goes over the wire: request bodies, in which an unknown field is an error, and replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

import msgspec

from brain_async.fastapi.problems import BACKEND_DETAIL
from brain_async.model.health import HealthReport
from brain_async.model.kind import FieldSpec, FieldType, FilterUsage, KindSpec
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.model.requests import (
    ExpandManyRequest,
    ExpandRequest,
    FindLinksRequest,
    FindObjectsRequest,
    SearchRequest,
)
from brain_async.model.results import (
    ChannelOutcome,
    DegradeMode,
    ExpandMode,
    Explanation,
    LinkHit,
    PutFailure,
    RichObject,
    SearchPage,
)

__all__ = [
    "ContinueBody",
    "EdgeBody",
    "ExpandBody",
    "ExpandByRecipeBody",
    "ExpandManyBody",
    "FieldBody",
    "FindLinksBody",
    "FindObjectsBody",
    "KindBody",
    "KindsBody",
    "LinkBody",
    "LinkManyBody",
    "LinksReply",
    "MetaBody",
    "ObjectBody",
    "ObjectsReply",
    "PageReply",
    "PutManyBody",
    "PutManyReply",
    "ReadyReply",
    "ReconcileBody",
    "SchemaReply",
    "SearchBody",
    "StatusReply",
]


_FAILED = frozenset({"error", "timeout"})


class SearchBody(SearchRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A SearchRequest."""


class FindObjectsBody(FindObjectsRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A FindObjectsRequest."""


class FindLinksBody(FindLinksRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A FindLinksRequest."""


class ExpandBody(ExpandRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An ExpandRequest."""


class ExpandManyBody(ExpandManyRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An ExpandManyRequest."""


class ExpandByRecipeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of expand_by_recipe."""

    name: str
    object_id: UUID


class ContinueBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``cursor`` is ``next`` of the page before; ``limit`` 0 is the engine's default."""

    cursor: str
    limit: int = 0


class ObjectBody(Object, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An Object."""


class PutManyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The objects of a put_many."""

    objects: Sequence[ObjectBody]


class MetaBody(EdgeMeta, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An EdgeMeta."""


class EdgeBody(Edge, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An Edge."""

    meta: MetaBody = MetaBody()


class LinkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of link."""

    from_id: UUID
    to_id: UUID
    relation_type: str
    meta: MetaBody = MetaBody()


class LinkManyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The edges of a link_many."""

    edges: Sequence[EdgeBody]


class FieldBody(FieldSpec, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A FieldSpec."""

    type: FieldType


class KindBody(KindSpec, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A KindSpec."""

    fields: tuple[FieldBody, ...] = ()


class KindsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The kinds of an apply_kinds."""

    kinds: tuple[KindBody, ...]


class ReconcileBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of reconcile."""

    full: bool = False


class PageReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A SearchPage whose result set is not kept.

    ``next`` is the cursor of the next page, absent on the last one; ``respelled`` names what each misspelt word was taken for.
    """

    objects: tuple[RichObject, ...]
    has_more: bool
    total: int
    next: str | None = None
    degrade_mode: DegradeMode = DegradeMode.NONE
    degraded: tuple[str, ...] = ()
    outcomes: tuple[ChannelOutcome, ...] = ()
    respelled: dict[str, str] = {}
    mode: ExpandMode | None = None
    explanation: Explanation | None = None

    @classmethod
    def of(cls, page: SearchPage, following: str | None) -> PageReply:
        """The reply for ``page``; what a failed channel's backend said is left out."""
        return cls(
            objects=page.objects,
            has_more=page.has_more,
            total=page.total,
            next=following,
            degrade_mode=page.degrade_mode,
            degraded=page.degraded,
            outcomes=tuple(
                msgspec.structs.replace(outcome, detail=BACKEND_DETAIL) if outcome.status in _FAILED else outcome
                for outcome in page.outcomes
            ),
            respelled=dict(page.respelled),
            mode=page.mode,
            explanation=page.explanation,
        )


class ObjectsReply(msgspec.Struct, frozen=True, kw_only=True):
    """Objects, in the order of the verb."""

    objects: Sequence[RichObject]


class LinksReply(msgspec.Struct, frozen=True, kw_only=True):
    """Links, best first."""

    links: Sequence[LinkHit]


class PutManyReply(msgspec.Struct, frozen=True, kw_only=True):
    """The ids that were stored, in input order, what failed and why, and the ids that the graph hears of later."""

    stored: Sequence[UUID]
    failures: tuple[PutFailure, ...]
    waiting: tuple[UUID, ...]


class SchemaReply(msgspec.Struct, frozen=True, kw_only=True):
    """A KindSchema."""

    kinds: tuple[KindBody, ...]
    filter_usage: FilterUsage


class StatusReply(msgspec.Struct, frozen=True, kw_only=True):
    """``up``, ``degraded`` or ``down``, of the engine and of each backend, and nothing else of them."""

    status: Literal["up", "degraded", "down"]
    backends: dict[str, str]


class ReadyReply(HealthReport, frozen=True, kw_only=True):
    """A HealthReport, in a word, and the longest time in seconds, within a minute, that the event loop was held up."""

    status: Literal["up", "degraded", "down"]
    loop_held_up: float | None = None
