"""What would a query cost at a billion parts? ``python benchmarks/extrapolate.py [--parts N] [--partitions P ...] [--write]``

Reads the p50 of each channel by size from docs/benchmarks/bench_scale.json and fits two laws by least squares, a power of the
size and a logarithm of it; a third goes on as the last two sizes grew. A query stays in one namespace, so in one partition: it
costs what a search of N / P parts does, and no less than the largest size measured where that is smaller. ``--write`` makes all
tables of docs/scale.md; a test compares them. It is arithmetic, not a measurement: how far a few sizes carry is in the errors
of the fits and in the width of each range.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tables import REPORTS, Row, load_reports, markdown
from tables import render as render_tables

__all__ = ["CHANNELS", "DOCUMENT", "Fit", "estimate", "fits", "render", "sizes_of", "table"]

DOCUMENT = REPORTS.parent / "scale.md"
CHANNELS = ("lexical", "vector", "trigram", "search")
PARTS = 10**9
PARTITIONS = (1, 10, 100, 1000)

_BLOCK = re.compile(r"(?P<begin><!-- extrapolate -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


class Fit(msgspec.Struct, frozen=True):
    """``base + slope * log10(parts)``: of the milliseconds, or of their logarithm where ``law`` is "power".

    ``error`` is the root mean square of the relative residuals: 0.1 is ten percent off on average.
    """

    law: str
    base: float
    slope: float
    error: float

    def at(self, parts: float) -> float:
        """Milliseconds for ``parts``; never below 0."""
        value = self.base + self.slope * math.log10(parts)
        return float(10**value) if self.law == "power" else max(0.0, value)


def sizes_of(report: Mapping[str, Any], channel: str) -> dict[int, float]:
    """The p50 in milliseconds of ``channel`` by the number of parts, ascending."""
    found = {
        int(name.removeprefix("parts_")): figures[channel]["p50_ms"]
        for name, figures in report["figures"].items()
        if name.startswith("parts_")
    }
    return dict(sorted(found.items()))


def fits(measured: Mapping[int, float]) -> tuple[Fit, Fit]:
    """(power law, logarithm) by least squares. Raises ValueError for fewer than two sizes."""
    if len(measured) < 2:
        raise ValueError("a fit needs two sizes")
    sizes = np.log10(np.array(list(measured), dtype=float))
    costs = np.array(list(measured.values()), dtype=float)
    made = []
    for law, wanted in (("power", np.log10(costs)), ("log", costs)):
        slope, base = np.polyfit(sizes, wanted, 1)
        fit = Fit(law, float(base), float(slope), 0.0)
        off = [fit.at(parts) / cost - 1 for parts, cost in measured.items()]
        made.append(msgspec.structs.replace(fit, error=math.sqrt(sum(each * each for each in off) / len(off))))
    return made[0], made[1]


def estimate(measured: Mapping[int, float], parts: float) -> tuple[float, float]:
    """(least, most) milliseconds for ``parts`` by the laws; ``measured`` is ascending, two sizes at least."""
    largest = max(measured)
    last, _ = fits(dict(list(measured.items())[-2:]))
    costs = [fit.at(parts) for fit in (*fits(measured), last)]
    if parts < largest:
        return min(costs), max(costs)
    floor = measured[largest]
    return max(floor, min(costs)), max(floor, *costs)


def table(report: Mapping[str, Any], parts: int = PARTS, partitions: Sequence[int] = PARTITIONS) -> str:
    """Milliseconds of each channel by partitions x parts in each, from the cheapest law to the dearest, in Markdown."""
    rows: list[Row] = []
    for channel in CHANNELS:
        measured = sizes_of(report, channel)
        power, log = fits(measured)
        costs: dict[str, Any] = {
            "power law": f"n^{power.slope:.2f}",
            "its error": f"{power.error:.0%}",
            "log, its error": f"{log.error:.0%}",
        }
        for count in partitions:
            low, high = estimate(measured, parts / count)
            costs[f"{count:,} x {_short(parts / count)}"] = f"{low:,.0f} to {high:,.0f}"
        rows.append(((channel,), costs))
    return markdown(rows, ["channel"])


def _short(parts: float) -> str:
    return f"{parts / 1e6:,.3g}M" if parts < 1e9 else f"{parts / 1e9:,.3g}G"


def render(document: str, reports: Mapping[str, Any]) -> str:
    """``document`` with this table and those of tables.py made anew from ``reports``, by the name of the benchmark."""
    made = table(reports["bench_scale"])
    return _BLOCK.sub(lambda match: f"{match['begin']}\n{made}\n\n{match['end']}", render_tables(document, reports))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "bench_scale.json")
    parser.add_argument("--parts", type=int, default=PARTS)
    parser.add_argument("--partitions", type=int, nargs="+", default=list(PARTITIONS))
    parser.add_argument(
        "--write", action="store_true", help="make the tables of docs/scale.md anew from the committed reports"
    )
    arguments = parser.parse_args()
    report = json.loads(arguments.report.read_text(encoding="utf-8"))
    if arguments.write:
        DOCUMENT.write_text(render(DOCUMENT.read_text(encoding="utf-8"), load_reports(REPORTS)), encoding="utf-8")
    print(table(report, arguments.parts, arguments.partitions))


if __name__ == "__main__":
    main()
