"""OtelObserver, seen through the SDK's in-memory exporters."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from uuid import uuid4

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace import StatusCode, Tracer

from brain_async import Engine, Object, ObjectNotFoundError, QueryRequiredError, Scope, SearchContext, SearchRequest
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.errors import BackendError
from brain_async.model.results import ChannelOutcome
from brain_async.otel import OtelObserver
from brain_async.ports.health import HealthProbe
from brain_async.ports.host import Observer
from brain_async.ports.waiting import add_wait
from brain_async.testing import CheckingObserver

SECRET = "lemon grove"


class Telemetry:
    """An observer whose spans and measures stay in memory."""

    def __init__(self, *, record_query: bool = False) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self._provider = TracerProvider()
        self._provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self._meters = MeterProvider(metric_readers=[self._reader])
        self.observer = OtelObserver(
            tracer_provider=self._provider, meter_provider=self._meters, record_query=record_query
        )

    @property
    def tracer(self) -> Tracer:
        return self._provider.get_tracer("host")

    def spans(self, name: str = "") -> list[ReadableSpan]:
        return [span for span in self._spans.get_finished_spans() if span.name.startswith(name)]

    def span(self, name: str) -> ReadableSpan:
        (found,) = self.spans(name)
        return found

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def filled(telemetry: Telemetry, **options: Any) -> tuple[Engine, Scope]:
    scope = Scope(uuid4())
    store, graph = MemoryStore(), MemoryGraph()
    quiet = Engine(store, graph=graph)
    parent = await quiet.put(scope, Object(kind="thing", title=SECRET))
    await quiet.put(scope, Object(kind="thing", content=SECRET, parent_id=parent.key))
    parts = {"store": store, "graph": graph, "observer": telemetry.observer, **options}
    return Engine(parts.pop("store"), **parts), scope


def search(engine: Engine, scope: Scope, query: str = SECRET) -> Any:
    return engine.search(scope, SearchRequest(query=query), SearchContext())


async def test_a_verb_is_a_span_and_each_channel_that_ran_its_child() -> None:
    telemetry = Telemetry()
    engine, scope = await filled(telemetry)
    page = await search(engine, scope)
    verb = telemetry.span("brain search")
    assert verb.parent is None
    assert attributes(verb) | {"brain.seconds": 0} == {
        "brain.operation": "search",
        "gen_ai.operation.name": "retrieval",
        "brain.items": 1,
        "brain.seconds": 0,
        "brain.degrade_mode": "none",
        "brain.degraded": (),
        "brain.pool_wait": 0.0,
    }
    assert verb.status.status_code is StatusCode.UNSET
    ran = {outcome.channel: outcome for outcome in page.outcomes if outcome.status != "skipped"}
    children = {attributes(span)["brain.channel"]: span for span in telemetry.spans("brain channel")}
    assert set(children) == set(ran) >= {"lexical", "graph_text"}
    assert verb.context is not None
    assert verb.start_time is not None
    assert verb.end_time is not None
    for name, child in children.items():
        assert child.parent is not None
        assert child.parent.span_id == verb.context.span_id
        found = attributes(child)
        assert (found["brain.channel.hits"], found["brain.channel.status"]) == (ran[name].hits, ran[name].status)
        assert child.start_time is not None
        assert child.end_time is not None
        assert verb.start_time <= child.start_time <= child.end_time
        assert child.end_time - child.start_time == pytest.approx(ran[name].seconds * 1e9, abs=2)


async def test_concurrent_calls_keep_their_parents() -> None:
    telemetry = Telemetry()
    engine, scope = await filled(telemetry)

    async def caller(number: int) -> None:
        with telemetry.tracer.start_as_current_span(f"caller {number}"):
            await search(engine, scope)
            await engine.find_exact(scope, SearchRequest(query=SECRET), SearchContext())

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(caller, number)
    callers = {span.context.span_id: span.context.trace_id for span in telemetry.spans("caller") if span.context}
    assert len(callers) == 20
    verbs = [*telemetry.spans("brain search"), *telemetry.spans("brain find_exact")]
    parents = [verb.parent.span_id for verb in verbs if verb.parent]
    assert sorted(parents) == sorted([*callers, *callers])
    known = {verb.context.span_id: verb.context.trace_id for verb in verbs if verb.context}
    for child in telemetry.spans("brain channel"):
        assert child.parent is not None
        assert child.context is not None
        assert known[child.parent.span_id] == child.context.trace_id


async def test_the_spans_of_a_driver_are_children_of_the_verb() -> None:
    telemetry = Telemetry()

    class Traced(MemoryStore):
        async def get(self, scope: Scope, object_id: Any) -> Object | None:
            with telemetry.tracer.start_as_current_span("driver"):
                return await super().get(scope, object_id)

    store = Traced()
    obj = await Engine(store).put(Scope(uuid4()), Object(kind="thing", title="x"))
    engine = Engine(store, observer=telemetry.observer)
    with telemetry.tracer.start_as_current_span("caller"):
        await engine.read(Scope(), obj.id)
        with telemetry.tracer.start_as_current_span("afterwards"):
            pass
    verb, caller = telemetry.span("brain read"), telemetry.span("caller")
    driver, afterwards = telemetry.span("driver"), telemetry.span("afterwards")
    assert driver.parent == verb.context
    assert verb.parent == afterwards.parent == caller.context


async def test_the_query_is_recorded_only_when_asked_for() -> None:
    for record_query in (False, True):
        telemetry = Telemetry(record_query=record_query)
        engine, scope = await filled(telemetry)
        await search(engine, scope)
        await engine.find_exact(scope, SearchRequest(query=SECRET), SearchContext())
        told = [str(value) for span in telemetry.spans() for value in attributes(span).values()]
        assert (SECRET in told) is record_query
    assert attributes(telemetry.span("brain search"))["gen_ai.retrieval.query.text"] == SECRET


async def test_an_error_is_named_by_its_code_and_its_message_kept_back() -> None:
    for record_query in (False, True):
        telemetry = Telemetry(record_query=record_query)
        engine, scope = await filled(telemetry)
        with pytest.raises(ObjectNotFoundError):
            await engine.read(scope, uuid4())
        span = telemetry.span("brain read")
        assert attributes(span)["error.type"] == "object_not_found"
        assert span.status.status_code is StatusCode.ERROR
        assert (span.status.description == "object_not_found") is not record_query
    (point,) = telemetry.points("brain.errors")
    assert (point.value, dict(point.attributes)) == (
        1,
        {"brain.operation": "read", "error.type": "object_not_found"},
    )


async def test_what_a_verb_did_without_is_counted() -> None:
    class NoGraph(MemoryGraph):
        async def search_objects_text(self, *_: Any, **__: Any) -> Any:
            raise BackendError(f"no {SECRET}")

    telemetry = Telemetry()
    engine, scope = await filled(telemetry, graph=NoGraph())
    page = await search(engine, scope)
    assert page.degraded == ("graph_text",)
    assert attributes(telemetry.span("brain search"))["brain.degraded"] == ("graph_text",)
    child = telemetry.span("brain channel graph_text")
    assert (child.status.status_code, child.status.description) == (StatusCode.ERROR, "error")
    (point,) = telemetry.points("brain.degradations")
    assert (point.value, dict(point.attributes)) == (1, {"brain.operation": "search", "brain.degraded": "graph_text"})


async def test_durations_are_measured_in_seconds_by_operation() -> None:
    telemetry = Telemetry()
    engine, scope = await filled(telemetry)
    for _ in range(3):
        await search(engine, scope)
    with pytest.raises(QueryRequiredError):
        await search(engine, scope, " ")
    points = {point.attributes.get("error.type"): point for point in telemetry.points("brain.operation.duration")}
    assert points[None].count == 3
    assert points["query_required"].count == 1
    assert 0 < points[None].sum < 3
    assert points[None].explicit_bounds[0] == 0.001
    by_channel = {
        point.attributes["brain.channel"]: point.count for point in telemetry.points("brain.channel.duration")
    }
    assert by_channel["lexical"] == 3


async def test_a_cancelled_verb_ends_its_span_and_is_no_error() -> None:
    started = anyio.Event()

    class Hanging(MemoryStore):
        async def get(self, scope: Scope, object_id: Any) -> Object | None:
            started.set()
            await anyio.sleep_forever()
            return None

    telemetry = Telemetry()
    engine = Engine(Hanging(), observer=telemetry.observer)
    async with anyio.create_task_group() as group:
        group.start_soon(engine.read, Scope(), uuid4())
        await started.wait()
        group.cancel_scope.cancel()
    span = telemetry.span("brain read")
    assert attributes(span)["error.type"] == "cancelled"
    assert span.status.status_code is StatusCode.UNSET
    assert telemetry.points("brain.errors") == []


async def test_waiting_for_connections_adds_up_over_the_channels() -> None:
    class Waiting(MemoryStore):
        async def search_lexical(self, *args: Any, **kwargs: Any) -> Any:
            add_wait(0.25)
            return await super().search_lexical(*args, **kwargs)

        async def get_many(self, *args: Any, **kwargs: Any) -> Any:
            add_wait(0.5)
            return await super().get_many(*args, **kwargs)

    telemetry = Telemetry()
    engine, scope = await filled(telemetry, store=Waiting(), graph=None)
    await search(engine, scope)
    with pytest.raises(ObjectNotFoundError):
        await engine.list_children(scope, uuid4())
    await engine.find_exact(scope, SearchRequest(query=SECRET), SearchContext())
    add_wait(1.0)  # belongs to no verb
    waits = {
        attributes(span)["brain.operation"]: attributes(span)["brain.pool_wait"]
        for span in telemetry.spans()
        if "brain.pool_wait" in attributes(span)
    }
    assert waits == {"search": 0.25, "list_children": 0.5, "find_exact": 0.25}
    sums = {point.attributes["brain.operation"]: point.sum for point in telemetry.points("brain.operation.pool_wait")}
    assert sums == waits


async def test_the_observers_contract_holds() -> None:
    checking: Observer = CheckingObserver()
    telemetry = Telemetry()
    assert isinstance(telemetry.observer, Observer)
    assert isinstance(checking, Observer)
    assert not isinstance(telemetry.observer, HealthProbe)
    # What is told of a span that never began is ignored.
    await telemetry.observer.channel_ended(10**9, ChannelOutcome(channel="lexical", status="ok"))
    assert telemetry.spans() == []


def test_the_names_are_those_of_the_conventions() -> None:
    assert gen_ai_attributes.GEN_AI_OPERATION_NAME == "gen_ai.operation.name"
    assert gen_ai_attributes.GenAiOperationNameValues.RETRIEVAL.value == "retrieval"
    assert gen_ai_attributes.GEN_AI_RETRIEVAL_QUERY_TEXT == "gen_ai.retrieval.query.text"
    assert error_attributes.ERROR_TYPE == "error.type"


@pytest.mark.parametrize(
    ("module", "hidden", "line"),
    [
        ("brain_async.otel", "opentelemetry", "pip install 'brain-async[otel]'"),
        ("brain_async.fastapi", "fastapi", "pip install 'brain-async[fastapi]'"),
    ],
)
def test_a_missing_extra_is_one_sentence(module: str, hidden: str, line: str) -> None:
    probe = f"import sys; sys.modules[{hidden!r}] = None\ntry:\n import {module}\nexcept Exception as e: print(e)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip().endswith(line)
    assert len(done.stdout.strip().splitlines()) == 1
