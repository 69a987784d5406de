"""Every failure of the SDK, in each form it comes in, becomes the same error of this library."""

from __future__ import annotations

import json

import httpx
import pytest
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
from helixgraph.errors import error_code, helix_errors, is_transient

# (code, text of the engine, error)
_CASES: list[tuple[str, str, type[BrainError]]] = [
    ("index_not_found", "index_not_found: missing Edge text index for `about.note`", SearchIndexNotReadyError),
    ("index_definition_conflict", "Index definition conflicts in fields: tenant_property", SearchIndexNotReadyError),
    ("unique_constraint_violation", "Unique constraint violated for Object.object_id on value", BackendError),
    ("transaction_conflict", "Storage error: Transaction error: transaction conflict", BackendError),
    ("invalid_vector_dimension", "Invalid vector dimension: expected 3, got 2", DimensionMismatchError),
    ("zero_norm_cosine_vector", "Invalid cosine vector: norm must be non-zero", InvalidValueError),
    ("invalid_vector_component", "Invalid vector component at index 0: value must be finite", InvalidValueError),
    ("invalid_query_json", "invalid query JSON: number out of range", InvalidValueError),
    ("invalid_search_input", "query text must be non-empty string", InvalidValueError),
    ("invalid_search_result_count", "result count must be positive", InvalidValueError),
    ("invalid_index_source_data", "Invalid index source data: node 1 is missing its tenant property", BackendError),
    ("active_text_mutation_limit_exceeded", "Active text mutation exceeds entities: observed 513", BackendError),
    ("invalid_query", "Query error: addE() requires at least one target vertex", BackendError),
    ("writer_required", "writer mode required, current mode is reader", GraphWriterRequiredError),
    ("internal_planner_error", "planner error: unsupported cascades plan: no physical alternative", BackendError),
    ("index_damaged", "Storage invariant violated: missing simhash for node 84 in index 1", BackendError),
]


class _NativeError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(f"message='{message}'")
        self.message = message


def _embedded(code: str, text: str) -> HelixError:
    cause = _NativeError(text)
    return HelixError.embedded(str(cause), cause=cause)


def _newer_server(code: str, text: str) -> HelixError:
    status = 409 if code == "transaction_conflict" else 500
    return HelixError.remote(json.dumps({"error": code, "msg": text}), status_code=status)


def _older_server(code: str, text: str) -> HelixError:
    status = 409 if code == "transaction_conflict" else 500
    body = {"error": text, **({"code": code} if code.startswith("index_") else {})}
    return HelixError.remote(json.dumps(body), status_code=status)


@pytest.mark.parametrize("form", [_embedded, _newer_server, _older_server])
@pytest.mark.parametrize(("code", "text", "expected"), _CASES, ids=[case[0] for case in _CASES])
def test_errors_of_the_engine(code: str, text: str, expected: type[BrainError], form: object) -> None:
    error = form(code, text)  # type: ignore[operator]
    assert error_code(error) == code
    transient = ("transaction_conflict", "unique_constraint_violation", "internal_planner_error")
    assert is_transient(error) is (code in transient)
    with pytest.raises(BrainError) as raised, helix_errors():
        raise error
    assert type(raised.value) is expected
    assert raised.value.__cause__ is error
    if isinstance(raised.value, DimensionMismatchError):
        assert (raised.value.expected, raised.value.got) == (3, 2)
    else:
        assert text in str(raised.value)


@pytest.mark.parametrize("text", ["db is closed", "detected newer DB client", "client is closed"])
def test_a_handle_that_is_gone_is_closed(text: str) -> None:
    with pytest.raises(ClosedError), helix_errors():
        raise _embedded("", text)


@pytest.mark.parametrize(
    ("cause", "writing", "expected"),
    [
        (httpx.ReadTimeout("slow"), False, BackendTimeoutError),
        (httpx.ReadTimeout("slow"), True, BackendTimeoutError),
        (httpx.ReadError("reset"), True, BackendTimeoutError),
        (httpx.RemoteProtocolError("closed"), True, BackendTimeoutError),
        (httpx.ReadError("reset"), False, BackendError),
        (httpx.ConnectError("refused"), True, BackendError),
        (httpx.ConnectTimeout("far"), True, BackendError),
        (httpx.PoolTimeout("busy"), True, BackendTimeoutError),
    ],
)
def test_failures_of_the_network(cause: httpx.RequestError, writing: bool, expected: type[BrainError]) -> None:
    with pytest.raises(BrainError) as raised, helix_errors(writing=writing):
        raise HelixError.network(str(cause), cause=cause)
    assert type(raised.value) is expected
    unknown = writing and isinstance(cause, (httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError))
    assert ("may or may not" in str(raised.value)) is unknown


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, "unauthorised", BackendError),
        (409, "not json", BackendError),
        (503, '{"error": "writer mode required"}', GraphWriterRequiredError),
        (504, "<html>", BackendTimeoutError),
        (500, "[1]", BackendError),
        (500, '{"error": 1}', BackendError),
        (500, "", BackendError),
    ],
)
def test_answers_of_servers_and_proxies(status: int, body: str, expected: type[BrainError]) -> None:
    with pytest.raises(BrainError) as raised, helix_errors():
        raise HelixError.remote(body, status_code=status)
    assert type(raised.value) is expected


def test_a_code_that_says_nothing_leaves_it_to_the_text() -> None:
    body = {"error": "internal_error", "msg": "Storage error: Transaction error: transaction conflict"}
    assert error_code(HelixError.remote(json.dumps(body), status_code=500)) == "transaction_conflict"
    body["msg"] = "something else"
    assert error_code(HelixError.remote(json.dumps(body), status_code=500)) == "internal_error"


def test_newer_sdks_give_the_code_themselves() -> None:
    error = HelixError.embedded("some other words")
    error.code = "index_not_found"  # type: ignore[attr-defined]
    assert error_code(error) == "index_not_found"


def test_the_address_and_the_extra() -> None:
    with pytest.raises(InvalidInputError) as raised, helix_errors():
        raise HelixError.invalid_url("missing scheme or host")
    assert raised.value.field == "url"
    with pytest.raises(MissingExtensionError), helix_errors():
        raise HelixError.embedded_unavailable("not installed")
