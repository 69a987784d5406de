"""All channels of a search in one statement: the functions that the channels call one by one, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import asyncpg

from brain_async.adapters.postgres.filters import FILTER_NAMES, filter_parameters
from brain_async.adapters.postgres.languages import LanguageSet
from brain_async.adapters.postgres.lexical_portable import portable_statement
from brain_async.adapters.postgres.lexical_textsearch import textsearch_statement
from brain_async.adapters.postgres.migrate import BackendName
from brain_async.adapters.postgres.rows import candidate_from_row
from brain_async.adapters.postgres.trigrams import trigram_statement
from brain_async.adapters.postgres.vectors import vector_statement
from brain_async.config import ChannelName
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.ports.store import Vector

__all__ = ["fused_hits", "fused_statement"]

# Of each function the arguments before k, which the filters follow.
_FUNCTIONS = {
    "pg_textsearch": ("brain_search_textsearch", ("text", "text[]", "float8[]")),
    "portable": ("brain_search_portable", ("text[]",)),
    "trigram": ("brain_search_trigram", ("text[]",)),
    "vector": ("brain_search_vector", ("real[]",)),
}
_SHARED = 1 + len(FILTER_NAMES)
"""Parameters that all functions share: k, and those of the filters."""


@cache
def _sql(functions: tuple[tuple[ChannelName, str], ...]) -> str:
    """The statement that calls ``functions`` (channel, key of ``_FUNCTIONS``); $1 is k, $2, ... the filters."""
    selects = []
    number = _SHARED
    for channel, name in functions:
        function, types = _FUNCTIONS[name]
        own = "".join(f"${number + place}::{type_}, " for place, type_ in enumerate(types, start=1))
        number += len(types)
        call = f"{function}({own}$1, {filter_parameters(2)})"
        selects.append(f"select '{channel}' as channel, c.* from {call} with ordinality c")
    return " union all ".join(selects)


def fused_statement(
    scope: Scope,
    query: str,
    vector: Vector | None,
    filters: Filters,
    channels: Sequence[ChannelName],
    *,
    k: int,
    dimension: int,
    backend: BackendName,
    languages: LanguageSet,
) -> tuple[str, list[Any]] | None:
    """(sql, arguments) of ``channels``, or None when none of them has anything to search for."""
    lexical = portable_statement if backend == "portable" else textsearch_statement
    functions: list[tuple[ChannelName, str]] = []
    shared: list[Any] = []
    own: list[Any] = []
    for channel in channels:
        if channel == "lexical":
            statement = lexical(scope, query, filters, k=k, languages=languages)
        elif channel == "trigram":
            statement = trigram_statement(scope, query, filters, k=k)
        elif vector is not None:
            statement = vector_statement(scope, vector, filters, k=k, dimension=dimension)
        else:
            statement = None
        if statement is None:
            continue
        arguments = statement[1]
        functions.append((channel, backend if channel == "lexical" else channel))
        own += arguments[:-_SHARED]
        shared = arguments[-_SHARED:]
    return (_sql(tuple(functions)), [*shared, *own]) if functions else None


def fused_hits(channels: Sequence[ChannelName], rows: Sequence[asyncpg.Record]) -> dict[ChannelName, list[Candidate]]:
    """The hits of each channel, best first."""
    hits: dict[ChannelName, list[Candidate]] = {channel: [] for channel in channels}
    ordered = sorted(rows, key=lambda row: row["ordinality"])
    for row in ordered:
        hits[row["channel"]].append(candidate_from_row(row))
    return hits
