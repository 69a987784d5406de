"""Starting the command line must not pay for parsers that most commands never use."""

from __future__ import annotations

import subprocess
import sys


def test_parsers_are_imported_on_first_use() -> None:
    code = (
        "import sys, brain_async.cli.corpus, brain_async.cli.distributions, brain_async.cli.files\n"
        "print(sorted({'markdown_it', 'docutils', 'asyncpg', 'httpx', 'rich', 'packaging'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
