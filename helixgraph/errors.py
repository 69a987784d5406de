"""Errors: every failure of the Helix SDK and engine becomes one of this library's errors, at one place.

The engine reports by code where it can (``error``/``msg`` or ``code`` in an HTTP body, ``code`` on newer SDK errors); the
embedded runtime of this SDK version gives text only, so codes are recognised by the text that goes with each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import msgspec
from helixdb import HelixError

from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    BrainError,
    ClosedError,
    DimensionMismatchError,
    GraphWriterRequiredError,
    InvalidInputError,
    InvalidValueError,
    MissingExtensionError,
    SearchIndexNotReadyError,
)

__all__ = ["error_code", "helix_errors", "is_transient", "translated"]

_CODE_OF_TEXT = (
    ("index_not_found", "index_not_found"),
    ("Unique constraint violated", "unique_constraint_violation"),
    ("transaction conflict", "transaction_conflict"),
    ("Invalid vector dimension", "invalid_vector_dimension"),
    ("norm must be non-zero", "zero_norm_cosine_vector"),
    ("value must be finite", "invalid_vector_component"),
    ("invalid query JSON", "invalid_query_json"),
    ("must be non-empty", "invalid_search_input"),
    ("result count must be positive", "invalid_search_result_count"),
    ("Index definition conflicts", "index_definition_conflict"),
    ("Invalid index source data", "invalid_index_source_data"),
    ("Active text mutation exceeds", "active_text_mutation_limit_exceeded"),
    ("detected newer DB client", "fenced"),
    ("db is closed", "closed"),
    ("client is closed", "closed"),
    ("key size", "key_too_large"),
    ("writer mode required", "writer_required"),
    ("unsupported cascades plan", "internal_planner_error"),
    ("is not tenant-scoped", "tenants_unexpected"),
    ("requires tenant value", "tenants_expected"),
    ("database does not exist", "database_missing"),
    ("Storage invariant violated", "index_damaged"),
    ("Query error", "invalid_query"),
)
_DIMENSIONS = re.compile(r"expected (\d+), got (\d+)")
_KNOWN_CODES = frozenset(code for _, code in _CODE_OF_TEXT)
_TRANSIENT = frozenset({"transaction_conflict", "unique_constraint_violation", "internal_planner_error"})
_BAD_VALUES = {
    "zero_norm_cosine_vector": "the embedding has no direction: all of its components are zero",
    "invalid_vector_component": "the embedding holds a number that single precision cannot keep",
    "invalid_query_json": "a value cannot be sent to the graph: integers must fit 64 bits, numbers must be finite",
    "invalid_search_input": "the graph cannot search for this",
    "invalid_search_result_count": "the graph cannot return this many results",
    "key_too_large": "a kind is too long for the graph's index: keep it below 64 KB",
}
_LOST_STATUS = frozenset({408, 502, 504})


def error_code(error: HelixError) -> str:
    """The engine's code for ``error``, "" when neither code nor text is known."""
    given = getattr(error, "code", None)
    if isinstance(given, str) and given:
        return given
    code, text = _envelope(error)
    if code in _KNOWN_CODES and code != "invalid_query":  # the text says more
        return code
    for part, known in _CODE_OF_TEXT:
        if part in text:
            return known
    return "transaction_conflict" if error.status_code == 409 else code


def is_transient(error: HelixError) -> bool:
    """Whether the request left nothing behind and may simply be repeated.

    A write that lost against another one is such a request, and one that the engine's planner did not get done with: it
    gives itself 50 ms of wall-clock time, which a busy machine may take from it.
    """
    return error_code(error) in _TRANSIENT


def translated(error: HelixError, *, writing: bool = False) -> BrainError:
    """This library's error for ``error``; chain it with ``from error``.

    A write whose answer was lost gives BackendTimeoutError: it may or may not have happened.
    """
    _, text = _envelope(error)
    if error.kind == "Network":
        return _network(error, text, writing)
    if error.kind == "InvalidUrl":
        return InvalidInputError(f"the address of the Helix server is wrong: {text}", field="url")
    if error.kind == "EmbeddedUnavailable":
        return MissingExtensionError(
            f"embedded Helix needs helix-db-embedded: pip install 'brain-async[local]' ({text})"
        )
    code = error_code(error)
    if code in _BY_CODE:
        return _BY_CODE[code](text)
    if code in _BAD_VALUES:
        return InvalidValueError(f"{_BAD_VALUES[code]} ({text})")
    if error.status_code in (401, 403):
        return BackendError("the Helix server refused the API key")
    if error.status_code in _LOST_STATUS:
        return BackendTimeoutError(f"the Helix server did not answer in time{_unknown(writing)}: {text}")
    return BackendError(f"the graph failed{f' ({code})' if code else ''}: {text}")


