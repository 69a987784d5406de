"""Queries: every read and write of the graph as a template, built once per shape.

Whatever a caller supplied travels as a parameter, except edge labels and index definitions, which the engine wants in the
query itself; there they are values of the SDK's syntax tree, never text that is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from helixdb import (
    BatchCondition,
    EdgeRef,
    Expr,
    NodeRef,
    Order,
    Predicate,
    Projection,
    PropertyInput,
    PropertyProjection,
    SourcePredicate,
    StreamBound,
    Traversal,
    g,
    read_batch,
    write_batch,
)

from brain_async.model.relation import Direction
from helixgraph.properties import EDGE_FIELDS, LABEL, NODE_FIELDS, index_name
from helixgraph.request import Template

__all__ = [
    "MOST_ANY",
    "Channel",
    "Comparison",
    "Condition",
    "Side",
    "edge_search",
    "embedded_node",
    "ensure_edges",
    "ensure_nodes",
    "frontier_edges",
    "hub_edges",
    "namespaces",
    "neighborhood_edges",
    "node_search",
    "noted_edge",
    "remove_edges",
    "remove_nodes",
]

Side = Literal["out", "in"]
Channel = Literal["text", "vector"]
Comparison = Literal["any", "in", "gte", "lt", "gt"]
Condition = tuple[str, Comparison, tuple[str, ...]]
"""(property, comparison, names of the parameters). "any" takes a parameter per value, up to ``MOST_ANY``, and is answered by an
index; "in" takes one list of any length and makes the engine look at every node."""

MOST_ANY: Final = 64

_STRINGS = {"array": "string"}
_ROWS = {"array": "object"}
_REMOVE_ROUND: Final = 384  # edges; with MOST_ANY nodes below the 512 texts that the engine re-indexes at once

# The ends are told by the key: to look the two nodes up for every edge costs more than all the rest of its row.
_EDGE_COLUMNS = [
    Projection.property("edge_key"),
    Projection.property("$label", "label"),
    *(Projection.property(name) for name in (*EDGE_FIELDS, "created_at")),
]
_NODE_COLUMNS = [PropertyProjection.new(name) for name in ("object_id", "title", "position", "updated_at", "kind")]


def _param(name: str) -> PropertyInput:
    return PropertyInput.param(name)


def _node(parameter: str) -> Traversal:
    return g().n_with_label_where(LABEL, SourcePredicate.eq("object_id", Expr.param(parameter)))


def _all(predicates: Sequence[Predicate]) -> Predicate:
    return predicates[0] if len(predicates) == 1 else Predicate.and_(predicates)


def _owned(parameter: str) -> Predicate:
    """The nodes that a namespace may write: its own, and those that are nobody's."""
    return Predicate.or_(
        [Predicate.eq("namespace_id", Expr.param(parameter)), Predicate.not_(Predicate.has_key("namespace_id"))]
    )


def _set_all(stream: Traversal, names: Sequence[str]) -> Traversal:
    for name in names:
        stream = stream.set_property(name, _param(name))
    return stream


def _filtered(stream: Traversal, predicates: Sequence[Predicate]) -> Traversal:
    return stream.where(_all(predicates)) if predicates else stream


