"""find_objects: whole entities of given kinds, by their text and vector in the graph; not passages."""

from __future__ import annotations

from functools import partial

from brain_async.catalog.filters import validate_filters_against
from brain_async.errors import ObjectSearchUnavailableError
from brain_async.model.filters import Filters
from brain_async.model.requests import FindObjectsRequest
from brain_async.model.results import ChannelOutcome, RichObject, SearchPage, rich_from_object
from brain_async.model.scope import Scope
from brain_async.observe import Span
from brain_async.ops.arguments import checked, checked_filters, checked_texts, required_query, required_result_sets
from brain_async.ops.deps import Deps, raise_fatal
from brain_async.ops.reranking import ordered
from brain_async.ports.paging import ResultSetStore
from brain_async.stages.channels import Channel, ChannelResult, QueryVector, run_channels, skipped
from brain_async.stages.decay import decayed
from brain_async.stages.fuse import fuse
from brain_async.stages.page import degrade_mode, degraded_channels, store_page

__all__ = ["find_objects"]

MIN_CANDIDATES = 40
CANDIDATES_PER_RESULT = 3
MAX_REFILLS = 2
REFILL_FACTOR = 8
"""Where nodes that the store no longer shows leave the page short, this many times more are asked for."""


async def find_objects(
    deps: Deps, scope: Scope, request: FindObjectsRequest, result_sets: ResultSetStore | None
) -> SearchPage:
    """See ``Engine.find_objects``."""
    async with deps.span("find_objects") as span:
        deps.check_scope(scope)
        if deps.can.object_search is None:
            raise ObjectSearchUnavailableError(
                "graph object search is not available: attach a graph that is ready for it"
            )
        checked(request, FindObjectsRequest, "request")
        result_sets = required_result_sets(result_sets)
        query = span.asked(required_query(request.query))
        filters = _filters(deps, request)
        limit = deps.page_size(request.limit)

        k = max(CANDIDATES_PER_RESULT * limit, MIN_CANDIDATES)
        found, outcomes = await _find(deps, span, scope, query, filters, k=k)
        for _ in range(MAX_REFILLS):
            if len(found) >= limit or all(outcome.hits < k for outcome in outcomes):
                break
            k *= REFILL_FACTOR
            found, outcomes = await _find(deps, span, scope, query, filters, k=k)
        if not any(outcome.hits for outcome in outcomes):
            empty = SearchPage(
                degrade_mode=degrade_mode(outcomes), degraded=degraded_channels(outcomes), outcomes=tuple(outcomes)
            )
            return span.page(empty)

        depth = deps.rerank_depth(limit) if deps.config.rerank_depth else len(found)
        best = await ordered(deps, span, scope, query, found[:depth], limit=limit)
        page = await store_page(
            result_sets,
            best.page,
            [*(obj.id for obj in best.page), *best.behind, *(obj.id for obj in found[depth:])],
            offset=len(best.page),
            now=deps.now(),
            max_ids=deps.config.max_result_set_size,
            outcomes=[*outcomes, *best.outcomes],
        )
        return span.page(page)


def _filters(deps: Deps, request: FindObjectsRequest) -> Filters:
    """The request's filters with its kinds: explicit kinds (trimmed, blanks dropped) replace a kind filter."""
    filters = checked_filters(request.filters)
    if kinds := [kind.strip() for kind in checked_texts(request.kinds, "kinds") if kind.strip()]:
        filters["kind"] = kinds
    if filters:
        deps.freeze_catalog()
    return validate_filters_against(filters, deps.catalog)


async def _find(
    deps: Deps, span: Span, scope: Scope, query: str, filters: Filters, *, k: int
) -> tuple[list[RichObject], list[ChannelOutcome]]:
    """(what the store still shows of the ``k`` best of each channel, best first; how the channels fared)."""
    results = await _run(deps, scope, query, filters, k=k)
    outcomes = [result.outcome for result in results.values()]
    await span.channels(outcomes)
    raise_fatal(deps.config, results, always=("graph_text",))
    weights = deps.weights
    fused = fuse(
        {name: result.hits for name, result in results.items()},
        method=deps.config.fusion,
        weights={"graph_text": weights.lexical, "graph_vector": weights.vector},
        rrf_k=deps.config.rrf_k,
    )
    ranked = decayed(fused, deps.now(), deps.config.decay_lambda)
    # The graph is a projection: what it names must still be a visible first-class object that passes the filters.
    wanted = [item.candidate.id for item in ranked]
    loaded = {obj.key: obj for obj in await deps.store.get_many(scope, wanted)} if wanted else {}
    found = [
        rich_from_object(obj, score=item.score)
        for item in ranked
        if (obj := loaded.get(item.candidate.id)) is not None and not obj.is_part and filters.matches(obj)
    ]
    return found[: deps.config.max_result_set_size], outcomes


async def _run(deps: Deps, scope: Scope, query: str, filters: Filters, *, k: int) -> dict[str, ChannelResult]:
    graph, embedder = deps.can.object_search, deps.embedder
    if graph is None:
        return {}
    channels = [Channel("graph_text", lambda: graph.search_objects_text(scope, query, filters, k=k))]
    vector = None
    if embedder is not None:
        query_vector = vector = QueryVector(embedder, query, timeout=deps.config.embed_timeout)
        search = partial(graph.search_objects_vector, scope, filters=filters, k=k)
        channels.append(Channel("graph_vector", lambda: query_vector.search(search), needs_vector=True))
    ran = await run_channels(channels, timeout=deps.config.channel_timeout, query_vector=vector)
    results = {result.outcome.channel: result for result in ran}
    if embedder is None:
        results["graph_vector"] = skipped("graph_vector", "not attached")
    return results
