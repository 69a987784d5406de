"""The queries of `brain demo`: one of each verb, chosen from what is installed so that each has an answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from brain_async.cli.home import DEMO_NAMESPACE
from brain_async.cli.kinds import PACKAGE, REQUIRES, WRITTEN_BY
from brain_async.cli.report import best_ranks
from brain_async.model.object import Object
from brain_async.model.relation import Edge
from brain_async.model.requests import SearchRequest
from brain_async.model.results import LinkHit, RichObject, SearchPage
from brain_async.model.scope import Scope
from brain_async.session import SearchContext, Session

if TYPE_CHECKING:
    from brain_async.local import LocalEngine

__all__ = ["Answer", "ask"]

# rich and anyio come with the command line and the library: whatever else is installed, these have an answer.
_QUESTION = "How do I print colored tables in the terminal?"
_MISSPELT = "pyganments"
_TOPIC = "asynchronous networking and concurrency"
_NOTE = "python version"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One query and what it found, either ``page`` or, for find_links, ``links``.

    Attributes:
        name: what it shows, in words.
        seconds: from the call to the page.
        first: rank of the first hit.
    """

    name: str
    verb: str
    query: str
    filters: Mapping[str, Any]
    seconds: float
    page: SearchPage = SearchPage()
    links: tuple[LinkHit, ...] = ()
    first: int = 1

    @property
    def hits(self) -> Sequence[RichObject | LinkHit]:
        """What was found."""
        return self.links or self.page.objects

    def report(self) -> dict[str, Any]:
        """For the JSON report."""
        return {
            "name": self.name,
            "verb": self.verb,
            "query": self.query,
            "filters": self.filters,
            "seconds": round(self.seconds, 4),
            "hits": [_link_report(hit) if isinstance(hit, LinkHit) else _hit_report(hit) for hit in self.hits],
            "total": len(self.links) or self.page.total,
            "has_more": self.page.has_more,
            "outcomes": [
                {
                    "channel": outcome.channel,
                    "status": outcome.status,
                    "hits": outcome.hits,
                    "seconds": round(outcome.seconds, 4),
                    "detail": outcome.detail,
                }
                for outcome in self.page.outcomes
            ],
            "degraded": self.page.degraded,
        }


async def ask(
    engine: LocalEngine, packages: Sequence[Object], edges: Sequence[Edge]
) -> tuple[list[Answer], SearchContext]:
    """The answers in the order shown, and the context of the search, which `brain continue` can go on with."""
    scope = Scope(DEMO_NAMESPACE)
    # A context keeps the newest result only: the search has one of its own, to be continued at the end.
    searching, browsing = SearchContext(DEMO_NAMESPACE), SearchContext(DEMO_NAMESPACE)
    session = engine.session(context=browsing)
    license_name = _commonest_license(packages)
    filters = {"license": license_name} if license_name else {}
    source = _most_connected(packages, edges)
    question = SearchRequest(query=_QUESTION, limit=3, explain=True)
    title = SearchRequest(query=_MISSPELT, limit=3, explain=True)

    answers = [
        await _paged(
            engine.search(scope, question, searching), name="an open question", verb="search", query=_QUESTION
        ),
        await _paged(
            engine.find_exact(scope, title, browsing), name="a misspelt name", verb="find_exact", query=_MISSPELT
        ),
        await _paged(
            session.find_objects(_TOPIC, kinds=[PACKAGE], filters=filters, limit=5),
            name="whole entities under a filter",
            verb="find_objects",
            query=_TOPIC,
            filters={"kind": PACKAGE, **filters},
        ),
        await _paged(
            session.expand(source.key, [REQUIRES, WRITTEN_BY], max_hops=2, direction="out", limit=8),
            name="two hops through the graph",
            verb="expand",
            query=source.title,
            filters={"relation_types": [REQUIRES, WRITTEN_BY], "max_hops": 2, "direction": "out"},
        ),
        await _paged(
            engine.session(context=searching).continue_(limit=3),
            first=question.limit + 1,
            name="the next page of the first question",
            verb="continue",
            query=_QUESTION,
        ),
        await _links(session),
    ]
    return answers, searching


async def _paged(
    call: Awaitable[SearchPage],
    *,
    name: str,
    verb: str,
    query: str,
    filters: Mapping[str, Any] | None = None,
    first: int = 1,
) -> Answer:
    began = time.perf_counter()
    page = await call
    seconds = time.perf_counter() - began
    return Answer(name=name, verb=verb, query=query, filters=filters or {}, seconds=seconds, page=page, first=first)


async def _links(session: Session) -> Answer:
    began = time.perf_counter()
    links = await session.find_links(REQUIRES, _NOTE, limit=3)
    return Answer(
        name="links by their notes",
        verb="find_links",
        query=_NOTE,
        filters={"relation_type": REQUIRES},
        seconds=time.perf_counter() - began,
        links=tuple(links),
    )


def _commonest_license(packages: Sequence[Object]) -> str:
    licenses = Counter(obj.properties["license"] for obj in packages if "license" in obj.properties)
    return max(licenses, key=lambda name: (licenses[name], name), default="")


def _most_connected(packages: Sequence[Object], edges: Sequence[Edge]) -> Object:
    """The package with the most requirements and authors."""
    degree = Counter(edge.from_id for edge in edges)
    return max(packages, key=lambda obj: (degree[obj.key], obj.title))


def _hit_report(hit: RichObject) -> dict[str, Any]:
    report: dict[str, Any] = {
        "title": hit.title,
        "kind": hit.kind,
        "score": hit.score,
        "id": hit.id,
        "channels": best_ranks(hit),
        "snippet": hit.evidence[0].snippet if hit.evidence else hit.summary,
    }
    if hit.relation is not None:
        report["relation"] = hit.relation
    return report


def _link_report(hit: LinkHit) -> dict[str, Any]:
    return {
        "title": f"{hit.source.title} {hit.relation_type} {hit.target.title}",
        "kind": hit.relation_type,
        "score": hit.score,
        "id": hit.source.id,
        "channels": {},
        "snippet": hit.meta.note,
    }
