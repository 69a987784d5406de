"""`brain doctor`: what runs, in which versions, whether it is well, what is missing and how to get it."""

from __future__ import annotations

import platform
import re
import time
from contextlib import AsyncExitStack
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import msgspec

from brain_async.adapters.postgres.describe import StoreDescription
from brain_async.cli.error_lines import error_line
from brain_async.cli.home import is_home
from brain_async.cli.report import Check
from brain_async.errors import BrainError, LedgerLockedError
from brain_async.model.drift import Drift

__all__ = ["Diagnosis", "PackageState", "diagnose", "doctor_report"]

_DISTRIBUTION = "brain-async"
_EXTRAS = ("local", "cli")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


class PackageState(msgspec.Struct, frozen=True):
    """One required distribution: its version, "" when it is not installed, and the extra it belongs to, "" for none."""

    name: str
    version: str
    extra: str


class Diagnosis(msgspec.Struct, kw_only=True):
    """What was found.

    Attributes:
        exists: whether there is a knowledge base in ``home``; where there is none, nothing below is known.
        store: None also when it could not be opened: ``problems`` then say why.
        edges: recorded links that are live.
        ledger_head, ledger_root: entries of the edge ledger's journal, and the root in hex that commits to all of it.
        writer: id of the process that writes the knowledge base at this moment, None where none does.
        graph_nodes, graph_edges: what the graph holds.
        drift: how it differs from the store and the recorded links.
        problems: what is wrong, each with what to do about it.
    """

    home: Path
    python: str
    platform: str
    packages: list[PackageState]
    exists: bool = False
    store: StoreDescription | None = None
    embedder: str = ""
    dimension: int = 0
    edges: int = 0
    ledger_head: int = 0
    ledger_root: str = ""
    writer: int | None = None
    graph_nodes: int = 0
    graph_edges: int = 0
    drift: Drift | None = None
    open_seconds: float = 0.0
    problems: list[str] = msgspec.field(default_factory=list)

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong. A home without a knowledge base is well."""
        return not self.problems


async def diagnose(home: Path) -> Diagnosis:
    """Look at the installation, and open the knowledge base in ``home`` if there is one. Raises nothing of what it finds."""
    found = Diagnosis(
        home=home,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages=_packages(),
        exists=is_home(home),
    )
    for extra in ("", *_EXTRAS):
        missing = [package.name for package in found.packages if package.extra == extra and not package.version]
        if missing:
            target = f"{_DISTRIBUTION}[{extra}]" if extra else _DISTRIBUTION
            found.problems.append(f"not installed: {', '.join(missing)}; run: pip install '{target}'")
    try:
        from brain_async.adapters.embed import open_local_embedder
        from brain_async.local.extensions import find_install

        find_install()
        async with open_local_embedder() as embedder:
            found.embedder, found.dimension = embedder.model, embedder.dimension
        if found.exists:
            await _open(found)
    except BrainError as error:
        found.problems.append(error_line(error))
    except ImportError as error:
        found.problems.append(f"{error.name} cannot be imported: {error}")
    return found


async def _open(found: Diagnosis) -> None:
    from brain_async.local import open_local

    began = time.perf_counter()
    async with AsyncExitStack() as stack:
        try:
            engine = await stack.enter_async_context(open_local(found.home))
        except LedgerLockedError as error:
            found.writer = error.owner
            engine = await stack.enter_async_context(open_local(found.home, read_only_graph=True))
        found.open_seconds = time.perf_counter() - began
        found.store = store = await engine.store.describe()
        found.drift = drift = await engine.drift()
        async with engine.ledger.snapshot() as view:
            head = await view.head()
            found.edges = await view.count_live()
    found.ledger_head, found.ledger_root = head.seq, head.overall_root.hex()
    found.graph_nodes = store.parents - drift.missing_nodes + drift.orphan_nodes
    found.graph_edges = found.edges - drift.missing_edges + drift.orphan_edges
    broken = [name for name, index in store.indexes.items() if not index.valid]
    if broken:
        found.problems.append(f"indexes that searches cannot use: {', '.join(broken)}; run: reindex index NAME")
    if store.lexical_state != "ready":
        found.problems.append(f"the lexical index is {store.lexical_state}: the next search waits until it is rebuilt")
    if store.dimension != found.dimension:
        found.problems.append(
            f"the data holds embeddings of {store.dimension} dimensions, and {found.embedder} makes {found.dimension}"
        )
    if not drift.is_zero:
        found.problems.append(
            f"the graph has still to be told of {drift.pending} writes and differs in {drift.differences} nodes and edges:"
            " another process is writing, or run: brain reconcile --full"
        )


def _packages() -> list[PackageState]:
    """The distribution itself, then what it requires, by extra and name."""
    states = [PackageState(_DISTRIBUTION, _version(_DISTRIBUTION), "")]
    try:
        requirements = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        requirements = []
    for extra in ("", *_EXTRAS):
        names = set()
        for requirement in requirements:
            name, in_extra = _REQUIREMENT.match(requirement), _EXTRA.search(requirement)
            if name is not None and (in_extra[1] if in_extra else "") == extra:
                names.add(name[1])
        states += [PackageState(name, _version(name), extra) for name in sorted(names)]
    return states


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def doctor_report(found: Diagnosis) -> dict[str, Any]:
    """The report of `brain doctor --json`."""
    missing = [package.name for package in found.packages if not package.version]
    checks = [
        Check("packages_missing", len(missing), "0", not missing),
        Check("problems", len(found.problems), "0", not found.problems),
    ]
    if found.store is not None and found.drift is not None:
        drift = [found.drift.pending, found.drift.differences]
        checks += [
            Check("lexical_state", found.store.lexical_state, "ready", found.store.lexical_state == "ready"),
            Check("graph_in_step", drift, "[0, 0]", found.drift.is_zero),
        ]
    return {
        "command": "doctor",
        "healthy": found.is_healthy,
        **msgspec.structs.asdict(found),
        "home": str(found.home),
        "open_seconds": round(found.open_seconds, 3),
        "checks": checks,
    }
