"""Writes the tables of docs/benchmarks.md from the reports of the benchmarks. ``benchmarks/tables.py [--take REPORT...]``

The reports are kept in docs/benchmarks/, one JSON file a benchmark; ``--take build/bench_search.json`` copies a new one there
first, ``--check`` only says whether the document is up to date. In the document a table stands between two comments, the first
saying what it shows; all else is prose and left alone::

    <!-- table bench_search figures/search_c* across columns=p50_ms -->
    <!-- end -->

The path is looked up in the report; its segments are patterns as in file names, as are those of ``columns``, ``rows`` and
``without``. Mappings of figures become rows, their keys the first columns; ``across`` moves the first key into the headings;
``head`` names the first columns. ``checks BENCHMARK [PATTERN]`` shows checks, ``machine BENCHMARK`` a sentence.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

__all__ = ["DOCUMENT", "REPORTS", "Row", "load_reports", "markdown", "render", "rows_of", "select"]

_ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = _ROOT / "docs" / "benchmarks.md"
REPORTS = _ROOT / "docs" / "benchmarks"

_BLOCK = re.compile(r"(?P<begin><!-- (?P<words>(?:table|checks|machine) .*?) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
_HARDWARE = ("processor", "cores", "memory_gb", "system", "architecture", "date", "load_average")

Row = tuple[tuple[str, ...], Mapping[str, Any]]
"""Keys that lead to a row, outermost first, and its values by column."""


def load_reports(folder: Path) -> dict[str, Any]:
    """Every report in ``folder`` by the name of its file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def select(report: Any, path: str) -> Any:
    """What ``path`` leads to; a segment that is a pattern gives a mapping of all that match it. Raises KeyError."""
    segment, _, rest = path.partition("/")
    if not segment:
        return report
    if segment in report:
        return select(report[segment], rest)
    matches = {key: select(value, rest) for key, value in report.items() if fnmatchcase(key, segment)}
    if not matches:
        raise KeyError(f"{segment!r} is not one of {', '.join(report)}")
    return matches


def rows_of(value: Mapping[str, Any], keys: tuple[str, ...] = ()) -> list[Row]:
    """A row for each mapping that holds values, wherever it is; values of the outermost give a row each, column ``value``."""
    values = {key: item for key, item in value.items() if not isinstance(item, Mapping)}
    rows: list[Row] = []
    if values:
        rows = [(keys, values)] if keys else [((key,), {"value": item}) for key, item in values.items()]
    for key, item in value.items():
        if isinstance(item, Mapping):
            rows += rows_of(item, (*keys, key))
    return rows


def _turned(rows: Sequence[Row]) -> list[Row]:
    """The first key of each row moved into its columns."""
    turned: dict[tuple[str, ...], dict[str, Any]] = {}
    for (first, *rest), values in rows:
        alone = len(values) == 1
        columns = turned.setdefault(tuple(rest), {})
        columns.update({first if alone else f"{first} {column}": value for column, value in values.items()})
    return list(turned.items())


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,}" if abs(value) >= 10_000 else f"{value}"
        case list():
            return " / ".join(_cell(item) for item in value)
    return str(value)


def markdown(rows: Sequence[Row], head: Sequence[str] = ()) -> str:
    """``rows`` as a table: a column for each key (named by ``head``) and for each value, in order of appearance.

    Columns that hold numbers are aligned to the right.
    """
    depth = max(len(keys) for keys, _ in rows)
    columns = list(dict.fromkeys(column for _, values in rows for column in values))
    heads = [*head, *[""] * (depth - len(head))][:depth]
    numbers = {column for _, values in rows for column, value in values.items() if _is_number(value)}
    rules = ["---:" if column in numbers else "---" for column in columns]
    lines = [[*heads, *(column.replace("_", " ") for column in columns)], ["---"] * depth + rules]
    for keys, values in rows:
        lines.append([*keys, *[""] * (depth - len(keys)), *(_cell(values.get(column)) for column in columns)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _table(report: Any, path: str, options: Sequence[str]) -> str:
    given = dict(option.split("=", 1) for option in options if "=" in option)
    patterns = {name: given[name].split(",") for name in ("columns", "rows", "without") if name in given}
    rows = [
        (keys, {column: value for column, value in values.items() if _matches(column, patterns.get("columns", ["*"]))})
        for keys, values in rows_of(select(report, path))
        if any(_matches(key, patterns.get("rows", ["*"])) for key in keys)
        and not any(_matches(key, patterns.get("without", [])) for key in keys)
    ]
    rows = [row for row in rows if row[1]]
    return markdown(_turned(rows) if "across" in options else rows, given.get("head", "").split(","))


def _checks(report: Any, patterns: Sequence[str]) -> str:
    return markdown(
        [
            ((f"`{check['name']}`",), {"measured": check["value"], "aim": check["aim"], "holds": check["holds"]})
            for check in report["checks"]
            if _matches(check["name"], patterns or ["*"])
        ],
        ["check"],
    )


def _machine(report: Any) -> str:
    machine = report["machine"]
    named = [f"{key.replace('_', ' ')} {_cell(machine[key])}" for key in _HARDWARE if machine.get(key)]
    versions = [f"{key} {value}" for key, value in machine.items() if key not in _HARDWARE]
    parameters = [
        f"{key} {json.dumps(value) if isinstance(value, (dict, list)) else value}"
        for key, value in report["parameters"].items()
    ]
    return f"Machine: {', '.join(named)}. Versions: {', '.join(versions)}. Parameters: {', '.join(parameters)}."


def render(document: str, reports: Mapping[str, Any]) -> str:
    """``document`` with every table made anew. Raises KeyError for a report or figure that is not there."""

    def block(match: re.Match[str]) -> str:
        what, name, *words = match["words"].split()
        if name not in reports:
            raise KeyError(f"there is no report {name!r} in {REPORTS.name}")
        report = reports[name]
        match what:
            case "table":
                made = _table(report, words[0], words[1:])
            case "checks":
                made = _checks(report, words)
            case _:
                made = _machine(report)
        return f"{match['begin']}\n{made}\n\n{match['end']}"

    return _BLOCK.sub(block, document)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--take", type=Path, nargs="*", default=[], help="reports to copy into docs/benchmarks/ first")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the document is not up to date"
    )
    arguments = parser.parse_args()
    for path in arguments.take:
        report = json.loads(path.read_text(encoding="utf-8"))
        (REPORTS / f"{report['benchmark']}.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    made = render(text, load_reports(REPORTS))
    if arguments.check:
        sys.exit(None if made == text else f"{DOCUMENT.name} is not up to date: run python benchmarks/tables.py")
    DOCUMENT.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
