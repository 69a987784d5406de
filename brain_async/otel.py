"""OtelObserver: the verbs and channels of an engine as OpenTelemetry spans and metrics.

Only the API package is needed (extra ``otel``); the host's SDK decides where everything goes. Attribute names of the semantic
conventions are used where they exist (``gen_ai.operation.name``, ``gen_ai.retrieval.query.text``, ``error.type``); the
library's own begin with ``brain.``.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import Token
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from brain_async.errors import BrainError, MissingExtensionError
from brain_async.model.results import ChannelOutcome
from brain_async.ports.host import OperationEnd, OperationStart

try:
    from opentelemetry import context, metrics, trace
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
except ImportError as missing:
    raise MissingExtensionError(
        "brain_async.otel needs opentelemetry-api: pip install 'brain-async[otel]'"
    ) from missing

__all__ = ["OtelObserver"]

_NAME: Final = "brain_async"
_RETRIEVALS: Final = frozenset({"search", "find_exact", "find_objects", "find_links"})
_FAILED: Final = frozenset({"error", "timeout"})
_CANCELLED: Final = "cancelled"
# In seconds: the SDK's own boundaries are meant for milliseconds.
_BOUNDARIES: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def _released() -> str:
    try:
        return version("brain-async")
    except PackageNotFoundError:
        return ""


_VERSION: Final = _released()  # read once: looking for it reads files


class _Running:
    """A verb that has begun."""

    def __init__(self, span: Span, operation: str, began: int, token: Token[Context]) -> None:
        self.span = span
        self.operation = operation
        self.began = began
        self.token = token


class OtelObserver:
    """An Observer that tells OpenTelemetry. One serves any number of engines and concurrent calls.

    A span ``brain <operation>`` per verb, child of whatever span the caller is in, and current while the verb runs, so that
    the spans of instrumented drivers are its children; below it ``brain channel <name>`` for each channel that ran. Metrics:
    ``brain.operation.duration`` and ``brain.channel.duration`` (histograms, s), ``brain.operation.pool_wait`` (histogram, s),
    ``brain.errors`` and ``brain.degradations`` (counters). A cancelled verb counts as no error; its ``error.type`` is
    ``cancelled``.

    Args:
        tracer_provider, meter_provider: None takes the global ones.
        record_query: put the query's text, and the messages of errors, which may quote what a caller sent, into spans.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        record_query: bool = False,
    ) -> None:
        self._tracer = trace.get_tracer(_NAME, _VERSION, tracer_provider)
        meter = metrics.get_meter(_NAME, _VERSION, meter_provider)
        self._durations = meter.create_histogram(
            "brain.operation.duration",
            unit="s",
            description="How long a verb took.",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._channels = meter.create_histogram(
            "brain.channel.duration",
            unit="s",
            description="How long a channel of a verb took.",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._waits = meter.create_histogram(
            "brain.operation.pool_wait",
            unit="s",
            description="How long a verb waited for pooled connections, its concurrent channels added up.",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._errors = meter.create_counter("brain.errors", unit="{error}", description="Verbs that raised.")
        self._degradations = meter.create_counter(
            "brain.degradations", unit="{degradation}", description="What verbs had to do without."
        )
        self._record_query = record_query
        self._running: dict[int, _Running] = {}

    async def operation_started(self, event: OperationStart) -> None:
        """Begin the verb's span, and make it the current one."""
        began = time.time_ns()
        attributes = {"brain.operation": event.operation}
        if event.operation in _RETRIEVALS:
            attributes["gen_ai.operation.name"] = "retrieval"
        span = self._tracer.start_span(
            f"brain {event.operation}", kind=SpanKind.INTERNAL, attributes=attributes, start_time=began
        )
        # The engine calls this in the task that runs the verb, so that this context is the verb's.
        token = context.attach(trace.set_span_in_context(span))
        self._running[event.span] = _Running(span, event.operation, began, token)

    async def channel_ended(self, span: int, outcome: ChannelOutcome) -> None:
        """A span of the time that the channel took, and its measures. A channel that was skipped has none."""
        running = self._running.get(span)
        if running is None or outcome.status == "skipped":
            return
        self._channels.record(
            outcome.seconds,
            {
                "brain.operation": running.operation,
                "brain.channel": outcome.channel,
                "brain.channel.status": outcome.status,
            },
        )
        began = running.began + round(outcome.started * 1e9)
        child = self._tracer.start_span(
            f"brain channel {outcome.channel}",
            context=trace.set_span_in_context(running.span),
            attributes={
                "brain.operation": running.operation,
                "brain.channel": outcome.channel,
                "brain.channel.status": outcome.status,
                "brain.channel.hits": outcome.hits,
                "brain.channel.seconds": outcome.seconds,
            },
            start_time=began,
        )
        if outcome.status in _FAILED:
            child.set_attribute("error.type", outcome.status)
            child.set_status(StatusCode.ERROR, outcome.detail if self._record_query else outcome.status)
        child.end(end_time=began + round(outcome.seconds * 1e9))

    async def operation_ended(self, event: OperationEnd) -> None:
        """End the verb's span, with what it returned, lost and raised."""
        running = self._running.pop(event.span, None)
        if running is None:
            return
        context.detach(running.token)
        span = running.span
        span.set_attributes(
            {
                "brain.items": event.items,
                "brain.seconds": event.seconds,
                "brain.degrade_mode": event.degrade_mode.value,
                "brain.degraded": event.degraded,
                "brain.pool_wait": event.pool_wait,
            }
        )
        if self._record_query and event.query:
            span.set_attribute("gen_ai.retrieval.query.text", event.query)
        measured = {"brain.operation": event.operation}
        if event.error is not None:
            measured["error.type"] = _error_type(event.error)
            span.set_attribute("error.type", measured["error.type"])
            if measured["error.type"] != _CANCELLED:
                self._errors.add(1, measured)
                span.set_status(StatusCode.ERROR, str(event.error) if self._record_query else measured["error.type"])
        self._durations.record(event.seconds, measured)
        self._waits.record(event.pool_wait, {"brain.operation": event.operation})
        for lost in event.degraded:
            self._degradations.add(1, {"brain.operation": event.operation, "brain.degraded": lost})
        span.end(end_time=running.began + round(event.seconds * 1e9))


def _error_type(error: BaseException) -> str:
    """The stable code of the library's errors; the class of any other."""
    if isinstance(error, BrainError):
        return error.code
    return _CANCELLED if isinstance(error, asyncio.CancelledError) else type(error).__qualname__
