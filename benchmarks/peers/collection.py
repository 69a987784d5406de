"""Documents, queries and their embeddings as files, the same for every peer. Needs numpy only."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Collection", "Document"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document. ``id`` is a UUID as text; ``label`` is what filters ask for."""

    id: str
    title: str
    text: str
    label: str

    @property
    def content(self) -> str:
        """What a store with one text column gets, and what is embedded: title and text, a line each."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Collection:
    """Documents and queries with embeddings, shapes (documents, dim) and (queries, dim), float32, rows of length 1."""

    documents: tuple[Document, ...]
    vectors: NDArray[np.float32]
    queries: tuple[str, ...]
    query_vectors: NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """Length of every embedding."""
        return int(self.vectors.shape[1])

    def save(self, folder: Path) -> None:
        """Write it as the files that ``load`` reads."""
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"documents": [asdict(document) for document in self.documents], "queries": self.queries}
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        np.save(folder / "documents.npy", self.vectors)
        np.save(folder / "queries.npy", self.query_vectors)

    @classmethod
    def load(cls, folder: Path) -> Collection:
        """Read what ``save`` wrote."""
        texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        return cls(
            documents=tuple(Document(**document) for document in texts["documents"]),
            vectors=np.load(folder / "documents.npy"),
            queries=tuple(texts["queries"]),
            query_vectors=np.load(folder / "queries.npy"),
        )