@lru_cache
def ensure_nodes(indexed: tuple[str, ...], *, embedded: bool, scoped: bool) -> Template:
    """Upserts ``rows`` of ``rows.node_row``: all with an embedding, or all without. ``indexed`` as there.

    An embedding that changes is removed before it is set, in the same transaction. Setting another one in its place leaves
    the engine's vector index inconsistent (0.3.3): a later write, of whichever node, then fails for good with "Storage
    invariant violated: cannot prove an already loaded vector neighbor row is new". One that is the same is left alone,
    which costs a tenth.
    """
    names = [*NODE_FIELDS, *map(index_name, indexed), *(["embedding"] if embedded else [])]
    known = g().n(NodeRef.var("known"))
    owned = known.where(_owned("namespace_id")) if scoped else known
    update = _set_all(owned, names)
    body = write_batch().var_as("known", _node("object_id"))
    if embedded:
        changed = owned.where(Predicate.neq("embedding", Expr.param("embedding")))
        body = body.var_as_if("cleared", BatchCondition.var_not_empty("known"), changed.remove_property("embedding"))
    body = body.var_as_if(
        "new",
        BatchCondition.var_empty("known"),
        g().add_n(LABEL, {name: _param(name) for name in ("object_id", *names)}),
    ).var_as_if(
        "updated",
        BatchCondition.var_not_empty("known"),
        update if embedded else update.remove_property("embedding"),
    )
    return Template(write_batch().for_each_param("rows", body).returning([]), {"rows": _ROWS})


@lru_cache(maxsize=1024)
def ensure_edges(label: str, *, noted: bool, redated: bool) -> Template:
    """Upserts ``rows`` of ``rows.edge_row`` and, before, their ends among ``nodes``.

    ``noted``: all have a note, or none has. ``redated``: created_at replaces that of a known edge too.
    """
    fields = [*EDGE_FIELDS, "edge_key", "scan_key", "created_at", *(["search_text"] if noted else [])]
    new = {name: _param("first_update" if name == "updated_at" else name) for name in fields}
    update = _set_all(g().e(EdgeRef.var("known")), [name for name in fields if redated or name != "created_at"])
    ends = (
        write_batch()
        .var_as("end", _node("object_id"))
        .var_as_if("stub", BatchCondition.var_empty("end"), g().add_n(LABEL, {"object_id": _param("object_id")}))
    )
    body = (
        write_batch()
        .var_as("source", _node("from"))
        .var_as("target", _node("to"))
        .var_as("known", _edge_by_key(label, scoped=True))
        .var_as_if(
            "new",
            BatchCondition.var_empty("known"),
            g().n(NodeRef.var("source")).add_e(label, NodeRef.var("target"), new),
        )
        .var_as_if(
            "updated",
            BatchCondition.var_not_empty("known"),
            update if noted else update.remove_property("search_text"),
        )
    )
    batch = write_batch().for_each_param("nodes", ends).for_each_param("rows", body).returning([])
    return Template(batch, {"nodes": _ROWS, "rows": _ROWS})


def _edge_by_key(label: str, *, scoped: bool) -> Traversal:
    found = g().e_with_label_where(label, SourcePredicate.eq("edge_key", Expr.param("edge_key")))
    return found.where(Predicate.eq("namespace_id", Expr.param("namespace_id"))) if scoped else found


@lru_cache(maxsize=1024)
def remove_edges(label: str, *, scoped: bool) -> Template:
    """Removes the edges of ``rows`` of from, edge_key and (scoped) namespace_id."""
    body = (
        write_batch()
        .var_as("found", _edge_by_key(label, scoped=scoped))
        .var_as("source", _node("from"))
        .var_as_if(
            "dropped",
            BatchCondition.var_not_empty("found"),
            g().n(NodeRef.var("source")).drop_edge_by_id(EdgeRef.var("found")),
        )
    )
    return Template(write_batch().for_each_param("rows", body).returning([]), {"rows": _ROWS})


