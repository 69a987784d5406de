"""The documents every peer gets, and the loop that runs a peer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from peers.collection import Collection
from peers.synthetic import LABELS, label_sizes, synthetic
from peers.worker import answer

SMALL = synthetic(3_000, 20, dimension=8, k=10)


def test_labels_have_their_share_and_always_two_pages() -> None:
    assert label_sizes(20_000, 10) == {"1%": 200, "0.1%": 20}
    assert label_sizes(1_000, 10) == {"1%": 20, "0.1%": 20}
    counts = Counter(document.label for document in SMALL.documents)
    assert counts == {"1%": 30, "0.1%": 20, "other": 2_950}
    assert "other" not in LABELS


def test_documents_and_queries_are_of_the_promised_length_and_embedded() -> None:
    assert all(80 <= len(document.text.split()) <= 200 for document in SMALL.documents)
    assert all(2 <= len(query.split()) <= 6 for query in SMALL.queries)
    assert (SMALL.vectors.shape, SMALL.query_vectors.shape) == ((3_000, 8), (20, 8))
    assert np.allclose(np.linalg.norm(SMALL.vectors, axis=1), 1.0, atol=1e-6)
    assert len({document.id for document in SMALL.documents}) == 3_000


def test_it_is_the_same_every_time_and_on_disk(tmp_path: Path) -> None:
    again = synthetic(3_000, 20, dimension=8, k=10)
    again.save(tmp_path)
    loaded = Collection.load(tmp_path)
    assert (loaded.documents, loaded.queries) == (SMALL.documents, SMALL.queries)
    assert np.array_equal(loaded.vectors, SMALL.vectors)
    assert np.array_equal(loaded.query_vectors, SMALL.query_vectors)


class ByNumber:
    """A peer whose page for query n has n rows, and that remembers what it was asked."""

    variants = ("default",)
    packages = ("numpy",)

    def __init__(self) -> None:
        self.opened: Collection | None = None
        self.asked: list[tuple[str, int, str | None]] = []

    async def open(self, collection: Collection, dsn: str) -> None:
        self.opened = collection

    async def ingest(self) -> Mapping[str, float]:
        return {"": 1.5}

    async def search(self, variant: str, query: int, /, *, k: int, label: str | None) -> Sequence[str]:
        self.asked.append((variant, query, label))
        return [str(row) for row in range(min(query, k))]

    async def aclose(self) -> None:
        self.opened = None


async def test_a_worker_says_what_it_has_and_opens_what_it_is_given(tmp_path: Path) -> None:
    SMALL.save(tmp_path)
    peer = ByNumber()
    assert await answer(peer, {"op": "hello"}) == {"variants": ["default"], "versions": {"numpy": np.__version__}}
    await answer(peer, {"op": "open", "folder": str(tmp_path), "dsn": "unused"})
    assert peer.opened is not None
    assert len(peer.opened.documents) == 3_000
    assert (await answer(peer, {"op": "ingest"}))["seconds"] == {"": 1.5}
    await answer(peer, {"op": "close"})
    assert peer.opened is None


async def test_a_run_times_every_search_and_keeps_the_order_asked() -> None:
    peer = ByNumber()
    request = {"op": "run", "variant": "default", "queries": [3, 0, 12, 2], "concurrency": 3, "k": 10, "label": "1%"}
    measured = await answer(peer, {**request, "pages": True})
    assert measured["rows"] == [3, 0, 10, 2]
    assert measured["pages"][3] == ["0", "1"]
    assert len(measured["latencies"]) == 4
    assert measured["cpu"] >= 0
    assert 0 < max(measured["latencies"]) <= measured["elapsed"]
    assert sorted(peer.asked) == [("default", query, "1%") for query in (0, 2, 3, 12)]
    assert "pages" not in await answer(peer, {**request, "pages": False})
