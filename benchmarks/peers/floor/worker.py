"""One statement a search: reciprocal ranks of a pgvector leg and a lexical leg, with the rows' contents.

The lexical leg is ``and`` (every word, as most hybrid SQL in use has it), ``or`` (any word), both by ts_rank_cd, or ``bm25`` by
pg_textsearch.
"""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import asyncpg
from pgvector.asyncpg import register_vector

from peers.collection import Collection
from peers.worker import DEPTH, HNSW_EF_CONSTRUCTION, HNSW_M, POOL, serve

_TABLE = """
create extension if not exists vector;
create extension if not exists pg_textsearch;
create table documents (
    id uuid primary key, content text not null, label text not null, embedding vector({dimension}) not null,
    tsv tsvector generated always as (to_tsvector('english', content)) stored
);
-- A function, as pg_textsearch would compute its score again for every row of a plain common table expression.
create function search_bm25(_query text, _label text, _k int) returns table (id uuid, score float8)
language plpgsql stable set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return query execute format(
        'select d.id, bm25_get_current_score()::float8 from documents d where ($2 is null or d.label = $2) '
        'order by d.content <@> to_bm25query($1, ''documents_bm25'') limit %s', _k) using _query, _label;
end $$;
"""

_TSV_LEG = """
    select id, row_number() over (order by ts_rank_cd(tsv, query) desc, id) as rank
    from documents, {query} query where tsv @@ query and ($3::text is null or label = $3)
    order by rank limit {depth}
"""
_LEGS = {
    "and": _TSV_LEG.format(query="plainto_tsquery('english', $1)", depth=DEPTH),
    "or": _TSV_LEG.format(
        query="cast(replace(cast(plainto_tsquery('english', $1) as text), '&', '|') as tsquery)", depth=DEPTH
    ),
    "bm25": f"""
    select id, row_number() over (order by score, id) as rank from search_bm25($1, $3, {DEPTH}) where score < 0
""",
}
_SEARCH = """
with lexical as ({leg}),
dense as (
    select id, row_number() over (order by distance, id) as rank from (
        select id, embedding <=> $2 as distance from documents where $3::text is null or label = $3
        order by embedding <=> $2 limit {depth}) nearest
),
fused as (
    select id, sum(1.0::float8 / (60 + rank)) as score from (table lexical union all table dense) legs
    group by id order by score desc, id limit $4
)
select id, documents.content, documents.label, score from fused join documents using (id) order by score desc, id
"""
_INDEXES = {
    "dense": f"create index on documents using hnsw (embedding vector_cosine_ops) "
    f"with (m = {HNSW_M}, ef_construction = {HNSW_EF_CONSTRUCTION})",
    "label": "create index on documents (label)",
    "tsv": "create index on documents using gin (tsv)",
    "bm25": "create index documents_bm25 on documents using bm25 (content) with (text_config = 'english')",
}


class Floor:
    """One table."""

    variants = tuple(_LEGS)
    packages = ("asyncpg", "pgvector")

    def __init__(self) -> None:
        self._collection: Collection
        self._pool: asyncpg.Pool[Any]

    async def open(self, collection: Collection, dsn: str) -> None:
        self._collection = collection
        connection = await asyncpg.connect(dsn)
        await connection.execute(_TABLE.format(dimension=collection.dimension))
        await connection.close()
        self._pool = await asyncpg.create_pool(dsn, min_size=POOL, max_size=POOL, init=register_vector)

    async def ingest(self) -> dict[str, float]:
        began = time.perf_counter()
        rows = (
            (UUID(document.id), document.content, document.label, vector)
            for document, vector in zip(self._collection.documents, self._collection.vectors, strict=True)
        )
        seconds: dict[str, float] = {}
        async with self._pool.acquire() as connection:
            await connection.copy_records_to_table(
                "documents", records=rows, columns=["id", "content", "label", "embedding"]
            )
            seconds["load"] = time.perf_counter() - began
            for name, statement in _INDEXES.items():
                began = time.perf_counter()
                await connection.execute(statement)
                seconds[name] = time.perf_counter() - began
            await connection.execute("analyze documents")
        common = seconds["load"] + seconds["dense"] + seconds["label"]
        return {"bm25": common + seconds["bm25"], "": common + seconds["tsv"]}

    async def search(self, variant: str, query: int, *, k: int, label: str | None) -> list[str]:
        rows = await self._pool.fetch(
            _SEARCH.format(leg=_LEGS[variant], depth=DEPTH),
            self._collection.queries[query],
            self._collection.query_vectors[query],
            label,
            k,
        )
        return [str(row["id"]) for row in rows]

    async def aclose(self) -> None:
        await self._pool.close()


if __name__ == "__main__":
    serve(Floor())
