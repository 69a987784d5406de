"""Languages in Postgres: recorded beside the objects by any process, read with every search, and there after an upgrade."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import anyio
import asyncpg
import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import PostgresStore
from brain_async.languages import LANGUAGES
from brain_async.model.filters import Filters
from brain_async.model.object import NIL_UUID
from brain_async.model.scope import Scope
from brain_async.testing.subjects import family, fresh_scope, put_all
from tests.integration.postgres.conftest import Opener


async def found(store: PostgresStore, scope: Scope, query: str) -> int:
    return len(await store.search_lexical(scope, query, Filters(), k=9))


async def put_text(store: PostgresStore, scope: Scope, *texts: tuple[str, str]) -> None:
    parent, parts = family(scope, [{"language": language, "content": content} for language, content in texts])
    await put_all(store, scope, parent, *parts)


async def test_a_language_that_another_process_adds_counts_at_once(store: PostgresStore, open_store: Opener) -> None:
    scope = fresh_scope()
    await put_text(store, scope, ("english", "houses"))
    assert await found(store, scope, "Häuser") == 0
    async with open_store() as other:
        await put_text(other, scope, ("german", "Haus"), ("french", "nationale"))
    assert await found(store, scope, "Häuser") == 1
    assert await found(store, Scope(), "Häuser nationales") == 2
    # All its words are stop words of the languages known so far.
    assert await found(store, scope, "the der") == 0
    async with open_store() as other:
        await put_text(other, scope, ("simple", "the der"))
    assert await found(store, scope, "the der") == 1


async def test_a_search_is_one_statement_once_the_languages_are_known(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = fresh_scope()
    await put_text(store, scope, ("german", "Haus"), ("english", "houses"))
    await found(store, scope, "Häuser")
    sessions = 0
    session = store.connections.session

    @asynccontextmanager
    async def counted() -> AsyncIterator[asyncpg.Connection]:
        nonlocal sessions
        sessions += 1
        async with session() as connection:
            yield connection

    monkeypatch.setattr(store.connections, "session", counted)
    assert await found(store, scope, "Häuser") == 1
    assert sessions == 1
    assert await found(store, scope, "nowhere") == 0
    assert sessions == 2


async def test_writers_of_many_languages_never_wait_in_a_circle(open_store: Opener) -> None:
    scope, languages = fresh_scope(), sorted(LANGUAGES)
    async with open_store() as one, open_store() as two:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for store, order in ((one, languages), (two, languages[::-1])) * 3:
                    tasks.start_soon(put_text, store, scope, *((language, "word") for language in order))
        assert await found(one, scope, "word") == 9
        async with one.connections.session() as connection:
            recorded = await connection.fetch("select namespace_id, language from brain_languages")
    assert {tuple(row) for row in recorded} >= {
        (key, language) for key in (scope.namespace_id, NIL_UUID) for language in languages
    }


_TEXT = (
    "Haus Häuser house houses maison maisons die der the les nationale nationales книга книги книгой канал 汇率 外币汇率"
    " 끝말잇기 ACME-1423 running läuft laufen courir cours canción canciones evlerin ev"
)


async def test_memory_and_postgres_agree_on_every_mixture(store: PostgresStore) -> None:
    random, scope, memory = Random(11), fresh_scope(), MemoryStore(dimension=4)
    words = _TEXT.split()
    languages = ["english", "german", "french", "russian", "spanish", "turkish", "chinese", "simple", ""]
    fields = [
        {"language": random.choice(languages), "content": " ".join(random.choices(words, k=random.randint(1, 12)))}
        for _ in range(120)
    ]
    parent, parts = family(scope, fields)
    for each in (store, memory):
        await put_all(each, scope, parent, *parts)
    for _ in range(60):
        query = " ".join(random.choices(words, k=random.randint(1, 4)))
        here = [(hit.id, hit.score) for hit in await memory.search_lexical(scope, query, Filters(), k=200)]
        there = [(hit.id, hit.score) for hit in await store.search_lexical(scope, query, Filters(), k=200)]
        assert {key for key, _ in there} == {key for key, _ in here}, query
        if store.lexical_backend == "portable":
            assert [score for _, score in there] == pytest.approx([score for _, score in here], abs=1e-6), query


async def test_a_refused_batch_records_nothing(store: PostgresStore) -> None:
    scope = fresh_scope()
    _, parts = family(scope, [{"language": "german", "content": "Haus"}])
    (refused,) = await store.put_objects(scope, parts)  # its parent is not there
    assert isinstance(refused, Exception)
    async with store.connections.session() as connection:
        assert await connection.fetch("select from brain_languages where namespace_id = $1", scope.namespace_id) == []
    await put_text(store, scope, ("german", "Haus"))
    assert await found(store, scope, "Häuser") == 1


async def test_what_was_there_before_is_english(store: PostgresStore, open_store: Opener) -> None:
    scope = fresh_scope()
    await put_text(store, scope, ("english", "houses"))
    async with store.connections.session() as connection:
        await connection.execute(
            "alter table brain_objects drop column language; drop table brain_languages;"
            " delete from brain_migrations where version = 7"
        )
    async with open_store() as upgraded:
        assert await found(upgraded, scope, "house") == 1
        (part,) = await upgraded.scan(scope, first_class=False, after=None, limit=9)
        assert part.language == "english"
        async with upgraded.connections.session() as connection:
            rows = await connection.fetch("select namespace_id, language from brain_languages")
        assert {tuple(row) for row in rows} == {(scope.namespace_id, "english"), (NIL_UUID, "english")}
