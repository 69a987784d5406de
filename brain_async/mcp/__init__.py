"""The tools as an MCP server, over stdio or streamable HTTP. Needs the extra ``mcp``."""

from importlib.util import find_spec

if find_spec("mcp") is None:
    raise ImportError("brain_async.mcp needs the package mcp: pip install 'brain-async[mcp]'")

from brain_async.mcp.http import serve_http
from brain_async.mcp.server import create_server
from brain_async.mcp.stdio import serve_stdio

__all__ = ["create_server", "serve_http", "serve_stdio"]
