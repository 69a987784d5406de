"""A synthetic corpus of any size: seeded, with Zipf-distributed words, identifiers, properties and clustered vectors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

import numpy as np

from brain_async.model.object import Object

__all__ = ["make_parts", "vocabulary"]

_FIRST_TIME = datetime(2025, 1, 1, tzinfo=UTC)
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aiou")
_ZIPF_EXPONENT = 1.05
_CLUSTERS = 64


@cache
def vocabulary(size: int = 20_000) -> tuple[str, ...]:
    """``size`` distinct invented words, the most frequent first: word n has frequency proportional to 1 / (n + 1)**1.05."""
    return tuple(_word(number) for number in range(size))


def _word(number: int) -> str:
    syllables = []
    rest = number + len(_SYLLABLES)  # two syllables at least
    while rest:
        rest, syllable = divmod(rest, len(_SYLLABLES))
        syllables.append(_SYLLABLES[syllable])
    return "".join(syllables) + "x"  # no word ends in what an English stemmer would cut


def make_parts(
    n: int,
    *,
    seed: int,
    namespace_id: UUID,
    dimension: int | None,
    words: int = 150,
    parts_per_parent: int = 10,
) -> Iterator[Object]:
    """``n`` parts of about ``words`` words, each group of ``parts_per_parent`` after its parent; the same for a seed.

    Parents are of kind ``document``, one part in a hundred is an ``appendix`` and the others are ``section``. Every part's
    title holds an identifier (``DOC-000042``) and three words; its properties are ``number`` (0 to 99), ``flag`` (one
    in ten is true) and ``tag`` (``t0`` to ``t9``). Vectors lie around 64 directions, shape (dimension,); parents have
    none. ``dimension=None`` leaves them out.
    """
    rng = np.random.default_rng(seed)
    vocab = vocabulary()
    weights = 1.0 / np.arange(1, len(vocab) + 1) ** _ZIPF_EXPONENT
    cumulative = np.cumsum(weights) / weights.sum()
    centres = rng.standard_normal((_CLUSTERS, dimension or 1))

    def text(count: int) -> str:
        return " ".join(vocab[place] for place in np.searchsorted(cumulative, rng.random(count)))

    def identity() -> UUID:
        return UUID(bytes=rng.bytes(16), version=4)

    parent_id = None
    for number in range(n):
        moment = _FIRST_TIME + timedelta(minutes=number)
        if number % parts_per_parent == 0:
            parent_id = identity()
            yield Object(
                id=parent_id,
                kind="document",
                title=text(4),
                summary=text(12),
                properties={"number": int(rng.integers(100))},
                namespace_id=namespace_id,
                created_at=moment,
                updated_at=moment,
            )
        vector = centres[rng.integers(_CLUSTERS)] + rng.standard_normal(dimension or 1)
        yield Object(
            id=identity(),
            kind="appendix" if rng.random() < 0.01 else "section",
            title=f"DOC-{number:06d} {text(3)}",
            content=text(int(rng.integers(words // 2, words + words // 2 + 1))),
            properties={
                "number": int(rng.integers(100)),
                "flag": bool(rng.random() < 0.1),
                "tag": f"t{rng.integers(10)}",
            },
            parent_id=parent_id,
            position=number % parts_per_parent,
            embedding=None
            if dimension is None
            else tuple((vector / np.linalg.norm(vector)).astype(np.float32).tolist()),
            embedding_model="" if dimension is None else "synthetic",
            namespace_id=namespace_id,
            created_at=moment,
            updated_at=moment,
        )
