"""What an evaluation found, as it is reported."""

from __future__ import annotations

import msgspec

from brain_async.evaluation.systems import Role

__all__ = ["Comparison", "Evaluation", "SystemFigures", "Tuning"]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """nDCG@10 against BM25's on the same queries: the mean difference, and the p-value of a paired t-test, two sided."""

    difference: float
    p_value: float


class SystemFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One system's means over the queries.

    Attributes:
        measures: nDCG@10, R@10, R@50 and RR@10 (whose mean is MRR@10) to their mean, 0 to 1.
        p50, p95: seconds of a search.
        degraded: searches that had to do without a channel.
        against_bm25: None for BM25 itself.
    """

    name: str
    role: Role
    measures: dict[str, float]
    p50: float
    p95: float
    degraded: int
    against_bm25: Comparison | None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """Weights chosen on one half of the queries, and what they are worth on the other.

    Attributes:
        weights: channel to proposed weight.
        tuned_on, tested_on: queries of each half.
        ndcg_before, ndcg_after: nDCG@10 on the other half with the configured and the proposed weights.
        p_value: of that difference, by a paired t-test, two sided.
    """

    weights: dict[str, float]
    tuned_on: int
    tested_on: int
    ndcg_before: float
    ndcg_after: float
    p_value: float


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one collection."""

    collection: str
    documents: int
    queries: int
    systems: tuple[SystemFigures, ...]
    tuning: Tuning | None = None
