"""What is stored or typed in never becomes markup, no other namespace shows, and nothing but the sign-in takes a POST."""

from __future__ import annotations

from collections.abc import AsyncIterator
from html.parser import HTMLParser
from uuid import UUID, uuid4

import httpx
import pytest

from brain_async import EdgeMeta, Object, Scope
from brain_async.adapters.memory import MemoryEdgeLedger, MemoryStore
from brain_async.errors import BackendError
from brain_async.fastapi import fixed_scope, service
from brain_async.inspector import inspector
from tests.integration.engine.world import DIMENSION, Vector, WordEmbedder
from tests.integration.inspector.world import fill, inspected_engine
from tests.integration.service.served import in_process

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> lemon"
LABEL = "<script>\"'>"
# fmt: off
TAGS = {
    "html", "head", "meta", "title", "link", "script", "body", "a", "header", "nav", "form", "button", "main", "p",
    "strong", "h1", "h2", "h3", "label", "input", "select", "option", "span", "ol", "ul", "li", "div", "table",
    "thead", "tfoot", "tbody", "tr", "th", "td", "svg", "rect", "small", "blockquote", "cite", "mark", "dl", "dt", "dd",
    "pre", "code", "section", "defs", "marker", "path", "text", "time",
}
# fmt: on
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Markup(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            if name in ("href", "src", "action"):
                assert ":" not in (value or "").partition("?")[0], value
        if tag == "script":
            self.scripts.append(dict(attrs)["src"] or "")


def check(answer: httpx.Response) -> None:
    """The page has our one script, our headers, and what was stored only as text."""
    page = Markup(answer.text)
    assert [src.rpartition("/")[2] for src in page.scripts] == ["script.js"]
    assert answer.text.count("<script") == 1
    check_headers(answer)


def check_headers(answer: httpx.Response) -> None:
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("cortex", [True, False])
async def test_script_in_every_field_is_text_on_every_page(cortex: bool) -> None:
    engine = inspected_engine(kinds=(), **({} if cortex else {"ledger": MemoryEdgeLedger()}))
    scope = Scope(uuid4())
    fields = {"kind": EVIL, "title": EVIL, "summary": EVIL, "content": EVIL, "content_type": EVIL}
    one = await engine.put(scope, Object(properties={"tag": EVIL, EVIL: [EVIL, {EVIL: EVIL}]}, **fields))
    two = await engine.put(scope, Object(**fields))
    part = await engine.put(scope, Object(parent_id=one.key, position=0, **fields))
    await engine.link(scope, one.key, two.key, LABEL, EdgeMeta(note=EVIL, status=EVIL, role=EVIL))
    edge = {"source": str(one.key), "label": LABEL, "target": str(two.key)}
    asked: list[tuple[str, dict[str, str]]] = [
        ("/", {"q": EVIL, "ids": str(two.key)}),
        ("/", {"q": EVIL, "kinds": EVIL, "ids": str(two.key), "limit": "1"}),
        ("/", {"q": EVIL, "verb": "find_exact"}),
        ("/", {"q": EVIL, "verb": "find_objects"}),
        ("/", {"q": EVIL, "verb": "find_links", "labels": LABEL}),
        ("/", {"verb": "expand", "object": str(one.key), "labels": LABEL, "parts": "1"}),
        *(
            ("/", {"q": EVIL, name: EVIL})
            for name in (
                "verb",
                "filters",
                "namespace",
                "limit",
                "ids",
                "next",
                "object",
                "labels",
                "hops",
                "direction",
            )
        ),
        ("/", {"q": EVIL, "filters": '{"<script>": "<script>"}'}),
        *(
            (f"/object/{key}", {"hops": "2", "labels": LABEL, "direction": EVIL})
            for key in (one.key, two.key, part.key)
        ),
        (f"/object/{one.key}", {}),
        (f"/object/{one.key}", {"hops": EVIL}),
        ("/object/<script>", {}),
        ("/edge", edge),
        ("/edge", {**edge, "source": EVIL}),
        ("/proof", {**edge, "label": EVIL}),
        ("/kinds", {}),
        ("/state", {}),
        ("/<script>", {}),
    ]
    shown = ""
    async with in_process(inspector(engine, scope=fixed_scope(), admin=True)) as http:
        for path, params in asked:
            answer = await http.get(path, params=params)
            assert answer.status_code < 500 or answer.status_code == 501, (path, params)
            check(answer)
            shown += answer.text
    assert "&lt;script&gt;" in shown
    assert "<mark>lemon</mark>" in shown


@pytest.fixture
async def two_namespaces() -> AsyncIterator[tuple[httpx.AsyncClient, list[UUID], list[UUID]]]:
    """Pages of the first of two namespaces in one engine; the ids of both."""
    engine = inspected_engine()
    (mine, ids), (other, others) = await fill(engine), await fill(engine)
    await engine.link(other, others[0], others[1], "secretly_owned_by")
    async with in_process(inspector(engine, scope=fixed_scope(mine.namespace_id))) as http:
        yield http, ids, others


async def test_another_namespaces_ids_look_like_unknown_ones(
    two_namespaces: tuple[httpx.AsyncClient, list[UUID], list[UUID]],
) -> None:
    http, ids, others = two_namespaces
    unknown = uuid4(), uuid4()

    def pages(one: UUID, two: UUID, label: str) -> list[tuple[str, dict[str, str]]]:
        edge = {"source": str(one), "label": label, "target": str(two)}
        return [
            (f"/object/{one}", {}),
            ("/", {"verb": "expand", "object": str(one), "labels": label}),
            ("/", {"verb": "find_exact", "q": str(one)}),
            ("/", {"q": "lemon", "ids": str(one)}),
            ("/edge", edge),
            ("/proof", edge),
        ]

    for label in ("owned_by", "secretly_owned_by"):
        for (path, params), (blank, nothing) in zip(
            pages(others[0], others[1], label), pages(*unknown, "never_seen"), strict=True
        ):
            hidden, absent = await http.get(path, params=params), await http.get(blank, params=nothing)
            same = [_anonymous(answer.text, [*others, *unknown, label, "never_seen"]) for answer in (hidden, absent)]
            assert hidden.status_code == absent.status_code
            assert same[0] == same[1], path
    picture = (await http.get(f"/object/{ids[0]}", params={"hops": 4})).text
    assert not [other for other in others if str(other) in picture]
    assert "secretly" not in picture


def _anonymous(text: str, names: list[UUID | str]) -> str:
    # Times of channels differ from call to call.
    for name in names:
        text = text.replace(str(name), "X")
    return "\n".join(line for line in text.splitlines() if " ms" not in line and "<rect" not in line)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_nothing_but_the_sign_in_takes_anything_but_get(method: str) -> None:
    page = inspector(inspected_engine(), scope=fixed_scope(uuid4()), token="sesame", admin=True)
    async with in_process(page) as http:
        for path in ("/", f"/object/{uuid4()}", "/edge", "/proof", "/kinds", "/state", "/style.css", "/script.js"):
            answer = await http.request(
                method, path, headers={"Authorization": "Bearer sesame", "Origin": "https://elsewhere.example"}
            )
            assert answer.status_code == 405
            check(answer)
        if method != "POST":
            for path in ("/sign-in", "/sign-out"):
                assert (await http.request(method, path)).status_code == 405


async def test_every_answer_has_the_headers_also_within_a_service() -> None:
    source = fixed_scope(uuid4())
    engine = inspected_engine()
    app = service(engine, scope=source, page=inspector(engine, scope=source))
    async with in_process(app) as http:
        for path, status in (
            ("/", 200),
            ("/nowhere", 404),
            ("/object/x", 422),
            ("/object/x/", 404),
            ("/style.css", 200),
        ):
            answer = await http.get(path)
            assert answer.status_code == status
            check_headers(answer)
        for name in ("style.css", "script.js"):
            text = (await http.get(f"/{name}")).text
            assert "//" not in text.replace("// ", "")
            assert "import" not in text.replace("!important", "")


class _Failing(MemoryEdgeLedger):
    async def scan_edges(self, *_args: object, **_options: object) -> list[object]:  # type: ignore[override]
        raise BackendError("host=db.internal tenant=42")


class _Mute(WordEmbedder):
    async def embed(self, text: str) -> Vector:
        raise BackendError("host=db.internal tenant=42")


async def test_what_a_backend_says_is_not_shown() -> None:
    store = MemoryStore(dimension=DIMENSION)
    scope, ids = await fill(inspected_engine(store=store))
    broken = inspected_engine(store=store, ledger=_Failing(), embedder=_Mute())
    async with in_process(inspector(broken, scope=fixed_scope(scope.namespace_id))) as http:
        found = await http.get("/", params={"q": "Ada Byron"})
        shown = await http.get(f"/object/{ids[0]}")
    assert "Degraded: " in found.text
    assert shown.status_code == 200
    for answer in (found, shown):
        assert "a backend failed" in answer.text
        assert "db.internal" not in answer.text


async def test_a_defect_is_a_page_too() -> None:
    async def scope() -> Scope:
        raise RuntimeError("postgresql://user:password@db")

    transport = httpx.ASGITransport(inspector(inspected_engine(), scope=scope), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.get("/")
    assert answer.status_code == 500
    assert "password" not in answer.text
    check(answer)
