"""put, put_many, soft_delete. prepare -> context -> embed -> store -> graph; a batch at a time, embedding one batch ahead."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
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
from brain_async.ops.contexts import Written, add_contexts
from brain_async.ops.delivery import deliver_edges_around, deliver_nodes, ensure_nodes, node_entries, remove_nodes
from brain_async.ops.deps import Deps
from brain_async.ops.isolation import Draft, Isolation
from brain_async.ops.languages import choose_languages
from brain_async.ops.tasks import task_group
from brain_async.ports.host import Progress
from brain_async.stages.deadline import within

__all__ = ["put", "put_many", "soft_delete"]

logger = logging.getLogger("brain_async")

WRITE_BATCH = 500
EMBED_BATCH = 128
PREPARE_CHUNK = 256


def _ensure_failure(cause: BrainError) -> GraphEnsureError:
    failure = GraphEnsureError(
        f"the object is stored, its graph node is not: put it again, or reconcile, once the graph works ({cause})"
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
            await choose_languages(deps, [draft])
            await _embed(deps, scope, [draft], Written([draft.object]), isolations)
            await _write(deps, scope, [draft], isolations)
        if draft.error is not None:
            raise draft.error
        if draft.waiting:
            span.degrade("graph")
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
        written = Written(draft.object for draft in ready)
        batches = [ready[start : start + WRITE_BATCH] for start in range(0, len(ready), WRITE_BATCH)]
        done = len(drafts) - len(ready)
        isolations = _Isolations()

        async def embed_ahead(send: ObjectSendStream[list[Draft]]) -> None:
            async with send:
                for batch in batches:
                    await choose_languages(deps, batch)
                    await _embed(deps, scope, batch, written, isolations)
                    await send.send(batch)

        send, receive = anyio.create_memory_object_stream[list[Draft]](1)
        nodes = sum(not draft.object.is_part for draft in ready)
        async with _bulk_load(deps, nodes), receive, task_group() as group:
            group.start_soon(embed_ahead, send)
            async for batch in receive:
                await _write(deps, scope, batch, isolations)
                done += len(batch)
                if progress is not None:
                    progress(done, len(drafts))
        result = PutManyResult(
            objects=tuple(msgspec.structs.replace(d.object, embedding=None) for d in drafts if d.error is None),
            failures=tuple(_failure(draft, draft.error) for draft in drafts if draft.error is not None),
            waiting=tuple(draft.object.key for draft in drafts if draft.waiting),
        )
        if result.waiting:
            span.degrade("graph")
        span.returned(len(result.objects))
        return result


@asynccontextmanager
async def _bulk_load(deps: Deps, nodes: int) -> AsyncIterator[None]:
    """Let the graph prepare for ``nodes`` new nodes. Where it cannot, the objects are written all the same."""
    loader = deps.can.bulk_loader
    loading = loader.bulk(nodes) if loader is not None and nodes else nullcontext()
    try:
        await loading.__aenter__()
    except BrainError as error:
        logger.warning("put_many: the graph could not prepare for %d nodes: %s", nodes, error)
        loading = nullcontext()
    try:
        yield
    finally:
        # However the block ends: and what ends it, a cancellation say, is not replaced by the graph's failure.
        try:
            await loading.__aexit__(None, None, None)
        except BrainError as error:
            logger.warning("put_many: the graph's indexes are not complete yet: %s", error)


async def soft_delete(deps: Deps, scope: Scope, object_id: UUID | None) -> None:
    """See ``Engine.soft_delete``."""
    async with deps.span("soft_delete") as span:
        deps.check_scope(scope)
        writer = deps.writer
        object_id = required_id(object_id)
        found = await deps.store.get_many(scope, [object_id])
        if not found:
            raise ObjectNotFoundError(object_id)
        at, first_class = deps.now(), not found[0].is_part
        in_graph = first_class and deps.can.graph_writer is not None
        if in_graph and not deps.nodes_may_wait:
            async with _node_in_doubt(deps, scope, object_id):
                await _remove_node_first(deps, scope, object_id)
                await writer.soft_delete(scope, object_id, at=at)
        else:
            await writer.soft_delete(scope, object_id, at=at)
        if deps.ledger is not None and first_class:
            await within(
                deps.config.graph_timeout, "the edge ledger", deps.ledger.remove_object_edges(scope, object_id, at=at)
            )
        if in_graph and deps.can.node_outbox is not None and not await _tell_of_deletion(deps, scope, object_id):
            span.degrade("graph")
        span.returned(1)


@asynccontextmanager
async def _node_in_doubt(deps: Deps, scope: Scope, object_id: UUID) -> AsyncIterator[None]:
    """What becomes of the node is unknown should the block fail: the outbox says so beforehand.

    And again when it failed, as a put in between may have settled that, and made a node that was then removed.
    """
    outbox = deps.can.node_outbox
    if outbox is None:
        yield
        return
    await outbox.reopen(scope, [object_id], with_edges=True)
    try:
        yield
    except ObjectNotFoundError:  # somebody else deleted it meanwhile
        await _tell_of_deletion(deps, scope, object_id)
        raise
    except BrainError:
        with suppress(BrainError):
            await outbox.reopen(scope, [object_id], with_edges=True)
        raise


async def _remove_node_first(deps: Deps, scope: Scope, object_id: UUID) -> None:
    """Remove the node while the object is still live. Raises GraphRemoveError when the graph fails."""
    try:
        await remove_nodes(deps, scope, [object_id])
    except BrainError as error:
        raise GraphRemoveError(
            f"the graph node of {object_id} could not be removed; the object is untouched"
        ) from error


async def _tell_of_deletion(deps: Deps, scope: Scope, object_id: UUID) -> bool:
    """Remove the node of a deleted row, also when it was removed before: a put may have made it again in between.

    False when the graph could not be told now; the outbox then keeps it.
    """
    nodes, edges = deps.can.node_outbox, deps.can.edge_outbox
    try:
        if nodes is not None:
            await deliver_nodes(deps, scope, nodes, await nodes.pending_for(scope, [object_id]))
        if edges is not None:
            await deliver_edges_around(deps, scope, edges, object_id)
    except BrainError as error:
        logger.warning("soft_delete: the graph is told of %s later, by reconcile: %s", object_id, error)
        return False
    return True


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


async def _embed(deps: Deps, scope: Scope, drafts: Sequence[Draft], written: Written, isolations: _Isolations) -> None:
    """Give each draft its context and embedding, or its error. A draft without text keeps the caller's vector."""
    texts = await add_contexts(deps, scope, drafts, written)
    embedder = deps.embedder
    if embedder is None:
        return
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

    if deps.can.graph_writer is None:
        return
    outbox, stored = deps.can.node_outbox, [draft for draft in drafts if draft.stored]
    entries = await node_entries(deps, scope, [draft.object.key for draft in stored])

    async def tell_graph(batch: Sequence[Draft]) -> None:
        written = {draft.object.key: draft.object for draft in batch}
        if outbox is None or entries is None:
            await ensure_nodes(deps, scope, list(written.values()))
        else:
            await deliver_nodes(deps, scope, outbox, [entries[key] for key in written], written)

    # With an entry come first-class objects, and parts that were first-class before. One without has been delivered.
    concerned = [d for d in stored if (not d.object.is_part if entries is None else d.object.key in entries)]
    await isolations.graph.run(concerned, tell_graph)
    if deps.nodes_may_wait:
        for draft in concerned:
            if draft.error is not None:
                logger.warning("put: the graph is told of %s later, by reconcile: %s", draft.object.id, draft.error)
                draft.error, draft.waiting = None, True
