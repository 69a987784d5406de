"""Health of the store, by one statement that counts nothing."""

from __future__ import annotations

from brain_async.adapters.postgres.pool import Connections
from brain_async.model.health import BackendHealth

__all__ = ["probe"]

# In an order of its own: a database that was never migrated has none of these tables to plan a statement with.
_MIGRATED = "select to_regclass('brain_lex_state') is not null"

_PROBE = """
select
    current_setting('server_version') as version,
    (select value::int from brain_settings where key = 'dimension') as dimension,
    (select max(version) from brain_migrations) as migration,
    (select extversion from pg_extension where extname = 'vector') as pgvector,
    s.backend as lexical_backend,
    case when s.lease_until > now() then 'building' when brain_lexical_stale() then 'stale' else 'ready' end as lexical_state
from brain_lex_state s
"""


async def probe(connections: Connections) -> BackendHealth:
    """As ``HealthProbe.health``: migration, dimension, lexical backend and state, and the connections of the pool."""
    async with connections.session() as connection:
        row = await connection.fetchrow(_PROBE) if await connection.fetchval(_MIGRATED) else None
    pool = connections.pool_state()
    if row is None:
        return BackendHealth(up=False, problem="the store's tables are not there: call migrate()", details=pool)
    found = dict(row)
    return BackendHealth(up=True, version=found.pop("version"), details={**found, **pool})
