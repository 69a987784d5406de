"""Every error this library raises, in one tree.

::

    BrainError
    ├── InvalidInputError (ValueError)         the caller's argument is wrong; names the field
    │   ├── QueryRequiredError
    │   ├── ObjectIdRequiredError
    │   ├── ResultSetIdRequiredError
    │   ├── NamespaceRequiredError
    │   ├── LinkArgumentsError
    │   ├── LinkQueryRequiredError
    │   ├── RecipeNameRequiredError
    │   ├── SoftDeletedPutError
    │   ├── LinkNotFirstClassError
    │   ├── ParentNotFirstClassError
    │   ├── NamespaceMismatchError
    │   ├── InvalidFilterError
    │   ├── InvalidKindError
    │   ├── InvalidObjectError
    │   ├── InvalidValueError                  NUL, lone surrogate, NaN, too large
    │   ├── InvalidSessionStateError
    │   ├── DimensionMismatchError
    │   ├── InvalidEdgeTypeError               an edge type that is neither canonical nor registered
    │   ├── SelfEdgeError
    │   ├── UnsupportedQueryError
    │   └── UnboundedQueryError
    ├── NotFoundError (LookupError)
    │   ├── ObjectNotFoundError
    │   ├── KindNotFoundError
    │   ├── RecipeNotFoundError
    │   ├── ResultSetNotFoundError
    │   └── EdgeNotFoundError
    ├── UnavailableError                       the engine was built without what the call needs
    │   ├── StoreRequiredError
    │   ├── ConfigError                        the config asks for what store or graph cannot do
    │   ├── ResultSetStoreRequiredError
    │   ├── WritesUnsupportedError
    │   ├── KindWritesUnsupportedError
    │   ├── GraphRequiredError
    │   ├── GraphWriterRequiredError
    │   ├── ObjectSearchUnavailableError
    │   ├── EdgeSearchUnavailableError
    │   ├── CatalogFrozenError
    │   ├── MissingExtensionError              a Postgres extension or a Python extra is not there
    │   ├── EventLoopMismatchError
    │   └── ClosedError
    └── BackendError                           a store, graph, ledger or embedder failed; cause chained
        ├── BackendTimeoutError
        │   └── PoolExhaustedError
        ├── EmbedderError
        ├── RerankerError
        ├── GraphEnsureError
        ├── GraphRemoveError
        ├── GraphLockedError                   another process has the embedded graph open
        ├── GraphMissingError                  no embedded graph to read was made there yet
        ├── LedgerError
        │   ├── LedgerLockedError              another process writes the ledger's files
        │   ├── DiskFullError                  nothing was written
        │   └── LedgerCorruptError             what is stored is not what the ledger wrote; names the first difference
        ├── SearchIndexNotReadyError
        └── LocalServerError                   the embedded Postgres could not be started

Each class carries ``code``, a stable snake_case name for logs and wire formats.
"""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

__all__ = [
    "BackendError",
    "BackendTimeoutError",
    "BrainError",
    "CatalogFrozenError",
    "ClosedError",
    "ConfigError",
    "DimensionMismatchError",
    "DiskFullError",
    "EdgeNotFoundError",
    "EdgeSearchUnavailableError",
    "EmbedderError",
    "EventLoopMismatchError",
    "GraphEnsureError",
    "GraphLockedError",
    "GraphMissingError",
    "GraphRemoveError",
    "GraphRequiredError",
    "GraphWriterRequiredError",
    "InvalidEdgeTypeError",
    "InvalidFilterError",
    "InvalidInputError",
    "InvalidKindError",
    "InvalidObjectError",
    "InvalidSessionStateError",
    "InvalidValueError",
    "KindNotFoundError",
    "KindWritesUnsupportedError",
    "LedgerCorruptError",
    "LedgerError",
    "LedgerLockedError",
    "LinkArgumentsError",
    "LinkNotFirstClassError",
    "LinkQueryRequiredError",
    "LocalServerError",
    "MissingExtensionError",
    "NamespaceMismatchError",
    "NamespaceRequiredError",
    "NotFoundError",
    "ObjectIdRequiredError",
    "ObjectNotFoundError",
    "ObjectSearchUnavailableError",
    "ParentNotFirstClassError",
    "PoolExhaustedError",
    "QueryRequiredError",
    "RecipeNameRequiredError",
    "RecipeNotFoundError",
    "RerankerError",
    "ResultSetIdRequiredError",
    "ResultSetNotFoundError",
    "ResultSetStoreRequiredError",
    "SearchIndexNotReadyError",
    "SelfEdgeError",
    "SoftDeletedPutError",
    "StoreRequiredError",
    "UnavailableError",
    "UnboundedQueryError",
    "UnsupportedQueryError",
    "WritesUnsupportedError",
]


