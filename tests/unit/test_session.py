from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.adapters.memory import MemoryStore
from brain_async.engine import Engine
from brain_async.errors import (
    InvalidInputError,
    InvalidSessionStateError,
    InvalidValueError,
    NamespaceRequiredError,
    ResultSetIdRequiredError,
    ResultSetNotFoundError,
)
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import EdgeMeta, Relation
from brain_async.model.results import ResultSet
from brain_async.model.scope import Scope
from brain_async.ports.paging import ResultSetStore
from brain_async.session import SearchContext

NAMESPACE = UUID("11111111-1111-4111-8111-111111111111")
SET_ID = UUID("22222222-2222-4222-8222-222222222222")
A = UUID("aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa")
B = UUID("bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb")
AT = datetime(2026, 8, 9, 1, 2, 3, 456789, UTC)

# As the Go package brain writes it: unset times are year 1, set ones may have nine fraction digits.
ENVELOPE = {
    "namespace": str(NAMESPACE),
    "result_set": {
        "id": str(SET_ID),
        "object_ids": [str(A), str(B)],
        "relations": {
            str(A): {
                "type": "references",
                "direction": "out",
                "depth": 2,
                "note": "why",
                "confidence": 0.5,
                "created_at": "2026-08-09T01:02:03.456789999Z",
                "updated_at": "0001-01-01T00:00:00Z",
            }
        },
        "offset": 1,
        "created_at": "2026-08-09T01:02:03.456789123Z",
    },
}
RESTORED = ResultSet(
    id=SET_ID,
    object_ids=(A, B),
    relations={
        A: Relation(
            type="references", direction="out", depth=2, meta=EdgeMeta(note="why", confidence=0.5, created_at=AT)
        )
    },
    offset=1,
    created_at=AT,
)


def result_set(**fields: Any) -> ResultSet:
    return ResultSet(**{"id": SET_ID, "object_ids": (A, B), "created_at": AT, **fields})


async def filled() -> SearchContext:
    context = SearchContext(NAMESPACE)
    await context.put_result_set(result_set())
    return context


async def test_keeps_one_result_set_the_newest() -> None:
    context: ResultSetStore = SearchContext()
    assert isinstance(context, ResultSetStore)
    first, second = result_set(), result_set(id=uuid4())
    await context.put_result_set(first)
    assert await context.get_result_set(SET_ID) == first
    await context.put_result_set(second)
    assert await context.get_result_set(second.id) == second
    for gone in (SET_ID, NIL_UUID, uuid4()):
        with pytest.raises(ResultSetNotFoundError):
            await context.get_result_set(gone)


async def test_an_empty_context_knows_no_result_set() -> None:
    context = SearchContext()
    assert (context.namespace_id, context.active, context.scope) == (None, None, Scope())
    with pytest.raises(ResultSetNotFoundError):
        await context.get_result_set(NIL_UUID)


async def test_put_checks_fills_and_copies() -> None:
    context = SearchContext()
    with pytest.raises(ResultSetIdRequiredError):
        await context.put_result_set(result_set(id=NIL_UUID))
    with pytest.raises(InvalidValueError):
        await context.put_result_set(result_set(created_at=datetime(2026, 8, 9)))
    assert context.active is None

    ids, relations = [A], {A: Relation(type="about")}
    before = datetime.now(UTC)
    await context.put_result_set(ResultSet(id=SET_ID, object_ids=ids, relations=relations))
    ids.append(B)
    relations.clear()
    assert context.active is not None
    assert context.active.object_ids == (A,)
    assert context.active.relations == {A: Relation(type="about")}
    assert context.active.created_at is not None
    assert before <= context.active.created_at <= datetime.now(UTC)


async def test_changing_the_namespace_touches_neither_scopes_in_use_nor_the_result_set() -> None:
    context = await filled()
    running = context.scope
    other = uuid4()
    context.set_namespace(other)
    assert (running, context.scope, context.namespace_id) == (Scope(NAMESPACE), Scope(other), other)
    assert context.active == result_set()
    context.set_namespace(None)
    assert context.scope == Scope()


