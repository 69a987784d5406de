"""The commands that ask: search, exact, objects, expand, read, links, continue. Each opens, asks once, and closes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from uuid import UUID

import msgspec

from brain_async.cli.home import open_home, restore_context, save_context
from brain_async.errors import InvalidInputError
from brain_async.model.object import Object
from brain_async.model.requests import SearchRequest
from brain_async.model.results import LinkHit, RichObject, SearchPage
from brain_async.session import SearchContext, Session

if TYPE_CHECKING:
    from brain_async.local import LocalEngine

__all__ = ["Timed", "continue_", "exact", "expand", "links", "objects", "parse_filters", "read", "search"]

T = TypeVar("T")
Timed = tuple[T, float]
"""An answer, and the seconds it took, opening left out."""

Explained: TypeAlias = tuple[SearchPage, Mapping[UUID, Object]]
"""A page, and the objects, without content, whose scores it explains, by id."""


async def search(home: Path, namespace: UUID | None, request: SearchRequest) -> Timed[Explained]:
    """As ``Engine.search``, with the objects whose scores it explains."""
    return await _ask_explained(home, namespace, lambda engine, s: engine.search(s.scope, request, s.context))


async def exact(home: Path, namespace: UUID | None, request: SearchRequest) -> Timed[Explained]:
    """As ``Engine.find_exact``, with the objects whose scores it explains."""
    return await _ask_explained(home, namespace, lambda engine, s: engine.find_exact(s.scope, request, s.context))


async def objects(
    home: Path, namespace: UUID | None, query: str, *, filters: Mapping[str, object], limit: int
) -> Timed[SearchPage]:
    """As ``Session.find_objects``."""
    return await _ask(home, namespace, lambda _, s: s.find_objects(query, filters=filters, limit=limit))


async def expand(
    home: Path,
    namespace: UUID | None,
    object_id: UUID,
    *,
    relations: Sequence[str],
    containment: bool,
    hops: int,
    direction: str,
    limit: int,
) -> Timed[SearchPage]:
    """As ``Session.expand``."""
    return await _ask(
        home,
        namespace,
        lambda _, s: s.expand(
            object_id, relations, want_containment=containment, max_hops=hops, direction=direction, limit=limit
        ),
    )


async def read(home: Path, namespace: UUID | None, object_id: UUID) -> Timed[tuple[RichObject, Sequence[RichObject]]]:
    """The object with its content, and its parts without."""

    async def both(_: LocalEngine, session: Session) -> tuple[RichObject, Sequence[RichObject]]:
        found = await session.read(object_id)
        parts = await session.list_children(object_id) if found.parent_id is None else ()
        return found, parts

    return await _ask(home, namespace, both)


async def links(home: Path, namespace: UUID | None, relation: str, query: str, *, limit: int) -> Timed[list[LinkHit]]:
    """As ``Session.find_links``."""
    return await _ask(home, namespace, lambda _, s: s.find_links(relation, query, limit=limit))


async def continue_(home: Path, *, limit: int) -> Timed[tuple[SearchPage, int]]:
    """The next page of the result that the last command kept, and the rank of its first hit."""

    async def next_page(_: LocalEngine, session: Session) -> tuple[SearchPage, int]:
        page = await session.continue_(limit=limit)
        served = session.context.active.offset if session.context.active is not None else 0
        return page, served - len(page.objects) + 1

    return await _ask(home, None, next_page, context=restore_context(home))


async def _ask_explained(
    home: Path, namespace: UUID | None, verb: Callable[[LocalEngine, Session], Awaitable[SearchPage]]
) -> Timed[Explained]:
    seconds_asking = 0.0

    async def explained(engine: LocalEngine, session: Session) -> Explained:
        nonlocal seconds_asking
        began = time.perf_counter()
        page = await verb(engine, session)
        seconds_asking = time.perf_counter() - began
        ids = {explanation.id for hit in page.objects for explanation in hit.explain}
        return page, {obj.key: obj for obj in await engine.store.get_many(session.scope, list(ids))}

    answer, _ = await _ask(home, namespace, explained)
    return answer, seconds_asking


async def _ask(
    home: Path,
    namespace: UUID | None,
    verb: Callable[[LocalEngine, Session], Awaitable[T]],
    *,
    context: SearchContext | None = None,
) -> Timed[T]:
    async with open_home(
        home,
    ) as engine:
        session = engine.session(namespace, context)
        began = time.perf_counter()
        answer = await verb(engine, session)
        seconds = time.perf_counter() - began
    save_context(home, session.context)
    return answer, seconds


def parse_filters(given: Sequence[str], kinds: Sequence[str]) -> dict[str, object]:
    """``key=value`` items and kinds as the filters of a request; a key that comes twice takes either value.

    A value that reads as JSON is that, else it is text. Raises InvalidInputError for an item without a key and "=".
    """
    values: dict[str, list[object]] = {}
    for item in given:
        key, separator, text = item.partition("=")
        if not separator or not key.strip():
            raise InvalidInputError(f"a filter is written key=value, not {item!r}", field="filter")
        try:
            value: object = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = text
        values.setdefault(key.strip(), []).extend(value if isinstance(value, list) else [value])
    if kinds:
        values.setdefault("kind", []).extend(kinds)
    return {key: found[0] if len(found) == 1 else found for key, found in values.items()}
