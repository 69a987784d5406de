"""Numbered migrations, and which backend and dimension a database was made for.

Any number of processes may migrate at once: each does so in one transaction under a transaction-level advisory lock.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal

import anyio
import anyio.to_thread
import asyncpg

from brain_async.adapters.postgres.filters import SELECTIVE_PARTS, filter_snippets
from brain_async.adapters.postgres.lexical_textsearch import DIRECT_PARTS, TIE_LIMIT
from brain_async.adapters.postgres.pool import UNBOUNDED, Connection, Connections
from brain_async.adapters.postgres.postings import BLOCK_POSTINGS
from brain_async.adapters.postgres.reads import EVIDENCE_CHARS
from brain_async.adapters.postgres.vectors import (
    APPROXIMATE_MAX_K,
    EXACT_PARTS,
    LEAST_EXACT_PARTS,
    MAX_DIMENSION,
    MAX_INDEXED_DIMENSION,
)
from brain_async.adapters.postgres.vocabulary import create_words_index
from brain_async.errors import BackendError, DimensionMismatchError, InvalidInputError, MissingExtensionError

__all__ = ["BackendName", "LexicalChoice", "choose_backend", "create_vector_index", "migrate"]

BackendName = Literal["pg_textsearch", "portable"]
LexicalChoice = Literal["auto", "pg_textsearch", "portable"]

_LOCK_KEY = 0x627261696E  # "brain"
_TRUSTED_TEXTSEARCH = (1, 3, 1)
"""The first pg_textsearch whose index keeps every row over restarts and crashes."""

_PACKAGE = "brain_async.adapters.postgres"


def _migrations(dimension: int) -> list[tuple[int, str]]:
    """Number and SQL of each packaged migration, its ``{{...}}`` filled in from constants and the dimension alone."""
    snippets = filter_snippets() | {
        "dimension": str(int(dimension)),
        "indexed": "true" if dimension <= MAX_INDEXED_DIMENSION else "false",
        "exact_parts": str(EXACT_PARTS),
        "least_exact_parts": str(min(EXACT_PARTS, LEAST_EXACT_PARTS)),
        "approximate_max_k": str(APPROXIMATE_MAX_K),
        "block_postings": str(BLOCK_POSTINGS),
        "evidence_chars": str(EVIDENCE_CHARS),
        "tie_limit": str(TIE_LIMIT),
        "direct_parts": str(DIRECT_PARTS),
        "selective_parts": str(SELECTIVE_PARTS),
    }
    scripts = sorted((each for each in (files(_PACKAGE) / "migrations").iterdir()), key=lambda each: each.name)
    return [
        (int(script.name[:4]), re.sub(r"\{\{(\w+)\}\}", lambda match: snippets[match[1]], script.read_text("utf-8")))
        for script in scripts
        if script.name.endswith(".sql")
    ]


async def create_vector_index(connection: Connection, dimension: int) -> None:
    """Build the HNSW index over live parts unless it is there, or the dimension is beyond what it can hold."""
    # Asked first, as "if not exists" would wait for the table's lock even where there is nothing to do.
    missing = await connection.fetchval("select to_regclass('brain_objects_embedding') is null")
    if missing and dimension <= MAX_INDEXED_DIMENSION:
        await connection.execute(
            "create index brain_objects_embedding on brain_objects"
            " using hnsw (embedding halfvec_cosine_ops) where live",
            timeout=UNBOUNDED,
        )


async def _ensure_extension(connection: Connection, name: str) -> bool:
    """Create an extension where it is not; False when the server does not have it."""
    if await connection.fetchval("select true from pg_extension where extname = $1", name):
        return True
    if not await connection.fetchval("select true from pg_available_extensions where name = $1", name):
        return False
    schema = await connection.fetchval(
        "select quote_ident(coalesce(to_regnamespace('public')::text, current_schema()))"
    )
    try:
        async with connection.savepoint():
            await connection.execute(f"create extension if not exists {name} schema {schema}")
    except asyncpg.PostgresError as error:
        if name != "pg_textsearch":
            raise MissingExtensionError(f"extension {name} cannot be created: {error}") from error
        return False  # not in shared_preload_libraries, or not allowed
    return True


def _is_trusted(version: str | None) -> bool:
    return version is not None and tuple(map(int, re.findall(r"\d+", version)[:3])) >= _TRUSTED_TEXTSEARCH


async def _offers_trusted_textsearch(connection: Connection) -> bool:
    """Whether the pg_textsearch that is created here, or would be, keeps every row."""
    return _is_trusted(
        await connection.fetchval(
            "select coalesce(installed_version, default_version) from pg_available_extensions where name = 'pg_textsearch'"
        )
    )


async def _require_extensions(connection: Connection) -> None:
    for name in ("vector", "pg_trgm"):
        if not await _ensure_extension(connection, name):
            raise MissingExtensionError(f"this Postgres has no extension {name}: install its package on the server")
    for type_, name in (("halfvec", "vector"), ("gtrgm", "pg_trgm")):
        if await connection.fetchval("select to_regtype($1)", type_) is None:
            raise MissingExtensionError(
                f"extension {name} (halfvec needs pgvector 0.7) is not on the search_path: add its schema there"
            )


async def choose_backend(connection: Connection, wanted: LexicalChoice, *, switch: bool = False) -> None:
    """Record the lexical backend, on the first migration or to ``switch`` it, and whether its index needs guarding."""
    recorded = await connection.fetchval("select backend from brain_lex_state")
    current = None if switch else recorded
    if current is not None:
        if wanted not in ("auto", current):
            raise InvalidInputError(
                f"this database keeps up the {current} backend: open it with lexical='auto', then call"
                f" rebuild_lexical({wanted!r})",
                field="lexical",
            )
    elif wanted == "pg_textsearch" or (wanted == "auto" and await _offers_trusted_textsearch(connection)):
        if await _ensure_extension(connection, "pg_textsearch"):
            current = "pg_textsearch"
        elif wanted == "pg_textsearch":
            raise MissingExtensionError(
                "this Postgres has no usable pg_textsearch: install it and add it to shared_preload_libraries,"
                " or use lexical='portable'"
            )
    current = current or "portable"
    version = await connection.fetchval("select extversion from pg_extension where extname = 'pg_textsearch'")
    guarded = current == "pg_textsearch" and not _is_trusted(version)
    await connection.execute(
        "insert into brain_lex_state (backend, guarded) values ($1, $2)"
        " on conflict (one) do update set backend = excluded.backend, guarded = excluded.guarded,"
        " built_at = case when brain_lex_state.backend = excluded.backend then brain_lex_state.built_at end",
        current,
        guarded,
    )


async def migrate(connections: Connections, dimension: int, wanted: LexicalChoice) -> None:
    """Bring the database to this version.

    Raises:
        DimensionMismatchError: it was made for another dimension.
        BackendError: a newer version of this library has migrated it.
        MissingExtensionError: the server lacks vector or pg_trgm, or the lexical backend asked for.
        InvalidInputError: it keeps up another lexical backend than the one asked for.
    """
    if not 0 < dimension <= MAX_DIMENSION:
        raise InvalidInputError(f"dimension must be 1 to {MAX_DIMENSION}, not {dimension}", field="dimension")
    known = await anyio.to_thread.run_sync(_migrations, dimension)
    async with connections.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK_KEY, timeout=UNBOUNDED)
        await _require_extensions(connection)
        await connection.execute(
            "create table if not exists brain_migrations"
            " (version int primary key, applied_at timestamptz not null default now())"
        )
        applied = {row["version"] for row in await connection.fetch("select version from brain_migrations")}
        if newer := applied - {version for version, _ in known}:
            raise BackendError(f"the database is at version {max(newer)}, newer than this library: upgrade brain-async")
        for version, script in known:
            if version not in applied:
                await connection.execute(script, timeout=UNBOUNDED)
                await connection.execute("insert into brain_migrations (version) values ($1)", version)
        stored = await connection.fetchval(
            "with added as (insert into brain_settings values ('dimension', $1) on conflict do nothing)"
            " select value from brain_settings where key = 'dimension'",
            str(dimension),
        )
        if stored is not None and int(stored) != dimension:
            raise DimensionMismatchError(expected=int(stored), got=dimension, what="the embedder")
        await choose_backend(connection, wanted)
        # Missing on the first migration, and after a bulk load that was cut short; one that is running builds it itself.
        if not await connection.fetchval("select brain_bulk_loading()"):
            await create_vector_index(connection, dimension)
            await create_words_index(connection)