@lru_cache(maxsize=64)
def remove_nodes(indexed: tuple[str, ...], *, scoped: bool, size: int) -> Template:
    """Removes up to 384 edges of the ``size`` nodes ``n0``, ``n1``, ..., and if that were all, the nodes.

    To be repeated while ``left`` is not empty. ``size`` is at most ``MOST_ANY``. More at once may
    exceed what the engine re-indexes in one write. Edges of other namespaces stay, and with them the bare nodes that hold
    them. Every node is made bare before it goes: with a vector index by namespace the engine refuses to drop one that has
    a namespace and no embedding ("active vector document has no tenant partition mapping").
    """
    names = [f"n{number}" for number in range(size)]
    own = [Predicate.eq("namespace_id", Expr.param("namespace_id"))] if scoped else []
    found = g().n_with_label_where(LABEL, _any_of("object_id", names))
    nodes = g().n(NodeRef.var("nodes"))
    bare = nodes
    for name in (
        "embedding",
        *map(index_name, indexed),
        *reversed(NODE_FIELDS),
    ):  # the namespace last: an index by namespace needs it until then
        bare = bare.remove_property(name)
    done = BatchCondition.var_empty("left")
    batch = (
        write_batch()
        .var_as("nodes", found.where(_owned("namespace_id")) if scoped else found)
        .var_as("edges", _filtered(nodes.both_e(), own).dedup().limit(_REMOVE_ROUND))
        .var_as_if("dropped", BatchCondition.var_not_empty("edges"), nodes.drop_edge_by_id(EdgeRef.var("edges")))
        .var_as("left", _filtered(nodes.both_e(), own).limit(1))
        .var_as_if("bare", done, bare)
    )
    if scoped:
        others = g().n(NodeRef.var("nodes")).both_e()
        batch = (
            batch.var_as_if("others", done, others)
            .var_as_if("sources", done, g().e(EdgeRef.var("others")).in_n())
            .var_as_if("targets", done, g().e(EdgeRef.var("others")).out_n())
        )
        nodes = nodes.without("sources").without("targets")
    batch = batch.var_as_if("gone", done, nodes.drop()).returning(["left"])
    return Template(batch, {**dict.fromkeys(names, "string"), **({"namespace_id": "string"} if scoped else {})})


def _edge_predicates(*, scoped: bool, labelled: bool) -> list[Predicate]:
    return [
        *([Predicate.eq("namespace_id", Expr.param("namespace_id"))] if scoped else []),
        *([Predicate.is_in_expr("$label", Expr.param("labels"))] if labelled else []),
    ]


_TOWARDS: dict[str, Callable[[Traversal], Traversal]] = {
    "both": lambda stream: stream.both_e(),
    "out": lambda stream: stream.out_e(),
    "in": lambda stream: stream.in_e(),
}


@lru_cache(maxsize=256)
def frontier_edges(direction: Direction, *, scoped: bool, labelled: bool, sizes: tuple[int, ...]) -> Template:
    """The edges around the nodes ``f0_0``, ``f0_1``, ... as ``f0``, at most ``cap`` of them, and so on for each of ``sizes``.

    A size is at most ``MOST_ANY``.
    """
    predicates = _edge_predicates(scoped=scoped, labelled=labelled)
    batch = read_batch()
    types: dict[str, Any] = {"cap": "i64", **_edge_types(scoped=scoped, labelled=labelled)}
    for number, size in enumerate(sizes):
        seeds = [f"f{number}_{place}" for place in range(size)]
        types.update(dict.fromkeys(seeds, "string"))
        found = g().n_with_label_where(LABEL, _any_of("object_id", seeds))
        edges = _filtered(_TOWARDS[direction](found), predicates)
        batch = batch.var_as(f"f{number}", edges.limit(StreamBound.expr(Expr.param("cap"))).project(_EDGE_COLUMNS))
    return Template(batch.returning([f"f{number}" for number in range(len(sizes))]), types)


