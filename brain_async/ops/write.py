"""put, put_many, soft_delete. prepare -> embed -> store -> graph; a batch at a time, embedding one batch ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4

import anyio
import msgspec
import numpy as np
from anyio.abc import ObjectSendStream
from anyio.lowlevel import checkpoint
from numpy.typing import NDArray

from brain_async.catalog.objects import validate_object
from brain_async.catalog.values import check_object_values
from brain_async.errors import (
    BrainError,
    EmbedderError,
    GraphEnsureError,
    GraphRemoveError,
    InvalidInputError,
    InvalidValueError,
    NamespaceMismatchError,
    ObjectNotFoundError,
    SoftDeletedPutError,
)
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.results import PutFailure, PutManyResult
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked_list, required_id
from brain_async.ops.deps import Deps
from brain_async.ops.isolation import Draft, Isolation
from brain_async.ops.tasks import task_group
from brain_async.ports.host import Progress
from brain_async.stages.deadline import within
from brain_async.text import entity_index_text, index_text_with_parent

__all__ = ["put", "put_many", "soft_delete"]

WRITE_BATCH = 500
EMBED_BATCH = 128
PREPARE_CHUNK = 256


def _ensure_failure(cause: BrainError) -> GraphEnsureError:
    failure = GraphEnsureError(
        f"the object is stored, its graph node is not: put it again once the graph works ({cause})"
    )
    failure.__cause__ = cause
    return failure


class _Isolations:
    """One for each backend of a write, over all its batches."""

    def __init__(self) -> None:
        self.embed = Isolation()
        self.store = Isolation()
        self.graph = Isolation(_ensure_failure)


async def put(deps: Deps, scope: Scope, obj: Object) -> Object:
    """See ``Engine.put``."""
    async with deps.span("put") as span:
        deps.check_scope(scope)
        _ = deps.writer
        draft = _prepare(deps, scope, 0, obj, deps.now())
        if draft.error is None:
            isolations = _Isolations()
            await _embed(deps, scope, [draft], {}, isolations)
            await _write(deps, scope, [draft], isolations)
        if draft.error is not None:
            raise draft.error
        span.returned(1)
        return msgspec.structs.replace(draft.object, embedding=None)


async def put_many(deps: Deps, scope: Scope, objects: Sequence[Object], progress: Progress | None) -> PutManyResult:
    """See ``Engine.put_many``."""
    async with deps.span("put_many") as span:
        deps.check_scope(scope)
        _ = deps.writer
        drafts = await _prepare_all(deps, scope, objects)
        # Parents first, so that the parts of a later batch find them stored.
        ready = sorted((draft for draft in drafts if draft.error is None), key=lambda draft: draft.object.is_part)
        titles = {draft.object.key: draft.object.title for draft in ready}
        batches = [ready[start : start + WRITE_BATCH] for start in range(0, len(ready), WRITE_BATCH)]
        done = len(drafts) - len(ready)
        isolations = _Isolations()

        async def embed_ahead(send: ObjectSendStream[list[Draft]]) -> None:
            async with send:
                for batch in batches:
                    await _embed(deps, scope, batch, titles, isolations)
                    await send.send(batch)

        send, receive = anyio.create_memory_object_stream[list[Draft]](1)
        async with receive, task_group() as group:
            group.start_soon(embed_ahead, send)
            async for batch in receive:
                await _write(deps, scope, batch, isolations)
                done += len(batch)
                if progress is not None:
                    progress(done, len(drafts))
        result = PutManyResult(
            objects=tuple(msgspec.structs.replace(d.object, embedding=None) for d in drafts if d.error is None),
            failures=tuple(_failure(draft, draft.error) for draft in drafts if draft.error is not None),
        )
        span.returned(len(result.objects))
        return result


async def soft_delete(deps: Deps, scope: Scope, object_id: UUID | None) -> None:
    """See ``Engine.soft_delete``."""
    async with deps.span("soft_delete") as span:
        deps.check_scope(scope)
        writer = deps.writer
        object_id = required_id(object_id)
        found = await deps.store.get_many(scope, [object_id])
        if not found:
            raise ObjectNotFoundError(object_id)
        at = deps.now()
        if deps.can.graph_writer is not None and not found[0].is_part:
            removal = deps.can.graph_writer.remove_objects(scope, [object_id])
            try:
                await within(deps.config.graph_timeout, "the graph", removal)
            except BrainError as error:
                raise GraphRemoveError(
                    f"the graph node of {object_id} could not be removed; the object is untouched"
                ) from error
        await writer.soft_delete(scope, object_id, at=at)
        if deps.ledger is not None and not found[0].is_part:
            await within(
                deps.config.graph_timeout, "the edge ledger", deps.ledger.remove_object_edges(scope, object_id, at=at)
            )
        span.returned(1)


def _failure(draft: Draft, error: BrainError) -> PutFailure:
    return PutFailure(
        index=draft.index,
        id=_known_id(draft.object),
        code=error.code,
        message=str(error),
        field=error.field if isinstance(error, InvalidInputError) else "",
        stored=draft.stored,
    )


def _known_id(obj: object) -> UUID | None:
    """The id of what was given to be put, which may be anything."""
    return obj.id if isinstance(obj, Object) and isinstance(obj.id, UUID) else None


async def _prepare_all(deps: Deps, scope: Scope, objects: Sequence[Object]) -> list[Draft]:
    """A draft for each, letting other tasks run in between. Of objects with one id, only the first is whole."""
    now = deps.now()
    drafts: list[Draft] = []
    seen: set[UUID] = set()
    for index, obj in enumerate(checked_list(objects, "objects")):
        draft = _prepare(deps, scope, index, obj, now)
        if draft.error is None:
            if draft.object.key in seen:
                draft.error = InvalidValueError(
                    f"id {draft.object.key} comes twice: only the first object was taken", field="id"
                )
            seen.add(draft.object.key)
        drafts.append(draft)
        if index % PREPARE_CHUNK == PREPARE_CHUNK - 1:
            await checkpoint()
    return drafts


def _prepare(deps: Deps, scope: Scope, index: int, obj: Object, now: datetime) -> Draft:
    """The object filled in and validated, or the error that says what is wrong with it."""
    try:
        return Draft(index, _filled(deps, scope, obj, now))
    except BrainError as error:
        return Draft(index, obj, error)


def _filled(deps: Deps, scope: Scope, obj: Object, now: datetime) -> Object:
    if not isinstance(obj, Object):
        raise InvalidInputError(f"put takes an Object, not {type(obj).__name__}", field="object")
    if obj.deleted_at is not None:
        raise SoftDeletedPutError
    checked = check_object_values(obj)
    namespace_id = checked.namespace_id or scope.namespace_id
    if scope.namespace_id is not None and namespace_id != scope.namespace_id:
        raise NamespaceMismatchError(
            f"the object's namespace {namespace_id} differs from the scope's {scope.namespace_id}", field="namespace_id"
        )
    filled = msgspec.structs.replace(
        checked,
        id=uuid4() if checked.id is None or checked.id == NIL_UUID else checked.id,
        kind=checked.kind.strip(),
        namespace_id=namespace_id,
        created_at=checked.created_at or now,
        updated_at=now,
    )
    validate_object(filled, deps.catalog)
    return filled


async def _embed(
    deps: Deps, scope: Scope, drafts: Sequence[Draft], titles: Mapping[UUID, str], isolations: _Isolations
) -> None:
    """Give each draft its embedding, or its error. A draft without text keeps the caller's vector.

    ``titles`` are those of the objects written by the same call, which may not be stored yet.
    """
    embedder = deps.embedder
    if embedder is None:
        return
    titles = {**titles, **await _stored_titles(deps, scope, drafts, titles)}
    texts = {
        draft.index: entity_index_text(draft.object)
        if draft.object.parent_id is None
        else index_text_with_parent(draft.object, titles.get(draft.object.parent_id, ""))
        for draft in drafts
        if draft.error is None
    }
    wanted = [draft for draft in drafts if texts.get(draft.index)]

    async def embed_texts(batch: Sequence[Draft]) -> NDArray[np.float32]:
        vectors = np.asarray(await embedder.embed_many([texts[draft.index] for draft in batch]), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(batch):
            raise EmbedderError(f"the embedder gave an array of shape {vectors.shape} for {len(batch)} texts")
        return vectors

    async def embed_batch(batch: Sequence[Draft]) -> None:
        vectors = await within(
            deps.config.embed_batch_timeout, "the embedder", embed_texts(batch), failure=EmbedderError
        )
        for draft, vector in zip(batch, vectors, strict=True):
            if not np.isfinite(vector).all():
                draft.error = EmbedderError("the embedder gave a vector that is not finite")
                continue
            # An all-zero vector points nowhere: no vector, rather than one that no index can hold.
            embedding, model = (tuple(vector.tolist()), embedder.model) if vector.any() else (None, "")
            draft.object = msgspec.structs.replace(draft.object, embedding=embedding, embedding_model=model)

    for start in range(0, len(wanted), EMBED_BATCH):
        await isolations.embed.run(wanted[start : start + EMBED_BATCH], embed_batch)


async def _stored_titles(
    deps: Deps, scope: Scope, drafts: Sequence[Draft], known: Mapping[UUID, str]
) -> dict[UUID, str]:
    """Titles of the stored parents of ``drafts``; where they cannot be read, the drafts that need them carry the error."""
    needing = [
        draft
        for draft in drafts
        if draft.error is None and draft.object.parent_id is not None and draft.object.parent_id not in known
    ]
    parent_ids = list(dict.fromkeys(draft.object.parent_id for draft in needing if draft.object.parent_id is not None))
    if not parent_ids:
        return {}
    try:
        return {obj.key: obj.title for obj in await deps.store.get_many(scope, parent_ids)}
    except BrainError as error:
        for draft in needing:
            draft.error = error
        return {}


async def _write(deps: Deps, scope: Scope, drafts: Sequence[Draft], isolations: _Isolations) -> None:
    """Store the drafts that are still whole, then make the graph nodes of the first-class ones."""
    writer = deps.writer

    async def store_batch(batch: Sequence[Draft]) -> None:
        stored = await writer.put_objects(scope, [draft.object for draft in batch])
        for draft, result in zip(batch, stored, strict=True):
            if isinstance(result, BrainError):
                draft.error = result
            else:
                draft.object = msgspec.structs.replace(result, embedding=draft.object.embedding)
                draft.stored = True

    await isolations.store.run([draft for draft in drafts if draft.error is None], store_batch)

    graph = deps.can.graph_writer
    if graph is None:
        return

    async def ensure_batch(batch: Sequence[Draft]) -> None:
        ensuring = graph.ensure_objects(scope, [draft.object for draft in batch])
        await within(deps.config.graph_timeout, "the graph", ensuring)

    first_class = [draft for draft in drafts if draft.stored and not draft.object.is_part]
    await isolations.graph.run(first_class, ensure_batch)
