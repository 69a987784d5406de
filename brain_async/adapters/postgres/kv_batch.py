"""A group of works as one transaction, without I/O: says what has to be read, and in the end what is to be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import islice

from brain_async.ports.kv import Change, Get, Scan, Work
from brain_async.ports.kv_groups import AnyWork, Outcome
from brain_async.ports.kv_work import check_keys, scan_bounds

__all__ = ["Batch", "Missing"]

Missing = tuple[set[bytes], set[Scan]]
"""Keys and scans that have to be read."""


class _Run:
    """A work on its way: the request it waits at, or its outcome."""

    def __init__(self, work: AnyWork) -> None:
        self.request: Get | Scan | None = None
        self.change = Change()
        self.outcome: Outcome | None = None
        self._work = work
        self._steps: Work[object] | None = None

    def advance(self, answer: Mapping[bytes, bytes] | None = None) -> None:
        """Start, or go on with the answer to ``request``."""
        try:
            if self._steps is None:
                self._steps = self._work()
                self.request = next(self._steps)
            else:
                assert answer is not None
                self.request = self._steps.send(answer)
        except StopIteration as finished:
            self._finish(finished)
        except BaseException as error:
            self.request, self.outcome = None, Outcome(error=error)

    def _finish(self, finished: StopIteration) -> None:
        self.request = None
        try:
            change, result = finished.value
            check_keys(change.writes)
        except Exception as error:
            self.outcome = Outcome(error=error)
        else:
            self.change, self.outcome = change, Outcome(result)


class Batch:
    """Runs works one after another, each seeing what those before it wrote, over a table that does not change meanwhile.

    Call ``advance`` and feed what it names to ``read`` until it names nothing; then ``outcomes`` and ``writes`` are there.
    Before the works are run in earnest they are rehearsed side by side, each on its own: so what they will read is for the
    greater part read at once for all of them, instead of for one after another.
    """

    def __init__(self, works: Sequence[AnyWork]) -> None:
        self.outcomes: list[Outcome] = []
        self.writes: dict[bytes, bytes | None] = {}
        self._works = works
        self._rehearsed = [_Run(work) for work in works] if len(works) > 1 else []
        self._run: _Run | None = None
        self._values: dict[bytes, bytes | None] = {}
        self._scans: dict[Scan, Mapping[bytes, bytes]] = {}

    def advance(self) -> Missing:
        """Run as far as what was read allows; what has to be read now."""
        missing: Missing = (set(), set())
        for run in self._rehearsed:
            self._follow(run, {}, missing)
        self._rehearsed = [run for run in self._rehearsed if run.outcome is None]
        while not self._rehearsed and len(self.outcomes) < len(self._works):
            run = self._run = self._run or _Run(self._works[len(self.outcomes)])
            self._follow(run, self.writes, missing)
            if run.outcome is None:
                break
            self.writes.update(run.change.writes)
            self.outcomes.append(run.outcome)
            self._run = None
        return missing

    def read(self, keys: Mapping[bytes, bytes | None], scans: Mapping[Scan, Mapping[bytes, bytes]]) -> None:
        """What was found: a value or None for each key, the records of each scan in order."""
        self._values.update(keys)
        self._scans.update(scans)

    def _follow(self, run: _Run, written: Mapping[bytes, bytes | None], missing: Missing) -> None:
        """Advance a run until it ends, or waits for what is missing."""
        if run.request is None:
            run.advance()
        while run.request is not None:
            answer = self._answer(run.request, written, missing)
            if answer is None:
                return
            run.advance(answer)

    def _answer(
        self, request: Get | Scan, written: Mapping[bytes, bytes | None], missing: Missing
    ) -> Mapping[bytes, bytes] | None:
        if isinstance(request, Scan):
            return self._scanned(request, written, missing)
        found: dict[bytes, bytes] = {}
        unknown = [key for key in request.keys if key not in written and key not in self._values]
        if unknown:
            missing[0].update(unknown)
            return None
        for key in request.keys:
            value = written[key] if key in written else self._values[key]
            if value is not None:
                found[key] = value
        return found

    def _scanned(
        self, request: Scan, written: Mapping[bytes, bytes | None], missing: Missing
    ) -> Mapping[bytes, bytes] | None:
        low, high = scan_bounds(request.prefix, request.after)
        mine = {key: value for key, value in written.items() if key >= low and (high is None or key < high)}
        limit = max(0, request.limit)
        # As many more as may have been deleted meanwhile.
        base = Scan(request.prefix, request.after, limit + sum(value is None for value in mine.values()))
        if base not in self._scans:
            missing[1].add(base)
            return None
        kept = ((key, value) for key, value in self._scans[base].items() if key not in mine)
        added = sorted((key, value) for key, value in mine.items() if value is not None)
        return dict(islice(merge(kept, added), limit))
