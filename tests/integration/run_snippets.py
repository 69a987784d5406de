"""Runs the Python snippets of one Markdown file, in order, in one namespace: ``python run_snippets.py FILE``.

Snippets may await at top level. They run in the main thread of a loop of their own; one that calls ``asyncio.run`` itself
runs in a worker thread, where that is allowed.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from inspect import CO_COROUTINE
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def compiled_snippets(path: Path) -> list[CodeType]:
    """The snippets of the file, compiled so that a traceback names its line."""
    text = path.read_text(encoding="utf-8")
    snippets = []
    for match in SNIPPET.finditer(text):
        padding = "\n" * text.count("\n", 0, match.start(1))
        snippets.append(compile(padding + match.group(1), str(path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
    return snippets


async def run(path: Path) -> int:
    """Run them all; the number run."""
    namespace: dict[str, Any] = {"__name__": "snippets"}
    snippets = compiled_snippets(path)
    for code in snippets:
        snippet = FunctionType(code, namespace)
        if code.co_flags & CO_COROUTINE:
            await snippet()
        else:
            await asyncio.to_thread(snippet)
    return len(snippets)


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(run(Path(sys.argv[1])))} snippets ran\n")
