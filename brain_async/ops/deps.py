"""What every verb works with: the parts the engine was built from, resolved once, and frozen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from brain_async.catalog.filters import restrict_to_catalog, validate_filters_against
from brain_async.catalog.registry import KindCatalog
from brain_async.config import DENSE_CHANNELS, GRAPH_CHANNELS, EngineConfig, FusionWeights
from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    GraphWriterRequiredError,
    NamespaceRequiredError,
    UnavailableError,
    WritesUnsupportedError,
)
from brain_async.model.filters import Filters
from brain_async.model.requests import ExpandRecipe, SearchRequest
from brain_async.model.results import ChannelOutcome, OutcomeStatus
from brain_async.model.scope import Scope
from brain_async.observe import Span
from brain_async.ops.arguments import checked, checked_filters, checked_ids
from brain_async.ports.graph import (
    GraphBulkLoader,
    GraphEdgeSearcher,
    GraphObjectSearcher,
    GraphReader,
    GraphScanner,
    GraphWalker,
    GraphWriter,
)
from brain_async.ports.host import LanguageDetector, Observer, QueryEmbedder, Reranker, SuggestsDenseShare
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.outbox import EdgeOutbox, KeepsEdgeOutbox, KeepsNodeOutbox, NodeOutbox
from brain_async.ports.store import (
    FusedSearcher,
    KindReader,
    KindWriter,
    ObjectReader,
    ObjectWriter,
    PartSearcher,
    PassageReader,
)
from brain_async.ports.vocabulary import Vocabulary
from brain_async.stages.channels import Channel, ChannelResult
from brain_async.stages.deadline import within
from brain_async.stages.respell import Respelt, respell
from brain_async.stages.spread import spread

__all__ = ["Capabilities", "Deps", "corpus_filters", "fusion_weights", "raise_fatal", "text_channels"]


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The optional abilities of store, graph and ledger, asked once."""

    writer: ObjectWriter | None
    searcher: PartSearcher | None
    passages: PassageReader | None
    fused_searcher: FusedSearcher | None
    vocabulary: Vocabulary | None
    kind_reader: KindReader | None
    kind_writer: KindWriter | None
    graph_reader: GraphReader | None
    graph_walker: GraphWalker | None
    graph_writer: GraphWriter | None
    bulk_loader: GraphBulkLoader | None
    object_search: GraphObjectSearcher | None
    edge_search: GraphEdgeSearcher | None
    scanner: GraphScanner | None
    node_outbox: NodeOutbox | None
    edge_outbox: EdgeOutbox | None

    @classmethod
    def of(cls, store: ObjectReader, graph: object | None, ledger: EdgeLedger | None = None) -> Capabilities:
        """What each can do. An object search that is not ready counts as absent."""
        object_search = graph if isinstance(graph, GraphObjectSearcher) and graph.object_search_ready else None
        return cls(
            writer=store if isinstance(store, ObjectWriter) else None,
            searcher=store if isinstance(store, PartSearcher) else None,
            passages=store if isinstance(store, PassageReader) else None,
            fused_searcher=store if isinstance(store, FusedSearcher) else None,
            vocabulary=store if isinstance(store, Vocabulary) else None,
            kind_reader=store if isinstance(store, KindReader) else None,
            kind_writer=store if isinstance(store, KindWriter) else None,
            graph_reader=graph if isinstance(graph, GraphReader) else None,
            graph_walker=graph if isinstance(graph, GraphWalker) else None,
            graph_writer=graph if isinstance(graph, GraphWriter) else None,
            bulk_loader=graph if isinstance(graph, GraphBulkLoader) else None,
            object_search=object_search,
            edge_search=graph if isinstance(graph, GraphEdgeSearcher) else None,
            scanner=graph if isinstance(graph, GraphScanner) else None,
            node_outbox=store.graph_outbox if isinstance(store, KeepsNodeOutbox) else None,
            edge_outbox=ledger.graph_outbox if isinstance(ledger, KeepsEdgeOutbox) else None,
        )


class Deps(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one engine."""

    store: ObjectReader
    can: Capabilities
    ledger: EdgeLedger | None
    embedder: QueryEmbedder | None
    reranker: Reranker | None
    language_detector: LanguageDetector | None
    observer: Observer | None
    catalog: KindCatalog
    recipes: dict[str, ExpandRecipe]
    config: EngineConfig
    weights: FusionWeights

    def span(self, operation: str) -> Span:
        """The span of one call of ``operation``."""
        return Span(self.observer, operation)

    def now(self) -> datetime:
        """The config's clock."""
        return self.config.now()

    def check_scope(self, scope: Scope) -> None:
        """Raises NamespaceRequiredError under ``require_namespace`` when ``scope`` has none, InvalidInputError for no Scope."""
        checked(scope, Scope, "scope")
        if scope.namespace_id is not None:
            checked(scope.namespace_id, UUID, "namespace_id")
        if self.config.require_namespace and scope.namespace_id is None:
            raise NamespaceRequiredError

    def page_size(self, limit: int) -> int:
        """The page size for a requested ``limit``. Raises InvalidInputError when it is no integer."""
        return self.config.page_size(checked(limit, int, "limit"))

    def rerank_depth(self, limit: int) -> int:
        """How many of the best objects to hydrate for a page of ``limit``."""
        return limit if self.reranker is None else max(limit, self.config.rerank_depth)

    async def respell(self, scope: Scope, query: str, wanted: bool | None) -> tuple[Respelt, list[ChannelOutcome]]:
        """The respelling stage under its deadline; where it fails the query as it is, and an outcome that says so."""
        if self.can.vocabulary is None or not (
            self.config.respell if wanted is None else checked(wanted, bool, "respell")
        ):
            return Respelt(query), []
        began = time.perf_counter()
        try:
            lookup = respell(self.can.vocabulary, scope, query)
            return await within(self.config.respell_timeout, "the vocabulary", lookup), []
        except BackendError as error:
            status: OutcomeStatus = "timeout" if isinstance(error, BackendTimeoutError) else "error"
            seconds = time.perf_counter() - began
            return Respelt(query), [
                ChannelOutcome(channel="respell", status=status, seconds=seconds, detail=str(error))
            ]

    def freeze_catalog(self) -> None:
        """Freeze a catalog that holds kinds: answers given under it must stay true."""
        if self.catalog:
            self.catalog.freeze()

    @property
    def searcher(self) -> PartSearcher:
        """The store's search channels. Raises UnavailableError."""
        if self.can.searcher is None:
            raise UnavailableError("the store has no search channels (it does not implement PartSearcher)")
        return self.can.searcher

    @property
    def writer(self) -> ObjectWriter:
        """The store's writer. Raises WritesUnsupportedError."""
        if self.can.writer is None:
            raise WritesUnsupportedError("the store does not support object writes")
        return self.can.writer

    @property
    def graph_writer(self) -> GraphWriter:
        """The graph's writer. Raises GraphWriterRequiredError."""
        if self.can.graph_writer is None:
            raise GraphWriterRequiredError(
                "no graph is attached, and links need one that can write"
                if self.can.graph_reader is None
                else "the graph is only read here: links are written by a process that has it open for writing"
            )
        return self.can.graph_writer

    @property
    def nodes_may_wait(self) -> bool:
        """Whether a node that cannot be written now is left to the outbox, without an error."""
        return self.config.graph_writes == "eventual" and self.can.node_outbox is not None

    @property
    def edges_may_wait(self) -> bool:
        """Whether an edge that cannot be written now is left to the outbox, without an error."""
        return self.config.graph_writes == "eventual" and self.can.edge_outbox is not None


def fusion_weights(config: EngineConfig, embedder: QueryEmbedder | None) -> FusionWeights:
    """The config's, else those that the embedder suggests, else the defaults. Raises InvalidInputError for a wrong share."""
    if config.weights is not None:
        return config.weights
    suggesting: object = embedder
    if isinstance(suggesting, SuggestsDenseShare):
        return FusionWeights.with_dense_share(suggesting.dense_share)
    return FusionWeights()


def corpus_filters(deps: Deps, request: SearchRequest) -> Filters:
    """The request's filters, validated, restricted to registered kinds and to its scope_ids (nil ids are ignored)."""
    deps.freeze_catalog()
    filters = validate_filters_against(checked_filters(request.filters), deps.catalog)
    filters = restrict_to_catalog(filters, deps.catalog)
    scope_ids = checked_ids(request.scope_ids, "scope_ids")
    return filters.within(scope_ids) if scope_ids else filters


def text_channels(
    searcher: PartSearcher, scope: Scope, query: str, filters: Filters, k: int, parents: int
) -> tuple[Channel, Channel]:
    """The lexical and the trigram channel over parts, each of which sees to it that ``parents`` parents show."""
    lexical = partial(searcher.search_lexical, scope, query, k=k)
    trigram = partial(searcher.search_trigram, scope, query, k=k)
    return (
        Channel("lexical", lambda: spread(lexical, filters, k=k, parents=parents)),
        Channel("trigram", lambda: spread(trigram, filters, k=k, parents=parents)),
    )


def raise_fatal(config: EngineConfig, results: Mapping[str, ChannelResult], *, always: Sequence[str] = ()) -> None:
    """Raise the error of the first failed channel that the config (or ``always``) does not let degrade.

    ``fail_on_embedder_error`` speaks for whatever a dense channel lacks, ``fail_on_graph_error`` for the graph's own
    failures only. Where every channel that ran failed, the first error is raised too: an outage is never "no hits".
    """
    ran = [result for result in results.values() if result.outcome.status != "skipped"]
    outage = all(result.error is not None for result in ran)
    for name, result in results.items():
        fatal = (
            outage
            or name in always
            or (config.fail_on_lexical_error and name == "lexical")
            or (config.fail_on_embedder_error and name in DENSE_CHANNELS)
            or (config.fail_on_graph_error and name in GRAPH_CHANNELS and not result.embedder_failed)
        )
        if result.error is not None and fatal:
            raise result.error
