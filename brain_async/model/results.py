"""What the verbs return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

import msgspec

from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.object import NIL_UUID, Object, Properties
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta, Relation

__all__ = [
    "ChannelOutcome",
    "ChannelRank",
    "DegradeMode",
    "Evidence",
    "ExpandMode",
    "Explanation",
    "HitExplanation",
    "LinkFailure",
    "LinkHit",
    "LinkManyResult",
    "Missing",
    "OutcomeStatus",
    "PutFailure",
    "PutManyResult",
    "ResultSet",
    "RichObject",
    "SearchPage",
    "landing_ids",
    "landing_ids_from_page",
    "rich_from_object",
]

OutcomeStatus = Literal["ok", "empty", "skipped", "timeout", "error"]


class DegradeMode(StrEnum):
    """What a page had to do without."""

    NONE = "none"
    LEXICAL_ONLY = "lexical_only"
    CONTAINMENT_ONLY = "containment_only"


class ExpandMode(StrEnum):
    """What an expand walked."""

    CHILDREN = "children"
    NEIGHBORHOOD = "neighborhood"
    GRAPH = "graph"
    MIXED = "mixed"


class ChannelOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one channel of one call fared. ``started`` is seconds after the call began; ``detail`` says why it failed."""

    channel: str
    status: OutcomeStatus
    hits: int = 0
    started: float = 0.0
    seconds: float = 0.0
    detail: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part that earned its parent a place: best first; ``snippet`` is at most 240 characters and then an ellipsis."""

    part_id: UUID
    title: str = ""
    snippet: str = ""
    score: float = 0.0
    position: int | None = None


class ChannelRank(msgspec.Struct, frozen=True, gc=False):
    """Where one channel had a candidate: rank from 1, its raw score, and its share of the fused score."""

    channel: str
    rank: int
    score: float
    share: float


class HitExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why one candidate scored as it did: score = fused x decay (+ boost x decay for an exact title)."""

    id: UUID
    channels: tuple[ChannelRank, ...]
    fused: float
    decay: float
    score: float
    boost: float = 0.0


class RichObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object as a verb returns it, with score, evidence, relation and explanation where they apply."""

    id: UUID
    kind: str
    title: str = ""
    summary: str = ""
    content: str = ""
    content_type: str = ""
    language: str = DEFAULT_LANGUAGE
    properties: Properties = msgspec.field(default_factory=dict)
    parent_id: UUID | None = None
    position: int | None = None
    namespace_id: UUID | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    score: float | None = None
    evidence: tuple[Evidence, ...] = ()
    relation: Relation | None = None
    explain: tuple[HitExplanation, ...] = ()


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Why an id the caller asked about is not on the page."""

    id: UUID
    reason: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ``explain=True`` adds to a page.

    Attributes:
        fusion, weights: how the channels' scores were put together.
        candidates: how many the channels found in all.
        reranked: how many objects a reranker has ordered: 0 without one, and where it failed.
        missing: the answer for each id of ``explain_ids``.
        query: what the channels were given instead of the query, where words of it were respelt.
    """

    fusion: str
    weights: Mapping[str, float]
    candidates: int
    reranked: int = 0
    missing: tuple[Missing, ...] = ()
    query: str = ""


class SearchPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One page of a verb.

    Attributes:
        objects: in rank order.
        result_set_id: give it to ``continue_`` for the next page; None when nothing was stored.
        has_more: whether ``continue_`` has more ids.
        total: ids in the result set.
        degrade_mode: what is left, in one word; ``degraded`` names every channel that failed, and ``respell`` if that did.
        outcomes: one per channel, in the order of their start; one of ``respell`` before them if that failed, and the
            reranker's (``rerank``) after them, where there is one.
        respelled: (word of the query, word searched for instead), in the order of the query.
        mode: of an expand.
    """

    objects: tuple[RichObject, ...] = ()
    result_set_id: UUID | None = None
    has_more: bool = False
    total: int = 0
    degrade_mode: DegradeMode = DegradeMode.NONE
    degraded: tuple[str, ...] = ()
    outcomes: tuple[ChannelOutcome, ...] = ()
    respelled: tuple[tuple[str, str], ...] = ()
    mode: ExpandMode | None = None
    explanation: Explanation | None = None


class ResultSet(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of one search in rank order, and how far paging has come (``offset`` = ids already served).

    ``respelled`` as in the search's page.
    """

    id: UUID
    object_ids: tuple[UUID, ...] = ()
    relations: Mapping[UUID, Relation] = msgspec.field(default_factory=dict)
    offset: int = 0
    created_at: datetime | None = None
    respelled: tuple[tuple[str, str], ...] = ()


class LinkHit(msgspec.Struct, frozen=True, kw_only=True):
    """An edge found by its note, with both ends (without content)."""

    source: RichObject
    target: RichObject
    relation_type: str
    meta: EdgeMeta
    score: float

    @classmethod
    def of(cls, edge: Edge, source: Object, target: Object, score: float) -> LinkHit:
        """The hit for ``edge`` between two loaded objects."""
        return cls(
            source=rich_from_object(source),
            target=rich_from_object(target),
            relation_type=edge.relation_type,
            meta=edge.meta,
            score=score,
        )


class PutFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One object of put_many that was not stored (or stored without its graph node, when ``stored`` is true)."""

    index: int
    id: UUID | None
    code: str
    message: str
    field: str = ""
    stored: bool = False


class PutManyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What put_many did: the stored objects in input order (without embeddings), and what failed and why.

    ``waiting`` are the ids of stored objects that the graph will hear of by reconcile (``graph_writes="eventual"`` only).
    """

    objects: tuple[Object, ...] = ()
    failures: tuple[PutFailure, ...] = ()
    waiting: tuple[UUID, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything was stored."""
        return not self.failures


class LinkFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One edge of link_many that is not in the graph; ``recorded`` when the ledger holds it all the same."""

    index: int
    code: str
    message: str
    field: str = ""
    recorded: bool = False


class LinkManyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What link_many did: the edges linked, in input order, and what failed and why.

    ``waiting`` are the keys of recorded edges that the graph will hear of by reconcile (``graph_writes="eventual"`` only).
    """

    edges: tuple[Edge, ...] = ()
    failures: tuple[LinkFailure, ...] = ()
    waiting: tuple[EdgeKey, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything was linked."""
        return not self.failures


def rich_from_object(
    obj: Object,
    *,
    content: bool = False,
    score: float | None = None,
    evidence: tuple[Evidence, ...] = (),
    relation: Relation | None = None,
    explain: tuple[HitExplanation, ...] = (),
) -> RichObject:
    """``obj`` as a RichObject; its content only when asked for."""
    return RichObject(
        id=obj.key,
        kind=obj.kind,
        title=obj.title,
        summary=obj.summary,
        content=obj.content if content else "",
        content_type=obj.content_type,
        language=obj.language,
        properties=obj.properties,
        parent_id=obj.parent_id,
        position=obj.position,
        namespace_id=obj.namespace_id,
        created_at=obj.created_at,
        updated_at=obj.updated_at,
        score=score,
        evidence=evidence,
        relation=relation,
        explain=explain,
    )


def landing_ids(objects: Sequence[RichObject]) -> list[UUID]:
    """The first-class ids that hits land on: order kept, unique; a part gives its parent, nil ids are skipped."""
    landed = (obj.id if obj.parent_id is None else obj.parent_id for obj in objects)
    return list(dict.fromkeys(object_id for object_id in landed if object_id != NIL_UUID))


def landing_ids_from_page(page: SearchPage) -> list[UUID]:
    """``landing_ids`` of the page's objects."""
    return landing_ids(page.objects)