def test_a_nil_namespace_is_refused_rather_than_read_as_unrestricted() -> None:
    with pytest.raises(NamespaceRequiredError):
        SearchContext(NIL_UUID)
    context = SearchContext(NAMESPACE)
    with pytest.raises(NamespaceRequiredError):
        context.set_namespace(NIL_UUID)
    with pytest.raises(InvalidSessionStateError):
        context.restore(json.dumps({"namespace": str(NIL_UUID)}))
    assert context.namespace_id == NAMESPACE


def test_a_session_refuses_a_context_of_another_namespace() -> None:
    engine = Engine(MemoryStore())
    with pytest.raises(InvalidInputError, match="give one of the two"):
        engine.session(uuid4(), SearchContext(NAMESPACE))
    with pytest.raises(InvalidInputError, match="give one of the two"):
        engine.session(NAMESPACE, SearchContext())
    for session in (
        engine.session(NAMESPACE, SearchContext(NAMESPACE)),
        engine.session(context=SearchContext(NAMESPACE)),
    ):
        assert session.scope == Scope(NAMESPACE)


def test_export_of_an_empty_context_is_none() -> None:
    assert SearchContext().export() is None


async def test_export_is_the_wire_envelope() -> None:
    context = SearchContext(NAMESPACE)
    assert json.loads(context.export() or b"") == {"namespace": str(NAMESPACE)}
    await context.put_result_set(msgspec.structs.replace(RESTORED, created_at=AT))
    assert json.loads(context.export() or b"") == {
        "namespace": str(NAMESPACE),
        "result_set": {
            "id": str(SET_ID),
            "object_ids": [str(A), str(B)],
            "relations": {
                str(A): {
                    "type": "references",
                    "direction": "out",
                    "depth": 2,
                    "note": "why",
                    "confidence": 0.5,
                    "created_at": "2026-08-09T01:02:03.456789Z",
                    "updated_at": "0001-01-01T00:00:00Z",
                }
            },
            "offset": 1,
            "created_at": "2026-08-09T01:02:03.456789Z",
        },
    }
    context.set_namespace(None)
    assert "namespace" not in json.loads(context.export() or b"")


@pytest.mark.parametrize("as_bytes", [False, True])
def test_the_wire_envelope_is_restored(as_bytes: bool) -> None:
    text = json.dumps(ENVELOPE)
    context = SearchContext()
    context.restore(text.encode() if as_bytes else text)
    assert (context.namespace_id, context.active) == (NAMESPACE, RESTORED)


@pytest.mark.parametrize("nothing", [None, b"", "", b"null", " null \n", b"{}", b'{"unknown": 1}'])
async def test_empty_state_clears(nothing: bytes | str | None) -> None:
    context = await filled()
    context.restore(nothing)
    assert (context.namespace_id, context.active) == (None, None)


