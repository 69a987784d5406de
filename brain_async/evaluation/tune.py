"""Proposing weights: chosen on one half of the queries, and reported on the other."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.config import ChannelName, EngineConfig, FusionWeights
from brain_async.engine import Engine
from brain_async.errors import InvalidInputError
from brain_async.evaluation.collection import Collection, Query
from brain_async.evaluation.judge import NDCG, Judge
from brain_async.evaluation.measure import ask
from brain_async.evaluation.results import Tuning
from brain_async.evaluation.systems import WHOLE, System
from brain_async.model.scope import Scope
from brain_async.ports.host import Progress

__all__ = ["halves", "tune_weights"]

_SHARES = tuple(step / 10 for step in range(11))
_LEAST_GAIN = 0.002
"""What a change of a weight has to be worth on the queries it is chosen on: less is chance."""


def halves(queries: Sequence[Query]) -> tuple[list[Query], list[Query]]:
    """The queries in two parts of equal size (the first has the odd one), drawn by a hash of their ids: always the same."""
    drawn = sorted(queries, key=lambda query: hashlib.sha256(query.id.encode()).digest())
    return drawn[::2], drawn[1::2]


async def tune_weights(
    open_with: Callable[[EngineConfig], Engine],
    scope: Scope,
    collection: Collection,
    documents: Mapping[UUID, str],
    config: EngineConfig,
    weights: FusionWeights,
    *,
    begin: Callable[[str], Progress] | None = None,
) -> Tuning:
    """``weights`` made better for the channels of ``config`` that weigh anything, chosen one channel after the other.

    A channel's weight is tried from 0 to 1 in tenths while the others share the rest as they do; it changes only for
    0.002 of nDCG@10 or more. ``open_with``, ``documents`` and ``begin`` as for ``evaluate``. Raises InvalidInputError with
    fewer than two queries.
    """
    if len(collection.queries) < 2:
        raise InvalidInputError(
            "weights are chosen on one half of the queries and tested on the other: one query is too few"
        )
    judge = Judge(collection)
    chosen_on, tested_on = halves(collection.queries)

    async def values(tried: Mapping[ChannelName, float], queries: Sequence[Query], what: str) -> dict[str, float]:
        weighed = msgspec.structs.replace(config, weights=_with(weights, tried))
        system = System(name=WHOLE, role="whole", config=weighed)
        progress = begin(what) if begin is not None else None
        asked = await ask(open_with(weighed), scope, system, queries, documents, progress=progress)
        return judge.values(asked.ranking)[NDCG]

    before = {name: weight for name in config.search_channels if (weight := getattr(weights, name)) > 0}
    best, best_mean = before, statistics.fmean((await values(before, chosen_on, "tuning")).values())
    for name in before if len(before) > 1 else ():
        for tried in _variants(best, name):
            what = f"tuning: {name} {tried[name]:g}"
            mean = statistics.fmean((await values(tried, chosen_on, what)).values())
            if mean >= best_mean + _LEAST_GAIN:
                best, best_mean = tried, mean
    ndcg_before = await values(before, tested_on, "testing")
    ndcg_after = await values(best, tested_on, "testing")
    return Tuning(
        weights={name: round(weight, 3) for name, weight in best.items()},
        tuned_on=len(chosen_on),
        tested_on=len(tested_on),
        ndcg_before=statistics.fmean(ndcg_before.values()),
        ndcg_after=statistics.fmean(ndcg_after.values()),
        p_value=judge.p_value(ndcg_after, ndcg_before),
    )


def _with(weights: FusionWeights, changed: Mapping[ChannelName, float]) -> FusionWeights:
    return msgspec.structs.replace(weights, **dict[str, float](changed.items()))


def _variants(weights: Mapping[ChannelName, float], name: ChannelName) -> list[dict[ChannelName, float]]:
    """``weights`` scaled to add up to 1, with every share for ``name``; none that leaves nothing to any channel."""
    rest = sum(weight for other, weight in weights.items() if other != name)
    return [
        {other: share if other == name else weight / rest * (1 - share) for other, weight in weights.items()}
        for share in _SHARES
        if rest > 0
    ]
