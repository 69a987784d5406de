"""The result sets of past calls: a client of today's MCP has no session, so a call names the result it goes on with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from uuid import UUID

from brain_async.session import SearchContext

__all__ = ["Conversations"]

MAX_RESULT_SETS = 256


class Conversations:
    """A SearchContext for each result set that can still be continued, all in one namespace.

    Calls that run at the same time never share a context, unless they continue the same result set. The least recently
    used result sets are forgotten first. Their ids are random, so only who was given one can go on with it.
    """

    def __init__(self, namespace: UUID | None, *, most: int = MAX_RESULT_SETS) -> None:
        """Raises NamespaceRequiredError for the nil UUID."""
        SearchContext(namespace)
        self._namespace = namespace
        self._most = most
        self._contexts: OrderedDict[UUID, SearchContext] = OrderedDict()

    def context_of(self, arguments: Mapping[str, object]) -> SearchContext:
        """The context that the call's result_set_id belongs to, or a new one."""
        given = arguments.get("result_set_id")
        known = None
        if isinstance(given, str):
            try:
                known = self._contexts.get(UUID(given.strip()))
            except ValueError:  # the tool says what is wrong with it
                known = None
        return known or SearchContext(self._namespace)

    def keep(self, context: SearchContext) -> None:
        """Remember the context by its active result set, if it has one."""
        if context.active is None:
            return
        self._contexts[context.active.id] = context
        self._contexts.move_to_end(context.active.id)
        while len(self._contexts) > self._most:
            self._contexts.popitem(last=False)
