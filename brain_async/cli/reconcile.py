"""`brain reconcile`: the graph told what it still has to be told, and with --full compared with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from brain_async.cli.progress import Phases
from brain_async.cli.report import Check
from brain_async.model.drift import ReconcileReport

__all__ = ["reconcile_report", "run_reconcile"]


async def run_reconcile(home: Path, phases: Phases, *, full: bool) -> ReconcileReport:
    """Reconcile the knowledge base in ``home``. Raises what opening and reconciling raise."""
    from brain_async.local import open_local

    phases.begin("opening")
    async with open_local(home) as engine:
        advance = phases.begin("telling the graph")
        return await engine.reconcile(full=full, progress=lambda nodes, edges: advance(nodes + edges, nodes + edges))


def reconcile_report(done: ReconcileReport) -> dict[str, Any]:
    """The report of `brain reconcile --json`."""
    checks = [
        Check("failures", len(done.failures), "0", done.ok),
        Check("pending", done.after.pending, "0", not done.after.pending),
    ]
    if done.after.compared:
        checks.append(Check("differences", done.after.differences, "0", not done.after.differences))
    return {"command": "reconcile", **msgspec.to_builtins(done), "seconds": round(done.seconds, 3), "checks": checks}
