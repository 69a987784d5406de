"""Engine: one short method per verb. What a verb does stands in ``ops``; what it returns, in ``model.results``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from brain_async.catalog.registry import KindCatalog
from brain_async.config import EngineConfig
from brain_async.errors import ConfigError, InvalidInputError, RecipeNameRequiredError, StoreRequiredError
from brain_async.model.drift import Drift, ReconcileReport
from brain_async.model.health import HealthReport
from brain_async.model.kind import KindSchema, KindSpec
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.model.requests import (
    ExpandManyRequest,
    ExpandRecipe,
    ExpandRequest,
    FindLinksRequest,
    FindObjectsRequest,
    SearchRequest,
)
from brain_async.model.results import LinkHit, LinkManyResult, PutManyResult, RichObject, SearchPage
from brain_async.model.scope import Scope
from brain_async.ops import (
    expand,
    find_exact,
    find_links,
    find_objects,
    health,
    kinds,
    link,
    read,
    reconcile,
    resume,
    search,
    write,
)
from brain_async.ops.arguments import checked, checked_seconds
from brain_async.ops.deps import Capabilities, Deps, fusion_weights
from brain_async.ports.graph import GraphReader
from brain_async.ports.host import LanguageDetector, Observer, Progress, QueryEmbedder, Reranker
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.paging import ResultSetStore
from brain_async.ports.store import ObjectReader
from brain_async.session import SearchContext, Session

__all__ = ["Engine"]


class Engine:
    """A knowledge base: objects in a store, entities and edges in a graph, searched as one.

    The engine owns nothing it is given and closes nothing. It holds no state of a call, so one engine serves any
    number of concurrent calls for any number of namespaces. Every verb raises only BrainError's subclasses; besides what
    is listed, any verb raises BackendError for a failing backend and NamespaceRequiredError under
    ``EngineConfig.require_namespace``. Verbs that page take ``result_sets``, usually a SearchContext; ``session``
    binds the two.
    """

    def __init__(
        self,
        store: ObjectReader,
        *,
        graph: GraphReader | None = None,
        ledger: EdgeLedger | None = None,
        embedder: QueryEmbedder | None = None,
        reranker: Reranker | None = None,
        language_detector: LanguageDetector | None = None,
        observer: Observer | None = None,
        kinds: Sequence[KindSpec] = (),
        recipes: Sequence[ExpandRecipe] = (),
        config: EngineConfig = EngineConfig(),
    ) -> None:
        """Build an engine; no I/O. Raises StoreRequiredError, ConfigError, InvalidKindError, RecipeNameRequiredError."""
        if store is None:
            raise StoreRequiredError("an Engine needs a store")
        can = Capabilities.of(store, graph, ledger)
        if config.store_channels == "fused" and can.fused_searcher is None:
            raise ConfigError(
                'store_channels="fused" needs a store that implements FusedSearcher: use "concurrent" with this one'
            )
        self._deps = Deps(
            store=store,
            can=can,
            ledger=ledger,
            embedder=embedder,
            reranker=reranker,
            language_detector=language_detector,
            observer=observer,
            catalog=KindCatalog(kinds),
            recipes={},
            config=config,
            weights=fusion_weights(config, embedder),
        )
        for recipe in recipes:
            self.register_expand_recipe(recipe)

    @property
    def has_part_search(self) -> bool:
        """Whether search and find_exact work."""
        return self._deps.can.searcher is not None

    @property
    def has_object_writer(self) -> bool:
        """Whether put and soft_delete work."""
        return self._deps.can.writer is not None

    @property
    def has_object_search(self) -> bool:
        """Whether find_objects works: the graph searches objects and was ready when the engine was built."""
        return self._deps.can.object_search is not None

    @property
    def has_edge_search(self) -> bool:
        """Whether find_links works."""
        return self._deps.can.edge_search is not None

    @property
    def has_graph_writer(self) -> bool:
        """Whether link and unlink work."""
        return self._deps.can.graph_writer is not None

    @property
    def catalog(self) -> tuple[KindSpec, ...]:
        """The registered kinds, sorted by name."""
        return self._deps.catalog.kinds

    @property
    def links(self) -> EdgeLedger | None:
        """The record of links that the engine was built with, to read from: what is written to it the graph does not hear."""
        return self._deps.ledger

    @property
    def config(self) -> EngineConfig:
        """The knobs this engine runs with."""
        return self._deps.config

    def session(self, namespace: UUID | None = None, context: SearchContext | None = None) -> Session:
        """The verbs bound to one scope and one SearchContext: ``context``, or a new one for ``namespace``.

        Raises InvalidInputError when both are given and the context is of another namespace.
        """
        if context is None:
            context = SearchContext(namespace)
        elif namespace not in (None, context.namespace_id):
            raise InvalidInputError(
                f"the context is of namespace {context.namespace_id}, not {namespace}: give one of the two",
                field="namespace",
            )
        return Session(self, context)

    # Reading

    async def search(
        self, scope: Scope, request: SearchRequest, result_sets: ResultSetStore | None = None
    ) -> SearchPage:
        """Find the parents whose parts answer the query, with evidence.

        All attached channels run concurrently, each under ``channel_timeout``; what was lost is named in ``degraded``.
        Filters apply to the parts (and to entities in the graph channels). A reranker orders the first ``rerank_depth`` of the
        hits; where it fails, they keep the fused order. Replaces the active result set.
        Raises QueryRequiredError, InvalidFilterError, InvalidInputError (channels), ResultSetStoreRequiredError.
        """
        return await search.search(self._deps, scope, request, result_sets)

    async def find_exact(
        self, scope: Scope, request: SearchRequest, result_sets: ResultSetStore | None = None
    ) -> SearchPage:
        """Find by id, title or path-like phrase; typos are forgiven, an exact part title comes first.

        A query that spells a UUID is looked up (a part yields its parent with that part as evidence; filters are ignored)
        and raises ObjectNotFoundError when invisible. Otherwise raises as ``search``, and for any failing channel. The
        channels are always lexical and trigram, whatever the request says.
        """
        return await find_exact.find_exact(self._deps, scope, request, result_sets)

    async def find_objects(
        self, scope: Scope, request: FindObjectsRequest, result_sets: ResultSetStore | None = None
    ) -> SearchPage:
        """Find whole first-class objects by their entity text and vector.

        When nothing matches, ``result_set_id`` is None and the active result set is left as it was.
        Raises ObjectSearchUnavailableError, and as ``search``.
        """
        return await find_objects.find_objects(self._deps, scope, request, result_sets)

    async def find_links(self, scope: Scope, request: FindLinksRequest) -> list[LinkHit]:
        """Find edges of one relation by the text of their notes, best first, both ends visible in the scope.

        Raises EdgeSearchUnavailableError, LinkQueryRequiredError.
        """
        return await find_links.find_links(self._deps, scope, request)

    async def continue_(
        self, scope: Scope, result_set_id: UUID | None, result_sets: ResultSetStore | None = None, *, limit: int = 0
    ) -> SearchPage:
        """The next page of a result set, under this call's scope; past the end an empty page.

        Relations are attached again; scores and evidence are on first pages only.
        Raises ResultSetIdRequiredError, ResultSetNotFoundError, ResultSetStoreRequiredError.
        """
        return await resume.resume(self._deps, scope, result_set_id, limit, result_sets)

    async def expand(
        self, scope: Scope, request: ExpandRequest, result_sets: ResultSetStore | None = None
    ) -> SearchPage:
        """From one object to its parts (or, for a part, its parent and siblings) and its neighbours in the graph.

        Up to ``expand_inline_max`` objects come whole, without a result set; more are paged. Containment and walk run
        concurrently. Raises ObjectIdRequiredError, ObjectNotFoundError, GraphRequiredError; a failing graph raises
        unless containment answered (``degrade_mode`` containment_only).
        """
        return await expand.expand(self._deps, scope, request, result_sets)

    async def expand_many(self, scope: Scope, request: ExpandManyRequest) -> list[RichObject]:
        """Expand several seeds into one list, each object claimed by the first seed that reaches it (``source_id``).

        Nil and invisible seeds are skipped; stops at the budget. Raises GraphRequiredError; any graph error is raised.
        """
        return await expand.expand_many(self._deps, scope, request)

    async def expand_by_recipe(
        self, scope: Scope, name: str, object_id: UUID | None, result_sets: ResultSetStore | None = None
    ) -> SearchPage:
        """``expand`` as a registered recipe says. Raises RecipeNotFoundError, and as ``expand``."""
        return await expand.expand_by_recipe(self._deps, scope, name, object_id, result_sets)

    def register_expand_recipe(self, recipe: ExpandRecipe) -> None:
        """Register (or replace) a recipe by its trimmed name. Raises RecipeNameRequiredError, InvalidInputError."""
        name = checked(checked(recipe, ExpandRecipe, "recipe").name, str, "name").strip()
        if not name:
            raise RecipeNameRequiredError
        self._deps.recipes[name] = recipe

    async def read(self, scope: Scope, object_id: UUID | None) -> RichObject:
        """One object with its content. Raises ObjectIdRequiredError, ObjectNotFoundError."""
        return await read.read(self._deps, scope, object_id)

    async def list_children(self, scope: Scope, parent_id: UUID | None) -> list[RichObject]:
        """The parts of a visible parent, without content, by position (unset last), then id. Raises as ``read``."""
        return await read.list_children(self._deps, scope, parent_id)

    # Writing

    async def put(self, scope: Scope, obj: Object) -> Object:
        """Insert or replace one object, whole; returns it as stored (embedding left out).

        Fills id, namespace, created_at (kept from the first put) and updated_at (always now). With an embedder the
        vector is made here; an embedder failure stores nothing. Raises InvalidInputError's subclasses before any write;
        GraphEnsureError when the object is stored and its graph node is not: a repeated put heals it, and so does
        ``reconcile``. With ``EngineConfig.graph_writes="eventual"`` that is no error, and left to ``reconcile``.
        """
        return await write.put(self._deps, scope, obj)

    async def put_many(
        self, scope: Scope, objects: Sequence[Object], *, progress: Progress | None = None
    ) -> PutManyResult:
        """``put`` for many, in batches; parents may come with their parts, in any order.

        One bad object never takes its neighbours along: the result lists what was stored and what failed, and why.
        Cancelling keeps the batches already written.
        """
        return await write.put_many(self._deps, scope, objects, progress)

    async def soft_delete(self, scope: Scope, object_id: UUID | None) -> None:
        """Hide an object, its graph node and its edges. Its parts stay readable by id but are not found any more.

        Raises ObjectNotFoundError, GraphRemoveError (the object is then untouched; whether its node is gone shows after
        ``reconcile``). With ``graph_writes="eventual"`` the object goes first, and a failing graph is no error.
        """
        await write.soft_delete(self._deps, scope, object_id)

    async def link(
        self, scope: Scope, from_id: UUID | None, to_id: UUID | None, relation_type: str, meta: EdgeMeta = EdgeMeta()
    ) -> Edge:
        """Link two first-class objects of one namespace; linking again replaces the metadata and keeps created_at.

        Labels are trimmed and lower-cased. With a ledger the link is recorded there first, so a failing graph raises
        but loses nothing, and ``reconcile`` adds the edge (``graph_writes="eventual"`` does not raise). Raises
        GraphWriterRequiredError, LinkArgumentsError, LinkNotFirstClassError, ObjectNotFoundError; with a CortexEdgeLedger,
        SelfEdgeError for an object and itself.
        """
        return await link.link(self._deps, scope, from_id, to_id, relation_type, meta)

    async def link_many(
        self, scope: Scope, edges: Sequence[Edge], *, progress: Progress | None = None
    ) -> LinkManyResult:
        """``link`` for many, in batches of 500; of edges with one key the last counts.

        One bad edge never takes its neighbours along: the result lists what was linked and what failed, and why.
        Cancelling keeps the batches already recorded. Raises GraphWriterRequiredError.
        """
        return await link.link_many(self._deps, scope, edges, progress)

    async def unlink(self, scope: Scope, from_id: UUID | None, to_id: UUID | None, relation_type: str) -> None:
        """Remove one edge; an edge that is not there is no error. Raises as ``link`` for its arguments."""
        await link.unlink(self._deps, scope, from_id, to_id, relation_type)

    async def project(
        self, scope: Scope = Scope(), *, progress: Callable[[int, int], object] | None = None
    ) -> tuple[int, int]:
        """Fill an empty graph from the store's first-class objects and the ledger's edges: (nodes, edges) written.

        For a graph that nothing else writes to meanwhile, such as a new MemoryGraph; it removes nothing. What the outbox
        says of what was written is settled, and the rest of it delivered. ``progress`` is called with both numbers, so far,
        after each batch. Raises GraphWriterRequiredError; a failing graph raises.
        """
        return await reconcile.project(self._deps, scope, progress)

    # Looking after the graph

    async def reconcile(
        self, scope: Scope = Scope(), *, full: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> ReconcileReport:
        """Tell the graph what the outbox says it still has to be told.

        With ``full``, also compare the graph with store and ledger by id and version, a page at a time, and repair every
        node and edge that is missing, stale or should not be there. A graph that cannot be scanned (GraphScanner) is told
        of everything there is instead, which finds no orphans. Safe to repeat, to interrupt, beside live writes and beside
        another reconcile. What fails is in the report and stays in the outbox.

        Args:
            progress: called with (nodes, edges) the graph was told of so far.

        Raises GraphWriterRequiredError; a failing store, ledger or graph scan raises.
        """
        return await reconcile.reconcile(self._deps, scope, full=full, progress=progress)

    async def drift(self, scope: Scope = Scope()) -> Drift:
        """How far the graph is from store and ledger: counts, nothing is repaired. A failing backend raises."""
        return await reconcile.drift(self._deps, scope)

    async def health(self, *, timeout: float = 2.0) -> HealthReport:
        """How each backend is, all asked at once, each for at most ``timeout`` seconds.

        A backend that fails or hangs is down in the report, and hides no other. One that is no HealthProbe is asked by a
        cheap read, and an embedder that is none is left out. Raises InvalidInputError for a timeout that is not above 0.
        """
        return await health.health(self._deps, checked_seconds(timeout, "timeout"))

    # Kinds

    def register_kinds(self, specs: Sequence[KindSpec]) -> None:
        """Add or replace kinds in this process. Raises InvalidKindError, CatalogFrozenError."""
        kinds.register_kinds(self._deps, specs)

    async def apply_kinds(self, specs: Sequence[KindSpec]) -> None:
        """Write kinds to the store (where it keeps kinds), then make them this process' whole catalog.

        Raises CatalogFrozenError before it writes, InvalidKindError.
        """
        await kinds.apply_kinds(self._deps, specs)

    async def load_kinds_from_store(self) -> None:
        """Make the store's kinds this process' whole catalog. Raises CatalogFrozenError, KindWritesUnsupportedError."""
        await kinds.load_kinds_from_store(self._deps)

    async def sync_kinds_to_store(self) -> None:
        """Write this process' catalog to the store. Raises KindWritesUnsupportedError."""
        await kinds.sync_kinds_to_store(self._deps)

    def freeze_catalog(self) -> None:
        """Refuse any further change of kinds."""
        self._deps.catalog.freeze()

    async def schema(self, kind: str = "") -> KindSchema:
        """The registered kinds (else the store's), or the one named. Raises KindNotFoundError."""
        return await kinds.schema(self._deps, kind)
