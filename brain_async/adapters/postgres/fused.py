"""All channels of a search in one statement: the functions that the channels call one by one, side by side.

With the portable backend that statement reads postings, and a second one looks up the best parts of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import asyncpg

from brain_async.adapters.postgres.filters import FILTER_NAMES, filter_arguments, filter_parameters
from brain_async.adapters.postgres.languages import LanguageSet, NamespaceLanguages
from brain_async.adapters.postgres.lexical_portable import best_parts, portable_terms, postings_statement
from brain_async.adapters.postgres.lexical_textsearch import textsearch_statement
from brain_async.adapters.postgres.migrate import BackendName
from brain_async.adapters.postgres.pool import Connection
from brain_async.adapters.postgres.rows import candidate_from_row
from brain_async.adapters.postgres.trigrams import trigram_statement
from brain_async.adapters.postgres.vectors import vector_statement
from brain_async.config import ChannelName
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.ports.store import Vector

__all__ = ["search_fused"]

# Of each function the arguments before k, which the filters follow. The postings have no k.
_FUNCTIONS = {
    "pg_textsearch": ("brain_search_textsearch", ("text", "text[]", "float8[]")),
    "portable": ("brain_read_postings", ("text[]",)),
    "trigram": ("brain_search_trigram", ("text[]",)),
    "vector": ("brain_search_vector", ("real[]",)),
}
_SHARED = 1 + len(FILTER_NAMES)
"""Parameters that all functions share: k, and those of the filters."""

_CANDIDATE_TYPES = {
    "id": "uuid",
    "parent_id": "uuid",
    "title": "text",
    "position": "bigint",
    "updated_at": "timestamptz",
    "score": "float8",
    "ordinality": "bigint",
}
_POSTINGS_TYPES = {
    "number": "bigint",
    "languages": "text[]",
    "parts": "float8",
    "length": "float8",
    "matching": "bytea",
    "blocks": "bytea",
    "packed": "bytea",
    "docs": "bytea",
    "counts": "bytea",
}


def _nulls(types: Mapping[str, str]) -> str:
    return ", ".join(f"null::{type_} as {name}" for name, type_ in types.items())


@cache
def _sql(functions: tuple[tuple[ChannelName, str], ...]) -> str:
    """The statement that calls ``functions`` (channel, key of ``_FUNCTIONS``); $1 is k, $2, ... the filters."""
    selects = []
    number = _SHARED
    for channel, name in functions:
        function, types = _FUNCTIONS[name]
        own = "".join(f"${number + place}::{type_}, " for place, type_ in enumerate(types, start=1))
        number += len(types)
        if name == "portable":
            columns = f"{_nulls(_CANDIDATE_TYPES)}, c.*"
            call = f"{function}({own}{filter_parameters(2)}) c where $1::int > 0"
        else:
            columns = f"c.*, {_nulls(_POSTINGS_TYPES)}"
            call = f"{function}({own}$1, {filter_parameters(2)}) with ordinality c"
        selects.append(f"select '{channel}' as channel, {columns} from {call}")
    return " union all ".join(selects)


async def search_fused(
    connection: Connection,
    namespace_languages: NamespaceLanguages,
    scope: Scope,
    query: str,
    vector: Vector | None,
    filters: Filters,
    channels: Sequence[ChannelName],
    *,
    k: int,
    dimension: int,
    backend: BackendName,
) -> dict[ChannelName, list[Candidate]]:
    """The hits of each channel, best first."""
    shared = [k, *filter_arguments(scope, filters)]

    async def search(
        languages: LanguageSet,
    ) -> tuple[tuple[Counter[str], list[asyncpg.Record]], Iterable[str]]:
        terms = portable_terms(query, languages)
        functions: list[tuple[ChannelName, str]] = []
        own: list[Any] = []
        for channel in channels:
            built: tuple[str, list[Any]] | None = None
            name: str = channel
            if channel == "trigram":
                built = trigram_statement(scope, query, filters, k=k)
            elif channel == "vector":
                if vector is not None:
                    built = vector_statement(scope, vector, filters, k=k, dimension=dimension)
            elif backend == "portable":
                name, built = backend, postings_statement(scope, terms, filters)
            else:
                name, built = backend, textsearch_statement(scope, query, filters, k=k, languages=languages)
            if built is not None:
                functions.append((channel, name))
                own += built[1][: len(_FUNCTIONS[name][1])]
        statement = (_sql(tuple(functions)), [*shared, *own]) if functions else None
        rows, spoken = await namespace_languages.rows(connection, scope, statement)
        return (terms, rows), spoken

    terms, rows = await namespace_languages.search(scope, search)
    hits: dict[ChannelName, list[Candidate]] = {channel: [] for channel in channels}
    postings = [row for row in rows if row["number"] is not None]
    for row in sorted((row for row in rows if row["number"] is None), key=lambda row: row["ordinality"]):
        hits[row["channel"]].append(candidate_from_row(row))
    if postings:
        found = await best_parts(connection, terms, postings, scope, filters, k=k)
        hits["lexical"] = list(map(candidate_from_row, found))
    return hits
