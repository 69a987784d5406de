"""Exit codes beyond 0 (all went well), 1 (an error) and 2 (wrong usage)."""

from __future__ import annotations

__all__ = ["INTERRUPTED"]

INTERRUPTED = 130
"""Stopped with Ctrl-C, as shells have it."""
