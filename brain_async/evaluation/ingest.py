"""A collection into an engine: one parent a document, its passages as parts; what is there is reused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID, uuid5

import anyio.to_thread

from brain_async.engine import Engine
from brain_async.errors import BackendError, ObjectNotFoundError
from brain_async.evaluation.collection import Collection, Document
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.ports.host import Progress

__all__ = ["ingest_collection"]

_SPACE = UUID("3c7c3b52-5d0e-4a54-9a0c-6a1f0d3a7e03")
_FORMAT = 1
"""To be raised whenever the same document is turned into other objects than before, so that they are made anew."""


async def ingest_collection(
    engine: Engine,
    collection: Collection,
    *,
    split: Callable[[str], Sequence[str]],
    settings: str,
    progress: Progress | None = None,
) -> tuple[Scope, dict[UUID, str], bool]:
    """Put the documents into a namespace of their own; where they are, the document of each parent, and whether all was there.

    The namespace comes from the corpus and ``settings``, which names what else decides what is stored (how ``split`` cuts
    a text to parts, the embedder). A last object marks that all was written, so a run that was stopped goes on.
    Raises BackendError when a document could not be stored, and what ``Engine.put_many`` raises.
    """
    key = hashlib.sha256(f"{_FORMAT} {collection.digest} {settings}".encode()).hexdigest()
    namespace = uuid5(_SPACE, key)
    scope = Scope(namespace)
    # In a namespace apart, so that no search comes across it.
    marker_scope, marker = Scope(_SPACE), uuid5(namespace, "complete")
    parents = {_parent_id(namespace, document): document.id for document in collection.documents}
    with suppress(ObjectNotFoundError):
        await engine.read(marker_scope, marker)
        return scope, parents, True

    def objects() -> list[Object]:
        return [obj for document in collection.documents for obj in _objects(namespace, document, split(document.text))]

    done = await engine.put_many(scope, await anyio.to_thread.run_sync(objects), progress=progress)
    if not done.ok:
        raise BackendError(f"{len(done.failures)} objects could not be stored, the first: {done.failures[0].message}")
    await engine.put(marker_scope, Object(id=marker, kind="evaluated_collection", title=collection.name))
    return scope, parents, False


def _parent_id(namespace: UUID, document: Document) -> UUID:
    return uuid5(namespace, f"document {document.id}")


def _objects(namespace: UUID, document: Document, passages: Sequence[str]) -> list[Object]:
    parent = _parent_id(namespace, document)
    found = [Object(id=parent, kind="document", title=document.title)]
    found += [
        Object(
            id=uuid5(parent, f"part {position}"),
            kind="passage",
            title=document.title,
            content=passage,
            parent_id=parent,
            position=position,
        )
        for position, passage in enumerate(passages)
    ]
    return found
