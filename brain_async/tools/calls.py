"""Reading a vendor's tool calls, which are mappings off the wire or objects of the vendor's SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brain_async.errors import InvalidInputError

__all__ = ["field", "required_text"]


def field(item: object, name: str) -> Any:
    """A key of a mapping, or an attribute of anything else; None where there is none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def required_text(item: object, name: str, where: str) -> str:
    """A field that must be text. Raises InvalidInputError."""
    value = field(item, name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{where} is no tool call: it has no {name}", field=f"{where}.{name}")
    return value
