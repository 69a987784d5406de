"""The report every benchmark writes: figures, the machine they were seen on, and the checks against their aims."""

from __future__ import annotations

import json
import operator
import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Check", "Report", "percentile"]

_COMPARE: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One figure beside its aim; ``holds`` says whether the aim is met."""

    name: str
    value: float
    aim: str
    holds: bool

    @classmethod
    def of(cls, name: str, value: float, comparison: str, aim: float) -> Check:
        """``comparison`` is "<=" or ">="."""
        return cls(
            name=name, value=round(value, 4), aim=f"{comparison} {aim:g}", holds=_COMPARE[comparison](value, aim)
        )


class Report(msgspec.Struct, kw_only=True):
    """A benchmark's name, parameters, figures and checks."""

    benchmark: str
    parameters: dict[str, Any]
    figures: dict[str, Any] = msgspec.field(default_factory=dict)
    checks: list[Check] = msgspec.field(default_factory=list)

    def as_json(self) -> str:
        """The report with the machine it was made on, as indented JSON."""
        packages = ("asyncpg", "pgvector", "numpy", "anyio", "msgspec")
        machine = {
            "python": platform.python_version(),
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "date": datetime.now(UTC).date().isoformat(),
            "load_average": [round(load, 2) for load in os.getloadavg()],
            **{name: version(name) for name in packages},
        }
        return json.dumps({**msgspec.to_builtins(self), "machine": machine}, indent=2, allow_nan=False)

    def print(self, *, as_json: bool) -> None:
        """Write the report to standard output, as JSON or as text."""
        if as_json:
            sys.stdout.write(self.as_json() + "\n")
            return
        for name, figure in self.figures.items():
            sys.stdout.write(f"{name}: {figure}\n")
        for check in self.checks:
            sys.stdout.write(f"{'ok ' if check.holds else 'NOT'} {check.name} = {check.value} (aim {check.aim})\n")


def _processor() -> str:
    """The model of the processor, where the system tells."""
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


def percentile(seconds: Sequence[float], share: float) -> float:
    """The ``share`` (0 to 1) percentile of ``seconds``, by linear interpolation, in milliseconds."""
    if len(seconds) == 1:
        return seconds[0] * 1e3
    cuts = statistics.quantiles(seconds, n=1000, method="inclusive")
    return cuts[min(998, max(0, round(share * 1000) - 1))] * 1e3
