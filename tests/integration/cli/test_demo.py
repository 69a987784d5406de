"""brain demo: a knowledge base of what is installed, and an answer to every query."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import msgspec
import pytest

from brain_async.cli.demo import run_demo
from brain_async.cli.distributions import read_distributions
from brain_async.cli.home import DEMO_NAMESPACE, open_home
from brain_async.cli.kinds import PACKAGE, object_id
from brain_async.cli.progress import Phases
from tests.integration.cli.conftest import brain, brain_process, report, strict


def checks(found: dict[str, Any]) -> dict[str, tuple[Any, str, bool]]:
    return {check["name"]: (check["value"], check["aim"], check["holds"]) for check in found["checks"]}


def by_verb(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {query["verb"]: query for query in found["queries"]}


def test_the_first_run_reads_everything_and_answers_every_query(cold_demo: dict[str, Any]) -> None:
    assert cold_demo["command"] == "demo"
    assert not cold_demo["reused"]
    assert cold_demo["problems"] == []
    assert cold_demo["counts"]["packages"] == len(read_distributions())
    assert cold_demo["counts"]["written"] >= cold_demo["counts"]["packages"] + cold_demo["counts"]["sections"]
    assert cold_demo["counts"]["linked"] == cold_demo["counts"]["edges"] > 0
    assert list(cold_demo["seconds"]) == ["start", "read", "ingest", "link", "queries", "total"]
    assert cold_demo["lexical_backend"] == "portable"
    assert {"python", "brain_async", "postgres", "helix", "vector", "pg_trgm", "pg_textsearch"} <= set(
        cold_demo["versions"]
    )
    assert checks(cold_demo)["queries_with_hits"] == (6, ">= 6", True)
    assert checks(cold_demo)["seconds_total"][1:] == ("<= 180", True)


def test_each_query_finds_what_it_should(cold_demo: dict[str, Any]) -> None:
    found = by_verb(cold_demo)
    assert list(found) == ["search", "find_exact", "find_objects", "expand", "continue", "find_links"]
    assert "rich" in [hit["title"] for hit in found["search"]["hits"]]
    assert all(hit["channels"] and hit["snippet"] for hit in found["search"]["hits"])
    assert found["find_exact"]["hits"][0]["title"] == "Pygments"
    assert found["find_exact"]["hits"][0]["channels"] == {"trigram": 1}
    assert found["find_objects"]["filters"]["license"]
    assert {hit["kind"] for hit in found["find_objects"]["hits"]} == {"package"}
    assert found["expand"]["hits"][0]["relation"]["type"] in ("requires", "written_by")
    assert found["find_links"]["hits"][0]["snippet"]
    first, second = ({hit["id"] for hit in found[verb]["hits"]} for verb in ("search", "continue"))
    assert second
    assert not first & second
    assert all(query["degraded"] == [] for query in cold_demo["queries"])
    statuses = {outcome["channel"]: outcome["status"] for outcome in found["search"]["outcomes"]}
    assert (statuses["lexical"], statuses["vector"], statuses["graph_text"]) == ("ok", "ok", "ok")


def test_a_second_run_reuses_the_data_and_is_fast(cold_demo: dict[str, Any], demo_home_dir: Path) -> None:
    result = brain_process("demo", "--json", home=demo_home_dir)
    assert (result.returncode, result.stderr) == (0, "")
    warm = strict(result.stdout)
    assert warm["reused"]
    assert list(warm["seconds"]) == ["start", "read", "queries", "total"]
    kept = ("packages", "sections", "authors", "edges")
    assert warm["counts"] == {name: cold_demo["counts"][name] for name in kept}
    assert checks(warm)["queries_with_hits"][2]
    assert checks(warm)["seconds_total"][1:] == ("<= 10", True)


@pytest.mark.usefixtures("cold_demo")
@pytest.mark.parametrize("columns", [80, 100])
def test_people_get_tables_that_fit(demo_home_dir: Path, columns: int) -> None:
    result = brain("demo", home=demo_home_dir, env={"COLUMNS": str(columns)})
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert max(map(len, (line for line in lines if "--home" not in line))) <= columns
    for verb in ("search", "find_exact", "find_objects", "expand", "continue", "find_links"):
        assert any(verb in line and "─" in line for line in lines)
    assert "rank in trigram 1" in result.stdout
    assert "✓ queries_with_hits 6 (>= 6)" in result.stdout


@pytest.mark.usefixtures("cold_demo")
async def test_only_changed_packages_are_written_again(demo_home_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = read_distributions()
    *others, last = installed
    changed = msgspec.structs.replace(last, summary="An entirely new summary")
    monkeypatch.setattr("brain_async.cli.demo.read_distributions", lambda: [*others[1:], changed])
    demo = await run_demo(demo_home_dir, Phases(None), fresh=False)
    assert not demo.reused
    assert demo.counts["packages"] == len(installed) - 1
    assert demo.counts["written"] < 100
    assert demo.counts["removed"] >= 1
    assert demo.problems == []

    gone = object_id(DEMO_NAMESPACE, PACKAGE, others[0].normalized_name)
    async with open_home(demo_home_dir) as engine:
        assert await engine.store.get(engine.session(DEMO_NAMESPACE).scope, gone) is None

    monkeypatch.undo()
    again = await run_demo(demo_home_dir, Phases(None), fresh=False)
    assert not again.reused
    assert again.counts["packages"] == len(installed)
    assert (await run_demo(demo_home_dir, Phases(None), fresh=False)).reused


@pytest.mark.usefixtures("cold_demo")
def test_fresh_writes_everything_again(demo_home_dir: Path) -> None:
    found = report("demo", "--fresh", home=demo_home_dir)
    assert not found["reused"]
    assert found["counts"]["written"] >= found["counts"]["sections"]
    assert found["counts"]["removed"] == 0
    assert found["counts"]["linked"] == 0


def test_the_environment_has_something_to_show() -> None:
    assert len(list(distributions())) > 10


def test_strict_refuses_what_is_no_json() -> None:
    with pytest.raises(ValueError):
        strict('{"checks": [], "score": NaN}')