@contextmanager
def helix_errors(*, writing: bool = False) -> Iterator[None]:
    """Raise this library's errors instead of the SDK's, with the SDK's as the cause."""
    try:
        yield
    except HelixError as error:
        raise translated(error, writing=writing) from error
    except msgspec.DecodeError as error:
        raise BackendError(f"the Helix server sent something that is no reply: {error}") from error
    except TimeoutError as error:
        raise BackendTimeoutError(f"the graph did not answer within its deadline{_unknown(writing)}") from error


def _envelope(error: HelixError) -> tuple[str, str]:
    """(code or "", text) of the error, through either form of the HTTP body."""
    if error.status_code is None:
        native = getattr(error.__cause__, "message", None)
        return "", native if isinstance(native, str) and native else error.details or str(error)
    try:
        body = json.loads(error.details or "")
    except ValueError:
        return "", error.details or str(error)
    if not isinstance(body, dict):
        return "", error.details or str(error)
    first, message, code = body.get("error"), body.get("msg"), body.get("code")
    if isinstance(first, str) and isinstance(message, str):
        return first, message
    return code if isinstance(code, str) else "", first if isinstance(first, str) else error.details or ""


def _network(error: HelixError, text: str, writing: bool) -> BrainError:
    cause = error.__cause__
    if isinstance(cause, (httpx.ConnectError, httpx.ConnectTimeout)):
        return BackendError(f"the Helix server cannot be reached: {text or type(cause).__name__}")
    if isinstance(cause, httpx.PoolTimeout):
        return BackendTimeoutError("no connection to the Helix server became free in time; nothing was sent")
    if writing or isinstance(cause, httpx.TimeoutException):
        return BackendTimeoutError(
            f"the Helix server did not answer{_unknown(writing)}: {text or type(cause).__name__}"
        )
    return BackendError(f"the connection to the Helix server was lost: {text or type(cause).__name__}")


def _unknown(writing: bool) -> str:
    return "; the write may or may not have happened, and repeating it is safe" if writing else ""


def _dimensions(text: str) -> BrainError:
    match = _DIMENSIONS.search(text)
    if match is None:
        return InvalidValueError(f"the embedding has another length than the graph's: {text}", field="embedding")
    return DimensionMismatchError(expected=int(match[1]), got=int(match[2]))


_BY_CODE: dict[str, Callable[[str], BrainError]] = {
    "index_not_found": lambda text: SearchIndexNotReadyError(
        f"a search index of the graph is missing or still being built: await graph.bootstrap() ({text})"
    ),
    "index_definition_conflict": lambda text: SearchIndexNotReadyError(
        "the graph's indexes were made with another dimension or tenant setting: open it with that one, or "
        f"await graph.rebuild_indexes(dimension=..., tenants=...) ({text})"
    ),
    "invalid_vector_dimension": _dimensions,
    "transaction_conflict": lambda text: BackendError(f"the write kept conflicting with others; repeat it ({text})"),
    "unique_constraint_violation": lambda text: BackendError(f"the write kept conflicting with others ({text})"),
    "tenants_unexpected": lambda text: InvalidInputError(
        f"the graph's search indexes are not kept apart by namespace: open it with tenants=False ({text})",
        field="tenants",
    ),
    "tenants_expected": lambda text: InvalidInputError(
        f"the graph's search indexes are kept apart by namespace: open it with tenants=True ({text})", field="tenants"
    ),
    "writer_required": lambda text: GraphWriterRequiredError(f"the graph is open for reading only ({text})"),
    "index_damaged": lambda text: BackendError(
        f"a search index of the graph is damaged: await graph.rebuild_indexes() builds it again ({text})"
    ),
    "closed": lambda text: ClosedError(f"the graph's client is closed ({text})"),
    "fenced": lambda text: ClosedError(
        f"another process opened this Helix directory and this one lost it: open it again, or use a server ({text})"
    ),
}
