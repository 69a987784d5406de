"""What parts are found by besides their own text, by the ContextSpec of their kind."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from brain_async import ContextSpec, EngineConfig, FieldSpec, KindSpec, Object, Session
from brain_async.errors import InvalidKindError
from tests.integration.engine.world import World

DAY = datetime(2026, 8, 9, 12, tzinfo=UTC)
LEXICAL = EngineConfig(search_channels=("lexical",), respell=False)
DOCUMENT = KindSpec(kind="document", is_parent=True)


def _session(world: World, context: ContextSpec) -> Session:
    fields = (FieldSpec(name="speaker", type="string"),)
    engine = world.engine(config=LEXICAL)
    engine.register_kinds([DOCUMENT, KindSpec(kind="turn", is_part=True, fields=fields, lexical_context=context)])
    return engine.session(world.namespace)


async def _put(session: Session) -> list[Object]:
    parent = Object(id=None, kind="document", title="Orchard")
    stored = await session.put(parent)
    turns = [
        Object(
            kind="turn",
            parent_id=stored.id,
            position=position,
            content=content,
            created_at=DAY,
            properties={"speaker": speaker},
        )
        for position, (speaker, content) in enumerate(
            [("Ada", "quinces"), ("Ben", "plums"), ("Ada", "medlars"), ("Ben", "walnuts")]
        )
    ]
    result = await session.put_many(turns)
    assert result.ok
    return [stored, *result.objects]


async def _found(session: Session, query: str) -> set[str]:
    page = await session.search(query)
    return {evidence.snippet for hit in page.objects for evidence in hit.evidence}


@pytest.mark.parametrize(
    ("context", "query", "found"),
    [
        (ContextSpec(), "orchard", set()),
        (ContextSpec(), "ada", set()),
        (ContextSpec(parent_title=True), "orchard walnuts", {"walnuts", "quinces", "plums", "medlars"}),
        (ContextSpec(date=True), "2026", {"walnuts", "quinces", "plums", "medlars"}),
        (ContextSpec(properties=("speaker",)), "ada", {"quinces", "medlars"}),
        (ContextSpec(sibling_radius=1), "quinces", {"quinces", "plums"}),
        (ContextSpec(sibling_radius=2), "walnuts", {"plums", "medlars", "walnuts"}),
    ],
)
async def test_parts_are_found_by_what_their_kind_names(
    engine_world: World, context: ContextSpec, query: str, found: set[str]
) -> None:
    session = _session(engine_world, context)
    wide = engine_world.engine(config=EngineConfig(search_channels=("lexical",), respell=False, evidence_n=10)).session(
        engine_world.namespace
    )
    _, *turns = await _put(session)
    assert await _found(wide, query) == found
    assert [(await session.read(turn.id)).content for turn in turns] == ["quinces", "plums", "medlars", "walnuts"]
    assert {turn.index_context for turn in turns} == {""}


async def test_the_store_lends_neighbours_title_and_day_to_a_part_put_alone(engine_world: World) -> None:
    session = _session(engine_world, ContextSpec(parent_title=True, date=True, sibling_radius=1))
    parent, first, *_ = await _put(session)
    await session.put(
        Object(id=first.id, kind="turn", parent_id=parent.id, position=0, content="figs", properties={"speaker": "Ada"})
    )
    for query in ("orchard", "2026 08 09", "plums", "figs"):
        assert "figs" in await _found(session, query), f"{query} is to find it"


async def test_a_context_of_ones_own_lasts_until_the_next_put(engine_world: World) -> None:
    session = _session(engine_world, ContextSpec())
    parent, first, *_ = await _put(session)
    fields = {"id": first.id, "kind": "turn", "parent_id": parent.id, "content": "figs"}
    stored = await session.put(Object(**fields, index_context="about trees"))
    assert stored.index_context == ""
    assert await _found(session, "trees") == {"figs"}
    assert (await session.read(first.id)).content == "figs"
    await session.put(Object(**fields))
    assert await _found(session, "trees") == set()


@pytest.mark.parametrize(
    ("context", "field"),
    [
        (ContextSpec(properties=("speeker",)), "lexical_context.properties"),
        (ContextSpec(sibling_radius=11), "lexical_context.sibling_radius"),
        (ContextSpec(sibling_radius=-1), "lexical_context.sibling_radius"),
    ],
)
async def test_a_bad_context_is_refused(engine_world: World, context: ContextSpec, field: str) -> None:
    with pytest.raises(InvalidKindError) as caught:
        _session(engine_world, context)
    assert caught.value.field == field
