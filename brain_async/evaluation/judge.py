"""The measures and the significance of their differences, computed by libraries that are made for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from brain_async.errors import MissingExtensionError
from brain_async.evaluation.collection import Collection

__all__ = ["MEASURES", "NDCG", "Judge", "QueryValues"]

NDCG = "nDCG@10"
MEASURES = (NDCG, "R@10", "R@50", "RR@10")

QueryValues = dict[str, dict[str, float]]
"""Measure to query id to value."""


class Judge:
    """Judges rankings of one collection's documents. Raises MissingExtensionError without the ``eval`` extra."""

    def __init__(self, collection: Collection) -> None:
        missing = [name for name in ("ir_measures", "scipy") if find_spec(name) is None]
        if missing:
            needed = " and ".join(missing)
            raise MissingExtensionError(f"evaluation needs {needed}: pip install 'brain-async[eval]'")
        import ir_measures

        self._library: Any = ir_measures
        self._measures = {name: ir_measures.parse_measure(name) for name in MEASURES}
        self._qrels = [
            ir_measures.Qrel(query, document, grade)
            for query, graded in collection.grades.items()
            for document, grade in graded.items()
        ]

    def values(self, ranking: Mapping[str, Sequence[str]]) -> QueryValues:
        """Every measure of every query of ``ranking``, query id to document ids, best first; 0 where nothing was found."""
        qrels = [qrel for qrel in self._qrels if qrel.query_id in ranking]
        run = [
            self._library.ScoredDoc(query, document, -float(rank))
            for query, documents in ranking.items()
            for rank, document in enumerate(documents)
        ]
        found: QueryValues = {name: dict.fromkeys(ranking, 0.0) for name in MEASURES}
        names = {measure: name for name, measure in self._measures.items()}
        for metric in self._library.iter_calc(list(self._measures.values()), qrels, run):
            found[names[metric.measure]][metric.query_id] = float(metric.value)
        return found

    def p_value(self, values: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        """Student's paired t-test, two sided, over the queries of both; 1 where they nowhere differ or there is one query."""
        from scipy import stats

        queries = sorted(values)
        differences = [values[query] - baseline[query] for query in queries]
        if len(queries) < 2 or not any(differences):
            return 1.0
        if len(set(differences)) == 1:
            return 0.0
        p = float(stats.ttest_1samp(differences, 0.0).pvalue)
        return p if math.isfinite(p) else 1.0
