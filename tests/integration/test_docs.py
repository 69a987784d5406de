"""Every Python snippet of the README and the docs runs, and every link between them leads somewhere."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import anyio
import asyncpg
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda path: path.name
)
async def test_the_snippets_of_a_page_run(page: Path, postgres_dsn: str) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    try:
        await connection.execute("create database snippets")
        with tempfile.TemporaryDirectory(prefix="brain-docs-") as folder:
            with anyio.fail_after(100):
                done = await anyio.run_process(
                    # -P: the folders of tests beside the script are named like the packages they test.
                    [sys.executable, "-P", str(Path(__file__).with_name("run_snippets.py")), str(page)],
                    cwd=folder,
                    env={**os.environ, "DSN": postgres_dsn.replace("/postgres?", "/snippets?")},
                    check=False,
                )
        assert done.returncode == 0, done.stderr.decode()
        assert b"snippets ran" in done.stdout
    finally:
        await connection.execute("drop database if exists snippets with (force)")
        await connection.close()


def test_the_quickstart_is_the_example_of_the_readme() -> None:
    example = (ROOT / "examples" / "quickstart.py").read_text()
    assert example.partition("\n\n")[2] in (ROOT / "README.md").read_text()
