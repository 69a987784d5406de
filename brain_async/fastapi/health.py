"""health_router: liveness and readiness, for whatever restarts processes and routes requests."""

from __future__ import annotations

import time
from typing import Any

import anyio
import msgspec
from fastapi import APIRouter, Depends, Request, Response

from brain_async.engine import Engine
from brain_async.fastapi.bodies import ReadyReply, StatusReply
from brain_async.fastapi.documents import responses_document, schema_of
from brain_async.fastapi.loop_watch import LoopWatch
from brain_async.fastapi.problems import ProblemRoute
from brain_async.fastapi.reading import while_connected
from brain_async.fastapi.sources import EngineSource, provider_of
from brain_async.model.health import HealthReport

__all__ = ["health_router"]

_FRESH_SECONDS = 1.0


class _Reports:
    """Asks the engine at most once a second, however many ask for it: a probe costs its backends something."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = anyio.Lock()
        self._report: HealthReport | None = None
        self._at = 0.0

    async def get(self, engine: Engine) -> HealthReport:
        async with self._lock:
            if self._report is None or time.monotonic() - self._at > _FRESH_SECONDS:
                self._report = await engine.health(timeout=self._timeout)
                self._at = time.monotonic()
            return self._report


def health_router(engine: EngineSource, *, timeout: float = 2.0, watch: LoopWatch | None = None) -> APIRouter:
    """``GET /healthz`` and ``GET /readyz``, from ``Engine.health``.

    ``/healthz`` answers 200 while the process can answer at all, as restarting it brings no backend back; it says of each
    backend whether it is up, and no more, so that it needs no credentials. ``/readyz`` answers 503 when searches cannot be
    answered, and gives the whole report: keep it from strangers.

    Args:
        timeout: seconds for each backend.
        watch: fills in ``loop_held_up``.
    """
    router = APIRouter(route_class=ProblemRoute, default_response_class=Response)
    source: Any = Depends(provider_of(engine))
    reports = _Reports(timeout)

    async def healthz(request: Request, engine: Engine = source) -> Response:
        report = await while_connected(request, lambda: reports.get(engine))
        backends = {name: "up" if backend.up else "down" for name, backend in report.backends.items()}
        return _reply(StatusReply(status=report.status, backends=backends))

    async def readyz(request: Request, engine: Engine = source) -> Response:
        report = await while_connected(request, lambda: reports.get(engine))
        reply = ReadyReply(
            **msgspec.structs.asdict(report),
            status=report.status,
            loop_held_up=None if watch is None else watch.worst,
        )
        return _reply(reply, status_code=200 if report.ready else 503)

    unready = {"description": "Not ready", "content": {"application/json": {"schema": schema_of(ReadyReply)}}}
    router.add_api_route(
        "/healthz",
        healthz,
        operation_id="healthz",
        description="Whether the process answers.",
        responses=responses_document(StatusReply, "It does"),
        tags=["health"],
    )
    router.add_api_route(
        "/readyz",
        readyz,
        operation_id="readyz",
        description="Whether searches can be answered.",
        responses={**responses_document(ReadyReply, "They can"), 503: unready},
        tags=["health"],
    )
    return router


def _reply(body: object, *, status_code: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body),
        status_code=status_code,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )
