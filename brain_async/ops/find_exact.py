"""find_exact: an id, a title or a path-like phrase.

UUID lookup first, else lexical + trigram over the parts and text over the entities, with an exact-title boost.
"""

from __future__ import annotations

import re
from uuid import UUID

from brain_async.errors import ObjectNotFoundError
from brain_async.model.candidate import Candidate, Fused, Promoted, newest_first
from brain_async.model.filters import Filters
from brain_async.model.object import NIL_UUID
from brain_async.model.requests import SearchRequest
from brain_async.model.results import ChannelOutcome, ChannelRank, SearchPage
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked, checked_ids, required_query, required_result_sets
from brain_async.ops.deps import Deps, corpus_filters, raise_fatal, text_channels
from brain_async.ops.reranking import ordered
from brain_async.ports.paging import ResultSetStore
from brain_async.stages.channels import Channel, run_channels
from brain_async.stages.decay import boost_exact_title, decayed
from brain_async.stages.explain import explain
from brain_async.stages.fuse import fuse
from brain_async.stages.hydrate import NO_FILTERS, hydrate_promoted
from brain_async.stages.page import store_page
from brain_async.stages.promote import promote

__all__ = ["find_exact"]

EQUAL_WEIGHTS = {"lexical": 1.0, "trigram": 1.0, "graph_text": 1.0}

_HYPHENATED = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Python's own parser also takes hyphens anywhere, underscores, signs and other scripts' digits.
_UUID = re.compile(
    rf"{_HYPHENATED}|\{{{_HYPHENATED}\}}|urn:uuid:{_HYPHENATED}|[0-9a-f]{{32}}", re.IGNORECASE | re.ASCII
)


async def find_exact(
    deps: Deps, scope: Scope, request: SearchRequest, result_sets: ResultSetStore | None
) -> SearchPage:
    """See ``Engine.find_exact``."""
    async with deps.span("find_exact") as span:
        deps.check_scope(scope)
        checked(request, SearchRequest, "request")
        result_sets = required_result_sets(result_sets)
        query = span.asked(required_query(request.query))
        filters = corpus_filters(deps, request)
        limit = deps.page_size(request.limit)
        depth = deps.rerank_depth(limit)
        explain_ids = checked_ids(request.explain_ids, "explain_ids")

        object_id = parse_id(query)
        outcomes: list[ChannelOutcome] = []
        if object_id is not None:
            fused = await _by_id(deps, scope, object_id, filters)
        else:
            fused, outcomes = await _by_text(deps, scope, query, filters, parents=depth)
            await span.channels(outcomes)
            boost_exact_title(fused, query)

        ranked = decayed(fused, deps.now(), deps.config.decay_lambda)
        promoted: list[Promoted] = promote(ranked, deps.config.evidence_n)[: deps.config.max_result_set_size]
        objects, promoted = await hydrate_promoted(
            deps.store,
            scope,
            promoted,
            limit=depth,
            explain=request.explain,
            entity_filters=filters if object_id is None else NO_FILTERS,
        )
        if object_id is not None and fused and not objects:
            raise ObjectNotFoundError(object_id)
        best = await ordered(deps, span, scope, query, objects, limit=limit)
        page = await store_page(
            result_sets,
            best.page,
            [*best.served, *best.behind, *(item.id for item in promoted[len(objects) :])],
            offset=len(best.served),
            now=deps.now(),
            max_ids=deps.config.max_result_set_size,
            outcomes=[*outcomes, *best.outcomes],
        )
        if request.explain:
            page = await explain(
                deps.store,
                scope,
                page,
                explain_ids,
                fusion="rrf",
                weights=EQUAL_WEIGHTS,
                dropped=best.dropped,
                promoted=promoted,
                ranked=ranked,
                filters=filters,
                candidate_k=deps.config.candidate_k,
                reranked=best.reranked,
            )
        return span.page(page)


def parse_id(query: str) -> UUID | None:
    """The non-nil UUID that ``query`` spells, plain, in braces, after urn:uuid: or as 32 hex digits; else None."""
    if _UUID.fullmatch(query) is None:
        return None
    object_id = UUID(query.lower())
    return object_id if object_id != NIL_UUID else None


async def _by_id(deps: Deps, scope: Scope, object_id: UUID, filters: Filters) -> list[Fused]:
    """The object itself at score 1; filters are ignored, scope_ids are not. Raises ObjectNotFoundError."""
    obj = await deps.store.get(scope, object_id)
    if obj is None:
        raise ObjectNotFoundError(object_id)
    allowed = filters.scope_ids
    if allowed is not None and obj.key not in allowed and obj.parent_id not in allowed:
        return []
    candidate = Candidate(
        id=obj.key,
        parent_id=obj.parent_id,
        title=obj.title,
        position=obj.position,
        updated_at=obj.updated_at,
        score=1.0,
    )
    return [Fused(candidate, [ChannelRank("id", 1, 1.0, 1.0)], newest_first(obj.updated_at), fused=1.0)]


async def _by_text(
    deps: Deps, scope: Scope, query: str, filters: Filters, *, parents: int
) -> tuple[list[Fused], list[ChannelOutcome]]:
    """Candidates of all text channels fused by RRF with equal weights; an error of the store's channels is raised."""
    graph = deps.can.object_search
    k = max(deps.config.candidate_k, parents)
    channels = [*text_channels(deps.searcher, scope, query, filters, k, parents)]
    if graph is not None:
        # Objects without parts have their title in the graph alone.
        entities = Channel("graph_text", lambda: graph.search_objects_text(scope, query, filters, k=k))
        channels.append(entities)
    results = await run_channels(channels, timeout=deps.config.channel_timeout)
    by_name = {result.outcome.channel: result for result in results}
    raise_fatal(deps.config, by_name, always=("lexical", "trigram"))
    fused = fuse(
        {name: result.hits for name, result in by_name.items()},
        method="rrf",
        weights=EQUAL_WEIGHTS,
        rrf_k=deps.config.rrf_k,
    )
    return fused, [result.outcome for result in results]
