"""put, put_many, soft_delete. prepare -> embed -> store -> graph; a batch at a time, embedding one batch ahead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from uuid import UUID, uuid4

import anyio
import msgspec
from anyio.abc import ObjectSendStream

from brain_async.catalog.objects import validate_object
from brain_async.catalog.values import check_object_values
from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    BrainError,
    EmbedderError,
    GraphEnsureError,
    GraphRemoveError,
    InvalidInputError,
    NamespaceMismatchError,
    ObjectNotFoundError,
    SoftDeletedPutError,
)
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.results import PutFailure, PutManyResult
from brain_async.model.scope import Scope
from brain_async.ops.deps import Deps, required_id
from brain_async.stages.deadline import within
from brain_async.text import entity_index_text, index_text_with_parent

__all__ = ["Progress", "put", "put_many", "soft_delete"]

WRITE_BATCH = 500
EMBED_BATCH = 128
PATIENCE = 16
"""Single failures after which a failing batch is taken for a failing backend, and no further object is tried alone."""

Progress = Callable[[int, int], object]
"""Called with (objects done, objects in all)."""


class _Draft(msgspec.Struct):
    """One object on its way through put_many; ``error`` is what stopped it, ``stored`` whether the row was written."""

    index: int
    object: Object
    error: BrainError | None = None
    stored: bool = False


async def put(deps: Deps, scope: Scope, obj: Object) -> Object:
    """See ``Engine.put``."""
    async with deps.span("put") as span:
        deps.check_scope(scope)
        _ = deps.writer
        draft = _prepare(deps, scope, 0, obj, deps.now())
        if draft.error is None:
            await _embed(deps, scope, [draft])
            await _write(deps, scope, [draft])
        if draft.error is not None:
            raise draft.error
        span.returned(1)
        return msgspec.structs.replace(draft.object, embedding=None)


async def put_many(deps: Deps, scope: Scope, objects: Sequence[Object], progress: Progress | None) -> PutManyResult:
    """See ``Engine.put_many``."""
    async with deps.span("put_many") as span:
        deps.check_scope(scope)
        _ = deps.writer
        now = deps.now()
        drafts = [_prepare(deps, scope, index, obj, now) for index, obj in enumerate(objects)]
        # Parents first, so that the parts of a later batch find them stored.
        ready = sorted((draft for draft in drafts if draft.error is None), key=lambda draft: draft.object.is_part)
        batches = [ready[start : start + WRITE_BATCH] for start in range(0, len(ready), WRITE_BATCH)]
        done = len(drafts) - len(ready)

        async def embed_ahead(send: ObjectSendStream[list[_Draft]]) -> None:
            async with send:
                for batch in batches:
                    await _embed(deps, scope, batch)
                    await send.send(batch)

        send, receive = anyio.create_memory_object_stream[list[_Draft]](1)
        async with receive, anyio.create_task_group() as group:
            group.start_soon(embed_ahead, send)
            async for batch in receive:
                await _write(deps, scope, batch)
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
            except BackendError as error:
                raise GraphRemoveError(
                    f"the graph node of {object_id} could not be removed; the row is untouched"
                ) from error
        await writer.soft_delete(scope, object_id, at=at)
        if deps.ledger is not None and not found[0].is_part:
            await within(
                deps.config.graph_timeout, "the edge ledger", deps.ledger.remove_object_edges(scope, object_id, at=at)
            )
        span.returned(1)


def _failure(draft: _Draft, error: BrainError) -> PutFailure:
    return PutFailure(
        index=draft.index,
        id=draft.object.id if isinstance(draft.object, Object) else None,
        code=error.code,
        message=str(error),
        field=error.field if isinstance(error, InvalidInputError) else "",
        stored=draft.stored,
    )


def _prepare(deps: Deps, scope: Scope, index: int, obj: Object, now: datetime) -> _Draft:
    """The object filled in and validated, or the error that says what is wrong with it."""
    try:
        return _Draft(index, _filled(deps, scope, obj, now))
    except BrainError as error:
        return _Draft(index, obj, error)


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


async def _embed(deps: Deps, scope: Scope, drafts: Sequence[_Draft]) -> None:
    """Give each draft its embedding, or its error. A draft without text keeps the caller's vector."""
    embedder = deps.embedder
    if embedder is None:
        return
    titles = await _parent_titles(deps, scope, drafts)
    texts = {
        draft.index: entity_index_text(draft.object)
        if draft.object.parent_id is None
        else index_text_with_parent(draft.object, titles.get(draft.object.parent_id, ""))
        for draft in drafts
        if draft.error is None
    }
    wanted = [draft for draft in drafts if texts.get(draft.index)]

    async def embed_batch(batch: Sequence[_Draft]) -> None:
        try:
            vectors = await embedder.embed_many([texts[draft.index] for draft in batch])
        except BrainError:
            raise
        except Exception as error:
            raise EmbedderError(f"the embedder failed: {type(error).__name__}: {error}") from error
        for draft, vector in zip(batch, vectors, strict=True):
            draft.object = msgspec.structs.replace(
                draft.object, embedding=tuple(vector.tolist()), embedding_model=embedder.model
            )

    for start in range(0, len(wanted), EMBED_BATCH):
        await _Isolation(embed_batch).run(wanted[start : start + EMBED_BATCH])


