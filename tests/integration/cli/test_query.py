"""The asking verbs, over the demo's packages."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from brain_async.cli.home import DEMO_NAMESPACE
from brain_async.cli.kinds import PACKAGE, object_id
from tests.integration.cli.conftest import COMMAND, brain, report

RICH = str(object_id(DEMO_NAMESPACE, PACKAGE, "rich"))
pytestmark = pytest.mark.usefixtures("cold_demo")


def titles(found: dict[str, Any]) -> list[str]:
    return [hit["title"] for hit in found["objects"]]


def test_search_and_continue(demo_home_dir: Path) -> None:
    first = report("search", "progress bars in the terminal", "-n", "2", home=demo_home_dir)
    assert len(first["objects"]) == 2
    assert first["has_more"]
    assert first["outcomes"]
    second = report("continue", "-n", "2", home=demo_home_dir)
    assert second["result_set_id"] == first["result_set_id"]
    assert not set(titles(first)) & set(titles(second))
    human = brain("continue", "-n", "2", home=demo_home_dir)
    assert human.returncode == 0
    assert "\n 5 " in human.stdout


def test_what_was_respelt_is_said_unless_searched_as_typed(demo_home_dir: Path) -> None:
    first = brain("search", "terminnal progress", "-n", "1", home=demo_home_dir)
    assert "searched terminal for terminnal" in first.stdout
    typed = report("search", "terminnal progress", "-n", "1", "--as-typed", home=demo_home_dir)
    assert "respelled" not in typed
    assert report("search", "terminnal progress", "-n", "1", home=demo_home_dir)["respelled"] == [
        ["terminnal", "terminal"]
    ]


def test_the_hint_names_the_home_and_works_as_typed(demo_home_dir: Path) -> None:
    namespace = ("--namespace", str(DEMO_NAMESPACE))
    first = brain("search", "progress bars in the terminal", "-n", "2", *namespace, home=demo_home_dir)
    (hint,) = (line for line in first.stdout.splitlines() if line.startswith("more: "))
    assert hint == f"more: brain continue -n 2 --home {demo_home_dir}"
    second = brain(*shlex.split(hint)[2:])
    assert second.returncode == 0
    assert "\n 3 " in second.stdout
    at_home = brain("search", "progress", "-n", "1", env={"BRAIN_HOME": str(demo_home_dir)})
    assert "more: brain continue -n 1\n" in at_home.stdout


def test_the_last_page_says_so(demo_home_dir: Path) -> None:
    found = report("search", "terminal", "--scope-id", RICH, home=demo_home_dir)
    assert not found.get("has_more")
    result = brain("continue", home=demo_home_dir)
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "no more results")
    assert "nothing found" not in result.stdout


def test_a_page_larger_than_allowed_is_told(demo_home_dir: Path) -> None:
    result = brain("search", "python", "-n", "500", home=demo_home_dir)
    assert (result.returncode, result.stderr) == (0, "note: at most 50 on a page\n")
    assert "50 of " in result.stdout
    far = brain("expand", RICH, "-r", "requires", "--hops", "90", home=demo_home_dir)
    assert far.returncode == 0
    assert far.stderr.startswith("note: at most ")
    assert far.stderr.endswith(" hops\n")


def test_search_for_people_says_why(demo_home_dir: Path) -> None:
    result = brain("search", "progress bars in the terminal", "-n", "2", home=demo_home_dir)
    assert result.returncode == 0
    assert "rank in lexical" in result.stdout
    assert "2 of " in result.stdout
    explained = brain("search", "progress bars in the terminal", "-n", "2", "--explain", home=demo_home_dir)
    assert "share" in explained.stdout
    assert "    section " in explained.stdout
    assert not re.search(r"^ {4}[0-9a-f]{8}-.*\n +(lexical|vector)", explained.stdout, re.MULTILINE)
    lines = [line for line in explained.stdout.splitlines() if not line.startswith("more: ")]
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.rstrip().endswith("·")]


def test_explain_in_json(demo_home_dir: Path) -> None:
    hit = report("search", "progress bars", "-n", "1", "--explain", home=demo_home_dir)["objects"][0]
    assert {"channel", "rank", "score", "share"} <= set(hit["explain"][0]["channels"][0])
    assert hit["explain"][0]["decay"] <= 1


def test_filters(demo_home_dir: Path) -> None:
    found = report("objects", "http", "-k", "package", "-f", "license=Apache-2.0", home=demo_home_dir)
    assert {hit["properties"]["license"] for hit in found["objects"]} == {"Apache-2.0"}
    either = report(
        "objects", "http", "-k", "package", "-f", "license=Apache-2.0", "-f", "license=BSD-3-Clause", home=demo_home_dir
    )
    assert {hit["properties"]["license"] for hit in either["objects"]} <= {"Apache-2.0", "BSD-3-Clause"}
    # Of more packages than candidates are asked for, as of those under MIT, neither total would say anything.
    assert either["total"] > found["total"]
    listed = report(
        "objects", "http", "-k", "package", "-f", 'license=["Apache-2.0", "BSD-3-Clause"]', home=demo_home_dir
    )
    assert titles(listed) == titles(either)
    number = report("objects", "async", "-k", "package", "-f", "sections=1", home=demo_home_dir)
    assert {hit["properties"]["sections"] for hit in number["objects"]} <= {1}
    people = report("search", "http", "--kind", "author", home=demo_home_dir)
    assert {hit["kind"] for hit in people["objects"]} == {"author"}


def test_scope_ids(demo_home_dir: Path) -> None:
    assert titles(report("search", "terminal", "--scope-id", RICH, home=demo_home_dir)) == ["rich"]


def test_exact_forgives_typos_and_takes_ids(demo_home_dir: Path) -> None:
    assert titles(report("exact", "pyganments", home=demo_home_dir))[0] == "Pygments"
    assert titles(report("exact", RICH, home=demo_home_dir)) == ["rich"]
    assert "Pygments" in brain("exact", "pyganments", home=demo_home_dir).stdout


def test_expand(demo_home_dir: Path) -> None:
    parts = report("expand", RICH, home=demo_home_dir)
    assert {hit["kind"] for hit in parts["objects"]} == {"section"}
    out = report("expand", RICH, "-r", "requires", "--direction", "out", home=demo_home_dir)
    assert {"Pygments", "markdown-it-py"} <= set(titles(out))
    far = report("expand", RICH, "-r", "requires", "--direction", "out", "--hops", "2", "-n", "50", home=demo_home_dir)
    assert far["total"] > out["total"]
    both = report("expand", RICH, "-r", "written_by", "--contains", "-n", "50", home=demo_home_dir)
    assert {hit["kind"] for hit in both["objects"]} == {"section", "author"}
    assert "→ requires" in brain("expand", RICH, "-r", "requires", "--direction", "out", home=demo_home_dir).stdout


def test_read(demo_home_dir: Path) -> None:
    found = report("read", RICH, home=demo_home_dir)
    assert found["object"]["title"] == "rich"
    assert found["object"]["content"]
    assert found["parts"]
    assert "kind" in (human := brain("read", RICH, home=demo_home_dir).stdout)
    assert "its parts" in human
    part = report("read", found["parts"][0]["id"], home=demo_home_dir)
    assert part["object"]["parent_id"] == RICH
    assert part["parts"] == []


def test_links(demo_home_dir: Path) -> None:
    found = report("links", "requires", "python version", "-n", "2", home=demo_home_dir)
    assert len(found["links"]) == 2
    assert found["links"][0]["relation_type"] == "requires"
    assert " → " in brain("links", "requires", "python version", home=demo_home_dir).stdout


def test_a_foreign_namespace_sees_nothing(demo_home_dir: Path) -> None:
    other = ("--namespace", "3c7c3b52-5d0e-4a54-9a0c-6a1f0d3a7eff")
    assert report("search", "terminal", *other, home=demo_home_dir)["objects"] == []
    assert brain("read", RICH, *other, home=demo_home_dir).returncode == 1
    human = brain("search", "terminal", *other, home=demo_home_dir)
    assert (human.returncode, human.stdout.splitlines()[0]) == (0, "nothing found")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("search", "  "), 1, "error: query is required"),
        (("search", "x", "-f", "license"), 1, "error: a filter is written key=value"),
        (("search", "x", "-f", "license=MIT"), 1, "error: filter 'license' is a property: add a 'kind' filter"),
        (("objects", "x", "-k", "package", "-f", "license=1"), 1, "error: filter 'license' takes a string"),
        (("objects", "x", "-k", "nonsense"), 1, "error: "),
        (("read", "3c7c3b52-5d0e-4a54-9a0c-6a1f0d3a7eff"), 1, "error: object not found"),
        (("read", "rich"), 2, "UUID"),
        (("expand", RICH, "--direction", "up"), 2, "out, in or both"),
        (("search",), 2, "Missing argument"),
        (("no-such-command",), 2, "No such command"),
    ],
)
def test_bad_input_is_one_line_and_an_exit_code(
    demo_home_dir: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = brain(*arguments, home=demo_home_dir if arguments[0] != "no-such-command" else None)
    assert result.returncode == code
    assert result.stdout == ""
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    if code == 1:
        assert result.stderr.count("\n") == 1


def test_a_home_without_a_knowledge_base_is_left_alone(folder: Path) -> None:
    home = folder / "nothing"
    result = brain("search", "x", home=home)
    assert result.returncode == 1
    assert "no knowledge base" in result.stderr
    assert brain("continue", home=home).returncode == 1
    assert not home.exists()


def test_a_home_that_is_a_file_is_refused(folder: Path) -> None:
    (folder / "file").touch()
    result = brain("ingest", folder, home=folder / "file")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("error: ")


def test_a_closed_pipe_is_quiet(demo_home_dir: Path) -> None:
    for extra in ([], ["--json"]):
        process = subprocess.Popen(
            [*COMMAND, "read", RICH, "--home", str(demo_home_dir), *extra],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=30) in (0, 1)
        assert process.stderr is not None
        with process.stderr:
            assert process.stderr.read() == ""


def test_ctrl_c_is_one_line(folder: Path) -> None:
    home = folder / "home"
    process = subprocess.Popen(
        [*COMMAND, "demo", "--home", str(home)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(200):
        if home.exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "stopped: run it again to go on\n")


@pytest.mark.skipif(os.name != "posix", reason="file names are bytes on POSIX only")
def test_text_of_others_cannot_drive_the_terminal(files_home: Path, folder: Path) -> None:
    (folder / "evil.md").write_text("# \x1b[31mRed\x1b[0m\n\nA \x1b]0;title\x07 for the zebra [bold]quagga[/bold].\n")
    assert brain("ingest", folder, home=files_home).returncode == 0
    result = brain("search", "zebra quagga", "-n", "1", home=files_home)
    assert "[bold]" in result.stdout
    assert "\x1b" not in result.stdout
    found = report("search", "zebra quagga", "-n", "1", home=files_home)["objects"][0]
    assert "\x1b" not in brain("read", found["id"], home=files_home).stdout
