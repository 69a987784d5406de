"""A page for people who ask why a search returned what it did. Needs the extra ``fastapi``."""

from brain_async.errors import MissingExtensionError

try:
    from brain_async.inspector.page import inspector
except ModuleNotFoundError as missing:
    if missing.name not in ("fastapi", "starlette", "jinja2"):
        raise
    raise MissingExtensionError("brain_async.inspector needs Jinja2: pip install 'brain-async[fastapi]'") from missing

__all__ = ["inspector"]
