"""The options of `brain eval`. What it does is imported when it runs, so that the help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brain_async.cli.home import data_home
from brain_async.cli.options import Home, Json
from brain_async.cli.running import folder, run

__all__ = ["eval_"]

_CHANNELS = "Channels to search with, comma separated. (default: all)"
_WEIGHTS = "Their weights, like lexical=0.6,vector=0.4. (default: the engine's)"
_EMBEDDER = "local, sentence-transformers:MODEL, or http:URL (its key in $BRAIN_EMBEDDER_KEY)."


def eval_(
    collection: Annotated[Path, typer.Argument(metavar="DIR", help="corpus.jsonl, queries.jsonl and qrels.tsv.")],
    queries: Annotated[Path | None, typer.Option(help="Other queries with the same ids.", show_default=False)] = None,
    channels: Annotated[str, typer.Option(help=_CHANNELS, show_default=False)] = "",
    weights: Annotated[str, typer.Option(help=_WEIGHTS, show_default=False)] = "",
    fusion: Annotated[str, typer.Option(help="relative or rrf.")] = "relative",
    embedder: Annotated[str, typer.Option(help=_EMBEDDER)] = "local",
    embedder_model: Annotated[
        str, typer.Option(help="The model to ask an http embedder for.", show_default=False)
    ] = "",
    embedder_dimension: Annotated[
        int, typer.Option(min=0, help="The length of an http embedder's vectors.", show_default=False)
    ] = 0,
    part_chars: Annotated[int, typer.Option(min=1, help="Documents are cut to parts of at most this length.")] = 2_000,
    tune: Annotated[bool, typer.Option("--tune", help="Propose weights by one half of the queries.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure the answers to labelled queries, a folder in the BEIR layout: by each channel, without each, by all."""
    from brain_async.cli.eval import EvalOptions, evaluation_report, run_eval
    from brain_async.cli.progress import show_phases
    from brain_async.cli.report import write_json

    options = EvalOptions(
        collection=collection,
        queries=queries,
        channels=channels,
        weights=weights,
        fusion=fusion,
        embedder=embedder,
        embedder_model=embedder_model,
        embedder_dimension=embedder_dimension,
        part_chars=part_chars,
        tune=tune,
        home=folder(home, data_home() / "evaluation"),
    )
    with show_phases() as phases:
        done = run(run_eval(options, phases))
    if as_json:
        write_json(evaluation_report(done))
    else:
        from brain_async.cli.show_eval import show_evaluation

        show_evaluation(done)
