"""Edge types: fourteen canonical byte tags, and the labels that hosts register beside them."""

from __future__ import annotations

from enum import IntEnum

from brain_async.errors import InvalidEdgeTypeError
from brain_async.model.relation import canonical_relation_type

__all__ = [
    "CANONICAL_TYPES",
    "FIRST_HOST_TYPE",
    "HOST_TYPE_COUNT",
    "LAST_HOST_TYPE",
    "MAX_LABEL_BYTES",
    "EdgeType",
    "TypeLike",
    "canonical_code",
    "check_code",
    "check_label",
    "is_host_type",
]


TypeLike = int | str
"""An edge type: its byte, or its label in any case."""


class EdgeType(IntEnum):
    """The canonical types. The byte of each is part of the storage format and never changes."""

    DERIVED_FROM = 0x01
    SUPERSEDES = 0x02
    REFERENCES = 0x03
    CONTRADICTS = 0x04
    CORROBORATES = 0x05
    CONSENTS_TO = 0x06
    DISPATCHED_TO = 0x07
    ATTESTED_BY = 0x08
    CITED_IN = 0x09
    TOMBSTONES = 0x0A
    PART_OF = 0x0B
    INSTANCE_OF = 0x0C
    CAUSED_BY = 0x0D
    OBSERVED_BY = 0x0E

    @property
    def label(self) -> str:
        """The label as it is written: lower case, words joined by an underscore."""
        return self.name.lower()


FIRST_HOST_TYPE = 0x40
LAST_HOST_TYPE = 0xFF
HOST_TYPE_COUNT = LAST_HOST_TYPE - FIRST_HOST_TYPE + 1

MAX_LABEL_BYTES = 200
"""Of a host's label, in UTF-8: it is part of a key."""

CANONICAL_TYPES: dict[str, EdgeType] = {member.label: member for member in EdgeType}

_CANONICAL_CODES = frozenset(int(member) for member in EdgeType)
_VALID_CODES = _CANONICAL_CODES | frozenset(range(FIRST_HOST_TYPE, LAST_HOST_TYPE + 1))


def is_host_type(code: int) -> bool:
    """Whether ``code`` is of the bytes kept for registered labels."""
    return FIRST_HOST_TYPE <= code <= LAST_HOST_TYPE


def check_code(code: int) -> int:
    """``code`` when it is a canonical type or of the hosts' bytes. Raises InvalidEdgeTypeError."""
    if not isinstance(code, int) or isinstance(code, bool) or code not in _VALID_CODES:
        raise InvalidEdgeTypeError(f"{code!r} is no edge type: they are 0x01-0x0E, and 0x40-0xFF for registered labels")
    return int(code)


def canonical_code(label: str) -> int | None:
    """The byte of a canonical label, however it is cased and padded; None for any other."""
    return CANONICAL_TYPES.get(canonical_relation_type(label))


def check_label(label: str) -> str:
    """The one spelling of a host's label. Raises InvalidEdgeTypeError when it is blank, too long or not text."""
    name = canonical_relation_type(label)
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise InvalidEdgeTypeError("an edge label must be valid text: it has a lone surrogate") from None
    if not 0 < size <= MAX_LABEL_BYTES:
        raise InvalidEdgeTypeError(f"an edge label has 1 to {MAX_LABEL_BYTES} bytes of UTF-8, this one {size}")
    return name
