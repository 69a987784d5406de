"""The progress bar, on stderr: stdout holds nothing but the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Phases", "show_phases"]


class Phases:
    """Names the phase that is running, and how far it is."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=None)

    def begin(self, description: str) -> Callable[[int, int], None]:
        """Begin a phase of unknown length; the returned function tells how much is done, and of how much."""
        if self._bar is not None and self._task is not None:
            self._bar.reset(self._task, description=description, total=None)
        return self._advance

    def _advance(self, done: int, total: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)


@contextmanager
def show_phases() -> Iterator[Phases]:
    """A bar that is gone afterwards; none at all where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield Phases(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Phases(bar)
