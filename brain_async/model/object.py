"""Object: one row of the corpus, a parent ("document", "deal", "person") or a part of one."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

__all__ = ["NIL_UUID", "Object", "Properties"]

NIL_UUID = UUID(int=0)

Properties = dict[str, Any]


class Object(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A knowledge object. Without ``parent_id`` it is first-class; with one it is a part of that parent.

    Attributes:
        id: None lets ``put`` choose a random one.
        kind: host-defined, case-sensitive, non-blank.
        language: of its text, by name or code (``german``, ``de``; see ``languages.LANGUAGES``): how the lexical channel stems
            it and what it leaves out. "" lets ``put`` choose: what the engine's detector says, else the config's default.
        properties: JSON values: str, int (64 bit), finite float, bool, None, lists and dicts of these.
        index_context: text that a part is found by in the lexical channel besides its own, such as a summary of its
            document. It is neither stored nor read back: each put gives it anew. ``put`` adds what the part's kind names
            (``KindSpec.lexical_context``), and embeds what it was given along with the part.
        position: order among the parts of a parent, ascending; None sorts last.
        embedding: shape (dim,), finite; overwritten by ``put`` where the engine has an embedder.
        namespace_id: None lets ``put`` take the scope's.
        created_at, updated_at, deleted_at: aware, UTC on return, microseconds.
    """

    id: UUID | None = None
    kind: str = ""
    title: str = ""
    summary: str = ""
    content: str = ""
    content_type: str = ""
    language: str = ""
    index_context: str = ""
    properties: Properties = msgspec.field(default_factory=dict)
    parent_id: UUID | None = None
    position: int | None = None
    embedding: tuple[float, ...] | None = None
    embedding_model: str = ""
    namespace_id: UUID | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None

    @property
    def key(self) -> UUID:
        """The id of an object that has one: every stored object does."""
        if self.id is None:
            raise ValueError("this object has no id yet: it was not stored")
        return self.id

    @property
    def is_part(self) -> bool:
        """Whether the object is a part of a parent."""
        return self.parent_id is not None
