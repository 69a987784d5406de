"""`brain eval DIR`: a collection with labelled queries into a local Postgres of its own, and how well it is answered."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast, get_args

import anyio
import msgspec

from brain_async.cli.passages import split_passages
from brain_async.cli.progress import Phases
from brain_async.cli.report import Check
from brain_async.config import ChannelName, EngineConfig, FusionMethod, FusionWeights
from brain_async.engine import Engine
from brain_async.errors import InvalidInputError
from brain_async.evaluation import (
    Evaluation,
    Judge,
    evaluate,
    evaluated_systems,
    ingest_collection,
    read_collection,
    tune_weights,
)
from brain_async.ports.host import QueryEmbedder

__all__ = ["EvalOptions", "Evaluated", "evaluation_report", "parse_channels", "parse_weights", "run_eval"]

_PATIENCE, _BATCH_PATIENCE = 60.0, 3600.0
"""Deadlines in seconds: a busy machine is to show in the seconds, and not as searches that lacked a channel."""


class EvalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for; the texts are as the command line takes them."""

    collection: Path
    queries: Path | None
    channels: str
    weights: str
    fusion: str
    embedder: str
    embedder_model: str
    embedder_dimension: int
    part_chars: int
    tune: bool
    home: Path


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did: the figures, and what they were measured with."""

    evaluation: Evaluation
    config: EngineConfig
    weights: FusionWeights
    embedder: str
    lexical_backend: str
    server_version: str
    part_chars: int
    reused: bool
    ingest_seconds: float


async def run_eval(options: EvalOptions, phases: Phases) -> Evaluated:
    """Read, ingest (where it is not there yet) and measure. Raises InvalidInputError, and as ``open_local``."""
    from brain_async.adapters.embed import CachedEmbedder
    from brain_async.local import open_local

    fusion = cast("FusionMethod", options.fusion)
    phases.begin("reading")
    collection = await read_collection(options.collection, queries=options.queries)
    Judge(collection)
    async with _open_embedder(options) as inner:
        embedder = CachedEmbedder(inner)
        config = EngineConfig(
            fusion=fusion,
            search_channels=parse_channels(options.channels),
            channel_timeout=_PATIENCE,
            embed_timeout=_PATIENCE,
            embed_batch_timeout=_BATCH_PATIENCE,
            respell_timeout=_PATIENCE,
        )
        weights = parse_weights(options.weights, FusionWeights.with_dense_share(embedder.dense_share))
        # A Postgres holds vectors of one length, so each embedder has one of its own.
        home = options.home / re.sub(r"[^A-Za-z0-9._-]+", "-", f"{embedder.model}-{embedder.dimension}").strip("-.")
        phases.begin("starting PostgreSQL")
        await anyio.Path(home).mkdir(parents=True, exist_ok=True)
        async with open_local(home, embedder=embedder, config=config) as local:
            began = time.perf_counter()
            scope, documents, reused = await ingest_collection(
                local,
                collection,
                split=lambda text: split_passages(text, max_chars=options.part_chars),
                settings=f"{options.part_chars} {embedder.model}",
                progress=phases.begin("embedding and writing"),
            )
            ingest_seconds = time.perf_counter() - began

            def open_with(config: EngineConfig) -> Engine:
                return Engine(local.store, graph=local.graph, embedder=embedder, config=config)

            systems = evaluated_systems(config, weights)
            found = await evaluate(open_with, scope, collection, documents, systems, begin=phases.begin)
            if options.tune:
                tuning = await tune_weights(
                    open_with, scope, collection, documents, config, weights, begin=phases.begin
                )
                found = msgspec.structs.replace(found, tuning=tuning)
            description = await local.store.describe()
    return Evaluated(
        evaluation=found,
        config=config,
        weights=weights,
        embedder=embedder.model,
        lexical_backend=description.lexical_backend,
        server_version=description.server_version,
        part_chars=options.part_chars,
        reused=reused,
        ingest_seconds=ingest_seconds,
    )


def parse_channels(given: str) -> tuple[ChannelName, ...]:
    """Comma-separated names; all channels for "". Raises InvalidInputError for a name that is no channel."""
    known = get_args(ChannelName)
    names = [name.strip() for name in given.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise InvalidInputError(f"unknown channel {unknown[0]!r}: use {', '.join(known)}", field="channels")
    return tuple(name for name in known if name in names) if names else EngineConfig().search_channels


def parse_weights(given: str, default: FusionWeights) -> FusionWeights:
    """``default`` with the weights of comma-separated ``name=number``. Raises InvalidInputError for another form or name."""
    known = {field.name for field in msgspec.structs.fields(FusionWeights)}
    weights: dict[str, float] = {}
    for item in (item.strip() for item in given.split(",") if item.strip()):
        name, _, number = item.partition("=")
        if name.strip() not in known:
            raise InvalidInputError(f"unknown weight {name.strip()!r}: use {', '.join(sorted(known))}", field="weights")
        try:
            weights[name.strip()] = float(number)
        except ValueError as error:
            raise InvalidInputError(f"a weight is written name=number, not {item!r}", field="weights") from error
    return msgspec.structs.replace(default, **weights)


@asynccontextmanager
async def _open_embedder(options: EvalOptions) -> AsyncIterator[QueryEmbedder]:
    from brain_async.adapters.embed import open_http_embedder, open_local_embedder, open_sentence_transformer

    name, _, where = options.embedder.partition(":")
    if options.embedder == "local":
        async with open_local_embedder() as local:
            yield local
    elif name == "sentence-transformers" and where:
        async with open_sentence_transformer(where) as transformer:
            yield transformer
    elif name == "http" and where:
        if not options.embedder_model or not options.embedder_dimension:
            needed = "an http embedder needs --embedder-model and --embedder-dimension"
            raise InvalidInputError(needed, field="embedder")
        async with open_http_embedder(
            where,
            model=options.embedder_model,
            dimension=options.embedder_dimension,
            api_key=os.environ.get("BRAIN_EMBEDDER_KEY"),
        ) as over_http:
            yield over_http
    else:
        known = "local, sentence-transformers:MODEL or http:URL"
        raise InvalidInputError(f"the embedder is {known}, not {options.embedder!r}", field="embedder")


def evaluation_report(done: Evaluated) -> dict[str, Any]:
    """The report of `brain eval --json`. Measures are rounded to 4 digits, seconds to a hundredth of a millisecond."""
    found = done.evaluation
    by_name = {system.name: system.measures["nDCG@10"] for system in found.systems}
    gain = by_name["whole"] - max(system.measures["nDCG@10"] for system in found.systems if system.role == "alone")
    return {
        "command": "eval",
        **_rounded(msgspec.to_builtins(found)),
        "weights": msgspec.to_builtins(done.weights),
        "fusion": done.config.fusion,
        "channels": done.config.search_channels,
        "embedder": done.embedder,
        "part_chars": done.part_chars,
        "reused": done.reused,
        "ingest_seconds": round(done.ingest_seconds, 2),
        "versions": {
            "brain_async": version("brain-async"),
            "postgres": done.server_version,
            "lexical_backend": done.lexical_backend,
            "ir_measures": version("ir_measures"),
            "scipy": version("scipy"),
        },
        "checks": [Check("gain_over_best_channel", round(gain, 4), ">= 0", gain >= 0)],
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
