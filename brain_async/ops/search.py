"""search: open questions over the corpus.

request -> respell -> channels -> fuse -> decay -> promote -> hydrate -> rerank -> page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args

from brain_async.analysis import is_identifier_like
from brain_async.config import DENSE_CHANNELS, ChannelName
from brain_async.errors import InvalidInputError
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.model.requests import SearchRequest
from brain_async.model.results import SearchPage
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked, checked_ids, checked_texts, required_query, required_result_sets
from brain_async.ops.deps import Deps, corpus_filters, raise_fatal, text_channels
from brain_async.ops.reranking import ordered
from brain_async.ports.paging import ResultSetStore
from brain_async.ports.store import Vector
from brain_async.stages.agree import agreed_weights
from brain_async.stages.channels import Channel, ChannelResult, FusedChannels, QueryVector, run_channels, skipped
from brain_async.stages.decay import decayed
from brain_async.stages.explain import explain
from brain_async.stages.fuse import fuse
from brain_async.stages.hydrate import hydrate_promoted
from brain_async.stages.page import store_page
from brain_async.stages.promote import promote
from brain_async.stages.spread import spread

__all__ = ["search"]

STORE_CHANNELS: tuple[ChannelName, ...] = ("lexical", "trigram", "vector")
CHANNELS: tuple[ChannelName, ...] = get_args(ChannelName)


async def search(deps: Deps, scope: Scope, request: SearchRequest, result_sets: ResultSetStore | None) -> SearchPage:
    """See ``Engine.search``."""
    async with deps.span("search") as span:
        deps.check_scope(scope)
        checked(request, SearchRequest, "request")
        result_sets = required_result_sets(result_sets)
        query = span.asked(required_query(request.query))
        filters = corpus_filters(deps, request)
        weights = channel_weights(deps, request.channels, query)
        limit = deps.page_size(request.limit)
        depth = deps.rerank_depth(limit)
        explain_ids = checked_ids(request.explain_ids, "explain_ids")

        respelt, failed = await deps.respell(scope, query, request.respell)
        results = await _run(deps, scope, respelt.query, filters, weights, parents=depth)
        outcomes = failed + [result.outcome for result in results.values()]
        await span.channels(outcomes)
        raise_fatal(deps.config, results)

        ranked_lists = {name: result.hits for name, result in results.items()}
        if deps.config.fusion == "relative":
            weights = agreed_weights(ranked_lists, weights, enough=deps.config.agreement, sure=deps.config.lead)
        fused = fuse(
            ranked_lists,
            method=deps.config.fusion,
            weights=weights,
            rrf_k=deps.config.rrf_k,
        )
        ranked = decayed(fused, deps.now(), deps.config.decay_lambda)
        promoted = promote(ranked, deps.config.evidence_n)[: deps.config.max_result_set_size]

        objects, promoted = await hydrate_promoted(
            deps.store, scope, promoted, limit=depth, explain=request.explain, entity_filters=filters
        )
        best = await ordered(deps, span, scope, respelt.query, objects, limit=limit)
        page = await store_page(
            result_sets,
            best.page,
            [*best.served, *best.behind, *(item.id for item in promoted[len(objects) :])],
            offset=len(best.served),
            now=deps.now(),
            max_ids=deps.config.max_result_set_size,
            outcomes=[*outcomes, *best.outcomes],
            respelled=respelt.changes,
        )
        if request.explain:
            page = await explain(
                deps.store,
                scope,
                page,
                explain_ids,
                fusion=deps.config.fusion,
                weights=weights,
                dropped=best.dropped,
                promoted=promoted,
                ranked=ranked,
                filters=filters,
                candidate_k=deps.config.candidate_k,
                reranked=best.reranked,
                query=respelt.query if respelt.changes else "",
            )
        return span.page(page)


def channel_weights(deps: Deps, channels: Sequence[ChannelName] | None, query: str) -> dict[str, float]:
    """The weight of each channel to run, in the fixed order of the channels.

    The engine's channels and weights apply unless the request names its channels: those then run whatever their weight
    (one of weight 0 counts as 1). Raises InvalidInputError for a name that is no channel.
    """
    configured = deps.weights
    if channels is not None:
        named = checked_texts(channels, "channels")
        if unknown := [name for name in named if name not in CHANNELS]:
            raise InvalidInputError(f"unknown channel {unknown[0]!r}: use {', '.join(CHANNELS)}", field="channels")
        return {name: getattr(configured, name) or 1.0 for name in CHANNELS if name in named}
    weights: dict[str, float] = {
        name: float(getattr(configured, name)) for name in CHANNELS if name in deps.config.search_channels
    }
    if "trigram" in weights and not is_identifier_like(query):
        weights["trigram"] *= configured.trigram_natural
    return weights


async def _run(
    deps: Deps, scope: Scope, query: str, filters: Filters, weights: dict[str, float], *, parents: int
) -> dict[str, ChannelResult]:
    """Each channel that is attached and weighs anything, concurrently; part channels see to it that ``parents`` show."""
    searcher, graph, embedder = deps.can.searcher, deps.can.object_search, deps.embedder
    k = max(deps.config.candidate_k, parents)
    vector = QueryVector(embedder, query, timeout=deps.config.embed_timeout) if embedder is not None else None
    runnable: dict[str, Channel] = {}
    if searcher is not None:
        runnable |= {channel.name: channel for channel in text_channels(searcher, scope, query, filters, k, parents)}
    if graph is not None:
        runnable["graph_text"] = Channel("graph_text", lambda: graph.search_objects_text(scope, query, filters, k=k))
    if vector is not None and searcher is not None:

        async def search_parts(embedding: Vector) -> Sequence[Candidate]:
            by_vector = partial(searcher.search_vector, scope, embedding, k=k)
            return await spread(by_vector, filters, k=k, parents=parents)

        runnable["vector"] = Channel("vector", lambda: vector.search(search_parts), needs_vector=True)
    if vector is not None and graph is not None:
        graph_search = partial(graph.search_objects_vector, scope, filters=filters, k=k)
        runnable["graph_vector"] = Channel("graph_vector", lambda: vector.search(graph_search), needs_vector=True)

    running = [runnable[name] for name, weight in weights.items() if weight > 0 and name in runnable]
    in_store = [channel for channel in running if channel.name in STORE_CHANNELS]
    fused = _fused(deps, scope, query, filters, in_store, k, parents) if len(in_store) > 1 else None
    ran = await run_channels(
        running if fused is None else [fused, *(channel for channel in running if channel not in in_store)],
        timeout=deps.config.channel_timeout,
        query_vector=vector if any(channel.needs_vector for channel in running) else None,
    )
    by_name: dict[str, ChannelResult] = {result.outcome.channel: result for result in ran}
    return {
        name: by_name.get(name) or skipped(name, "weight 0 for this query" if name in runnable else "not attached")
        for name in weights
    }


def _fused(
    deps: Deps, scope: Scope, query: str, filters: Filters, channels: Sequence[Channel], k: int, parents: int
) -> FusedChannels | None:
    """``channels``, all of the store, as one statement; None under another ``EngineConfig.store_channels``."""
    searcher = deps.can.fused_searcher
    if searcher is None or deps.config.store_channels != "fused":
        return None
    names = tuple(name for name in STORE_CHANNELS if any(channel.name == name for channel in channels))

    async def search(vector: Vector | None, wanted: Sequence[ChannelName]) -> Mapping[ChannelName, Sequence[Candidate]]:
        first = await searcher.search_fused(scope, query, vector, filters, wanted, k=k)

        async def again(name: ChannelName, narrowed: Filters) -> Sequence[Candidate]:
            return (await searcher.search_fused(scope, query, vector, narrowed, (name,), k=k))[name]

        return {
            name: await spread(partial(again, name), filters, k=k, parents=parents, first=first[name])
            for name in wanted
        }

    return FusedChannels(names, search, frozenset(names).intersection(DENSE_CHANNELS))
