"""The embedded default: a local Postgres, the local embedder, and an engine over both, opened as one."""

from brain_async.local.open import LocalEngine, open_local
from brain_async.local.server import LocalServer, local_postgres

__all__ = ["LocalEngine", "LocalServer", "local_postgres", "open_local"]
