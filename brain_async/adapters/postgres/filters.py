"""Filters as a fixed list of bound parameters: the statement text never depends on what is filtered by.

Every parameter is null when it restricts nothing, and every list travels as one array, however long it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.scope import Scope
from brain_async.text import UNSTORABLE

__all__ = ["FILTER_NAMES", "SELECTIVE_PARTS", "filter_arguments", "filter_parameters", "filter_snippets"]

_ARGUMENTS = {
    "_namespace": "uuid",
    "_kinds": "text[]",
    "_own_kinds": "text[]",
    "_titles": "text[]",
    "_created_after": "timestamptz",
    "_created_before": "timestamptz",
    "_updated_after": "timestamptz",
    "_updated_before": "timestamptz",
    "_alternatives": "jsonb[]",
    "_groups": "jsonb",
    "_scope": "uuid[]",
    "_excluded": "uuid[]",
}
FILTER_NAMES = tuple(_ARGUMENTS)
"""The arguments of every search function that ``filter_arguments`` gives the values of, in order."""

SELECTIVE_PARTS = 1_000
"""Restrictions that this many live parts or a fiftieth of the namespace pass are resolved before the lexical channel scores;
under wider ones its best parts are checked one by one, as a page is full after few."""

_DESCRIBED = """(_kinds is null or {0}.kind = any(_kinds))
        and (_alternatives is null or {0}.properties @> any(_alternatives))
        and (_groups is null or brain_matches_all({0}.properties, _groups))"""

_OWN = """(_namespace is null or o.namespace_id = _namespace)
    and (_own_kinds is null or o.kind = any(_own_kinds))
    and (_titles is null or o.title = any(_titles))
    and (_created_after is null or o.created_at >= _created_after)
    and (_created_before is null or o.created_at < _created_before)
    and (_updated_after is null or o.updated_at >= _updated_after)
    and (_updated_before is null or o.updated_at < _updated_before)
    and (_scope is null or o.id = any(_scope) or o.parent_id = any(_scope))
    and (_excluded is null or not (o.id = any(_excluded) or o.parent_id = any(_excluded)))"""

_PARENT = """p.parent_id is null and p.deleted_at is null and (_namespace is null or p.namespace_id = _namespace)"""

_PREDICATE = f"""{_OWN}
    and (num_nonnulls(_kinds, _alternatives, _groups) = 0 or ({_DESCRIBED.format("o")}) or o.parent_id in (
        select p.id from brain_objects p
        where {_PARENT}
        and {_DESCRIBED.format("p")}))"""

# A scalar subquery is never hashed: a walk that stops early looks up the parents it meets, instead of reading them all.
_WALKED = f"""{_OWN}
    and (num_nonnulls(_kinds, _alternatives, _groups) = 0 or ({_DESCRIBED.format("o")}) or (
        select {_DESCRIBED.format("p")} from brain_objects p
        where p.id = o.parent_id and {_PARENT}))"""

# Two branches without a row in common, since an OR over part and parent keeps both from their indexes.
_MATCHING = f"""(
    select o.* from brain_objects o
    where o.live and {_OWN}
        and {_DESCRIBED.format("o")}
    union all
    select o.* from brain_objects p join brain_objects o on o.parent_id = p.id
    where {_PARENT}
        and {_DESCRIBED.format("p")}
        and o.live and {_OWN}
        and ({_DESCRIBED.format("o")}) is not true)"""


def _numbered(predicate: str, first: int) -> str:
    """The predicate over parameters ``$first``, ... for dynamic statements."""
    numbers = {name: f"${number}" for number, name in enumerate(FILTER_NAMES, start=first)}
    return re.sub(r"\b_[a-z_]+\b", lambda match: numbers[match.group()], predicate)


def filter_snippets() -> dict[str, str]:
    """What the migrations put in place of ``{{filters}}`` and its like."""
    return {
        "filters": _PREDICATE,
        # "is true" hides all of it from every index.
        "bound_filters": _numbered(f"((o.live and {_PREDICATE}) is true)", 2),
        "matching": _MATCHING,
        "walked_filters": _WALKED,
        "bound_walked_filters": _numbered(f"((o.live and {_WALKED}) is true)", 2),
        "executed_walked_filters": _numbered(_WALKED, 5),
        "filter_names": ", ".join(FILTER_NAMES),
        "filter_arguments": ", ".join(f"{name} {type_}" for name, type_ in _ARGUMENTS.items()),
        "restricted": f"num_nonnulls({', '.join(FILTER_NAMES[1:])}) > 0",
    }


def filter_parameters(first: int) -> str:
    """The parameters ``$first``, ... of a statement, for the values that ``filter_arguments`` gives."""
    casts = {"_alternatives": "::text[]::jsonb[]", "_groups": "::text::jsonb"}
    return ", ".join(f"${number}{casts.get(name, '')}" for number, name in enumerate(_ARGUMENTS, start=first))


def _storable(texts: Iterable[str] | None) -> list[str] | None:
    """Without those that no stored text can equal, since none can be stored."""
    return None if texts is None else [text for text in texts if not UNSTORABLE.search(text)]


def _alternatives(filter_: PropertyFilter) -> list[str]:
    if UNSTORABLE.search(filter_.key):
        return []
    return [
        json.dumps({filter_.key: value}, ensure_ascii=False, allow_nan=False)
        for value in filter_.values
        if not (isinstance(value, str) and UNSTORABLE.search(value))
    ]


def filter_arguments(scope: Scope, filters: Filters) -> list[Any]:
    """The values for ``FILTER_NAMES``.

    The property filter with the fewest values can use the index on properties; the others are checked row by row.
    """
    groups = sorted((_alternatives(each) for each in filters.properties), key=len)
    return [
        scope.namespace_id,
        _storable(filters.kinds),
        _storable(filters.own_kinds),
        _storable(filters.titles),
        filters.created_after,
        filters.created_before,
        filters.updated_after,
        filters.updated_before,
        groups[0] if groups else None,
        "[" + ",".join(f"[{','.join(group)}]" for group in groups[1:]) + "]" if len(groups) > 1 else None,
        None if filters.scope_ids is None else list(filters.scope_ids),
        list(filters.exclude_ids) or None,
    ]
