"""brain reconcile, over the demo's home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import brain, report


@pytest.mark.usefixtures("cold_demo")
def test_everything_is_compared(demo_home_dir: Path) -> None:
    found = report("reconcile", "--full", home=demo_home_dir)
    assert {check["name"]: check["value"] for check in found["checks"]} == {
        "failures": 0,
        "pending": 0,
        "differences": 0,
    }
    assert found["full"]
    assert found["after"]["compared"]


@pytest.mark.usefixtures("cold_demo")
def test_people_see_what_was_done(demo_home_dir: Path) -> None:
    result = brain("reconcile", home=demo_home_dir)
    assert (result.returncode, result.stderr) == (0, "")
    assert "before: 0 pending" in result.stdout
    assert "has been told everything" in result.stdout