class BrainError(Exception):
    """The root of every error this library raises on purpose."""

    code: ClassVar[str] = "brain_error"


class InvalidInputError(BrainError, ValueError):
    """Raised when an argument is wrong. ``field`` names it; the message says what would be right."""

    code = "invalid_input"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class QueryRequiredError(InvalidInputError):
    """Raised when the query is blank."""

    code = "query_required"

    def __init__(self, message: str = "query is required: give at least one non-blank character") -> None:
        super().__init__(message, field="query")


class ObjectIdRequiredError(InvalidInputError):
    """Raised when an object id is missing or the nil UUID."""

    code = "object_id_required"

    def __init__(self, field: str = "object_id") -> None:
        super().__init__(f"{field} is required: give a UUID that is not nil", field=field)


class ResultSetIdRequiredError(InvalidInputError):
    """Raised when continue_ is called without a result set id."""

    code = "result_set_id_required"

    def __init__(self) -> None:
        super().__init__("result_set_id is required: pass the id of the page to continue", field="result_set_id")


class NamespaceRequiredError(InvalidInputError):
    """Raised when a namespace is needed (by the object, or by ``EngineConfig.require_namespace``) and none is given."""

    code = "namespace_required"

    def __init__(self, message: str = "namespace is required: pass a Scope with a namespace_id") -> None:
        super().__init__(message, field="namespace_id")


class LinkArgumentsError(InvalidInputError):
    """Raised when from_id, to_id or relation_type of a link is missing; ``field`` names the first missing one."""

    code = "link_arguments"

    def __init__(self, field: str) -> None:
        super().__init__(f"from_id, to_id and relation_type are required: {field} is missing", field=field)


class LinkQueryRequiredError(InvalidInputError):
    """Raised when find_links lacks its relation type or its query."""

    code = "link_query_required"

    def __init__(self, field: str) -> None:
        super().__init__(f"relation_type and query are required: {field} is missing", field=field)


class RecipeNameRequiredError(InvalidInputError):
    """Raised when an expand recipe is registered without a name."""

    code = "recipe_name_required"

    def __init__(self) -> None:
        super().__init__("expand recipe name is required", field="name")


class SoftDeletedPutError(InvalidInputError):
    """Raised when put is given an object whose deleted_at is set; soft_delete is the way to delete."""

    code = "soft_deleted_put"

    def __init__(self) -> None:
        super().__init__(
            "put refuses soft-deleted objects: leave deleted_at unset, or call soft_delete", field="deleted_at"
        )


class LinkNotFirstClassError(InvalidInputError):
    """Raised when an end of a link is a part; only first-class objects (without parent_id) can be linked."""

    code = "link_not_first_class"


class ParentNotFirstClassError(InvalidInputError):
    """Raised when the parent of a part is missing from the namespace, deleted, the part itself, or a part."""

    code = "parent_not_first_class"


class NamespaceMismatchError(InvalidInputError):
    """Raised when an object's namespace differs from the scope's, or its id is owned by another namespace."""

    code = "namespace_mismatch"


class InvalidFilterError(InvalidInputError):
    """Raised when a filter key or value is not allowed; ``field`` is the key."""

    code = "invalid_filter"


class InvalidKindError(InvalidInputError):
    """Raised when a kind spec is malformed, registered twice in one batch, or a request names an unknown kind."""

    code = "invalid_kind"


class InvalidObjectError(InvalidInputError):
    """Raised when an object does not satisfy its kind (missing or unknown property, wrong type, part or parent)."""

    code = "invalid_object"