@pytest.mark.parametrize(
    ("state", "namespace", "active"),
    [
        ({"namespace": str(NAMESPACE)}, NAMESPACE, None),
        ({"namespace": None}, None, None),
        ({"result_set": None}, None, None),
        ({"result_set": {"id": str(SET_ID)}}, None, ResultSet(id=SET_ID)),
        ({"namespace": str(NAMESPACE), "result_set": {}}, NAMESPACE, None),
        ({"namespace": str(NAMESPACE), "result_set": {"id": str(NIL_UUID), "object_ids": [str(A)]}}, NAMESPACE, None),
        ({**ENVELOPE, "version": 9, "result_set": {**ENVELOPE["result_set"], "extra": [{}]}}, NAMESPACE, RESTORED),
        (ENVELOPE["result_set"], None, RESTORED),  # the legacy form
        ({**ENVELOPE["result_set"], "extra": 1}, None, RESTORED),
        (
            {"id": str(SET_ID), "object_ids": None, "relations": None, "offset": None, "created_at": None},
            None,
            ResultSet(id=SET_ID),
        ),
        ({"id": str(SET_ID), "created_at": "0001-01-01T00:00:00Z"}, None, ResultSet(id=SET_ID)),
        (
            {"id": str(SET_ID), "object_ids": [str(A)], "offset": 7},
            None,
            ResultSet(id=SET_ID, object_ids=(A,), offset=1),
        ),
        ({"id": str(SET_ID), "object_ids": [str(A)], "offset": -7}, None, ResultSet(id=SET_ID, object_ids=(A,))),
        (
            {"id": str(SET_ID), "relations": {str(A).upper(): {"source_id": str(NIL_UUID), "evidence_id": str(B)}}},
            None,
            ResultSet(id=SET_ID, relations={A: Relation(meta=EdgeMeta(evidence_id=B))}),
        ),
    ],
)
async def test_forms_that_are_restored(state: dict[str, Any], namespace: UUID | None, active: ResultSet | None) -> None:
    context = await filled()
    context.restore(json.dumps(state))
    assert (context.namespace_id, context.active) == (namespace, active)


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b"[1]",
        b'"text"',
        b"1",
        b"true",
        b" ",
        b"\xff",
        "\ud800",
        b"{} {}",
        b'{"namespace": NaN}',
        b'{"namespace": 1}',
        b'{"namespace": "x"}',
        b'{"result_set": []}',
        b'{"id": 1}',
        b'{"id": "x"}',
        b'{"id": "22222222-2222-4222-8222-222222222222", "object_ids": ["x"]}',
        b'{"id": "22222222-2222-4222-8222-222222222222", "offset": "1"}',
        b'{"id": "22222222-2222-4222-8222-222222222222", "created_at": "yesterday"}',
        b'{"id": "22222222-2222-4222-8222-222222222222", "created_at": "2026-08-09T00:00:00"}',
        b'{"id": "22222222-2222-4222-8222-222222222222", "relations": {"x": {}}}',
        b'{"id": "22222222-2222-4222-8222-222222222222", "relations": []}',
        b'{"result_set": {"id": "22222222-2222-4222-8222-222222222222", "relations": '
        b'{"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa": {"confidence": Infinity}}}}',
        b'{"x": ' + b"[" * 100_000,
        b"[" * 100_000,
        5,
        object(),
    ],
)
async def test_broken_state_is_refused_and_changes_nothing(broken: Any) -> None:
    context = await filled()
    before = context.export()
    with pytest.raises(InvalidSessionStateError) as caught:
        context.restore(broken)
    assert caught.value.__cause__ is not None
    assert context.export() == before


async def test_paging_resumes_in_another_context() -> None:
    context = await filled()
    await context.put_result_set(result_set(offset=1))
    resumed = SearchContext()
    resumed.restore(context.export())
    assert await resumed.get_result_set(SET_ID) == result_set(offset=1)
    assert resumed.scope == context.scope


UUIDS = st.uuids(version=4)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
TIMES = st.none() | st.datetimes(
    min_value=datetime(2, 1, 2),
    max_value=datetime(9999, 12, 30),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5))]),
)
RELATIONS = st.builds(
    Relation,
    type=TEXT,
    direction=st.sampled_from(["", "out", "in"]),
    depth=st.integers(0, 4),
    source_id=st.none() | UUIDS,
    meta=st.builds(
        EdgeMeta,
        note=TEXT,
        status=TEXT,
        role=TEXT,
        confidence=st.floats(allow_nan=False, allow_infinity=False),
        evidence_id=st.none() | UUIDS,
        created_at=TIMES,
        updated_at=TIMES,
    ),
)


@st.composite
def result_sets(draw: st.DrawFn) -> ResultSet:
    ids = draw(st.lists(UUIDS, max_size=5))
    return ResultSet(
        id=draw(UUIDS),
        object_ids=tuple(ids),
        relations=draw(st.dictionaries(UUIDS, RELATIONS, max_size=3)),
        offset=draw(st.integers(0, len(ids))),
        created_at=draw(TIMES),
        respelled=draw(st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple)),
    )


@given(st.none() | UUIDS, st.none() | result_sets())
async def test_export_and_restore_round_trip(namespace: UUID | None, found: ResultSet | None) -> None:
    context = SearchContext(namespace)
    if found is not None:
        await context.put_result_set(found)
    exported = context.export()
    restored = SearchContext(uuid4())
    restored.restore(exported)
    assert (restored.namespace_id, restored.active) == (context.namespace_id, context.active)
    assert restored.export() == exported


@given(st.binary(max_size=30) | st.text(max_size=30))
def test_any_bytes_are_restored_or_refused(data: bytes | str) -> None:
    context = SearchContext(NAMESPACE)
    try:
        context.restore(data)
    except InvalidSessionStateError:
        assert context.namespace_id == NAMESPACE
