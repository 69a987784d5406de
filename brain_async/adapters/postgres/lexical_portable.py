"""The lexical channel on ordinary tables, for every Postgres: true BM25, transactional, with the namespace's statistics.

``brain_search_portable`` reads the postings of the rarest terms in full, and those of the most frequent ones only where
they can still lift a part onto the page (MaxScore: Turtle and Flood, Query evaluation: strategies and optimizations,
1995). The answer is that of scoring everything.
"""

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

__all__ = ["FREQUENT", "HASHED", "MERGED_TERMS", "PORTABLE_SQL", "PRUNABLE", "portable_statement"]

FREQUENT = 1_000
"""Terms of at least this many parts have their count kept, where the postings are built in one go."""

PRUNABLE = 3_000
"""Fewer postings than this are scored faster than left out."""

HASHED = 1_500
"""Fewer postings than this are hashed by a kept plan; more are merged by a plan made for them."""

MERGED_TERMS = 24
"""Queries of more terms are scored by hashing: planning a merge of so many scans would cost more than it saves."""

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