class InvalidValueError(InvalidInputError):
    """Raised for values no backend could keep: NUL, lone surrogates, NaN or infinity, integers beyond 64 bits, oversize."""

    code = "invalid_value"


class InvalidSessionStateError(InvalidInputError):
    """Raised when SearchContext.restore is given bytes it cannot read; the context is left as it was."""

    code = "invalid_session_state"


class DimensionMismatchError(InvalidInputError):
    """Raised when a vector's length differs from the store's dimension. Nothing was written."""

    code = "dimension_mismatch"

    def __init__(self, *, expected: int, got: int, what: str = "embedding") -> None:
        super().__init__(
            f"{what} has {got} dimensions, the store holds {expected}: use the embedder the store was filled with, "
            "or re-embed into a new store",
            field="embedding",
        )
        self.expected = expected
        self.got = got


class InvalidEdgeTypeError(InvalidInputError):
    """Raised for an edge type that is neither canonical nor a registered label, and for a label that cannot be registered."""

    code = "invalid_edge_type"

    def __init__(self, message: str) -> None:
        super().__init__(message, field="type")


class SelfEdgeError(InvalidInputError):
    """Raised when an edge would join an object to itself. Nothing was written."""

    code = "self_edge"

    def __init__(self) -> None:
        super().__init__("an edge joins two different objects: src and dst are the same", field="dst")


class UnsupportedQueryError(InvalidInputError):
    """Raised when a find asks for what no walk can answer; ``field`` names what is missing or out of range."""

    code = "unsupported_query"


class UnboundedQueryError(InvalidInputError):
    """Raised when a find has neither a limit nor a token budget."""

    code = "unbounded_query"

    def __init__(self) -> None:
        super().__init__("a find needs an end: give a limit or budget_tokens", field="limit")


class NotFoundError(BrainError, LookupError):
    """The root of what is not there, or not visible in the scope: the two are never told apart."""

    code = "not_found"


class ObjectNotFoundError(NotFoundError):
    """Raised when an object does not exist, is deleted, or belongs to another namespace."""

    code = "object_not_found"

    def __init__(self, object_id: UUID | None = None, *, what: str = "object") -> None:
        super().__init__(f"{what} not found" + (f": {object_id}" if object_id is not None else ""))
        self.object_id = object_id


class KindNotFoundError(NotFoundError):
    """Raised when schema is asked for a kind that neither the catalog nor the store knows."""

    code = "kind_not_found"

    def __init__(self, kind: str) -> None:
        super().__init__(f"kind not found: {kind!r}")
        self.kind = kind


class RecipeNotFoundError(NotFoundError):
    """Raised when expand_by_recipe names a recipe that was never registered."""

    code = "recipe_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"expand recipe not found: {name!r}")
        self.name = name


class ResultSetNotFoundError(NotFoundError):
    """Raised when a result set id is unknown or was replaced by a later search: search again."""

    code = "result_set_not_found"

    def __init__(self, result_set_id: UUID | None = None) -> None:
        super().__init__(f"result set not found: {result_set_id}; a newer search replaces it, search again")
        self.result_set_id = result_set_id


class EdgeNotFoundError(NotFoundError):
    """Raised when an edge was never created, or is removed where a live one is needed."""

    code = "edge_not_found"


class UnavailableError(BrainError):
    """The root of what this engine cannot do as it was built or opened."""

    code = "unavailable"


class StoreRequiredError(UnavailableError):
    """Raised when an Engine is built without a store."""

    code = "store_required"


class ConfigError(UnavailableError):
    """Raised when an Engine is built with a config that asks for what its store cannot do."""

    code = "config"


class ResultSetStoreRequiredError(UnavailableError):
    """Raised when a paged verb is called without a result set store (pass a SearchContext)."""

    code = "result_set_store_required"

    def __init__(self) -> None:
        super().__init__("a result set store is required: pass a SearchContext as result_sets")


class WritesUnsupportedError(UnavailableError):
    """Raised when the store does not implement ObjectWriter, or was opened to read only."""

    code = "writes_unsupported"


class KindWritesUnsupportedError(UnavailableError):
    """Raised when the store does not implement KindWriter or KindReader and the call needs it."""

    code = "kind_writes_unsupported"


