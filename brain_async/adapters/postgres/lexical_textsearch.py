"""The lexical channel by the pg_textsearch extension.

Its statistics (document frequency, mean length) are those of all namespaces together, and it stores lengths quantised, so
scores differ a little from the portable backend's. Scores are rounded to 1e-6, so that equal texts tie. A query that repeats
words is answered from the best by its distinct words, scored anew with the repeats. One index serves all languages: its
text configuration is ``simple``, and the terms in ``lex`` were stemmed before, each object's by its own language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import asyncpg

from brain_async.adapters.postgres.filters import filter_arguments
from brain_async.adapters.postgres.languages import NamespaceLanguages
from brain_async.adapters.postgres.pool import Connection
from brain_async.adapters.postgres.terms import encode_term
from brain_async.analysis import query_terms
from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.text import clean_query

__all__ = [
    "DIRECT_PARTS",
    "TEXTSEARCH_INDEX",
    "TEXTSEARCH_SQL",
    "TIE_LIMIT",
    "create_textsearch_index",
    "search_textsearch",
    "textsearch_statement",
]

TEXTSEARCH_INDEX = "brain_objects_bm25"

TIE_LIMIT = 1_000
"""Parts read beyond k to find all that tie with the k-th: of more equals, as a single very common word can have, those the
index gives first are ordered by time and id."""

DIRECT_PARTS = 500
"""Namespaces of at most this many live parts are scored part by part (0.05 ms each); larger ones by the index."""

TEXTSEARCH_SQL = """
select * from brain_search_textsearch(
    $1, $2::text[], $3::float8[], $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::text[]::jsonb[], $14::text::jsonb, $15, $16)
"""


def create_textsearch_index(table: str, *, concurrently: bool) -> str:
    """The statement that builds the index on ``table`` (as SQL writes it); concurrently means that writers go on."""
    return (
        f"create index {'concurrently ' if concurrently else ''}{TEXTSEARCH_INDEX} on {table}"
        " using bm25 (lex) with (text_config = 'simple', k1 = 1.2, b = 0.75)"
    )


def textsearch_statement(
    scope: Scope, query: str, filters: Filters, *, k: int, languages: Iterable[str] = (DEFAULT_LANGUAGE,)
) -> tuple[str, list[Any]] | None:
    """(sql, arguments) of the channel, or None when the query has no term in any of ``languages``."""
    repeats = Counter(encode_term(term) for term in query_terms(clean_query(query), languages))
    if not repeats:
        return None
    groups: dict[int, list[str]] = {}
    for word, count in repeats.items():
        if count > 1:
            groups.setdefault(count - 1, []).append(word)
    repeated = [" ".join(words) for words in groups.values()]
    return TEXTSEARCH_SQL, [
        " ".join(repeats),
        repeated,
        [float(weight) for weight in groups],
        k,
        *filter_arguments(scope, filters),
    ]


async def search_textsearch(
    connection: Connection, languages: NamespaceLanguages, scope: Scope, query: str, filters: Filters, *, k: int
) -> list[asyncpg.Record]:
    """The ``brain_candidate`` rows of the channel, best first."""
    return await languages.search(
        scope,
        lambda spoken: languages.rows(
            connection, scope, textsearch_statement(scope, query, filters, k=k, languages=spoken)
        ),
    )
