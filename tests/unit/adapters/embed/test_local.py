"""The local embedder over the model that its wheel holds."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time

import numpy as np
import pytest

from brain_async.adapters.embed import LocalEmbedder, open_local_embedder
from brain_async.errors import EmbedderError, MissingExtensionError
from brain_async.ports.host import QueryEmbedder


@pytest.fixture(scope="module")
async def embedder() -> LocalEmbedder:
    return await LocalEmbedder.load()


async def test_shape_and_identity(embedder: LocalEmbedder) -> None:
    assert isinstance(embedder, QueryEmbedder)
    assert embedder.dimension == 256
    assert embedder.model == "wordllama-l2-supercat-256"
    vector = await embedder.embed("renewal risk")
    assert vector.shape == (256,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


async def test_the_same_text_gives_the_same_vector_every_way(embedder: LocalEmbedder) -> None:
    texts = ["renewal risk", "x" * 5_000, "renewal risk", "word " * 60_000]
    many = await embedder.embed_many(texts)
    assert many.shape == (4, 256)
    assert many.dtype == np.float32
    for text, row in zip(texts, many, strict=True):
        np.testing.assert_array_equal(await embedder.embed(text), row)
    async with open_local_embedder() as again:
        np.testing.assert_array_equal(await again.embed_many(texts), many)
    assert (await embedder.embed_many([])).shape == (0, 256)


async def test_related_texts_are_closer(embedder: LocalEmbedder) -> None:
    query = await embedder.embed("How do I repair a bicycle tyre?")
    related, unrelated = await embedder.embed_many(
        ["Fixing a flat tire on your bike", "The central bank raised its interest rate"]
    )
    assert query @ related > query @ unrelated + 0.2


@pytest.mark.parametrize(
    "text", ["🙂", "🙂" * 500, "汇率", "끝말잇기", "\x01", "​", "---", "<s></s><unk>", "", "   ", "�", "a\x00b"]
)
async def test_every_text_has_a_direction(embedder: LocalEmbedder, text: str) -> None:
    vector = await embedder.embed(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_a_very_long_text(embedder: LocalEmbedder) -> None:
    vector = await embedder.embed("retrieval engine " * 100_000)
    assert float(vector @ await embedder.embed("retrieval engine")) > 0.99


async def test_text_that_is_no_unicode(embedder: LocalEmbedder) -> None:
    with pytest.raises(EmbedderError):
        await embedder.embed("\ud800")
    with pytest.raises(EmbedderError):
        await embedder.embed_many(["fine", "\ud800"])


async def test_a_query_takes_little_time(embedder: LocalEmbedder) -> None:
    before = time.perf_counter()
    for _ in range(100):
        await embedder.embed("what changed in the renewal terms of the enterprise deal")
    assert (time.perf_counter() - before) / 100 < 0.005


def test_importing_the_embedders_imports_no_model() -> None:
    script = (
        "import sys, brain_async.adapters.embed\n"
        "assert not {'wordllama', 'tokenizers', 'safetensors', 'torch'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


async def test_a_missing_model_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtensionError, match=r"pip install 'brain-async\[local\]'"):
        await LocalEmbedder.load()
