"""Scope: the namespace a call may see and write."""

from __future__ import annotations

from uuid import UUID

import msgspec

__all__ = ["Scope"]


class Scope(msgspec.Struct, frozen=True):
    """Isolation of one call. ``namespace_id=None`` is unrestricted, and is refused under ``require_namespace``."""

    namespace_id: UUID | None = None

    def sees(self, namespace_id: UUID | None) -> bool:
        """Whether something of ``namespace_id`` is visible in this scope."""
        return self.namespace_id is None or self.namespace_id == namespace_id
