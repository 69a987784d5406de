"""The vocabulary in PostgreSQL: answers as in memory, writers that share words, poolers, bulk loads, older databases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from random import Random
from typing import Any

import anyio
import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import PostgresStore
from brain_async.model.scope import Scope
from brain_async.stages.respell import respell
from brain_async.testing.subjects import BASE_TIME, family, fresh_scope, new_part, put_all
from tests.integration.postgres.conftest import Opener

_words = st.text("abé", min_size=3, max_size=12)
_texts = st.lists(st.lists(_words, max_size=6).map(" ".join), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=_texts, asked=st.lists(_words, min_size=1, max_size=8, unique=True), deleted=st.integers(0, 2))
async def test_the_same_answers_as_in_memory(
    store: PostgresStore, texts: list[str], asked: list[str], deleted: int
) -> None:
    scope = fresh_scope()
    parent, parts = family(scope, [{"content": text} for text in texts], title="ababab")
    answers: list[Any] = []
    for subject in (store, MemoryStore()):
        await put_all(subject, scope, parent, *parts)
        for part in parts[:deleted]:
            await subject.soft_delete(scope, part.key, at=BASE_TIME)
        near = await subject.near_words(scope, asked)
        answers.append((dict(near), await respell(subject, scope, " ".join(asked))))
    assert answers[0] == answers[1]


async def test_writers_of_the_same_new_words_never_deadlock(store: PostgresStore) -> None:
    """Forty batches, each of the same 300 words in an order of its own, by eight writers at once."""
    words = [f"{one}{two}{three}eld" for one in "bdfghk" for two in "aeiou" for three in "lmnprstvwz"]
    scope = fresh_scope()
    parents = [family(scope, [])[0] for _ in range(8)]
    await put_all(store, scope, *parents)

    async def write(number: int) -> None:
        rng = Random(number)
        for position in range(5):
            texts = [" ".join(rng.sample(words, len(words))) for _ in range(2)]
            parts = [new_part(scope, parents[number], content=text, position=position) for text in texts]
            await put_all(store, scope, *parts)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(write, number)
    async with store.connections.session() as connection:
        kept = await connection.fetchval(
            "select count(*) from brain_words where namespace_id = $1 and term <> ''", scope.namespace_id
        )
    assert kept == len(words)
    assert dict(await store.near_words(scope, words[:50])) == {}


async def test_a_put_that_fails_leaves_its_words_to_the_next(store: PostgresStore) -> None:
    scope = fresh_scope()
    parent, parts = family(scope, [{"content": "quillwort"}])
    await put_all(store, scope, parent)
    async with store.connections.session() as connection:
        await connection.execute("alter table brain_words rename to brain_words_away")
        with pytest.raises(Exception, match="brain_words"):
            await store.put_objects(scope, parts)
        await connection.execute("alter table brain_words_away rename to brain_words")
    await put_all(store, scope, *parts)
    assert [each.word for each in (await store.near_words(scope, ["quilwort"]))["quilwort"]] == ["quillwort"]


async def test_many_documents_are_counted_up_to_a_thousand(store: PostgresStore) -> None:
    memory, scope = MemoryStore(), fresh_scope()
    parent, parts = family(scope, [{"content": "quillwort"} for _ in range(1_005)])
    for subject in (store, memory):
        await put_all(subject, scope, parent, *parts)
        assert [each.documents for each in (await subject.near_words(scope, ["quilwort"]))["quilwort"]] == [1_000]


async def test_a_bulk_load_fills_it_and_leaves_its_index(store: PostgresStore) -> None:
    scope = fresh_scope()
    batches = [
        list(chain([parent], parts)) for parent, parts in (family(scope, [{"content": text}]) for text in _TEXTS)
    ]
    loaded = await store.bulk_load(batches, rebuild_indexes=True)
    assert not loaded.refused
    assert await _near(store, scope, "flwo", "temperatrue") == {"flwo": ["flow"], "temperatrue": ["temperature"]}
    assert "brain_words_keys" in (await store.describe()).indexes


async def test_what_was_written_before_there_was_a_vocabulary_is_added(
    open_store: Opener, postgres_dsn: str, fresh_schema: str
) -> None:
    scope = fresh_scope()
    async with open_store(lexical="portable") as store:
        for text in _TEXTS:
            parent, parts = family(scope, [{"content": text}], title="Kubernetes")
            await put_all(store, scope, parent, *parts)
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": f"{fresh_schema}, public"})
    try:
        await connection.execute("truncate brain_words; delete from brain_settings where key = 'vocabulary'")
        await connection.execute("drop index brain_words_keys")
        async with open_store() as store:
            assert await _near(store, scope, "flwo", "temperatrue", "kubernetes") == {
                "flwo": ["flow"],
                "temperatrue": ["temperature"],
            }
        assert await connection.fetchval("select value from brain_settings where key = 'vocabulary'") == "complete"
    finally:
        await connection.close()


async def test_what_another_process_adds_is_held_at_once(open_store: Opener) -> None:
    scope = fresh_scope()
    async with open_store(lexical="portable") as one, open_store() as other:
        parent, parts = family(scope, [{"content": "quillwort"}])
        assert await _near(other, scope, "quillwort") == {"quillwort": []}
        await put_all(one, scope, parent, *parts)
        assert await _near(other, scope, "quillwort", "quilwort") == {"quilwort": ["quillwort"]}


_TEXTS = ("turbulent flow", "temperature of slabs")


async def _near(store: PostgresStore, scope: Scope, *words: str) -> dict[str, Sequence[str]]:
    found = await store.near_words(scope, words)
    return {word: [each.word for each in near] for word, near in found.items()}
