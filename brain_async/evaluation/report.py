"""The evaluation of one collection: every system measured on every query, and held against BM25."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np

from brain_async.config import EngineConfig
from brain_async.engine import Engine
from brain_async.evaluation.collection import Collection
from brain_async.evaluation.judge import MEASURES, NDCG, Judge, QueryValues
from brain_async.evaluation.measure import Asked, ask
from brain_async.evaluation.results import Comparison, Evaluation, SystemFigures
from brain_async.evaluation.systems import BM25, System
from brain_async.model.scope import Scope
from brain_async.ports.host import Progress

__all__ = ["evaluate"]


async def evaluate(
    open_with: Callable[[EngineConfig], Engine],
    scope: Scope,
    collection: Collection,
    documents: Mapping[UUID, str],
    systems: Sequence[System],
    *,
    begin: Callable[[str], Progress] | None = None,
) -> Evaluation:
    """Measure ``systems``, BM25 among them, on every query of ``collection``.

    ``open_with`` gives the engine with a config; ``documents`` names the document of each parent in ``scope``; ``begin``
    is told of each system and returns what is told of its progress. Each query is asked once and alone, so the seconds are
    those of a machine with nothing else to do. Raises what ``Judge`` and ``Engine.search`` raise.
    """
    judge = Judge(collection)
    values: dict[str, QueryValues] = {}
    asked: dict[str, Asked] = {}
    for system in systems:
        asked[system.name] = await ask(
            open_with(system.config),
            scope,
            system,
            collection.queries,
            documents,
            progress=begin(f"asking: {system.name}") if begin is not None else None,
        )
        values[system.name] = judge.values(asked[system.name].ranking)
    baseline = values[BM25][NDCG]
    return Evaluation(
        collection=collection.name,
        documents=len(collection.documents),
        queries=len(collection.queries),
        systems=tuple(
            _figures(system, values[system.name], asked[system.name], None if system.name == BM25 else baseline, judge)
            for system in systems
        ),
    )


def _figures(
    system: System, values: QueryValues, asked: Asked, baseline: Mapping[str, float] | None, judge: Judge
) -> SystemFigures:
    p50, p95 = np.percentile(list(asked.seconds.values()), [50, 95])
    ndcg = values[NDCG]
    return SystemFigures(
        name=system.name,
        role=system.role,
        measures={name: statistics.fmean(values[name].values()) for name in MEASURES},
        p50=float(p50),
        p95=float(p95),
        degraded=asked.degraded,
        against_bm25=None
        if baseline is None
        else Comparison(
            difference=statistics.fmean(ndcg[query] - baseline[query] for query in ndcg),
            p_value=judge.p_value(ndcg, baseline),
        ),
    )
