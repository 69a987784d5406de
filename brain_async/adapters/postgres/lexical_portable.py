"""The lexical channel on ordinary tables, for every Postgres: true BM25, transactional, with the namespace's statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from brain_async.adapters.postgres.filters import filter_arguments
from brain_async.adapters.postgres.terms import encode_term
from brain_async.analysis import query_terms
from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.text import clean_query

__all__ = ["PORTABLE_SQL", "SCORED", "portable_statement"]

SCORED = """
keys as materialized (
    select t.number, t.repeats, brain_posting_key(n.namespace_id, t.term) as key
    from (select u.term, count(*) as repeats, min(u.number) as number
          from unnest(_terms) with ordinality u(term, number) group by u.term) t
    cross join unnest(namespaces) n(namespace_id)
),
frequencies as (
    select k.number, sum(c.df)::float8 as df
    from keys k cross join lateral (select count(*) as df from brain_postings p where p.key = k.key) c
    group by k.number
),
weights as materialized (
    select k.key, 1e9::float8 * 2.2::float8 * k.repeats
        * ln(1::float8 + (total - f.df + 0.5::float8) / (f.df + 0.5::float8)) as weight
    from keys k join frequencies f using (number)
),
scored as (
    select p.doc, sum((w.weight * p.tf / (p.tf + 0.3::float8 + 0.9::float8 * p.length / mean_length))::bigint)::bigint as score
    from weights w join brain_postings p using (key) group by p.doc
)"""
"""BM25 of every matching doc, in units of 1e-9: idf ln(1 + (N - df + 0.5) / (df + 0.5)), k1 1.2, b 0.75.

A query term counts as often as it is repeated.
"""

PORTABLE_SQL = """
select * from brain_search_portable(
    $1::text[], $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text[]::jsonb[], $12::text::jsonb, $13, $14)
"""


def portable_statement(
    scope: Scope, query: str, filters: Filters, *, k: int, languages: Iterable[str] = (DEFAULT_LANGUAGE,)
) -> tuple[str, list[Any]] | None:
    """(sql, arguments) of the channel, or None when the query has no term in any of ``languages``."""
    words = [encode_term(term) for term in query_terms(clean_query(query), languages)]
    return (PORTABLE_SQL, [words, k, *filter_arguments(scope, filters)]) if words else None
