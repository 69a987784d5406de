"""Port of paging: where result sets are kept between calls."""

from __future__ import annotations

from typing import Protocol, runtime_checkable
from uuid import UUID

from brain_async.model.results import ResultSet

__all__ = ["ResultSetStore"]


@runtime_checkable
class ResultSetStore(Protocol):
    """Keeps result sets. ``SearchContext`` keeps one, the newest."""

    async def get_result_set(self, result_set_id: UUID) -> ResultSet:
        """The set. Raises ResultSetNotFoundError when unknown or replaced."""
        ...

    async def put_result_set(self, result_set: ResultSet) -> None:
        """Keep it, replacing one of the same id (or, in a store of one, the other)."""
        ...
