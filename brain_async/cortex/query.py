"""What a find is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args
from uuid import UUID

import msgspec

from brain_async.cortex.edge_type import TypeLike
from brain_async.errors import InvalidValueError, UnboundedQueryError, UnsupportedQueryError
from brain_async.model.filters import Filters
from brain_async.model.relation import Direction
from brain_async.model.results import RichObject

__all__ = ["MAX_HOPS_CAP", "EdgeExpr", "FindResult", "Form", "PathStep", "Query", "check_follow", "check_query"]

MAX_HOPS_CAP = 6
"""The farthest a find may walk."""

Form = Literal["short", "medium", "full"]


class EdgeExpr(msgspec.Struct, frozen=True, kw_only=True):
    """Which edges a find follows, and how far.

    Attributes:
        types: bytes or labels; empty follows every type.
        min_hops, max_hops: 1 <= min_hops <= max_hops <= MAX_HOPS_CAP; nearer nodes are walked through and not returned.
        direction: "out" goes from source to target, "in" the other way, "both" either way.
        include_tombstoned: follow removed edges, too.
    """

    types: tuple[TypeLike, ...] = ()
    min_hops: int = 1
    max_hops: int = 1
    direction: Direction = "out"
    include_tombstoned: bool = False


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A find.

    Attributes:
        types: the kinds to return; empty returns every kind. Others are walked through all the same.
        from_: where to start, an id or a URI; None lists objects by ascending id instead.
        follow: what to follow from there; None follows every live edge out, for one hop.
        where: what returned objects have to satisfy by themselves; others are walked through all the same.
        order_by: see ``sort_rich_objects``; empty keeps the order of the walk, by hops.
        limit: objects at most; offset: matches to skip before the first.
        form: "short" gives kind, title and parent; "medium" all but the content; "full" the content, too.
        budget_tokens: end before the object that would exceed it; a token is four bytes of an object's JSON.
        max_edges: edges to read at most, so that no hub takes a walk beyond all bounds.
    """

    types: tuple[str, ...] = ()
    from_: UUID | str | None = None
    follow: EdgeExpr | None = None
    where: Filters | None = None
    order_by: str = ""
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    form: Form = "medium"
    budget_tokens: int | None = None
    max_edges: int = 100_000


class PathStep(msgspec.Struct, frozen=True, kw_only=True):
    """One edge of a path, as it was walked: over an edge of this type to ``object_id``, "in" against its direction."""

    type: str
    direction: Literal["out", "in"]
    object_id: UUID


class FindResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a find found.

    Attributes:
        objects: in order; ``relation`` says over which edge each was reached, at which hop.
        hops: of each object that was walked to.
        paths: the steps from the start to each, the shortest there is, and of these the first in the order of the walk.
        edges_scanned: edges that were read.
        tokens: of all objects together.
        has_more: limit or budget ended the list before the last match.
        truncated: max_edges ended the walk before its last hop.
    """

    objects: tuple[RichObject, ...] = ()
    hops: Mapping[UUID, int] = msgspec.field(default_factory=dict)
    paths: Mapping[UUID, tuple[PathStep, ...]] = msgspec.field(default_factory=dict)
    edges_scanned: int = 0
    tokens: int = 0
    has_more: bool = False
    truncated: bool = False


def check_query(query: Query) -> None:
    """Raises UnsupportedQueryError for what no walk can answer, UnboundedQueryError for one without an end, InvalidValueError
    for a number or a word out of range; each names the field."""
    if query.from_ is None and query.follow is not None:
        raise UnsupportedQueryError("follow needs a start: give from_", field="from_")
    if query.limit is None and query.budget_tokens is None:
        raise UnboundedQueryError
    if query.follow is not None:
        check_follow(query.follow)
    if query.form not in get_args(Form):
        raise InvalidValueError("form must be short, medium or full", field="form")
    for field, value, least in (
        ("limit", query.limit, 1),
        ("budget_tokens", query.budget_tokens, 1),
        ("offset", query.offset, 0),
        ("max_edges", query.max_edges, 1),
    ):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise InvalidValueError(f"{field} must be {least} or more, not {value!r}", field=field)


def check_follow(follow: EdgeExpr) -> None:
    """Raises UnsupportedQueryError for hops out of range or another direction."""
    least, most = follow.min_hops, follow.max_hops
    if not isinstance(least, int) or not isinstance(most, int) or not 1 <= least <= most:
        raise UnsupportedQueryError("hops must be whole numbers, 1 <= min_hops <= max_hops", field="max_hops")
    if most > MAX_HOPS_CAP:
        raise UnsupportedQueryError(f"max_hops is {most}: a walk goes {MAX_HOPS_CAP} hops at most", field="max_hops")
    if follow.direction not in get_args(Direction):
        raise UnsupportedQueryError("direction must be out, in or both", field="direction")
