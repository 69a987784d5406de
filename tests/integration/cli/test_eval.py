"""brain eval: labelled queries, ingested once, measured, tuned, and refused in one line."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from brain_async.cli.eval import parse_channels, parse_weights
from brain_async.config import EngineConfig, FusionWeights
from brain_async.errors import InvalidInputError
from brain_async.local import local_postgres
from tests.integration.cli.conftest import brain, strict

ANIMALS = ("cat", "dog", "owl", "fox", "bee", "ant")


@pytest.fixture
def pets(folder: Path) -> Path:
    corpus = [{"_id": f"d-{name}", "title": name, "text": f"The {name}. It lives here."} for name in ANIMALS]
    queries = [{"_id": f"q-{name}", "text": f"where is the {name}"} for name in ANIMALS]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text("".join(f"q-{name}\td-{name}\t1\n" for name in ANIMALS))
    return folder


@pytest.fixture
async def evaluations() -> AsyncIterator[Path]:
    """A home for evaluations; the server of the local embedder's is kept running."""
    home = Path(tempfile.mkdtemp(prefix="brain-eval-", dir="/tmp"))
    try:
        async with local_postgres(home / "wordllama-l2-supercat-256-256", settings={"fsync": "off"}):
            yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def test_it_ingests_once_measures_and_tunes(pets: Path, evaluations: Path) -> None:
    first = brain("eval", pets, "--json", "--tune", home=evaluations)
    assert (first.returncode, first.stderr) == (0, "")
    found = strict(first.stdout)
    assert (found["documents"], found["queries"], found["reused"]) == (6, 6, False)
    systems = {system["name"]: system for system in found["systems"]}
    assert systems["lexical"]["measures"]["nDCG@10"] == 1.0
    assert systems["whole"]["measures"]["RR@10"] == 1.0
    assert systems["whole"]["against_bm25"] == {"difference": 0.0, "p_value": 1.0}
    assert {"without lexical", "without vector", "vector"} <= set(systems)
    assert (found["tuning"]["tuned_on"], found["tuning"]["tested_on"]) == (3, 3)
    assert found["checks"] == [{"name": "gain_over_best_channel", "value": 0.0, "aim": ">= 0", "holds": True}]

    (pets / "two.jsonl").write_text('{"_id": "q-cat", "text": "cat"}\n{"_id": "q-dog", "text": "dog"}\n')
    again = brain("eval", pets, "--queries", pets / "two.jsonl", "--channels", "lexical,vector", home=evaluations)
    assert (again.returncode, again.stderr) == (0, "")
    assert "6 documents, 2 queries, as stored before" in again.stdout
    assert "without vector" in again.stdout
    assert "graph_text" not in again.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--channels", "lexical,smell"), "unknown channel 'smell'"),
        (("--weights", "lexical=much"), "a weight is written name=number, not 'lexical=much'"),
        (("--fusion", "mean"), "fusion must be one of"),
        (("--embedder", "word2vec"), "the embedder is local, sentence-transformers:MODEL or http:URL, not 'word2vec'"),
        (("--embedder", "http:http://127.0.0.1:1"), "needs --embedder-model and --embedder-dimension"),
    ],
)
def test_wrong_options_are_refused_in_one_line(pets: Path, options: tuple[str, ...], message: str) -> None:
    result = brain("eval", pets, *options, home=pets / "home")
    assert (result.returncode, result.stdout) == (1, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_channels_keep_their_order_and_all_run_by_default() -> None:
    assert parse_channels(" vector, lexical ") == ("lexical", "vector")
    assert parse_channels("") == EngineConfig().search_channels


def test_weights_not_given_are_the_defaults() -> None:
    default = FusionWeights()
    found = parse_weights("lexical=0.5, vector=.5", default)
    assert (found.lexical, found.vector, found.graph_text) == (0.5, 0.5, default.graph_text)
    with pytest.raises(InvalidInputError, match="unknown weight 'smell'"):
        parse_weights("smell=1", default)
