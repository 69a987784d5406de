"""Contract checks that anyone can run on their own backend, free of pytest.

Each check is ``async def check_...(subject) -> None``; it asserts what the port's docstring promises, and uses namespaces of
its own, so that it can run on a backend that holds other data. With pytest, an adapter's test is::

    @pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
    async def test_store(check, store):
        await check(store)
"""

from brain_async.testing import (
    filter_checks,
    fused_checks,
    graph_checks,
    graph_edge_checks,
    graph_scan_checks,
    graph_search_checks,
    graph_walk_checks,
    health_checks,
    host_checks,
    kind_checks,
    kv_checks,
    language_checks,
    ledger_checks,
    outbox_checks,
    paging_checks,
    passage_checks,
    read_checks,
    search_checks,
    vocabulary_checks,
    write_checks,
)
from brain_async.testing.corpus import make_parts, vocabulary
from brain_async.testing.host_checks import CheckingObserver

__all__ = [
    "EDGE_OUTBOX_CHECKS",
    "EMBEDDER_CHECKS",
    "FUSED_CHECKS",
    "GRAPH_CHECKS",
    "GRAPH_EDGE_CHECKS",
    "GRAPH_SCAN_CHECKS",
    "GRAPH_WALK_CHECKS",
    "HEALTH_CHECKS",
    "KIND_CHECKS",
    "KV_CHECKS",
    "LEDGER_CHECKS",
    "NODE_OUTBOX_CHECKS",
    "PAGING_CHECKS",
    "PASSAGE_CHECKS",
    "RERANKER_CHECKS",
    "SEARCH_CHECKS",
    "STORE_CHECKS",
    "VOCABULARY_CHECKS",
    "CheckingObserver",
    "make_parts",
    "vocabulary",
]

STORE_CHECKS = read_checks.CHECKS + write_checks.CHECKS
SEARCH_CHECKS = search_checks.CHECKS + filter_checks.CHECKS + language_checks.CHECKS
FUSED_CHECKS = fused_checks.CHECKS
VOCABULARY_CHECKS = vocabulary_checks.CHECKS
KIND_CHECKS = kind_checks.CHECKS
KV_CHECKS = kv_checks.CHECKS
GRAPH_EDGE_CHECKS = graph_edge_checks.CHECKS
GRAPH_CHECKS = GRAPH_EDGE_CHECKS + graph_checks.CHECKS + graph_search_checks.CHECKS
LEDGER_CHECKS = ledger_checks.CHECKS
GRAPH_SCAN_CHECKS = graph_scan_checks.CHECKS
GRAPH_WALK_CHECKS = graph_walk_checks.CHECKS
NODE_OUTBOX_CHECKS = outbox_checks.NODE_CHECKS
EDGE_OUTBOX_CHECKS = outbox_checks.EDGE_CHECKS
HEALTH_CHECKS = health_checks.CHECKS
PAGING_CHECKS = paging_checks.CHECKS
PASSAGE_CHECKS = passage_checks.CHECKS
EMBEDDER_CHECKS = host_checks.EMBEDDER_CHECKS
RERANKER_CHECKS = host_checks.RERANKER_CHECKS