async def _parent_titles(deps: Deps, scope: Scope, drafts: Sequence[_Draft]) -> dict[UUID, str]:
    titles = {draft.object.key: draft.object.title for draft in drafts if draft.error is None}
    wanted = {draft.object.parent_id for draft in drafts if draft.error is None and draft.object.parent_id is not None}
    if elsewhere := [parent_id for parent_id in wanted if parent_id not in titles]:
        try:
            titles |= {obj.key: obj.title for obj in await deps.store.get_many(scope, elsewhere)}
        except BrainError as error:
            for draft in drafts:
                draft.error = draft.error or error
    return titles


async def _write(deps: Deps, scope: Scope, drafts: Sequence[_Draft]) -> None:
    """Store the drafts that are still whole, then make the graph nodes of the first-class ones."""
    writer = deps.writer

    async def store_batch(batch: Sequence[_Draft]) -> None:
        stored = await writer.put_objects(scope, [draft.object for draft in batch])
        for draft, result in zip(batch, stored, strict=True):
            if isinstance(result, BrainError):
                draft.error = result
            else:
                draft.object = msgspec.structs.replace(result, embedding=draft.object.embedding)
                draft.stored = True

    await _Isolation(store_batch).run([draft for draft in drafts if draft.error is None])

    graph = deps.can.graph_writer
    if graph is None:
        return

    async def ensure_batch(batch: Sequence[_Draft]) -> None:
        try:
            ensuring = graph.ensure_objects(scope, [draft.object for draft in batch])
            await within(deps.config.graph_timeout, "the graph", ensuring)
        except BackendError as error:
            message = "the row is stored, its graph node is not: put it again once the graph works"
            failure = GraphEnsureError(f"{message} ({error})")
            raise failure from error

    await _Isolation(ensure_batch).run([draft for draft in drafts if draft.stored and not draft.object.is_part])


class _Isolation:
    """Runs a batch action so that one bad object never takes its neighbours along.

    A batch that fails as a whole is halved until the culprit stands alone; after ``PATIENCE`` single failures the backend
    itself is taken to be down, and the rest gets the error untried. A timeout is never retried: its outcome is unknown.
    """

    def __init__(self, act: Callable[[Sequence[_Draft]], Awaitable[None]]) -> None:
        self._act = act
        self._patience = PATIENCE

    async def run(self, batch: Sequence[_Draft]) -> None:
        """Act on ``batch``; the drafts that fail carry the error."""
        if not batch:
            return
        try:
            await self._act(batch)
        except BrainError as error:
            if len(batch) == 1:
                self._patience -= 1
            if len(batch) == 1 or self._patience <= 0 or isinstance(error, BackendTimeoutError):
                for draft in batch:
                    draft.error = error
                return
            middle = len(batch) // 2
            await self.run(batch[:middle])
            await self.run(batch[middle:])
