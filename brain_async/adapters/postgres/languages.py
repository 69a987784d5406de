"""The languages of a namespace's parts, which its queries are analysed in: kept beside the objects, read with every search.

The terms of a query depend on them, and they are in the database: so a search is made with those known from the last one,
and says in the same statement which they are. Only where they changed meanwhile is it made again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar
from uuid import UUID

import asyncpg

from brain_async.adapters.postgres.pool import Connection, Connections
from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.object import NIL_UUID
from brain_async.model.scope import Scope

__all__ = ["LanguageSet", "NamespaceLanguages"]

LanguageSet = frozenset[str]

_T = TypeVar("_T")

_ADD = """
insert into brain_languages select * from unnest($1::uuid[], $2::text[]) u(namespace_id, language) order by 1, 2
on conflict do nothing
"""

_PRESENT = "array(select l.language from brain_languages l where l.namespace_id = ${place}::uuid)"
_LANGUAGES = f"select {_PRESENT.format(place=1)}"

_REMEMBERED = 10_000
_MOST_CHANGES = 8
"""How often one search is made again because a writer has added a language meanwhile."""

_ENGLISH: LanguageSet = frozenset({DEFAULT_LANGUAGE})


class NamespaceLanguages:
    """What one store knows of them. Nothing here is relied on but by way of saving statements."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._known: OrderedDict[UUID, LanguageSet] = OrderedDict()

    def unknown(self, pairs: Iterable[tuple[UUID | None, str]]) -> set[tuple[UUID, str]]:
        """Those of (namespace, language) of parts that may not be recorded yet."""
        wanted = {
            (key, language or DEFAULT_LANGUAGE) for namespace, language in pairs for key in (namespace, NIL_UUID) if key
        }
        return {(key, language) for key, language in wanted if language not in self._known.get(key, ())}

    async def record(self, connection: Connection, pairs: set[tuple[UUID, str]]) -> None:
        """Write ``pairs`` in the transaction that writes the parts; sorted, so that writers never wait in a circle."""
        if pairs:
            namespaces, languages = zip(*sorted(pairs), strict=True)
            await connection.execute(_ADD, namespaces, languages)

    def recorded(self, pairs: set[tuple[UUID, str]]) -> None:
        """Remember what was committed."""
        for key, language in pairs:
            self._remember(key, self._known.get(key, frozenset()) | {language})

    async def of(self, scope: Scope) -> LanguageSet:
        """The languages of the scope, as of the last search there, or read now."""
        key = scope.namespace_id or NIL_UUID
        if key not in self._known:
            async with self._connections.session() as connection:
                self._remember(key, frozenset(await connection.fetchval(_LANGUAGES, key)))
        return self._known[key] or _ENGLISH

    async def search(self, scope: Scope, attempt: Callable[[LanguageSet], Awaitable[tuple[_T, Iterable[str]]]]) -> _T:
        """What ``attempt`` finds with the languages of the scope; it also says which they are."""
        key = scope.namespace_id or NIL_UUID
        languages = self._known.get(key) or _ENGLISH
        for _ in range(_MOST_CHANGES):
            found, said = await attempt(languages)
            present = frozenset(said)
            self._remember(key, present)
            if (present or _ENGLISH) == languages:
                break
            languages = present or _ENGLISH
        return found

    async def rows(
        self, connection: Connection, scope: Scope, statement: tuple[str, list[Any]] | None
    ) -> tuple[list[asyncpg.Record], Iterable[str]]:
        """The rows of ``statement``, none without one, and the languages of the scope; for ``search``."""
        key = scope.namespace_id or NIL_UUID
        if statement is None:
            return [], await connection.fetchval(_LANGUAGES, key)
        sql, arguments = statement
        present = _PRESENT.format(place=len(arguments) + 1)
        rows = await connection.fetch(
            f"select f.*, s.languages from (select {present} as languages) s"
            f" left join (select true as found, x.* from ({sql}) x) f on true",
            *arguments,
            key,
        )
        return [row for row in rows if row["found"]], rows[0]["languages"]

    def _remember(self, key: UUID, languages: LanguageSet) -> None:
        self._known[key] = languages
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
