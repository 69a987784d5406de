"""The vocabulary beside the corpus: its words, added as they are written, and looked up for words that no part holds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any
from uuid import UUID

import anyio.to_thread

from brain_async.adapters.postgres.pool import UNBOUNDED, Connection, Connections
from brain_async.adapters.postgres.rows import OBJECT_COLUMNS, object_from_row
from brain_async.adapters.postgres.terms import encode_term
from brain_async.analysis import STOP_WORDS, terms_of_word
from brain_async.model.scope import Scope
from brain_async.ports.vocabulary import MAX_DOCUMENTS, VocabularyWord
from brain_async.spelling import (
    TWO_EDITS_CHARS,
    edit_distance,
    far_keys,
    is_common,
    is_spelling,
    near_keys,
    vocabulary_keys,
    words_of,
)

__all__ = ["NewWords", "PostgresVocabulary", "create_words_index", "drop_words_index"]

_INLINE_WORDS = 500
"""More new words than this are given their keys in a thread: about 5 ms of work."""

_MAX_WRITTEN = 1 << 17
_MAX_HELD = 1 << 16
_HELD_SECONDS = 60.0
"""How long a word counts as held without asking again: so long may what another process deletes go unnoticed."""

WORDS_SQL = """
insert into brain_words
select u.namespace_id, u.word, u.term,
    array(select brain_posting_key(u.namespace_id, k.key) from unnest(string_to_array(u.keys, ' ')) k(key))
