"""ToolSpec: what a host tells a model about one tool."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["Access", "ToolSpec"]

Access = Literal["read", "write"]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, as a model is told of it.

    Attributes:
        name: of letters, digits and ``_``.
        description: when to use the tool, and when not.
        parameters: JSON Schema (2020-12) of the arguments. It keeps to what the strict modes of model vendors read: type,
            description, enum, items, anyOf, properties, required, and additionalProperties that is always false. What is
            not in ``required`` may be left out or null.
        access: whether the tool changes anything.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    access: Access
