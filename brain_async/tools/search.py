"""The tools search and find_exact: parents by their passages, and by their name."""

from __future__ import annotations

from typing import Any

from brain_async.engine import Engine
from brain_async.session import Session
from brain_async.text import MAX_QUERY_CHARS
from brain_async.tools import views
from brain_async.tools.pairs import filters
from brain_async.tools.parameters import INTEGER, Parameter, ids, text
from brain_async.tools.tool import Tool

__all__ = ["filters_parameter", "find_exact_tool", "limit_parameter", "query_parameter", "search_tool"]


def search_tool(engine: Engine) -> Tool:
    """search(query, filters?, limit?, scope_ids?)."""
    return Tool(
        name="search",
        description=(
            "Search the content of the knowledge base for passages that answer an open question. Returns the objects they "
            "belong to, best first, with the passages as evidence. Start here when you do not know where something is. "
            "Not for a known id, title or path (find_exact), nor for how objects are related (expand)."
        ),
        parameters=_parameters(engine, "What you want to know, in plain words; operators have no meaning."),
        run=_search,
    )


def find_exact_tool(engine: Engine) -> Tool:
    """find_exact(query, filters?, limit?, scope_ids?)."""
    return Tool(
        name="find_exact",
        description=(
            "Find an object by its id, its title or a name that stands in it as written: a file path, an error code, a "
            "phrase. Forgives typos. Use it when you know what the thing is called; for a question, use search."
        ),
        parameters=_parameters(engine, "The id, title or phrase, as it is written."),
        run=_find_exact,
    )


async def _search(session: Session, query: str, **options: Any) -> dict[str, Any]:
    return views.page(await session.search(query, **options))


async def _find_exact(session: Session, query: str, **options: Any) -> dict[str, Any]:
    return views.page(await session.find_exact(query, **options))


def query_parameter(description: str) -> Parameter:
    """The query of a verb."""
    return Parameter(
        name="query",
        description=f"{description} At most {MAX_QUERY_CHARS:,} characters.",
        shape=text(most=MAX_QUERY_CHARS, required=True),
        required=True,
    )


def limit_parameter(engine: Engine, what: str = "Objects on a page") -> Parameter:
    """The page size of a verb."""
    config = engine.config
    return Parameter(
        name="limit",
        description=f"{what}, 1 to {config.max_limit}; {config.default_limit} when left out.",
        shape=INTEGER,
    )


def filters_parameter(engine: Engine) -> Parameter:
    """The filters of a verb, over the kinds registered now."""
    return Parameter(
        name="filters",
        description=(
            "Conditions that must all hold, each a key and a value. A list as value accepts any of its items. Keys that "
            "always work: kind, title, created_after, created_before, updated_after, updated_before (dates as 2026-08-09 "
            "or 2026-08-09T00:00:00Z). Any other key is a field of a kind, as schema lists it, and needs a condition "
            "on kind as well."
        ),
        shape=filters(engine.catalog),
    )


def _parameters(engine: Engine, query: str) -> tuple[Parameter, ...]:
    return (
        query_parameter(query),
        filters_parameter(engine),
        limit_parameter(engine),
        Parameter(
            name="scope_ids",
            description="Look only into these objects and their parts: UUIDs as results gave them.",
            shape=ids(),
        ),
    )
