"""What each page shows, over a real engine in memory."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI

from brain_async import EdgeMeta, Engine, Scope
from brain_async.adapters.memory import MemoryEdgeLedger
from brain_async.cortex import decode_proof, verify_proof
from brain_async.fastapi import fixed_scope
from brain_async.inspector import inspector
from tests.integration.inspector.world import LINKS, fill, inspected_engine
from tests.integration.service.served import in_process


class Inspected:
    """A filled engine and a client of its pages."""

    def __init__(self, engine: Engine, scope: Scope, ids: list[UUID], http: httpx.AsyncClient) -> None:
        self.engine, self.scope, self.ids, self.http = engine, scope, ids, http

    async def get(self, path: str, status: int = 200, **params: str | int) -> str:
        answer = await self.http.get(path, params=params or None)
        assert answer.status_code == status, answer.text
        return unescape(answer.text)


@pytest.fixture
async def inspected() -> AsyncIterator[Inspected]:
    engine = inspected_engine()
    scope, ids = await fill(engine)
    async with in_process(inspector(engine, scope=fixed_scope(scope.namespace_id), admin=True)) as http:
        yield Inspected(engine, scope, ids, http)


def edge_params(ids: list[UUID], index: int) -> dict[str, str]:
    source, target, label, _ = LINKS[index]
    return {"source": str(ids[source]), "label": label, "target": str(ids[target])}


async def test_a_search_shows_its_channels_shares_and_reasons(inspected: Inspected) -> None:
    text = await inspected.get("/", q="lemon picking", limit=1, ids=str(inspected.ids[5]))
    for channel in ("lexical", "trigram", "vector", "graph_text", "graph_vector"):
        assert f'<th scope="row">{channel}</th>' in text
    assert "<mark>lemons</mark> are <mark>picked</mark>" in text
    assert f"<code>{inspected.ids[5]}</code> ranked" in text
    assert "promoted from" in text
    assert "× decay 1.000" in text
    # The shares of the first candidate are what it was fused of.
    fused = float(re.search(r"fused ([\d.]+) ×", text)[1])  # type: ignore[index]
    table = text[text.index('<table class="shares">') :].partition("</tbody>")[0]
    shares = [float(share) for share in re.findall(r'figure">([\d.]+)</td><td>\s*<svg class="bar"', table)]
    assert sum(shares) == pytest.approx(fused, abs=0.002)
    exact = await inspected.get("/", verb="find_exact", q="Note 0")
    assert '<th scope="row">exact title</th>' in exact


async def test_pages_follow_each_other_until_the_last(inspected: Inspected) -> None:
    seen: list[str] = []
    address = "/?q=rent+paid+every+quarter&limit=3"
    while address:
        text = await inspected.get(address)
        seen += re.findall(r'<h3>\s*<a href="./object/([^"]+)"', text)
        following = re.search(r'id="next" href="\./(\?[^"]+)"', text)
        address = f"/{following[1]}" if following else ""
    assert sorted(seen) == sorted(map(str, inspected.ids))
    await inspected.get("/", 422, q="x", next="nonsense")


async def test_every_verb_of_the_form(inspected: Inspected) -> None:
    lease, ada = str(inspected.ids[0]), str(inspected.ids[1])
    exact = await inspected.get("/", verb="find_exact", q="Ada Byron")
    assert exact.index(ada) < exact.index("</h3>")
    objects = await inspected.get("/", verb="find_objects", q="lemon", kinds="deal")
    assert lease in objects
    assert ada not in objects
    links = await inspected.get("/", verb="find_links", q="contract", labels="references")
    assert "1 link found" in links
    assert "the older <mark>contract</mark>" in links
    expanded = await inspected.get("/", verb="expand", object=lease, labels="owned_by, references", hops=2, parts=1)
    assert "owned_by (out), hop 1" in expanded
    assert "Note 0" in expanded
    assert "No links" not in expanded
    assert "verb must be one of" in await inspected.get("/", 422, verb="drop", q="x")


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"filters": "stage=won"}, "filters"),
        ({"filters": '{"colour": 1}', "kinds": "deal"}, "filters"),
        ({"kinds": "dragon"}, "kinds"),
        ({"filters": '{"kind": "deal"}', "kinds": "deal"}, "kinds"),
        ({"limit": "many"}, "limit"),
        ({"ids": "here"}, "ids"),
        ({"verb": "expand", "object": "here"}, "object"),
        ({"verb": "find_links"}, "labels"),
    ],
)
async def test_what_is_wrong_is_said_beside_its_field(inspected: Inspected, typed: dict[str, str], field: str) -> None:
    text = await inspected.get("/", 422, q="lemon", **typed)
    assert re.search(rf'name="{field}"[^>]* aria-invalid="true" aria-describedby="error-{field}"', text)
    assert f'id="error-{field}" role="alert">' in text
    assert text.count("aria-invalid") == 1


async def test_filters_are_the_librarys_own(inspected: Inspected) -> None:
    won = await inspected.get("/", q="lemon", kinds="deal", filters='{"stage": ["won"], "amount": 1200.5}')
    lost = await inspected.get("/", q="lemon", kinds="deal", filters='{"stage": "lost"}')
    assert str(inspected.ids[0]) in won
    assert "0 found" in lost


async def test_only_an_unrestricted_page_takes_a_namespace() -> None:
    engine = inspected_engine()
    (mine, ids), (_, others) = await fill(engine), await fill(engine)
    async with in_process(inspector(engine, scope=fixed_scope())) as http:
        form = (await http.get("/")).text
        narrowed = (await http.get("/", params={"q": "lemon", "namespace": str(mine.namespace_id)})).text
        wrong = await http.get("/", params={"q": "lemon", "namespace": "here"})
    assert 'name="namespace"' in form
    assert (str(ids[0]) in narrowed, str(others[0]) in narrowed) == (True, False)
    assert wrong.status_code == 422
    assert 'id="error-namespace"' in wrong.text
    async with in_process(inspector(engine, scope=fixed_scope(uuid4()))) as http:
        elsewhere = (await http.get("/", params={"q": "lemon", "namespace": str(mine.namespace_id)})).text
    assert 'name="namespace"' not in elsewhere
    assert "0 found" in elsewhere


async def test_the_picture_has_every_link_once_and_every_label(inspected: Inspected) -> None:
    text = await inspected.get(f"/object/{inspected.ids[0]}", hops=4)
    assert sorted(re.findall(r'data-node="([^"]+)"', text)) == sorted(map(str, inspected.ids))
    drawn = re.findall(r'<path class="edge" data-from="([^"]+)" data-to="([^"]+)"', text)
    assert sorted(drawn) == sorted((str(inspected.ids[a]), str(inspected.ids[b])) for a, b, *_ in LINKS)
    assert sorted(re.findall(r'text-anchor="middle">\d+ ([^<]+)<', text)) == sorted(label for *_, label, _ in LINKS)
    near = await inspected.get(f"/object/{inspected.ids[0]}", hops=1)
    assert len(re.findall("data-node", near)) == 4
    assert len(re.findall('class="edge"', near)) == 6  # with the one between two that are a hop away
    out = await inspected.get(f"/object/{inspected.ids[0]}", direction="out")
    assert str(inspected.ids[3]) not in out
    named = await inspected.get(f"/object/{inspected.ids[0]}", labels="Owned_By")
    assert len(re.findall("data-node", named)) == 2


async def test_a_part_has_a_page_that_leads_to_its_parent(inspected: Inspected) -> None:
    (part, *_) = await inspected.engine.list_children(inspected.scope, inspected.ids[0])
    text = await inspected.get(f"/object/{part.id}")
    assert f'href="../object/{inspected.ids[0]}"' in text
    assert "Neighbourhood" not in text


async def test_a_link_has_its_history_and_a_proof_that_can_be_taken_along(inspected: Inspected) -> None:
    engine, scope, ids = inspected.engine, inspected.scope, inspected.ids
    await engine.link(scope, ids[0], ids[1], "owned_by", EdgeMeta(note="Grace takes over"))
    await engine.unlink(scope, ids[0], ids[1], "owned_by")
    params = edge_params(ids, 0)
    text = await inspected.get("/edge", **params)
    operations = re.findall(r"<li><strong>(\w+)</strong>", text)
    assert operations == ["add", "update", "remove"]
    history = text[text.index("History") :]
    assert history.index("Ada closes it") < history.index("Grace takes over")
    assert "(removed)" in text
    assert "unlinked" in text
    assert "Verified by this server" in text
    root = re.search(r'id="root">(\w{64})<', text)
    assert root
    answer = await inspected.http.get("/proof", params=params)
    assert answer.headers["content-disposition"] == f'attachment; filename="edge-proof-{root[1]}.cbor"'
    assert verify_proof(bytes.fromhex(root[1]), answer.content)
    assert decode_proof(answer.content).src == ids[0].bytes


async def test_without_a_cortex_ledger_the_pages_say_so() -> None:
    engine = inspected_engine(ledger=MemoryEdgeLedger())
    scope, ids = await fill(engine)
    async with in_process(inspector(engine, scope=fixed_scope(scope.namespace_id))) as http:
        plain = (await http.get(f"/object/{ids[0]}")).text
        named = (await http.get(f"/object/{ids[0]}", params={"labels": "contradicts,references"})).text
        edge = await http.get("/edge", params=edge_params(ids, 0))
        proof = await http.get("/proof", params=edge_params(ids, 0))
    assert "need a Cortex ledger" in plain
    assert "history and proof" not in plain
    # Outgoing links can be listed, incoming ones only looked for by label.
    assert (plain.count("data-node"), str(ids[3]) in plain) == (3, False)
    assert str(ids[3]) in named
    assert (edge.status_code, proof.status_code) == (501, 501)
    assert "only where the engine records them in a Cortex ledger" in edge.text


async def test_without_a_graph_and_a_ledger_there_are_no_links() -> None:
    engine = inspected_engine(ledger=None)
    scope, ids = await fill(engine)
    bare = inspected_engine(ledger=None, graph=None)
    async with in_process(inspector(engine, scope=fixed_scope(scope.namespace_id))) as http:
        assert str(ids[3]) in (await http.get(f"/object/{ids[0]}", params={"labels": "contradicts"})).text
        assert "No links were found" in (await http.get(f"/object/{ids[0]}")).text
    async with in_process(inspector(bare, scope=fixed_scope(), admin=True)) as http:
        assert (await http.get("/", params={"verb": "find_objects", "q": "x"})).status_code == 501
        assert (await http.get("/state")).status_code == 200


async def test_kinds_and_state(inspected: Inspected) -> None:
    kinds = await inspected.get("/kinds")
    for word in ("deal", "stage", "Where it stands", "such as won, lost", "note", "person"):
        assert word in kinds
    state = await inspected.get("/state")
    assert "<strong>up</strong>" in state
    assert "<dd>9, removed ones included</dd>" in state
    assert "The graph is equal to store and ledger." in state
    async with in_process(inspector(inspected.engine, scope=fixed_scope())) as http:
        assert (await http.get("/state")).status_code == 404


async def test_below_a_path_of_a_hosts_every_link_stays_there(inspected: Inspected) -> None:
    host = FastAPI()
    host.mount("/tools/brain", inspector(inspected.engine, scope=fixed_scope(inspected.scope.namespace_id)))
    async with in_process(host) as http:
        todo, seen = ["/tools/brain/?q=lemon"], set[str]()
        while todo and len(seen) < 40:
            path = todo.pop()
            seen.add(path)
            answer = await http.get(path)
            assert answer.status_code == 200, path
            if "html" in answer.headers["content-type"]:
                for link in re.findall(r'(?:href|src|action)="([^"#]+)', answer.text):
                    target = str(httpx.URL(f"http://localhost{path}").join(unescape(link)).raw_path, "ascii")
                    assert target.startswith("/tools/brain/")
                    if target not in seen and target not in todo:
                        todo.append(target)
    assert len(seen) == 40


async def test_what_was_respelt_is_said_and_marked(inspected: Inspected) -> None:
    text = await inspected.get("/", q="lemno picking")
    assert "Searched “lemons” for “lemno”." in text or "Searched “lemon” for “lemno”." in text
    assert "<mark>lemons</mark>" in text
