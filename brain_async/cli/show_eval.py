"""What `brain eval` prints for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brain_async.cli.eval import Evaluated
from brain_async.cli.text import harmless
from brain_async.evaluation.results import SystemFigures

__all__ = ["show_evaluation"]

_HEADINGS = ("nDCG@10", "R@10", "R@50", "MRR@10", "p50 ms", "p95 ms", "against BM25", "p")
_NARROWEST = 100
_SIGNIFICANT = 0.05


def show_evaluation(done: Evaluated) -> None:
    """A table with a row a system, then the proposed weights where there are some."""
    console = Console(highlight=False)
    # A table of figures is of no use when they are cut; a narrow terminal wraps its lines.
    console.width = max(console.width, _NARROWEST)
    found = done.evaluation
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for system in found.systems:
        table.add_row(*_row(system))
    console.print(table)
    counted = f"{harmless(found.collection)}: {found.documents} documents, {found.queries} queries"
    was = "as stored before" if done.reused else f"written in {done.ingest_seconds:.1f} s"
    console.print(Text(f"{counted}, {was}; {done.embedder}, {done.lexical_backend}, {done.config.fusion}", style="dim"))
    if any(system.degraded for system in found.systems):
        lacking = ", ".join(f"{system.name} {system.degraded}" for system in found.systems if system.degraded)
        console.print(Text(f"searches that had to do without a channel: {lacking}", style="yellow"))
    if (tuning := found.tuning) is not None:
        weights = ",".join(f"{name}={weight:g}" for name, weight in tuning.weights.items())
        console.print(
            f"\nproposed by {tuning.tuned_on} queries: --weights {weights}\n"
            f"on the other {tuning.tested_on}: nDCG@10 {tuning.ndcg_before:.4f} -> {tuning.ndcg_after:.4f}"
            f" (p {tuning.p_value:.3f})"
        )


def _row(system: SystemFigures) -> list[Text]:
    shares = [Text(f"{value:.4f}") for value in system.measures.values()]
    times = [Text(f"{seconds * 1e3:.1f}") for seconds in (system.p50, system.p95)]
    if (against := system.against_bm25) is None:
        compared = [Text("-"), Text("")]
    else:
        colour = "" if against.p_value >= _SIGNIFICANT else "green" if against.difference > 0 else "red"
        compared = [Text(f"{against.difference:+.4f}", style=colour), Text(f"{against.p_value:.3f}", style=colour)]
    name = f"{system.name} alone" if system.role == "alone" else system.name
    return [Text(name, style="bold" if system.role == "whole" else ""), *shares, *times, *compared]
