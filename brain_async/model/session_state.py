"""The JSON of an exported SearchContext: the wire form of the Go package ``brain``, read tolerantly and written strictly."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from brain_async.errors import InvalidSessionStateError
from brain_async.model.instant import format_instant, read_instant
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import EdgeMeta, Relation
from brain_async.model.results import ResultSet

__all__ = ["decode_session_state", "encode_session_state"]

_UNSET_TIME = "0001-01-01T00:00:00Z"


class _RelationState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A relation, flat: the edge's metadata beside how the object was reached. Null reads as unset everywhere."""

    type: str | None = None
    direction: str | None = None
    depth: int | None = None
    source_id: UUID | None = None
    note: str | None = None
    status: str | None = None
    role: str | None = None
    confidence: float | None = None
    evidence_id: UUID | None = None
    created_at: str | None = None
    updated_at: str | None = None


class _ResultSetState(msgspec.Struct, kw_only=True, omit_defaults=True):
    id: UUID = NIL_UUID
    object_ids: list[UUID] | None = None
    relations: dict[UUID, _RelationState] | None = None
    offset: int | None = None
    created_at: str | None = None
    respelled: list[tuple[str, str]] | None = None


class _Envelope(msgspec.Struct, kw_only=True, omit_defaults=True):
    namespace: UUID | None = None
    result_set: _ResultSetState | None = None


def encode_session_state(namespace_id: UUID | None, result_set: ResultSet | None) -> bytes | None:
    """Strict JSON of a context; None for one with neither namespace nor result set."""
    if namespace_id is None and result_set is None:
        return None
    state = None if result_set is None else _result_set_state(result_set)
    return msgspec.json.encode(_Envelope(namespace=namespace_id, result_set=state))


def decode_session_state(data: bytes | str | None) -> tuple[UUID | None, ResultSet | None]:
    """(namespace, result set) of exported bytes. Raises InvalidSessionStateError.

    Nothing, empty bytes and JSON null are an empty context. An object with ``result_set`` or ``namespace`` is an
    envelope; any other object is read as the legacy form, a bare result set without a namespace. Unknown keys are
    ignored, times of year 1 are unset, a nil result set id is no result set.
    """
    if data is None or data in (b"", ""):
        return None, None
    try:
        keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw] | None)
        if keys is None:
            return None, None
        if "result_set" in keys or "namespace" in keys:
            envelope = msgspec.json.decode(data, type=_Envelope)
        else:
            envelope = _Envelope(result_set=msgspec.json.decode(data, type=_ResultSetState))
        if envelope.namespace == NIL_UUID:
            # Reading it as "no namespace" would silently widen what the context may see.
            raise ValueError("its namespace is the nil UUID")
        return envelope.namespace, _result_set(envelope.result_set)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise InvalidSessionStateError(f"session state cannot be read: {error}", field="data") from error


def _result_set_state(result_set: ResultSet) -> _ResultSetState:
    return _ResultSetState(
        id=result_set.id,
        object_ids=list(result_set.object_ids),
        relations={key: _relation_state(relation) for key, relation in result_set.relations.items()} or None,
        offset=result_set.offset,
        created_at=_time_text(result_set.created_at),
        respelled=list(result_set.respelled) or None,
    )


def _result_set(state: _ResultSetState | None) -> ResultSet | None:
    if state is None or state.id == NIL_UUID:
        return None
    object_ids = tuple(state.object_ids or ())
    return ResultSet(
        id=state.id,
        object_ids=object_ids,
        relations={key: _relation(relation) for key, relation in (state.relations or {}).items()},
        offset=min(max(state.offset or 0, 0), len(object_ids)),
        created_at=_time(state.created_at),
        respelled=tuple(state.respelled or ()),
    )


def _relation_state(relation: Relation) -> _RelationState:
    meta = relation.meta
    return _RelationState(
        type=relation.type,
        direction=relation.direction,
        depth=relation.depth,
        source_id=relation.source_id,
        note=meta.note or None,
        status=meta.status or None,
        role=meta.role or None,
        confidence=meta.confidence or None,
        evidence_id=meta.evidence_id,
        created_at=_time_text(meta.created_at),
        updated_at=_time_text(meta.updated_at),
    )


def _relation(state: _RelationState) -> Relation:
    return Relation(
        type=state.type or "",
        direction=state.direction or "",
        depth=state.depth or 0,
        source_id=_id(state.source_id),
        meta=EdgeMeta(
            note=state.note or "",
            status=state.status or "",
            role=state.role or "",
            confidence=state.confidence or 0.0,
            evidence_id=_id(state.evidence_id),
            created_at=_time(state.created_at),
            updated_at=_time(state.updated_at),
        ),
    )


def _id(value: UUID | None) -> UUID | None:
    return None if value == NIL_UUID else value


def _time_text(moment: datetime | None) -> str:
    return _UNSET_TIME if moment is None else format_instant(moment)


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = read_instant(text)
    return None if moment.year == 1 else moment
