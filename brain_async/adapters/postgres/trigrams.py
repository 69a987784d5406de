"""The trigram channel: query words to their nearest terms of the namespace's dictionary, then parts by those terms.

Similarity is pg_trgm's, computed by the server in single precision. It equals ``analysis.similarity`` where the server's
locale knows the same letters (any UTF-8 locale, for scripts without combining marks).
"""

from __future__ import annotations

from typing import Any

from brain_async.adapters.postgres.filters import filter_arguments
from brain_async.analysis import query_key_words
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.text import clean_query

__all__ = ["TRIGRAM_SQL", "trigram_statement"]

TRIGRAM_SQL = """
select * from brain_search_trigram(
    $1::text[], $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text[]::jsonb[], $12::text::jsonb, $13, $14)
"""


def trigram_statement(scope: Scope, query: str, filters: Filters, *, k: int) -> tuple[str, list[Any]] | None:
    """(sql, arguments) of the channel, or None when the query has no word that could match."""
    words = query_key_words(clean_query(query))
    return (TRIGRAM_SQL, [words, k, *filter_arguments(scope, filters)]) if words else None