@lru_cache(maxsize=256)
def neighborhood_edges(direction: Direction, *, scoped: bool, labelled: bool, size: int) -> Template:
    """The edges around the nodes ``f0_0``, ``f0_1``, ... as ``f0``, and around the nodes at their other ends as ``f1``.

    At most ``cap`` edges of each; ``f1`` is left empty when ``f0`` has more than ``most``. ``size`` is at most ``MOST_ANY``.
    """
    predicates = _edge_predicates(scoped=scoped, labelled=labelled)
    most, cap = (StreamBound.expr(Expr.param(name)) for name in ("most", "cap"))
    seeds = [f"f0_{place}" for place in range(size)]
    edges, onward = (_filtered(_TOWARDS[direction](g().n(NodeRef.var(name))), predicates) for name in ("seeds", "next"))
    found, few = g().e(EdgeRef.var("found")), BatchCondition.var_empty("rest")
    batch = (
        read_batch()
        .var_as("seeds", g().n_with_label_where(LABEL, _any_of("object_id", seeds)))
        .var_as("found", edges.limit(cap))
        .var_as("f0", found.project(_EDGE_COLUMNS))
        .var_as("rest", found.skip(most).limit(1))
        # The edges once more, since kept ones do not tell which of their ends they were reached from.
        .var_as_if("next", few, edges.other_n().dedup().without("seeds"))
        .var_as_if("f1", few, onward.limit(cap).project(_EDGE_COLUMNS))
        .returning(["f0", "f1"])
    )
    types = dict.fromkeys(seeds, "string") | {"cap": "i64", "most": "i64"}
    return Template(batch, types | _edge_types(scoped=scoped, labelled=labelled))


def _any_of(name: str, parameters: Sequence[str]) -> Any:
    equal = [SourcePredicate.eq(name, Expr.param(parameter)) for parameter in parameters]
    return equal[0] if len(equal) == 1 else SourcePredicate.or_(equal)


@lru_cache(maxsize=256)
def hub_edges(sides: tuple[Side, ...], *, scoped: bool, labelled: bool, nodes: int) -> Template:
    """The first ``cap`` edges by label and other end of each of the nodes ``n0``, ``n1``, ..., as ``out0``, ``in0``, ...

    ``loop0``, ``loop1``, ... are the keys of their self-loops, which are left out.
    """
    predicates = _edge_predicates(scoped=scoped, labelled=labelled)
    batch, names = read_batch(), []
    for number in range(nodes):
        for side in sides:
            elsewhere = Predicate.neq("edge_key", Expr.param(f"loop{number}"))
            edges = _TOWARDS[side](_node(f"n{number}")).where(_all([*predicates, elsewhere]))
            # One end is the same in all the keys, so that they sort by the other.
            ordered = edges.order_by_multiple([(name, Order.ASC) for name in ("$label", "edge_key", "namespace_id")])
            names.append(f"{side}{number}")
            batch = batch.var_as(names[-1], ordered.limit(StreamBound.expr(Expr.param("cap"))).project(_EDGE_COLUMNS))
    types: dict[str, Any] = {f"{name}{number}": "string" for name in ("n", "loop") for number in range(nodes)}
    types["cap"] = "i64"
    return Template(batch.returning(names), types | _edge_types(scoped=scoped, labelled=labelled))


def _edge_types(*, scoped: bool, labelled: bool) -> dict[str, Any]:
    return {**({"namespace_id": "string"} if scoped else {}), **({"labels": _STRINGS} if labelled else {})}


_COMPARE: dict[str, Callable[[str, Sequence[str]], Any]] = {
    "any": _any_of,
    "in": lambda name, parameters: SourcePredicate.is_in_expr(name, Expr.param(parameters[0])),
    "gte": lambda name, parameters: SourcePredicate.gte(name, Expr.param(parameters[0])),
    "lt": lambda name, parameters: SourcePredicate.lt(name, Expr.param(parameters[0])),
    "gt": lambda name, parameters: SourcePredicate.gt(name, Expr.param(parameters[0])),
}


def _condition_types(conditions: Sequence[Condition]) -> dict[str, Any]:
    kinds: dict[str, Any] = {"any": "string", "in": _STRINGS}
    return {
        parameter: kinds.get(comparison, "i64") for _, comparison, parameters in conditions for parameter in parameters
    }