class GraphRequiredError(UnavailableError):
    """Raised when expand is asked for graph relations and no graph is attached."""

    code = "graph_required"


class GraphWriterRequiredError(UnavailableError):
    """Raised when link, link_many, unlink or project is called and the graph cannot write."""

    code = "graph_writer_required"


class ObjectSearchUnavailableError(UnavailableError):
    """Raised when find_objects is called and the graph has no (ready) object search."""

    code = "object_search_unavailable"


class EdgeSearchUnavailableError(UnavailableError):
    """Raised when find_links is called and the graph has no edge search."""

    code = "edge_search_unavailable"


class CatalogFrozenError(UnavailableError):
    """Raised when kinds are changed after the catalog froze (explicitly, or on the first search over it)."""

    code = "catalog_frozen"

    def __init__(self) -> None:
        super().__init__("the kind catalog is frozen: register kinds before the first search")


class MissingExtensionError(UnavailableError):
    """Raised when a Postgres extension or an optional Python package is missing; the message says how to get it."""

    code = "missing_extension"


class EventLoopMismatchError(UnavailableError):
    """Raised when an open store is used from another event loop than the one it was opened in."""

    code = "event_loop_mismatch"


class ClosedError(UnavailableError):
    """Raised when something is used after aclose()."""

    code = "closed"


class BackendError(BrainError):
    """Raised when a backend failed. The driver's own error is the ``__cause__``."""

    code = "backend_error"


class BackendTimeoutError(BackendError):
    """Raised when a backend did not answer within its deadline. A write may or may not have happened."""

    code = "backend_timeout"


class PoolExhaustedError(BackendTimeoutError):
    """Raised when no pooled connection became free within the acquire timeout."""

    code = "pool_exhausted"


class EmbedderError(BackendError):
    """Raised when the embedder failed; on put nothing was written."""

    code = "embedder_error"


class RerankerError(BackendError):
    """Raised when the reranker failed."""

    code = "reranker_error"


class GraphEnsureError(BackendError):
    """Raised when the object was stored and its graph node could not be. Repeating the put heals it, as does reconcile."""

    code = "graph_ensure"


class GraphRemoveError(BackendError):
    """Raised when the graph node could not be removed; the object is untouched."""

    code = "graph_remove"


class GraphLockedError(BackendError):
    """Raised when the directory of an embedded graph is open already. ``owner`` is the id of that process, None if unknown."""

    code = "graph_locked"

    def __init__(self, directory: str, owner: int | None) -> None:
        super().__init__(
            f"the graph's directory {directory} is already open, by process {owner or 'unknown'}: close it there, open it with "
            "read_only=True, which needs no lock, or run a Helix server and have every process use open_helix(url=...)"
        )
        self.directory = directory
        self.owner = owner


class GraphMissingError(BackendError):
    """Raised when an embedded graph is to be read and ``directory`` holds none."""

    code = "graph_missing"

    def __init__(self, directory: str) -> None:
        super().__init__(
            f"there is no graph in {directory} yet: whoever writes it has to open it first, without read_only"
        )
        self.directory = directory


class LedgerError(BackendError):
    """Raised when the edge ledger failed; the graph was not touched."""

    code = "ledger_error"


class LedgerLockedError(LedgerError):
    """Raised when the ledger's files are opened for writing while another process writes them.

    ``owner`` is the id of that process, None where it cannot be read.
    """

    code = "ledger_locked"

    def __init__(self, message: str, *, owner: int | None = None) -> None:
        super().__init__(message)
        self.owner = owner


class DiskFullError(LedgerError):
    """Raised when the ledger's files cannot grow: a full disk, a quota, a limit of the process. Nothing was written."""

    code = "disk_full"


class LedgerCorruptError(LedgerError):
    """Raised when stored bytes, a journal or a root differ from what the ledger would have written.

    ``where`` names the first difference: the key, or the entry of a journal.
    """

    code = "ledger_corrupt"

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class SearchIndexNotReadyError(BackendError):
    """Raised when an index is missing, building, or being rebuilt."""

    code = "search_index_not_ready"


class LocalServerError(BackendError):
    """Raised when the embedded Postgres could not be started; the message quotes the end of its log."""

    code = "local_server"
