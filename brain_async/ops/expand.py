"""expand, expand_many, expand_by_recipe: from known ids to their parts and to their neighbours in the graph."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import msgspec

from brain_async.catalog.values import check_relation_type
from brain_async.errors import (
    BackendTimeoutError,
    BrainError,
    GraphRequiredError,
    ObjectNotFoundError,
    RecipeNotFoundError,
)
from brain_async.model.object import Object
from brain_async.model.relation import Direction, Relation, canonical_relation_type, split_relation_types
from brain_async.model.requests import ExpandManyRequest, ExpandRequest
from brain_async.model.results import (
    ChannelOutcome,
    DegradeMode,
    ExpandMode,
    OutcomeStatus,
    RichObject,
    SearchPage,
    rich_from_object,
)
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked, checked_ids, checked_texts, required_id, required_result_sets
from brain_async.ops.deps import Deps
from brain_async.ops.tasks import task_group
from brain_async.ports.graph import GraphReader
from brain_async.ports.paging import ResultSetStore
from brain_async.stages.deadline import within
from brain_async.stages.page import store_page
from brain_async.stages.walk import Step, walk

__all__ = ["expand", "expand_by_recipe", "expand_many"]

DEFAULT_BUDGET = 1000
SEEDS_PER_ROUND = 16


class _Plan(msgspec.Struct, frozen=True):
    """What an expand was asked to do, normalised."""

    relation_types: list[str]
    containment: bool
    hops: int
    direction: Direction
    graph: GraphReader | None


def _plan(deps: Deps, request: ExpandRequest | ExpandManyRequest) -> _Plan:
    """Raises GraphRequiredError when labels of the graph are asked for and no graph is attached."""
    labels, containment = split_relation_types(checked_texts(request.relation_types, "relation_types"))
    for label in labels:
        check_relation_type(label)
    if labels and deps.can.graph_reader is None:
        raise GraphRequiredError("a graph is required to expand over relations other than containment")
    direction = checked(request.direction, str, "direction").strip().lower()
    return _Plan(
        relation_types=[canonical_relation_type(label) for label in labels],
        containment=containment or request.want_containment,
        hops=min(max(checked(request.max_hops, int, "max_hops"), 1), deps.config.max_expand_hops),
        direction="out" if direction == "out" else "in" if direction == "in" else "both",
        graph=deps.can.graph_reader if labels else None,
    )


async def expand(deps: Deps, scope: Scope, request: ExpandRequest, result_sets: ResultSetStore | None) -> SearchPage:
    """See ``Engine.expand``."""
    async with deps.span("expand") as span:
        deps.check_scope(scope)
        checked(request, ExpandRequest, "request")
        source_id = required_id(request.object_id)
        plan = _plan(deps, request)
        limit = deps.page_size(request.limit)
        found = await deps.store.get_many(scope, [source_id])
        if not found:
            raise ObjectNotFoundError(source_id)
        source = found[0]

        contained, walked = await _reach(deps, scope, source, plan)
        outcomes = [reached.outcome for reached in (contained, walked) if reached is not None]
        await span.channels(outcomes)
        objects, mode, degrade_mode = _combine(deps, source, contained, walked)
        objects = objects[: deps.config.max_result_set_size]

        degraded = ("graph",) if degrade_mode is DegradeMode.CONTAINMENT_ONLY else ()
        if len(objects) <= deps.config.expand_inline_max:
            page = SearchPage(objects=tuple(objects), total=len(objects), outcomes=tuple(outcomes))
        else:
            page = await store_page(
                required_result_sets(result_sets),
                objects[:limit],
                [obj.id for obj in objects],
                offset=limit,
                now=deps.now(),
                max_ids=deps.config.max_result_set_size,
                outcomes=outcomes,
                relations={obj.id: obj.relation for obj in objects if obj.relation is not None},
            )
        return span.page(msgspec.structs.replace(page, mode=mode, degrade_mode=degrade_mode, degraded=degraded))


async def expand_by_recipe(
    deps: Deps, scope: Scope, name: str, object_id: UUID | None, result_sets: ResultSetStore | None
) -> SearchPage:
    """See ``Engine.expand_by_recipe``."""
    recipe = deps.recipes.get(checked(name, str, "name").strip())
    if recipe is None:
        raise RecipeNotFoundError(name)
    request = ExpandRequest(
        object_id=object_id,
        relation_types=recipe.relation_types,
        want_containment=recipe.want_containment,
        max_hops=recipe.max_hops,
        direction=recipe.direction,
    )
    return await expand(deps, scope, request, result_sets)


async def expand_many(deps: Deps, scope: Scope, request: ExpandManyRequest) -> list[RichObject]:
    """See ``Engine.expand_many``."""
    async with deps.span("expand_many") as span:
        deps.check_scope(scope)
        checked(request, ExpandManyRequest, "request")
        plan = _plan(deps, request)
        budget = request.budget if checked(request.budget, int, "budget") > 0 else DEFAULT_BUDGET
        seeds = checked_ids(request.seed_ids, "seed_ids")
        claimed: dict[UUID, RichObject] = {}
        # Round by round, so that seeds beyond a full budget are never touched.
        for start in range(0, len(seeds), SEEDS_PER_ROUND):
            sources = await deps.store.get_many(scope, seeds[start : start + SEEDS_PER_ROUND])
            contained = await _containment(deps, scope, sources) if plan.containment else {}
            walked = await _walk(deps, scope, [source.key for source in sources], plan) if plan.graph else {}
            for source in sources:
                for child in contained.get(source.key) or ():
                    claimed.setdefault(child.key, rich_from_object(child, relation=Relation(source_id=source.key)))
                for step in walked.get(source.key, ()):
                    relation = msgspec.structs.replace(step.relation, source_id=source.key)
                    claimed.setdefault(step.object.key, rich_from_object(step.object, relation=relation))
            if len(claimed) >= budget:
                break
        objects = list(claimed.values())[:budget]
        span.returned(len(objects))
        return objects


class _Reached(msgspec.Struct):
    """What one side of an expand reached, or its error."""

    outcome: ChannelOutcome
    objects: Sequence[Object] = ()
    steps: Sequence[Step] = ()
    error: BrainError | None = None


_Side = Callable[[], Awaitable[tuple[Sequence[Object], Sequence[Step]]]]


async def _timed(name: str, began: float, side: _Side) -> _Reached:
    start = time.perf_counter()
    objects: Sequence[Object] = ()
    steps: Sequence[Step] = ()
    failure: BrainError | None = None
    status: OutcomeStatus
    try:
        objects, steps = await side()
        status = "ok" if objects or steps else "empty"
    except BackendTimeoutError as error:
        failure, status = error, "timeout"
    except BrainError as error:
        failure, status = error, "error"
    outcome = ChannelOutcome(
        channel=name,
        status=status,
        hits=len(objects) + len(steps),
        started=start - began,
        seconds=time.perf_counter() - start,
        detail=str(failure) if failure else "",
    )
    return _Reached(outcome, objects, steps, failure)


async def _reach(deps: Deps, scope: Scope, source: Object, plan: _Plan) -> tuple[_Reached | None, _Reached | None]:
    """Containment and the walk, concurrently; neither can hurt the other."""
    began = time.perf_counter()
    reached: dict[str, _Reached] = {}

    async def contain() -> tuple[Sequence[Object], Sequence[Step]]:
        found = (await _containment(deps, scope, [source])).get(source.key)
        if found is None:
            raise ObjectNotFoundError(source.parent_id, what="parent")
        return found, ()

    async def step() -> tuple[Sequence[Object], Sequence[Step]]:
        return (), (await _walk(deps, scope, [source.key], plan)).get(source.key, ())

    async def collect(name: str, side: _Side) -> None:
        reached[name] = await _timed(name, began, side)

    async with task_group() as group:
        if plan.containment:
            group.start_soon(collect, "containment", contain)
        if plan.graph is not None:
            group.start_soon(collect, "graph", step)
    return reached.get("containment"), reached.get("graph")


def _combine(
    deps: Deps, source: Object, contained: _Reached | None, walked: _Reached | None
) -> tuple[list[RichObject], ExpandMode, DegradeMode]:
    """Containment first, then what the walk adds. A failed walk degrades only where containment answered."""
    if contained is not None and contained.error is not None:
        raise contained.error
    lost_graph = walked is not None and walked.error is not None
    if walked is not None and walked.error is not None and (contained is None or deps.config.fail_on_graph_error):
        raise walked.error
    found: dict[UUID, RichObject] = {}
    if contained is not None:
        found.update((obj.key, rich_from_object(obj)) for obj in contained.objects)
    if walked is not None:
        for step in walked.steps:
            found.setdefault(step.object.key, rich_from_object(step.object, relation=step.relation))
    if contained is None:
        mode = ExpandMode.GRAPH
    elif walked is not None and not lost_graph:
        mode = ExpandMode.MIXED
    else:
        mode = ExpandMode.NEIGHBORHOOD if source.is_part else ExpandMode.CHILDREN
    return list(found.values()), mode, DegradeMode.CONTAINMENT_ONLY if lost_graph else DegradeMode.NONE


async def _containment(deps: Deps, scope: Scope, sources: Sequence[Object]) -> dict[UUID, list[Object]]:
    """For a parent its parts in order; for a part its parent and the window of siblings around it, itself included.

    A part whose parent is not visible is absent.
    """
    parent_ids = list(dict.fromkeys(source.parent_id or source.key for source in sources))
    of_parts = list(dict.fromkeys(source.parent_id for source in sources if source.parent_id is not None))
    children = await deps.store.list_children(scope, parent_ids)
    parents = {obj.key: obj for obj in await deps.store.get_many(scope, of_parts)} if of_parts else {}
    found: dict[UUID, list[Object]] = {}
    for source in sources:
        if source.parent_id is None:
            found[source.key] = list(children.get(source.key, ()))[: deps.config.max_result_set_size]
        elif source.parent_id in parents:
            siblings = list(children.get(source.parent_id, ()))
            index = next((i for i, sibling in enumerate(siblings) if sibling.id == source.id), 0)
            radius = deps.config.sibling_radius
            window = siblings[max(0, index - radius) : index + radius + 1]
            found[source.key] = [parents[source.parent_id], *window]
    return found


async def _walk(deps: Deps, scope: Scope, seeds: Sequence[UUID], plan: _Plan) -> dict[UUID, list[Step]]:
    if plan.graph is None:
        return {}
    steps = walk(
        plan.graph,
        deps.store,
        scope,
        seeds,
        plan.relation_types,
        hops=plan.hops,
        direction=plan.direction,
        neighbor_k=deps.config.graph_neighbor_k,
        node_budget=deps.config.max_graph_expand_nodes,
        walker=deps.can.graph_walker,
    )
    return await within(deps.config.channel_timeout, "the graph walk", steps)