def _satisfying(conditions: Sequence[Condition]) -> Traversal:
    """The nodes that satisfy all conditions. One that few nodes satisfy is looked up, and the others are checked on those:
    the engine would first collect all nodes of the namespace."""
    few = next((c for c in conditions if c[1] == "any" and (c[0] == "object_id" or c[0].startswith("p_"))), None)
    first = [few] if few is not None else conditions
    rest = [c for c in conditions if c not in first]
    found = g().n_with_label(LABEL)
    if first:
        found = g().n_with_label_where(LABEL, _all([_COMPARE[how](name, names) for name, how, names in first]))
    return _filtered(found, [_COMPARE[how](name, names) for name, how, names in rest])


@lru_cache(maxsize=1024)
def node_search(channel: Channel, conditions: tuple[Condition, ...], *, within: bool, tenant: bool) -> Template:
    """The best ``limit`` nodes for ``query``, as ``hits`` of $id and score, and as ``rows`` those that satisfy the conditions.

    ``within``: the search runs over the nodes that satisfy the conditions, so that all of its hits do. ``tenant``: over
    the index of the namespace ``tenant``.
    """
    prop = "search_text" if channel == "text" else "embedding"
    arguments = (
        LABEL,
        prop,
        _param("query"),
        StreamBound.expr(Expr.param("limit")),
        _param("tenant") if tenant else None,
    )
    predicates = [_COMPARE[how](name, parameters) for name, how, parameters in conditions]
    if within:
        source = _satisfying(conditions)
        hits = source.text_search_with(*arguments) if channel == "text" else source.vector_search_with(*arguments)
    elif channel == "text":
        hits = g().text_search_nodes_with(*arguments)
    else:
        hits = g().vector_search_nodes_with(*arguments)
    found = g().n(NodeRef.var("found"))
    rows = found if within else _filtered(found, predicates)
    batch = (
        read_batch()
        .var_as("found", hits)
        .var_as("rows", rows.project([PropertyProjection.new("$id"), *_NODE_COLUMNS]))
        .returning(["found", "rows"])
    )
    types: dict[str, Any] = {"query": "string" if channel == "text" else {"array": "f32"}, "limit": "i64"}
    return Template(batch, types | ({"tenant": "string"} if tenant else {}) | _condition_types(conditions))


@lru_cache(maxsize=1024)
def edge_search(label: str, *, within: bool, scoped: bool) -> Template:
    """The best ``limit`` edges for ``query``; ``within``: of the namespace's edges, else of all, cut to the namespace's."""
    own = [Predicate.eq("namespace_id", Expr.param("namespace_id"))] if scoped else []
    arguments = (label, "search_text", _param("query"), StreamBound.expr(Expr.param("limit")))
    if within:
        hits = _filtered(g().e_with_label(label), own).text_search_with(*arguments)
    else:
        hits = g().text_search_edges_with(*arguments)
    found = g().e(EdgeRef.var("found"))
    rows = found if within else _filtered(found, own)
    batch = (
        read_batch()
        .var_as("found", hits)
        .var_as("rows", rows.project([Projection.property("$id"), *_EDGE_COLUMNS]))
        .returning(["found", "rows"])
    )
    types: dict[str, Any] = {"query": "string", "limit": "i64"}
    return Template(batch, types | ({"namespace_id": "string"} if scoped else {}))


@lru_cache(maxsize=1024)
def noted_edge(label: str) -> Template:
    """``rows``: one edge of the label that has a note, if there is any."""
    edges = g().e_with_label(label).where(Predicate.has_key("search_text")).limit(1)
    return Template(read_batch().var_as("rows", edges).returning(["rows"]), {})


@lru_cache
def embedded_node() -> Template:
    """``rows``: the namespace_id of one node that has an embedding, if there is any."""
    node = g().n_with_label(LABEL).has_key("embedding").limit(1).project([PropertyProjection.new("namespace_id")])
    return Template(read_batch().var_as("rows", node).returning(["rows"]), {})


@lru_cache
def namespaces() -> Template:
    """``rows`` of namespace_id, absent for nodes that are nobody's."""
    grouped = g().n_with_label(LABEL).group_count("namespace_id")
    return Template(read_batch().var_as("rows", grouped).returning(["rows"]), {})
