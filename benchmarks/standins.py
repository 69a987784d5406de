"""Test collections made from others, for kinds of search of which none is at hand: dialogue and claims; and worse channels.

``turns``: every sentence is a document, asked for by a few of its words and of those of the next sentence, as short turns of a
conversation are. ``titles``: a title asks for its text, as a claim or a citation asks for its abstract. ``noisy`` and
``shuffled`` make an embedder worse, ``misspelt`` and ``shortened`` the words that BM25 is given. All are drawn by a
generator with a fixed seed: the same collection gives the same stand-ins.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from brain_async.evaluation import Collection, Document, Query

__all__ = ["Vectors", "misspelt", "noisy", "shortened", "shuffled", "titles", "turns"]

Vectors = NDArray[np.float32]
"""One row a text, of length 1."""

_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_WORD = re.compile(r"[a-z0-9-]+")
_LEAST_WORDS = 7
_OF_ITSELF = 0.35
"""The share of its own words that a sentence is asked for by; at least three of them."""
_OF_THE_NEXT = 4
_SENTENCES = 3_000
"""At most so many sentences make a collection: as many as there are turns in some long conversations."""


def turns(collection: Collection, count: int, seed: int) -> Collection:
    """The first 3,000 sentences of at least seven words as documents; each of ``count`` queries has one for an answer."""
    generator = random.Random(seed)
    documents: list[Document] = []
    following: dict[str, str] = {}
    for document in collection.documents:
        before = ""
        for number, sentence in enumerate(_SENTENCE_END.split(f"{document.title}\n{document.text}".strip())):
            if len(sentence.split()) < _LEAST_WORDS:
                continue
            name = f"{document.id}:{number}"
            documents.append(Document(name, "", sentence))
            following[before], before = sentence, name
    documents = documents[:_SENTENCES]
    queries = []
    for document in generator.sample(documents, count):
        words = _WORD.findall(document.text.lower())
        asked = generator.sample(words, min(max(3, int(len(words) * _OF_ITSELF)), len(words)))
        others = _WORD.findall(following.get(document.id, "").lower())
        asked += generator.sample(others, min(_OF_THE_NEXT, len(others)))
        queries.append(Query(document.id, " ".join(asked)))
    return _made(f"{collection.name} turns", documents, queries, {query.id: query.id for query in queries})


def titles(collection: Collection, count: int, seed: int) -> Collection | None:
    """Texts without their titles, and ``count`` titles of at least four words as queries; None where too few have one."""
    documents: list[Document] = []
    queries: list[Query] = []
    for document in collection.documents:
        title, text = document.title.strip(), document.text.strip()
        if title and text.lower().startswith(title.lower()):
            text = text[len(title) :].strip(" .\n")
        if len(text.split()) > _LEAST_WORDS:
            documents.append(Document(document.id, "", text))
            if len(title.split()) >= 4:
                queries.append(Query(document.id, title))
    if len(queries) < count:
        return None
    asked = random.Random(seed).sample(queries, count)
    return _made(f"{collection.name} titles", documents, asked, {query.id: query.id for query in asked})


def _made(name: str, documents: Sequence[Document], queries: Sequence[Query], answers: dict[str, str]) -> Collection:
    digest = hashlib.sha256("\n".join(document.text for document in documents).encode()).hexdigest()
    grades = {query: {document: 1} for query, document in answers.items()}
    return Collection(name=name, documents=tuple(documents), queries=tuple(queries), grades=grades, digest=digest)


def noisy(vectors: Vectors, strength: float, seed: int) -> Vectors:
    """With a random vector added to each, on average ``strength`` times as long."""
    scale = strength / vectors.shape[1] ** 0.5
    moved = vectors + np.random.default_rng(seed).normal(0, scale, vectors.shape)
    made: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return made


def shuffled(vectors: Vectors, share: float, seed: int) -> Vectors:
    """With ``share`` of the vectors exchanged among each other: they say nothing of their texts."""
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(len(vectors))[: int(share * len(vectors))]
    made = vectors.copy()
    made[chosen] = vectors[generator.permutation(chosen)]
    return made


def misspelt(text: str, share: float, generator: random.Random) -> str:
    """With two letters exchanged in ``share`` of the words of four letters and more."""

    def exchanged(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) < 4 or generator.random() > share:
            return word
        at = generator.randrange(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    return re.sub(r"[A-Za-z]+", exchanged, text)


def shortened(text: str, share: float, generator: random.Random) -> str:
    """Without ``share`` of its words; the whole text where none would be left."""
    return " ".join(word for word in text.split() if generator.random() > share) or text
