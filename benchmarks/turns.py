"""Turns of a conversation, made from a test collection: short parts, asked for by some of their own words.

Each sentence of more than six words is a document. A query has a third of the words of one sentence, in no order, and four
of the sentence after it, as a question about a conversation mixes what was said with what it led to. On such parts a
dense embedder is far behind BM25.
"""

from __future__ import annotations

import random
import re

import msgspec

from brain_async.evaluation import Collection
from brain_async.evaluation.collection import Document, Query

__all__ = ["turns"]

_SENTENCES = re.compile(r"(?<=[.?!])\s+")
_WORDS = re.compile(r"[a-z0-9-]+")
_SHORTEST = 7
_QUERIES = 300
_FEWEST, _SHARE, _NEXT = 3, 0.35, 4


def turns(collection: Collection, *, seed: int = 7) -> Collection:
    """The sentences of ``collection`` with 300 queries, the same for the same seed."""
    rng = random.Random(seed)
    said = [
        (document.id, sentence)
        for document in collection.documents
        for sentence in _SENTENCES.split(document.text)
        if len(sentence.split()) >= _SHORTEST
    ]
    queries: list[Query] = []
    for place in rng.sample(range(len(said)), _QUERIES):
        own = _WORDS.findall(said[place][1].lower())
        chosen = rng.sample(own, min(max(_FEWEST, int(len(own) * _SHARE)), len(own)))
        if place + 1 < len(said) and said[place + 1][0] == said[place][0]:
            following = _WORDS.findall(said[place + 1][1].lower())
            chosen += rng.sample(following, min(_NEXT, len(following)))
        queries.append(Query(f"turn {place}", " ".join(chosen)))
    return msgspec.structs.replace(
        collection,
        name=f"{collection.name}-turns",
        documents=tuple(Document(str(place), "", sentence) for place, (_, sentence) in enumerate(said)),
        queries=tuple(queries),
        grades={query.id: {query.id.removeprefix("turn "): 1} for query in queries},
        digest=f"{collection.digest} turns {seed}",
    )