from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) u(namespace_id, word, term, keys)
order by u.namespace_id, u.word collate "C", u.term collate "C"
on conflict do nothing
"""

TEXTS_SQL = f"""
select {OBJECT_COLUMNS}, o.content from brain_objects o where o.id > $1 and o.deleted_at is null order by o.id limit 500
"""

COUNT_SQL = "select * from brain_count_words($1, $2::text[], $3::text[], $4)"

NEAR_SQL = "select * from brain_near_words($1, $2::text[], $3::text[], $4::text[])"

# No pending list: what waits in it is read through by every search.
_CREATE_INDEX = "create index if not exists brain_words_keys on brain_words using gin (keys) with (fastupdate = off)"
_DROP_INDEX = "drop index if exists brain_words_keys"

_Source = tuple[UUID | None, bool]
"""A namespace, and whether the words are those of parts."""


async def create_words_index(connection: Connection) -> None:
    """Build the index over the keys unless it is there."""
    if await connection.fetchval("select to_regclass('brain_words_keys') is null"):
        await connection.execute(_CREATE_INDEX, timeout=UNBOUNDED)


async def drop_words_index(connection: Connection) -> None:
    """Drop it, for a bulk load."""
    await connection.execute(_DROP_INDEX)


def _words_of_rows(rows: Sequence[Any]) -> list[frozenset[str]]:
    return [words_of(object_from_row(row, content=row["content"])) for row in rows]


class NewWords:
    """The words of one transaction that are not known to be in the vocabulary yet."""

    def __init__(self, written: Mapping[_Source, set[str]]) -> None:
        self._written = written
        self._found: dict[_Source, set[str]] = {}

    def add(self, namespace_id: UUID | None, words: frozenset[str], *, part: bool) -> None:
        """Note the words of one object."""
        source = (namespace_id, part)
        new = words.difference(self._written.get(source, ()), STOP_WORDS)
        self._found.setdefault(source, set()).update(new)

    def __len__(self) -> int:
        return sum(map(len, self._found.values()))

    def kept(self) -> dict[_Source, set[str]]:
        """Those that a vocabulary keeps."""
        return {source: set(filter(is_spelling, words)) for source, words in self._found.items()}

    def rows(self) -> list[tuple[UUID | None, str, str, str]]:
        """(namespace, word, term, keys) of those that a vocabulary keeps."""
        return [
            (namespace_id, word, encode_term(term) if part else "", " ".join(vocabulary_keys(word)) if part else "")
            for (namespace_id, part), words in self.kept().items()
            for word in words
            for term in terms_of_word(word)
        ]


class PostgresVocabulary:
    """The vocabulary of one database, as one store sees it."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._written: dict[_Source, set[str]] = {}
        self._held: dict[UUID | None, set[str]] = {}
        self._held_since = 0.0

    def new_words(self) -> NewWords:
        """To be filled with the words of a transaction."""
        return NewWords(self._written)

    async def complete(self) -> None:
        """Add the words of what was written before there was a vocabulary; does nothing once that is done."""
        async with self._connections.session() as connection:
            if await connection.fetchval("select true from brain_settings where key = 'vocabulary'"):
                return
        after = UUID(int=0)
        while rows := await self._next_texts(after):
            new = self.new_words()
            found = await anyio.to_thread.run_sync(_words_of_rows, rows)
            for row, words in zip(rows, found, strict=True):
                new.add(row["namespace_id"], words, part=row["parent_id"] is not None)
            async with self._connections.transaction() as connection:
                await self.write(connection, new)
            self.committed(new)
            after = rows[-1]["id"]
        async with self._connections.session() as connection:
            await connection.execute(
                "insert into brain_settings values ('vocabulary', 'complete') on conflict do nothing"
            )

    async def _next_texts(self, after: UUID) -> Sequence[Any]:
        async with self._connections.session() as connection:
            return await connection.fetch(TEXTS_SQL, after)

    async def write(self, connection: Connection, new: NewWords) -> None:
        """Add the words: last in a transaction and in one sorted statement, so that writers of the same never deadlock."""
        rows = new.rows() if len(new) <= _INLINE_WORDS else await anyio.to_thread.run_sync(new.rows)
        if rows:
            await connection.execute(WORDS_SQL, *map(list, zip(*rows, strict=True)))

    def committed(self, new: NewWords) -> None:
        """Note that the words are in the vocabulary for good."""
        if sum(map(len, self._written.values())) > _MAX_WRITTEN:
            self._written.clear()
        for source, words in new.kept().items():
            self._written.setdefault(source, set()).update(words)

    def forget_held(self) -> None:
        """Parts were replaced or deleted: what the corpus holds is asked anew."""
        self._held = {}

    async def near_words(self, scope: Scope, words: Sequence[str]) -> Mapping[str, Sequence[VocabularyWord]]:
        """As in the port."""
        held = self._held_in(scope)
        asked = [word for word in words if word not in held and not is_common(word)]
        if not asked:
            return {}
        near = await self._within(scope, {word: near_keys(word) for word in asked}, 1)
        held.update(set(asked).difference(near))
        further = {word: far_keys(word) for word, found in near.items() if not found and len(word) >= TWO_EDITS_CHARS}
        return near | await self._within(scope, further, 2) if further else near

    def _held_in(self, scope: Scope) -> set[str]:
        """The words that the scope is known to hold, to be added to."""
        now = time.monotonic()
        if now - self._held_since > _HELD_SECONDS or sum(map(len, self._held.values())) > _MAX_HELD:
            self._held, self._held_since = {}, now
        return self._held.setdefault(scope.namespace_id, set())

    async def _within(
        self, scope: Scope, keys: Mapping[str, Iterable[str]], distance: int
    ) -> dict[str, list[VocabularyWord]]:
        """For each word that is not held the words of live parts within ``distance``, of those that share a key with it."""
        asked = list(keys)
        terms = [encode_term(terms_of_word(word)[0]) for word in asked]
        async with self._connections.session() as connection:
            rows = await connection.fetch(
                NEAR_SQL, scope.namespace_id, asked, terms, list(map(" ".join, keys.values()))
            )
        unknown = [asked[number - 1] for number in sorted(row["number"] for row in rows if row["number"] is not None)]
        pairs = sorted((row["word"], row["term"]) for row in rows if row["number"] is None)
        near = {
            word: [pair for pair in pairs if edit_distance(word, pair[0], distance) <= distance] for word in unknown
        }
        wanted = sorted(set(chain.from_iterable(near.values())))
        counted = await self._count(scope, wanted) if wanted else []
        documents: dict[str, int] = {}
        for (word, _), count in zip(wanted, counted, strict=True):
            documents[word] = max(count, documents.get(word, 0))
        return {
            word: [VocabularyWord(each, documents[each]) for each in dict(found) if documents[each]]
            for word, found in near.items()
        }

    async def _count(self, scope: Scope, words: Sequence[tuple[str, str]]) -> list[int]:
        """In how many live parts the term of each (word, term) stands, counted up to ``MAX_DOCUMENTS``."""
        surfaces, terms = zip(*words, strict=True)
        async with self._connections.session() as connection:
            rows = await connection.fetch(COUNT_SQL, scope.namespace_id, surfaces, terms, MAX_DOCUMENTS)
        return [row["documents"] for row in sorted(rows, key=itemgetter("number"))]
