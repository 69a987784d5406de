"""Which tools there are, what they answer, and what they never let out."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

import anyio
import pytest

from brain_async import (
    BackendError,
    BackendTimeoutError,
    DimensionMismatchError,
    EmbedderError,
    Engine,
    InvalidInputError,
    InvalidKindError,
    Object,
    PoolExhaustedError,
    SearchContext,
    SearchIndexNotReadyError,
)
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.tools import Toolset, WriteKinds
from tests.unit.tools.office import (
    ADA,
    ADAS_NOTE,
    BEN,
    ELSEWHERE,
    KINDS,
    LOOM,
    LOOM_NOTE,
    NAMESPACE,
    STRANGER,
    WRITE_KINDS,
    called,
    filled_engine,
    filled_toolset,
    refused,
)

READ_TOOLS = ["read", "schema", "search", "find_exact", "find_objects", "find_links", "continue", "expand"]
WRITE_TOOLS = ["save_discovery", "save_fact", "save_memory", "link"]


def names(toolset: Toolset) -> list[str]:
    return [spec.name for spec in toolset.specs()]


class ReadOnlyStore:
    """Reads what another store holds; has no channels and no writer."""

    def __init__(self, store: MemoryStore) -> None:
        self.get = store.get
        self.get_many = store.get_many
        self.hydrate = store.hydrate
        self.list_children = store.list_children
        self.scan = store.scan


async def test_all_tools_are_there_where_the_engine_can_do_everything() -> None:
    toolset = await filled_toolset()
    assert names(toolset) == READ_TOOLS + WRITE_TOOLS
    assert {spec.name for spec in toolset.specs() if spec.access == "write"} == set(WRITE_TOOLS)


async def test_a_tool_whose_ability_the_engine_lacks_is_absent() -> None:
    without_graph = Toolset(Engine(MemoryStore(), kinds=KINDS), SearchContext(), write_kinds=WRITE_KINDS)
    assert names(without_graph) == ["read", "schema", "search", "find_exact", "continue", "expand", *WRITE_TOOLS[:3]]
    error = await refused(without_graph, "find_objects", {"query": "x"})
    assert error["code"] == "unknown_tool"

    bare = Toolset(Engine(ReadOnlyStore(MemoryStore())), SearchContext(), write_kinds=WriteKinds(fact="fact"))
    assert names(bare) == ["read", "schema", "continue", "expand"]


async def test_the_schema_tool_names_only_the_tools_there_are() -> None:
    with_graph, without = await filled_toolset(), Toolset(Engine(MemoryStore(), kinds=KINDS), SearchContext())
    assert (await called(with_graph, "schema"))["filter_usage"]["tools"] == ["search", "find_exact", "find_objects"]
    assert (await called(without, "schema"))["filter_usage"]["tools"] == ["search", "find_exact"]


async def test_a_blank_kind_has_no_save_tool() -> None:
    engine = await filled_engine()
    some = Toolset(engine, SearchContext(NAMESPACE), write_kinds=WriteKinds(fact=" fact ", memory="  "))
    assert names(some) == [*READ_TOOLS, "save_fact", "link"]
    assert names(Toolset(engine, SearchContext(NAMESPACE))) == [*READ_TOOLS, "link"]
    assert (await called(some, "save_fact", title="T"))["kind"] == "fact"


async def test_a_read_only_toolset_neither_shows_nor_runs_a_write() -> None:
    toolset = await filled_toolset(read_only=True)
    assert names(toolset) == READ_TOOLS
    assert (await refused(toolset, "save_fact", {"title": "T"}))["code"] == "unknown_tool"
    link = {"from_id": str(ADA), "to_id": str(BEN), "relation_type": "knows"}
    assert (await refused(toolset, "link", link))["code"] == "unknown_tool"


async def test_a_kind_that_is_not_registered_cannot_be_mapped() -> None:
    with pytest.raises(InvalidKindError, match=r"'ghost'.*fact, note, person, project") as raised:
        await filled_toolset(write_kinds=WriteKinds(memory="ghost"))
    assert raised.value.field == "write_kinds.memory"


@pytest.mark.parametrize("timeout", [0, -1.0, float("inf"), float("nan"), True, "30"])
async def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(InvalidInputError, match="seconds above 0"):
        await filled_toolset(timeout=timeout)


async def test_read_returns_the_whole_object() -> None:
    toolset = await filled_toolset()
    person = await called(toolset, "read", object_id=f" {str(ADA).upper()} ")
    assert {key: person[key] for key in ("id", "kind", "title", "summary")} == {
        "id": str(ADA),
        "kind": "person",
        "title": "Ada",
        "summary": "Builds engines.",
    }
    assert person["properties"] == {"team": "engines", "level": 3, "since": "2020-01-01"}
    assert "content" not in person, "nothing that is empty"
    note = await called(toolset, "read", object_id=str(LOOM_NOTE))
    assert (note["content"], note["parent_id"]) == ("The loom reads one card a turn. The risk is paper.", str(LOOM))


async def test_what_was_respelt_is_said() -> None:
    toolset = await filled_toolset()
    found = await called(toolset, "search", query="what does teh loom raeds?", limit=1)
    assert found["respelled"] == {"raeds": "reads"}
    assert "respelled" not in await called(toolset, "search", query="what does the loom read?", limit=1)


async def test_search_returns_parents_with_their_passages_and_no_content() -> None:
    found = await called(await filled_toolset(), "search", query="what does the loom read?", limit=1)
    assert [(hit["id"], hit["title"]) for hit in found["objects"]] == [(str(LOOM), "Card loom")]
    hit = found["objects"][0]
    assert set(hit) == {"id", "kind", "title", "score", "evidence"}
    assert hit["evidence"][0] == {
        "part_id": str(LOOM_NOTE),
        "title": "Minutes",
        "snippet": "The loom reads one card a turn. The risk is paper.",
    }
    assert found["has_more"] is True
    assert set(found) == {"objects", "has_more", "total", "result_set_id", "next"}


async def test_continue_goes_on_where_the_page_ended() -> None:
    toolset = await filled_toolset()
    first = await called(toolset, "search", query="loom", limit=1)
    second = await called(toolset, "continue", result_set_id=first["result_set_id"], limit=1)
    assert {first["objects"][0]["id"], second["objects"][0]["id"]} == {str(ADA), str(LOOM)}
    assert second["has_more"] is False
    assert "result_set_id" not in second, "an id that leads nowhere is not given"
    past = await called(toolset, "continue", result_set_id=first["result_set_id"])
    assert past == {"objects": [], "has_more": False, "note": "this was the last page"}

    await called(toolset, "search", query="cards")
    error = await refused(toolset, "continue", {"result_set_id": first["result_set_id"]})
    assert (error["code"], error["argument"]) == ("result_set_not_found", "result_set_id")
    assert "search again" in error["hint"]


async def test_nothing_found_says_what_to_do() -> None:
    found = await called(await filled_toolset(), "search", query="zeppelin")
    assert found == {"objects": [], "has_more": False, "note": "nothing found: use other words or fewer filters"}


async def test_find_exact_and_find_objects_and_find_links() -> None:
    toolset = await filled_toolset()
    by_title = await called(toolset, "find_exact", query="minutes")
    assert [hit["id"] for hit in by_title["objects"]] == [str(LOOM)]
    by_id = await called(toolset, "find_exact", query=str(ADAS_NOTE))
    assert [hit["id"] for hit in by_id["objects"]] == [str(ADA)]

    people = await called(toolset, "find_objects", query="engines", kinds=["person"])
    assert [hit["title"] for hit in people["objects"]] == ["Ada"]

    links = await called(toolset, "find_links", relation_type="works_on", query="sketch")
    assert links["links"] == [
        {
            "from": {"id": str(ADA), "kind": "person", "title": "Ada"},
            "to": {"id": str(LOOM), "kind": "project", "title": "Card loom"},
            "relation_type": "works_on",
            "note": "since the first sketch",
            "status": "active",
            "score": links["links"][0]["score"],
        }
    ]
    assert "use other words" in (await called(toolset, "find_links", relation_type="knows", query="x"))["note"]


async def test_expand_gives_parts_and_linked_objects() -> None:
    toolset = await filled_toolset()
    parts = await called(toolset, "expand", object_id=str(ADA))
    assert parts["mode"] == "children"
    assert [(hit["id"], hit["parent_id"]) for hit in parts["objects"]] == [(str(ADAS_NOTE), str(ADA))]
    linked = await called(toolset, "expand", object_id=str(LOOM), relation_types=["Works_On"], direction="IN")
    assert [hit["id"] for hit in linked["objects"]] == [str(ADA)]
    assert linked["objects"][0]["relation"] == {
        "type": "works_on",
        "direction": "in",
        "depth": 1,
        "note": "since the first sketch",
        "status": "active",
    }
    nothing = await called(toolset, "expand", object_id=str(BEN), relation_types=["works_on"])
    assert nothing["note"] == "this object has no parts or links of these relation_types"


async def test_expand_without_a_graph_says_so() -> None:
    engine = Engine(MemoryStore())
    toolset = Toolset(engine, SearchContext(NAMESPACE))
    stored = await engine.session(NAMESPACE).put(Object(kind="x"))
    error = await refused(toolset, "expand", {"object_id": str(stored.id), "relation_types": ["knows"]})
    assert error["code"] == "graph_required"
    assert error["hint"] == "leave relation_types out to get the parts of the object"


async def test_link_records_and_replaces_what_the_link_says() -> None:
    toolset = await filled_toolset()
    given = {"from_id": str(BEN), "to_id": str(LOOM), "relation_type": " Sells ", "note": "in spring", "status": "open"}
    linked = await called(toolset, "link", **given, role="owner", confidence=1, evidence_id=str(LOOM_NOTE))
    assert linked == {
        "from_id": str(BEN),
        "to_id": str(LOOM),
        "relation_type": "sells",
        "linked": True,
        "note": "in spring",
        "link_status": "open",
        "role": "owner",
        "confidence": 1.0,
        "evidence_id": str(LOOM_NOTE),
    }
    await called(toolset, "link", from_id=str(BEN), to_id=str(LOOM), relation_type="sells", note="in autumn")
    found = (await called(toolset, "find_links", relation_type="sells", query="autumn"))["links"]
    assert [hit["note"] for hit in found] == ["in autumn"]
    assert "role" not in found[0]

    error = await refused(toolset, "link", {**given, "from_id": str(LOOM_NOTE)})
    assert (error["code"], error["argument"]) == ("link_not_first_class", "from_id")
    error = await refused(toolset, "link", {**given, "to_id": str(STRANGER)})
    assert (error["code"], error["argument"]) == ("object_not_found", "to_id")


async def test_save_stores_under_the_mapped_kind() -> None:
    toolset = await filled_toolset()
    saved = await called(
        toolset, "save_fact", title="  Paper tears ", content="  It does. ", content_type=" text/plain "
    )
    assert (saved["kind"], saved["title"]) == ("fact", "Paper tears")
    assert (saved["content"], saved["content_type"]) == ("  It does. ", "text/plain"), "content is kept as it is"
    part = await called(toolset, "save_discovery", title="Why", content="Damp paper jams.", parent_id=str(LOOM))
    found = await called(toolset, "search", query="damp jams")
    assert [hit["id"] for hit in found["objects"]] == [str(LOOM)]
    assert found["objects"][0]["evidence"][0]["part_id"] == part["id"]


async def test_saving_again_replaces_the_whole_object_and_only_one_of_its_kind() -> None:
    toolset = await filled_toolset()
    first = await called(toolset, "save_fact", title="Paper tears", summary="Often.")
    again = await called(toolset, "save_fact", title="Paper tears", content="x", object_id=first["id"])
    assert again["id"] == first["id"]
    assert again["created_at"] == first["created_at"]
    assert "summary" not in again, "what is left out is emptied"

    error = await refused(toolset, "save_fact", {"title": "Ada is gone", "object_id": str(ADA)})
    assert (error["code"], error["argument"]) == ("wrong_kind", "object_id")
    assert (await called(toolset, "read", object_id=str(ADA)))["title"] == "Ada"
    for unknown in (STRANGER, uuid4()):
        error = await refused(toolset, "save_memory", {"title": "x", "object_id": str(unknown), "properties": []})
        assert (error["code"], error["argument"]) == ("object_not_found", "object_id")


async def test_properties_come_as_an_object_or_as_pairs_and_null_is_none() -> None:
    toolset = await filled_toolset()
    since = {"since": "2021-05-01", "team": None}
    as_object = await called(toolset, "save_memory", title="Cid", properties=since)
    pairs = [{"name": "since", "value": "2021-05-01"}]
    as_pairs = await called(toolset, "save_memory", title="Cid", properties=pairs)
    assert as_object["properties"] == as_pairs["properties"] == {"since": "2021-05-01"}
    error = await refused(toolset, "save_memory", {"title": "Cid", "properties": {"since": "2021-05-01", "level": "x"}})
    assert (error["code"], error["argument"]) == ("invalid_object", "properties.level")
    error = await refused(toolset, "save_memory", {"title": "Cid", "properties": {}})
    assert (error["code"], error["argument"]) == ("invalid_object", "properties.since")


async def test_filters_come_as_pairs_or_as_an_object() -> None:
    toolset = await filled_toolset()
    pairs = [{"key": "kind", "value": "person"}, {"key": "team", "value": ["engines", "sales"]}]
    as_pairs = await called(toolset, "find_objects", query="engines sales", filters=pairs)
    as_object = await called(
        toolset, "find_objects", query="engines sales", filters={"kind": "person", "team": ["engines", "sales"]}
    )
    assert [hit["title"] for hit in as_pairs["objects"]] == [hit["title"] for hit in as_object["objects"]]
    assert {hit["title"] for hit in as_pairs["objects"]} == {"Ada", "Ben"}
    narrowed = await called(toolset, "find_objects", query="engines sales", filters={"kind": "person", "level": 3})
    assert [hit["title"] for hit in narrowed["objects"]] == ["Ada"]


@pytest.mark.parametrize("name", ["namespace", "namespace_id", "scope"])
@pytest.mark.parametrize("tool", [*READ_TOOLS, *WRITE_TOOLS])
async def test_no_argument_reaches_the_scope(tool: str, name: str) -> None:
    toolset = await filled_toolset()
    error = await refused(toolset, tool, {name: str(ELSEWHERE)})
    assert (error["code"], error["argument"]) == ("unknown_argument", name)


async def test_another_namespace_is_as_if_it_were_not_there() -> None:
    toolset = await filled_toolset()
    nobody = uuid4()
    for tool in ("read", "expand"):
        theirs = await toolset.call(tool, {"object_id": str(STRANGER)})
        none = await toolset.call(tool, {"object_id": str(nobody)})
        assert theirs.replace(str(STRANGER), "x") == none.replace(str(nobody), "x")
    for tool, arguments in (
        ("search", {"query": "secret loom"}),
        ("search", {"query": "secret", "scope_ids": [str(STRANGER)]}),
        ("find_exact", {"query": "Spy"}),
        ("find_objects", {"query": "Zed secret"}),
    ):
        assert "Zed" not in await toolset.call(tool, arguments)
    unfiltered = Toolset(Engine(MemoryStore(), graph=MemoryGraph()), SearchContext(NAMESPACE))
    found = await called(unfiltered, "search", query="secret", filters={"namespace_id": str(ELSEWHERE)})
    assert found["objects"] == []


async def test_the_scope_is_the_contexts_at_the_time_of_the_call() -> None:
    context = SearchContext(NAMESPACE)
    toolset = Toolset(await filled_engine(), context)
    assert [hit["title"] for hit in (await called(toolset, "find_objects", query="Zed"))["objects"]] == []
    context.set_namespace(ELSEWHERE)
    assert [hit["title"] for hit in (await called(toolset, "find_objects", query="Zed"))["objects"]] == ["Zed"]


async def test_a_context_without_a_namespace_cannot_save() -> None:
    toolset = Toolset(await filled_engine(), SearchContext(), write_kinds=WRITE_KINDS)
    error = await refused(toolset, "save_fact", {"title": "T"})
    assert error["code"] == "namespace_required"
    assert "argument" not in error


SECRET = "select * from objects where dsn='postgres://root:hunter2@/srv/data' File \"/opt/x.py\", line 3"
BACKEND_FAULTS: list[Exception] = [
    BackendError(SECRET),
    BackendTimeoutError(SECRET),
    PoolExhaustedError(SECRET),
    EmbedderError(SECRET),
    SearchIndexNotReadyError(SECRET),
    DimensionMismatchError(expected=3, got=4, what=SECRET),
]


class FailingStore(MemoryStore):
    """Every read raises."""

    fault: Exception

    async def get(self, *arguments: Any, **options: Any) -> Any:
        raise self.fault

    async def search_lexical(self, *arguments: Any, **options: Any) -> Any:
        raise self.fault


@pytest.mark.parametrize("fault", [*BACKEND_FAULTS, ConnectionError(SECRET)], ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize(("tool", "arguments"), [("read", {"object_id": str(ADA)}), ("search", {"query": "loom"})])
async def test_nothing_internal_leaks_but_to_the_log(
    fault: Exception, tool: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    store = FailingStore()
    store.fault = fault
    with caplog.at_level(logging.WARNING, logger="brain_async"):
        error = await refused(Toolset(Engine(store), SearchContext(NAMESPACE)), tool, arguments)
    assert error["code"] in (getattr(fault, "code", "internal_error"), "backend_error")
    told = " ".join(error.values())
    assert not any(word in told for word in ("select", "postgres", "hunter2", "/srv", "/opt", "line 3", "Traceback"))
    assert len(told) < 400
    assert "hunter2" in caplog.text


async def test_a_degraded_answer_names_what_was_lost() -> None:
    class DownGraph(MemoryGraph):
        async def search_objects_text(self, *arguments: Any, **options: Any) -> Any:
            raise BackendError(SECRET)

    engine = Engine(MemoryStore(), graph=DownGraph())
    session = engine.session(NAMESPACE)
    one = await session.put(Object(kind="x", title="Loom"))
    await session.put(Object(kind="y", content="loom cards", parent_id=one.id))
    found = await called(Toolset(engine, session.context), "search", query="loom")
    assert [hit["id"] for hit in found["objects"]] == [str(one.id)]
    assert found["degraded"] == ["graph_text"]
    assert "something may be missing" in found["note"]


class SlowStore(MemoryStore):
    """Reads never end; ``cancelled`` is set when one is given up."""

    def __init__(self) -> None:
        super().__init__()
        self.started = anyio.Event()
        self.cancelled = anyio.Event()

    async def get(self, *arguments: Any, **options: Any) -> Any:
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    store = SlowStore()
    toolset = Toolset(Engine(store), SearchContext(NAMESPACE), timeout=0.05)
    error = await refused(toolset, "read", {"object_id": str(ADA)})
    assert error["code"] == "timeout"
    assert error["message"] == "read: no answer within 0.05 seconds"
    assert store.cancelled.is_set()


async def test_a_write_that_takes_too_long_may_have_happened() -> None:
    class SlowWriter(MemoryStore):
        async def put_objects(self, *arguments: Any, **options: Any) -> Any:
            await anyio.sleep_forever()

    toolset = Toolset(Engine(SlowWriter()), SearchContext(NAMESPACE), write_kinds=WriteKinds(fact="f"), timeout=0.05)
    error = await refused(toolset, "save_fact", {"title": "x"})
    assert (error["code"], error["hint"]) == (
        "timeout",
        "it may have happened all the same: look before you do it again",
    )


async def test_cancelling_the_caller_reaches_the_engine() -> None:
    store = SlowStore()
    toolset = Toolset(Engine(store), SearchContext(NAMESPACE))
    async with anyio.create_task_group() as group:
        group.start_soon(toolset.call, "read", {"object_id": str(ADA)})
        await store.started.wait()
        group.cancel_scope.cancel()
    assert store.cancelled.is_set()


async def test_what_no_backend_should_raise_is_logged_and_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    toolset = await filled_toolset()
    object.__setattr__(toolset, "_session", None)
    with caplog.at_level(logging.ERROR, logger="brain_async"):
        error = await refused(toolset, "read", {"object_id": str(ADA)})
    assert error == {"code": "internal_error", "message": "read: something went wrong inside"}
    assert "the tool read failed" in caplog.text
