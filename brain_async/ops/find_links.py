"""find_links: text on the notes of the edges of one relation, both ends loaded under the scope."""

from __future__ import annotations

from brain_async.catalog.values import check_relation_type
from brain_async.errors import EdgeSearchUnavailableError, LinkQueryRequiredError
from brain_async.model.relation import canonical_relation_type
from brain_async.model.requests import FindLinksRequest
from brain_async.model.results import LinkHit
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked
from brain_async.ops.deps import Deps
from brain_async.stages.deadline import within
from brain_async.text import clean_query

__all__ = ["find_links"]

MIN_CANDIDATES = 40
CANDIDATES_PER_RESULT = 2
MAX_REFILLS = 2
REFILL_FACTOR = 8
"""Where edges without a visible end leave the answer short, this many times more are asked for."""


async def find_links(deps: Deps, scope: Scope, request: FindLinksRequest) -> list[LinkHit]:
    """See ``Engine.find_links``."""
    async with deps.span("find_links") as span:
        deps.check_scope(scope)
        searcher = deps.can.edge_search
        if searcher is None:
            raise EdgeSearchUnavailableError("graph edge search is not available: attach a graph that has it")
        checked(request, FindLinksRequest, "request")
        relation_type = canonical_relation_type(checked(request.relation_type, str, "relation_type"))
        query = span.asked(clean_query(checked(request.query, str, "query")))
        if not relation_type or not query:
            raise LinkQueryRequiredError("query" if relation_type else "relation_type")
        check_relation_type(relation_type)
        limit = deps.page_size(request.limit)

        k = max(CANDIDATES_PER_RESULT * limit, MIN_CANDIDATES)
        links: list[LinkHit] = []
        for _ in range(1 + MAX_REFILLS):
            search = searcher.search_edges(scope, relation_type, query, k=k)
            hits = await within(deps.config.channel_timeout, "edge search", search)
            ends = [end for hit in hits for end in (hit.edge.from_id, hit.edge.to_id)]
            loaded = {obj.key: obj for obj in await deps.store.get_many(scope, ends)} if ends else {}
            links = [
                LinkHit.of(hit.edge, loaded[hit.edge.from_id], loaded[hit.edge.to_id], hit.score)
                for hit in hits
                if hit.edge.from_id in loaded and hit.edge.to_id in loaded
            ][:limit]
            if len(links) == limit or len(hits) < k:
                break
            k *= REFILL_FACTOR
        span.returned(len(links))
        return links
