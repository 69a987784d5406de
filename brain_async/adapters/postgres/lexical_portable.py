"""The lexical channel on ordinary tables, for every Postgres: true BM25, transactional, with the namespace's statistics.

The server gives the postings of the query's terms, packed, in one statement; they are scored here, as arrays, and a second
statement looks up the best parts. SQL takes a hundred times as long to score a posting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
import asyncpg

from brain_async.adapters.postgres.filters import filter_arguments
from brain_async.adapters.postgres.languages import LanguageSet, NamespaceLanguages
from brain_async.adapters.postgres.pool import Connection
from brain_async.adapters.postgres.postings import (
    Docs,
    Points,
    TermPostings,
    best_docs,
    only_docs,
    read_docs,
    score_postings,
)
from brain_async.adapters.postgres.terms import encode_term
from brain_async.analysis import query_terms
from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.text import clean_query

__all__ = ["best_parts", "portable_terms", "postings_statement", "search_portable"]

POSTINGS_SQL = """
select * from brain_read_postings(
    $1::text[], $2, $3, $4, $5, $6, $7, $8, $9, $10::text[]::jsonb[], $11::text::jsonb, $12, $13)
"""

BEST_SQL = "select * from brain_best_parts($1::bigint[], $2::float8[], $3, $4)"

BEST_PASSING_SQL = """
select * from brain_best_passing_parts(
    $1::bigint[], $2::float8[], $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text[]::jsonb[], $13::text::jsonb, $14, $15)
"""

_SPARE = 8
"""Parts looked up beyond k: some may have been deleted since their postings were read."""

_FIRST_WALK = 4
_WALK_GROWTH = 8
"""Under a filter that many parts pass, 4 k parts are checked first, then 8 times as many each time."""

_INLINE_BYTES = 500_000
"""More postings than this are scored in a thread: about 2 ms of work."""


def portable_terms(query: str, languages: Iterable[str] = (DEFAULT_LANGUAGE,)) -> Counter[str]:
    """How often the query holds each of its terms, encoded."""
    return Counter(encode_term(term) for term in query_terms(clean_query(query), languages))


def postings_statement(scope: Scope, terms: Iterable[str], filters: Filters) -> tuple[str, list[Any]]:
    """(sql, arguments) that read the postings of ``terms``, distinct and encoded."""
    return POSTINGS_SQL, [list(terms), *filter_arguments(scope, filters)]


async def search_portable(
    connection: Connection, languages: NamespaceLanguages, scope: Scope, query: str, filters: Filters, *, k: int
) -> list[asyncpg.Record]:
    """The ``brain_candidate`` rows of the channel, best first."""

    async def read_postings(spoken: LanguageSet) -> tuple[tuple[Counter[str], list[asyncpg.Record]], Iterable[str]]:
        terms = portable_terms(query, spoken)
        sql, arguments = postings_statement(scope, terms, filters)
        rows = await connection.fetch(sql, *arguments)
        return (terms, rows), rows[0]["languages"]

    terms, rows = await languages.search(scope, read_postings)
    return await best_parts(connection, terms, rows, scope, filters, k=k)


async def best_parts(
    connection: Connection,
    terms: Counter[str],
    rows: Sequence[asyncpg.Record],
    scope: Scope,
    filters: Filters,
    *,
    k: int,
) -> list[asyncpg.Record]:
    """The ``brain_candidate`` rows of the channel, best first, by what the statement for ``terms`` gave."""
    about, rows = rows[0], rows[1:]
    if not rows:
        return []
    matching: bytes | None = about["matching"]
    walked = filters != Filters() and matching is None  # the filter could not be resolved beforehand

    def score() -> tuple[Docs, Points]:
        found = [TermPostings(row["number"], row["blocks"], row["packed"], row["docs"], row["counts"]) for row in rows]
        docs, points = score_postings(found, list(terms.values()), parts=about["parts"], length=about["length"])
        return (docs, points) if matching is None else only_docs(docs, points, read_docs(matching))

    size = sum(len(row["packed"] or b"") + len(row["docs"] or b"") for row in rows)
    in_thread = size > _INLINE_BYTES
    docs, points = await _maybe_in_thread(in_thread, score)
    arguments = filter_arguments(scope, filters) if walked else []
    parts: list[asyncpg.Record] = []
    wanted, seen = k * _FIRST_WALK if walked else k + _SPARE, 0
    while True:
        best, totals = await _maybe_in_thread(in_thread, partial(best_docs, docs, points, wanted, terms=len(terms)))
        new = best[seen:].tolist(), totals[seen:].tolist()
        if not walked:
            return await connection.fetch(BEST_SQL, *new, k, scope.namespace_id)
        parts += await connection.fetch(BEST_PASSING_SQL, *new, k - len(parts), *arguments)
        if len(parts) >= k or len(best) < wanted:
            return parts
        wanted, seen = wanted * _WALK_GROWTH, len(best)


async def _maybe_in_thread(in_thread: bool, call: Callable[[], tuple[Docs, Points]]) -> tuple[Docs, Points]:
    return await anyio.to_thread.run_sync(call) if in_thread else call()
