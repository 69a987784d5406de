"""What a model is told when a call did not work: a stable code, one sentence, and what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

import msgspec

from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    BrainError,
    ClosedError,
    DimensionMismatchError,
    EmbedderError,
    GraphEnsureError,
    GraphRequiredError,
    InvalidFilterError,
    InvalidInputError,
    InvalidKindError,
    InvalidObjectError,
    KindNotFoundError,
    LedgerError,
    LinkNotFirstClassError,
    NamespaceRequiredError,
    NotFoundError,
    ObjectNotFoundError,
    ParentNotFirstClassError,
    PoolExhaustedError,
    ResultSetNotFoundError,
    SearchIndexNotReadyError,
    UnavailableError,
)
from brain_async.model.kind import CORE_FILTER_KEYS

__all__ = ["Failure", "RefusalError", "failure_of"]

logger = logging.getLogger("brain_async")


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a call did not work.

    Attributes:
        code: stable, snake_case: that of the engine's error, or one of the tools' own.
        message: one sentence, begun with the tool's name.
        argument: the argument that is wrong, with the index of the item; "" when none is.
        hint: what would be right, or what to do next.
    """

    code: str
    message: str
    argument: str = ""
    hint: str = ""


class RefusalError(Exception):
    """A call that was refused before it reached the engine. Never leaves the toolset."""

    def __init__(self, code: str, message: str, *, argument: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.argument = argument
        self.hint = hint


_TRY_AGAIN = "try again in a moment; if it goes on, say that the knowledge base is out of order"
_TELL = "this cannot be mended with other arguments: say so"

# What the engine's own message says of a backend (addresses, statements, versions) is for the host's log, not for a model.
_SAFE: dict[type[BrainError], tuple[str, str]] = {
    NamespaceRequiredError: ("this conversation has no namespace, which the host has to give it", _TELL),
    DimensionMismatchError: ("the knowledge base was filled with another embedder", _TELL),
    BrainError: ("the knowledge base could not do it", _TRY_AGAIN),
    UnavailableError: ("this knowledge base cannot do that", _TELL),
    ClosedError: ("the knowledge base is closed", _TELL),
    GraphRequiredError: (
        "there is no graph here, so relations cannot be followed",
        "leave relation_types out to get the parts of the object",
    ),
    BackendError: ("the knowledge base could not do it", _TRY_AGAIN),
    BackendTimeoutError: ("the knowledge base did not answer in time", _TRY_AGAIN),
    PoolExhaustedError: ("the knowledge base is too busy", _TRY_AGAIN),
    EmbedderError: ("the text could not be embedded", _TRY_AGAIN),
    LedgerError: ("the links could not be recorded or read", _TRY_AGAIN),
    SearchIndexNotReadyError: ("an index is being built", _TRY_AGAIN),
    GraphEnsureError: (
        "the object is stored, but the graph does not know of it yet",
        "it can be read and searched; do not save it a second time, it is added to the graph later",
    ),
}

_HINTS: dict[type[BrainError], str] = {
    ObjectNotFoundError: "use an id exactly as a result gave it; to get one, search",
    KindNotFoundError: "call schema without a kind to see all kinds",
    ResultSetNotFoundError: "a newer search, find or large expand has replaced it: search again",
    InvalidFilterError: "call schema with a kind to see which fields it has, and of which type",
    InvalidKindError: "call schema without a kind to see all kinds",
    InvalidObjectError: "call schema with the kind to see which properties it takes",
    LinkNotFirstClassError: "link the parents of the parts instead: read a part to see its parent_id",
    ParentNotFirstClassError: "give the id of an object that has no parent_id itself",
}


def failure_of(error: BrainError, *, tool: str, takes: Collection[str], given: Mapping[str, object]) -> Failure:
    """What a model is told of an engine's error.

    Args:
        takes: the names of the tool's arguments, one of which may be to blame.
        given: the values that were given for them.
    """
    told = next(cls for cls in type(error).__mro__ if cls in _SAFE or cls in (InvalidInputError, NotFoundError))
    if told in _SAFE:
        logger.warning("the tool %s failed: %s: %s", tool, error.code, error)
        message, hint = _SAFE[told]
        return Failure(code=error.code, message=f"{tool}: {message}", hint=hint)
    hint = next((_HINTS[cls] for cls in type(error).__mro__ if cls in _HINTS), "")
    if isinstance(error, InvalidFilterError) and error.field in CORE_FILTER_KEYS:
        hint = ""  # the message says how the key is written, and no schema says more
    message = " ".join(str(error).split())
    return Failure(code=error.code, message=f"{tool}: {message}", argument=_argument(error, takes, given), hint=hint)


def _argument(error: BrainError, takes: Collection[str], given: Mapping[str, object]) -> str:
    match error:
        case ObjectNotFoundError(object_id=object_id) if object_id is not None:
            return next((name for name, value in given.items() if value == object_id), "")
        case ResultSetNotFoundError():
            return "result_set_id"
        case KindNotFoundError():
            return "kind"
        case InvalidInputError(field=field) if field:
            if field.partition(".")[0].partition("[")[0] in takes:
                return field
            # A filter is refused by the name of its key, and kinds are a filter.
            if "kinds" in given and field == "kind":
                return "kinds"
            return f"filters.{field[:64]}" if "filters" in takes else ""
    return ""
