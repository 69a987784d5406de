"""brain ledger: over a ledger that the library made."""

from __future__ import annotations

import asyncio
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import lmdb
import pytest

from brain_async.adapters.lmdb import open_lmdb
from brain_async.cortex import CortexGraph, EdgeMetadata, Ledger, verify_proof
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from tests.integration.cli.conftest import COMMAND, brain, report

_NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
_SCOPE = Scope(UUID(int=99))
_A, _B, _C = (UUID(int=n) for n in (1, 2, 3))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose ledger has a label, three edges, one of them removed: five entries."""

    async def fill() -> None:
        async with open_lmdb(tmp_path / "ledger") as store:
            ledger = Ledger(store, clock=lambda: _NOW)
            graph = CortexGraph(ledger)
            meta = EdgeMeta(note="a note\x1b[31m", created_at=_NOW, updated_at=_NOW)
            edges = [Edge(from_id=_A, to_id=to, relation_type="about", meta=meta) for to in (_B, _C)]
            await graph.add_edges(_SCOPE, edges)
            await ledger.add_edge(_B, "references", _C, EdgeMetadata(data=b"\x01", created_by="someone"))
            await graph.remove_edges(_SCOPE, [EdgeKey(_A, _C, "about")])

    asyncio.run(fill())
    return tmp_path


def _fails(*arguments: str | Path, home: Path) -> str:
    result = brain("ledger", *arguments, home=home)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, "one line"
    return str(result.stderr)


def _process(*arguments: str, home: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [*COMMAND, "ledger", *arguments, "--home", str(home)]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


def test_root(home: Path) -> None:
    found = report("ledger", "root", home=home)
    assert (found["seq"], found["edges"], found["labels"], found["at"]) == (5, 3, 1, "2026-05-01T12:00:00Z")
    assert len({found["root"], found["journal_root"], found["overall_root"]}) == 3
    shown = brain("ledger", "root", home=home)
    assert found["overall_root"] in shown.stdout
    assert report("ledger", "root", home=home) == found, "reading changes nothing"


def test_verify(home: Path) -> None:
    found = report("ledger", "verify", home=home)
    assert found["ok"]
    assert found["checks"][0]["holds"]
    assert found["root"] == report("ledger", "root", home=home)["root"]


def test_verify_names_the_first_difference(home: Path) -> None:
    with lmdb.open(str(home / "ledger"), max_dbs=1) as environment:
        database = environment.open_db(b"brain-key-values-1")
        with environment.begin(db=database, write=True) as transaction:
            transaction.delete(b"e/to/%b/\x03/%b" % (_C.bytes, _B.bytes))
    result = brain("ledger", "verify", "--json", home=home)
    assert (result.returncode, result.stderr) == (1, "")
    found = json.loads(result.stdout)
    assert not found["ok"]
    assert "backwards" in found["error"]
    assert not found["checks"][0]["holds"]
    assert brain("ledger", "verify", home=home).returncode == 1


@pytest.mark.parametrize(
    ("edge", "included", "removed"),
    [
        ((_A, "about", _B), True, False),
        ((_A, " About ", _C), True, True),
        ((_C, "about", _A), False, None),
        ((_B, "references", _C), True, False),
    ],
)
def test_prove(home: Path, edge: tuple[UUID, str, UUID], included: bool, removed: bool | None) -> None:
    found = report("ledger", "prove", str(edge[0]), edge[1], str(edge[2]), home=home)
    assert (found["included"], found["holds"]) == (included, True)
    assert (found["src"], found["dst"], found["type"]) == (str(edge[0]), str(edge[2]), edge[1].strip().lower())
    assert (found["edge"] and found["edge"]["tombstoned"]) == removed
    root = bytes.fromhex(report("ledger", "root", home=home)["root"])
    assert verify_proof(root, bytes.fromhex(found["proof"]))
    assert not verify_proof(root[::-1], bytes.fromhex(found["proof"]))
    shown = brain("ledger", "prove", str(edge[0]), edge[1], str(edge[2]), home=home)
    assert found["proof"] in shown.stdout


def test_what_cannot_be_proved(home: Path) -> None:
    assert "neither a canonical edge type" in _fails("prove", str(_A), "unheard", str(_B), home=home)
    assert "src" in _fails("prove", str(UUID(int=0)), "about", str(_B), home=home)


def test_log(home: Path) -> None:
    found = report("ledger", "log", home=home)
    entries: list[dict[str, Any]] = found["entries"]
    assert found["length"] == 5
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4, 5]
    assert [entry["operation"] for entry in entries] == ["label", "add", "add", "add", "remove"]
    assert (entries[0]["label"], entries[0]["code"]) == ("about", 0x40)
    assert (entries[1]["edge"]["meta"]["note"], entries[1]["edge"]["namespace_id"]) == (
        "a note\x1b[31m",
        str(UUID(int=99)),
    )
    assert (entries[3]["edge"]["data"], entries[3]["edge"]["created_by"]) == ("01", "someone")
    assert "meta" not in entries[3]["edge"], "the data are another host's"
    assert entries[4]["previous"] == 3


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--limit", "2"], [1, 2]),
        (["--after", "3"], [4, 5]),
        (["--after", "5"], []),
        (["--reverse", "-n", "2"], [5, 4]),
        (["--reverse", "--after", "3"], [2, 1]),
    ],
)
def test_pages_of_the_log(home: Path, options: list[str], wanted: list[int]) -> None:
    assert [entry["seq"] for entry in report("ledger", "log", *options, home=home)["entries"]] == wanted


def test_people_read_the_log(home: Path) -> None:
    result = brain("ledger", "log", home=home)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].endswith("label   about = 0x40")
    assert f"{_A} about {_B}" in lines[1]
    assert "\x1b" not in result.stdout, "a note cannot drive the terminal"
    assert lines[-1] == "5 of 5 entries"


def test_export_and_import(home: Path, tmp_path: Path) -> None:
    file, copy = tmp_path / "journal", tmp_path / "copy"
    made = report("ledger", "export", file, home=home)
    assert made["bytes"] == file.stat().st_size
    assert report("ledger", "import", file, home=copy)["imported"] == 5
    assert report("ledger", "root", home=copy) == report("ledger", "root", home=home)
    assert report("ledger", "import", file, home=copy)["imported"] == 0
    assert report("ledger", "verify", home=copy)["ok"]
    assert [path.name for path in tmp_path.glob("journal*")] == ["journal"]


def test_a_part_of_the_journal(home: Path, tmp_path: Path) -> None:
    first, rest, copy = tmp_path / "first", tmp_path / "rest", tmp_path / "copy"
    report("ledger", "export", rest, "--after", "2", home=home)
    assert "j/3" in _fails("import", rest, home=copy)
    whole = report("ledger", "export", first, home=home)
    assert report("ledger", "import", first, home=copy)["overall_root"] == whole["overall_root"]
    assert "after 6" in _fails("export", tmp_path / "none", "--after", "6", home=home)
    assert not (tmp_path / "none").exists()


def test_streams(home: Path, tmp_path: Path) -> None:
    """From one process to another, as in a shell's pipe; a cut stream leaves what was whole."""
    copy, whole = tmp_path / "copy", _process("export", home=home)
    assert (whole.returncode, whole.stderr) == (0, b"")
    cut = _process("import", home=copy, given=whole.stdout[:-40])
    assert cut.returncode == 1
    assert b"error: " in cut.stderr
    done = _process("import", "--json", home=copy, given=whole.stdout)
    assert json.loads(done.stdout)["seq"] == 5
    assert report("ledger", "root", home=copy) == report("ledger", "root", home=home)


