"""EngineConfig: every knob of the engine, frozen, with its unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec

from brain_async.errors import InvalidInputError
from brain_async.languages import DEFAULT_LANGUAGE, known_language

__all__ = [
    "DENSE_CHANNELS",
    "GRAPH_CHANNELS",
    "ChannelName",
    "EngineConfig",
    "FusionMethod",
    "FusionWeights",
    "GraphWrites",
    "StoreChannels",
]

ChannelName = Literal["lexical", "trigram", "vector", "graph_text", "graph_vector"]
FusionMethod = Literal["relative", "rrf"]
GraphWrites = Literal["strict", "eventual"]
StoreChannels = Literal["concurrent", "fused"]

DENSE_CHANNELS = frozenset[ChannelName]({"vector", "graph_vector"})
"""Those that need the query's embedding."""

GRAPH_CHANNELS = frozenset[ChannelName]({"graph_text", "graph_vector"})


def _wrong(field: str, right: str, value: object) -> InvalidInputError:
    return InvalidInputError(f"{field} must be {right}, not {value!r}", field=field)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class FusionWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The share of each channel in the fused score; a channel of weight 0 is not run.

    The lexical and vector shares suit the static local embedder; ``with_dense_share`` gives those for another.
    ``trigram`` counts in full for identifier-like queries and times ``trigram_natural`` for natural language, where fuzzy
    matches do harm.
    """

    lexical: float = 0.8
    vector: float = 0.2
    trigram: float = 0.7
    trigram_natural: float = 0.0
    graph_text: float = 0.1
    graph_vector: float = 0.05

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if not _is_finite(value) or value < 0:
                raise _wrong(field.name, "a weight of 0 or more", value)

    @classmethod
    def with_dense_share(cls, share: float) -> FusionWeights:
        """The defaults with ``share`` (0 to 1) for vector and the rest for lexical. Raises InvalidInputError."""
        if not _is_finite(share) or not 0 <= share <= 1:
            raise _wrong("share", "a share from 0 to 1", share)
        return cls(lexical=round(1 - share, 6), vector=share)


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine retrieves. Integer knobs of zero or below fall back to their default.

    Raises InvalidInputError for a value of another type, an unknown fusion, channel or way of graph writes, or a timeout that
    is not above 0.

    Attributes:
        candidate_k: candidates asked of each channel.
        rrf_k: the constant of reciprocal rank fusion, score = weight / (rrf_k + rank), rank from 1.
        fusion: ``relative`` adds scores scaled to [0, 1], ``rrf`` adds reciprocal ranks; see ``stages.fuse``.
        weights: share of each channel in the fused score. None takes what the embedder suggests (``SuggestsDenseShare``), else
            the defaults of FusionWeights.
        agreement: with ``relative``, a dense channel loses weight, at most three quarters, where its list and that of the text
            channel beside it have less than this in common (0 to 1, see ``stages.agree``); 0 or below switches it off.
        lead: with ``relative``, a dense channel loses weight, at most half, where the tenth score of the text channel beside it
            is further than this share behind the best (0 to 1); 0 or below switches it off.
        search_channels: the channels `search` runs when a request does not say; those not attached are skipped.
        decay_lambda: recency decay per day, score x exp(-decay_lambda x age in days); 0 or below switches it off.
        evidence_n: evidence parts kept per parent.
        default_limit, max_limit: page size when a request gives none (0 or below), and the largest it can ask for.
        expand_inline_max: an expand of at most this many objects is returned whole; a larger one is paged.
        sibling_radius: parts before and after a part that expand returns with it.
        graph_neighbor_k: neighbours taken per node and hop.
        max_expand_hops: cap on hops of a walk.
        max_graph_expand_nodes: nodes whose neighbours one walk may ask for, over all hops.
        max_result_set_size: ids kept in a result set.
        fail_on_embedder_error, fail_on_graph_error: raise instead of degrading.
        fail_on_lexical_error: False degrades a failing lexical channel too, where another channel answered.
        channel_timeout: deadline of one channel, in seconds.
        embed_timeout: deadline of embedding a query, in seconds (within the vector channels' deadline).
        embed_batch_timeout: deadline of embedding one batch of documents (at most 128) on a write, in seconds.
        rerank_timeout: deadline of reranking, in seconds.
        rerank_depth: how many of the best objects a reranker is given, where the page is smaller; what it leaves behind
            the page, ``continue_`` returns in its order. 0 is the page alone (``find_objects``: all that was found).
        fail_on_reranker_error: raise instead of keeping the fused order.
        respell: search with the corpus's spelling of words that the corpus does not hold; see ``stages.respell``.
        respell_timeout: deadline of looking them up, in seconds; after it the query stays as it is.
        graph_timeout: deadline of one graph write, in seconds.
        graph_writes: what a write does when the row (or the recorded link) is durable and the graph fails. ``strict`` raises;
            ``eventual`` does not: the outbox keeps what the graph has to be told, the observer hears of a degraded call,
            and ``Engine.reconcile`` tells the graph. Without an outbox every write is strict.
        default_language: of objects that name none, where no detector says it; a name or a code of ``languages.LANGUAGES``.
        store_channels: how `search` asks the store. ``concurrent``: each channel by itself, with a deadline of its own.
            ``fused``: all on one connection in as few statements as can be, with the same hits, for a store that can
            (``FusedSearcher``).
            It needs a third of the connections, at a price: the query's embedding must be there first, bounded by
            ``embed_timeout``, and what fails or delays one of the store's channels does so to all of them.
        require_namespace: refuse any call whose scope has no namespace.
        now: the clock; must return an aware datetime.
    """

    candidate_k: int = 40
    rrf_k: int = 60
    fusion: FusionMethod = "relative"
    weights: FusionWeights | None = None
    agreement: float = 0.4
    lead: float = 0.4
    search_channels: tuple[ChannelName, ...] = ("lexical", "trigram", "vector", "graph_text", "graph_vector")
    decay_lambda: float = 0.02
    evidence_n: int = 3
    default_limit: int = 10
    max_limit: int = 50
    expand_inline_max: int = 20
    sibling_radius: int = 5
    graph_neighbor_k: int = 50
    max_expand_hops: int = 4
    max_graph_expand_nodes: int = 64
    max_result_set_size: int = 1000
    fail_on_embedder_error: bool = False
    fail_on_graph_error: bool = False
    fail_on_lexical_error: bool = True
    channel_timeout: float = 5.0
    embed_timeout: float = 5.0
    embed_batch_timeout: float = 300.0
    rerank_timeout: float = 10.0
    rerank_depth: int = 0
    fail_on_reranker_error: bool = False
    respell: bool = True
    respell_timeout: float = 1.0
    graph_timeout: float = 30.0
    graph_writes: GraphWrites = "strict"
    default_language: str = DEFAULT_LANGUAGE
    store_channels: StoreChannels = "concurrent"
    require_namespace: bool = False
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if type(field.default) is int:
                if type(value) is not int:
                    raise _wrong(field.name, "an integer", value)
                if value <= 0:
                    msgspec.structs.force_setattr(self, field.name, field.default)
            elif field.name.endswith("_timeout"):
                if not _is_finite(value) or value <= 0:
                    raise _wrong(field.name, "a number of seconds above 0", value)
            elif type(field.default) is bool and type(value) is not bool:
                raise _wrong(field.name, "True or False", value)
            elif type(field.default) is float and not _is_finite(value):
                raise _wrong(field.name, "a number", value)
        if self.fusion not in get_args(FusionMethod):
            raise _wrong("fusion", f"one of {', '.join(get_args(FusionMethod))}", self.fusion)
        if self.graph_writes not in get_args(GraphWrites):
            raise _wrong("graph_writes", f"one of {', '.join(get_args(GraphWrites))}", self.graph_writes)
        language = known_language(self.default_language) if isinstance(self.default_language, str) else None
        if language is None:
            raise _wrong("default_language", "the name or the code of a language", self.default_language)
        msgspec.structs.force_setattr(self, "default_language", language)
        if self.store_channels not in get_args(StoreChannels):
            raise _wrong("store_channels", f"one of {', '.join(get_args(StoreChannels))}", self.store_channels)
        if unknown := [name for name in self.search_channels if name not in get_args(ChannelName)]:
            raise _wrong("search_channels", f"some of {', '.join(get_args(ChannelName))}", unknown[0])

    def page_size(self, limit: int) -> int:
        """The page size for a requested ``limit``: the default for 0 or below, and at most ``max_limit``."""
        return min(limit, self.max_limit) if limit > 0 else self.default_limit
