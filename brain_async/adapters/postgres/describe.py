"""What a database looks like, for a person who wants to know whether it is well."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from brain_async.adapters.postgres.pool import Connections

__all__ = ["StoreDescription", "describe"]

_DESCRIBE = """
select
    current_setting('server_version') as server_version,
    (select value::int from brain_settings where key = 'dimension') as dimension,
    s.backend, s.guarded, s.built_at, s.lease_until > now() as building, brain_lexical_stale() as stale,
    (select max(version) from brain_migrations) as migration,
    (select count(*) from brain_objects where parent_id is null and deleted_at is null) as parents,
    (select count(*) from brain_objects where live) as parts,
    (select count(*) from brain_kinds) as kinds
from brain_lex_state s
"""

_EXTENSIONS = """
select name, default_version, installed_version from pg_available_extensions
where name in ('vector', 'pg_trgm', 'pg_textsearch')
"""

_INDEXES = """
select c.relname as name, i.indisvalid as valid, pg_relation_size(c.oid) as bytes
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid in (
    'brain_objects'::regclass, 'brain_terms'::regclass, 'brain_words'::regclass, 'brain_postings'::regclass,
    'brain_posting_blocks'::regclass)
order by c.relname
"""


class IndexState(msgspec.Struct, frozen=True, kw_only=True):
    """One index: whether searches may use it, and its size in bytes."""

    valid: bool
    bytes: int


class StoreDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a Postgres store.

    Attributes:
        server_version: as the server says it.
        extensions: name to version, of vector, pg_trgm and pg_textsearch where created in this database.
        available: name to version, of those that the server could create.
        lexical_backend: ``pg_textsearch`` or ``portable``.
        lexical_guarded: its index is a cache that is rebuilt after crashes and some restarts.
        lexical_state: ``ready``, ``stale`` (the next search rebuilds) or ``building``.
        migration: number of the newest migration.
        dimension: length of the embeddings.
        parents, parts, kinds: counts of the live ones; parts of deleted parents are not counted.
        indexes: name to state, of every index that searches use. The vector index is ``brain_objects_embedding``.
    """

    server_version: str
    extensions: Mapping[str, str]
    available: Mapping[str, str]
    lexical_backend: str
    lexical_guarded: bool
    lexical_state: str
    migration: int
    dimension: int
    parents: int
    parts: int
    kinds: int
    indexes: Mapping[str, IndexState]


async def describe(connections: Connections) -> StoreDescription | None:
    """The description; None when the database was never migrated."""
    async with connections.transaction() as connection:
        if await connection.fetchval("select to_regclass('brain_lex_state') is null"):
            return None
        row = await connection.fetchrow(_DESCRIBE)
        extensions = await connection.fetch(_EXTENSIONS)
        indexes = await connection.fetch(_INDEXES)
    if row is None:
        return None
    return StoreDescription(
        server_version=row["server_version"],
        extensions={each["name"]: each["installed_version"] for each in extensions if each["installed_version"]},
        available={each["name"]: each["default_version"] for each in extensions},
        lexical_backend=row["backend"],
        lexical_guarded=row["guarded"],
        lexical_state="building" if row["building"] else "stale" if row["stale"] else "ready",
        migration=row["migration"],
        dimension=row["dimension"],
        parents=row["parents"],
        parts=row["parts"],
        kinds=row["kinds"],
        indexes={each["name"]: IndexState(valid=each["valid"], bytes=each["bytes"]) for each in indexes},
    )
