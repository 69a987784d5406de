"""The search page: a verb is run as the form says, and what comes back is shown with its reasons."""

from __future__ import annotations

from typing import Any

from brain_async.engine import Engine
from brain_async.errors import InvalidInputError
from brain_async.fastapi.bodies import PageReply
from brain_async.fastapi.cursors import Cursors
from brain_async.inspector.form import VERBS, Form
from brain_async.inspector.views import timeline
from brain_async.model.results import SearchPage
from brain_async.model.scope import Scope
from brain_async.session import SearchContext

__all__ = ["searched"]

_MAX_CURSOR = 32_000
"""Longer addresses are refused by servers on the way."""


async def searched(engine: Engine, given: Scope, form: Form, cursors: Cursors) -> dict[str, Any]:
    """What the template shows of the form's search; {} when nothing is asked for. Raises as the verb does."""
    if not form.asks:
        return {}
    if form.verb not in VERBS:
        raise InvalidInputError(f"verb must be one of {', '.join(VERBS)}", field="verb")
    scope = form.scope(given)
    if form.verb == "find_links" and not form.next:
        return {"links": await engine.find_links(scope, form.find_links())}
    kept = SearchContext(scope.namespace_id)
    page = await _page(engine, scope, form, cursors, kept)
    following = cursors.seal(scope.namespace_id, kept.active) if page.has_more and kept.active else ""
    reply = PageReply.of(page, None)
    return {
        "page": reply,
        "lanes": timeline(reply.outcomes),
        # One scale for all bars of the page: a longer bar is a larger share.
        "best": max((max(why.fused, why.score) for hit in page.objects for why in hit.explain), default=0.0),
        "following": form.link(next=following) if 0 < len(following) <= _MAX_CURSOR else "",
    }


async def _page(engine: Engine, scope: Scope, form: Form, cursors: Cursors, kept: SearchContext) -> SearchPage:
    if form.next:
        result_set = cursors.open(scope.namespace_id, form.next)
        await kept.put_result_set(result_set)
        return await engine.continue_(scope, result_set.id, kept, limit=form.page_size)
    if form.verb == "find_objects":
        return await engine.find_objects(scope, form.find_objects(), kept)
    if form.verb == "expand":
        return await engine.expand(scope, form.expand(), kept)
    call = engine.find_exact if form.verb == "find_exact" else engine.search
    return await call(scope, form.search(), kept)