@pytest.mark.parametrize("command", [["root"], ["verify"], ["log"], ["export"], ["prove", str(_A), "about", str(_B)]])
def test_a_home_without_a_ledger(tmp_path: Path, command: list[str]) -> None:
    assert f"there is no edge ledger in {tmp_path}" in _fails(*command, home=tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_files_that_cannot_be_used(home: Path, tmp_path: Path) -> None:
    assert "cannot be opened" in _fails("import", tmp_path / "missing", home=home)
    assert "cannot be opened" in _fails("export", tmp_path / "missing" / "file", home=home)
    (tmp_path / "text").write_text("no journal at all")
    assert "longer than any entry" in _fails("import", tmp_path / "text", home=home)
    usage = brain("ledger", "export", "--json", home=home)
    assert (usage.returncode, usage.stdout) == (2, "")


def test_reading_beside_a_writer(home: Path) -> None:
    """Another process may read while one writes, and not write."""

    async def read() -> None:
        async with open_lmdb(home / "ledger") as store:
            await Ledger(store, clock=lambda: _NOW).add_edge(_C, "references", _A)
            done = await asyncio.to_thread(_process, "root", "--json", home=home)
            assert json.loads(done.stdout)["seq"] == 6
            refused = await asyncio.to_thread(_process, "import", home=home)
            assert refused.returncode == 1

    asyncio.run(read())
