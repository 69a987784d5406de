"""An engine over HTTP: routers to include in a FastAPI application, and a whole one. Needs the extra ``fastapi``."""

from brain_async.errors import MissingExtensionError

try:
    from brain_async.fastapi.cursors import Cursors
    from brain_async.fastapi.health import health_router
    from brain_async.fastapi.loop_watch import LoopWatch
    from brain_async.fastapi.problems import Problem
    from brain_async.fastapi.service import service
    from brain_async.fastapi.sources import fixed_scope, header_scope, lifespan, lifespan_engine
    from brain_async.fastapi.verbs import router
except ModuleNotFoundError as missing:
    if missing.name not in ("fastapi", "starlette"):
        raise
    raise MissingExtensionError("brain_async.fastapi needs FastAPI: pip install 'brain-async[fastapi]'") from missing

__all__ = [
    "Cursors",
    "LoopWatch",
    "Problem",
    "fixed_scope",
    "header_scope",
    "health_router",
    "lifespan",
    "lifespan_engine",
    "router",
    "service",
]
