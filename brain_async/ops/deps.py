"""What every verb works with: the parts the engine was built from, resolved once, and frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from brain_async.catalog.filters import restrict_to_catalog, validate_filters_against
from brain_async.catalog.registry import KindCatalog
from brain_async.config import EngineConfig
from brain_async.errors import (
    InvalidInputError,
    NamespaceRequiredError,
    ObjectIdRequiredError,
    QueryRequiredError,
    ResultSetStoreRequiredError,
    UnavailableError,
    WritesUnsupportedError,
)
from brain_async.model.filters import Filters
from brain_async.model.object import NIL_UUID
from brain_async.model.requests import ExpandRecipe, SearchRequest
from brain_async.model.scope import Scope
from brain_async.observe import Span
from brain_async.ports.graph import GraphEdgeSearcher, GraphObjectSearcher, GraphReader, GraphWriter
from brain_async.ports.host import Observer, QueryEmbedder, Reranker
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.paging import ResultSetStore
from brain_async.ports.store import KindReader, KindWriter, ObjectReader, ObjectWriter, PartSearcher
from brain_async.stages.channels import ChannelResult
from brain_async.text import clean_query

__all__ = [
    "Capabilities",
    "Deps",
    "corpus_filters",
    "raise_fatal",
    "required_id",
    "required_query",
    "required_result_sets",
]


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The optional abilities of store and graph, asked once."""

    writer: ObjectWriter | None
    searcher: PartSearcher | None
    kind_reader: KindReader | None
    kind_writer: KindWriter | None
    graph_reader: GraphReader | None
    graph_writer: GraphWriter | None
    object_search: GraphObjectSearcher | None
    edge_search: GraphEdgeSearcher | None

    @classmethod
    def of(cls, store: ObjectReader, graph: object | None) -> Capabilities:
        """What ``store`` and ``graph`` can do. An object search that is not ready counts as absent."""
        object_search = graph if isinstance(graph, GraphObjectSearcher) and graph.object_search_ready else None
        return cls(
            writer=store if isinstance(store, ObjectWriter) else None,
            searcher=store if isinstance(store, PartSearcher) else None,
            kind_reader=store if isinstance(store, KindReader) else None,
            kind_writer=store if isinstance(store, KindWriter) else None,
            graph_reader=graph if isinstance(graph, GraphReader) else None,
            graph_writer=graph if isinstance(graph, GraphWriter) else None,
            object_search=object_search,
            edge_search=graph if isinstance(graph, GraphEdgeSearcher) else None,
        )


class Deps(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one engine."""

    store: ObjectReader
    can: Capabilities
    ledger: EdgeLedger | None
    embedder: QueryEmbedder | None
    reranker: Reranker | None
    observer: Observer | None
    catalog: KindCatalog
    recipes: dict[str, ExpandRecipe]
    config: EngineConfig

    def span(self, operation: str) -> Span:
        """The span of one call of ``operation``."""
        return Span(self.observer, operation)

    def now(self) -> datetime:
        """The config's clock."""
        return self.config.now()

    def check_scope(self, scope: Scope) -> None:
        """Raises NamespaceRequiredError under ``require_namespace`` when ``scope`` has none."""
        if self.config.require_namespace and scope.namespace_id is None:
            raise NamespaceRequiredError

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


def required_query(query: str) -> str:
    """``query`` cleaned. Raises QueryRequiredError when nothing is left."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, not {type(query).__name__}", field="query")
    cleaned = clean_query(query)
    if not cleaned:
        raise QueryRequiredError
    return cleaned


def required_id(object_id: UUID | None, field: str = "object_id") -> UUID:
    """``object_id``. Raises ObjectIdRequiredError when it is None or nil, InvalidInputError when it is no UUID."""
    if object_id is None or object_id == NIL_UUID:
        raise ObjectIdRequiredError(field)
    if not isinstance(object_id, UUID):
        raise InvalidInputError(f"{field} must be a UUID, not {type(object_id).__name__}", field=field)
    return object_id


def required_result_sets(result_sets: ResultSetStore | None) -> ResultSetStore:
    """``result_sets``. Raises ResultSetStoreRequiredError when there is none."""
    if result_sets is None:
        raise ResultSetStoreRequiredError
    return result_sets


def corpus_filters(deps: Deps, request: SearchRequest) -> Filters:
    """The request's filters, validated, restricted to registered kinds and to its scope_ids (nil ids are ignored)."""
    deps.freeze_catalog()
    filters = restrict_to_catalog(validate_filters_against(request.filters, deps.catalog), deps.catalog)
    scope_ids = [object_id for object_id in request.scope_ids if object_id != NIL_UUID]
    return filters.within(scope_ids) if scope_ids else filters


def raise_fatal(config: EngineConfig, results: Mapping[str, ChannelResult], *, always: Sequence[str] = ()) -> None:
    """Raise the error of the first failed channel that the config (or ``always``) does not let degrade.

    Where every channel that ran failed, the first error is raised too: an outage is never shown as "no hits".
    """
    fatal: dict[str, bool] = {
        "lexical": config.fail_on_lexical_error,
        "vector": config.fail_on_embedder_error,
        "graph_text": config.fail_on_graph_error,
        "graph_vector": config.fail_on_graph_error or config.fail_on_embedder_error,
    }
    failures = {name: result.error for name, result in results.items() if result.error is not None}
    ran = [result for result in results.values() if result.outcome.status != "skipped"]
    for name, error in failures.items():
        if name in always or fatal.get(name, False) or len(failures) == len(ran):
            raise error
