"""Port of a store's vocabulary: the words of its corpus, and which of them a misspelt one may stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from brain_async.model.scope import Scope

__all__ = ["MAX_DOCUMENTS", "Vocabulary", "VocabularyWord"]

MAX_DOCUMENTS = 1_000
"""Documents counted of one word at most: beyond that it is common, and counting would cost."""


class VocabularyWord(msgspec.Struct, frozen=True, gc=False):
    """A word as a text has it, lower-case, and in how many live parts of the scope its term stands (1 to 1,000)."""

    word: str
    documents: int


@runtime_checkable
class Vocabulary(Protocol):
    """The words of the corpus, per namespace: no other namespace's words or counts show."""

    async def near_words(self, scope: Scope, words: Sequence[str]) -> Mapping[str, Sequence[VocabularyWord]]:
        """Of ``words`` those that the corpus does not hold, each with the words of the corpus that it may stand for.

        ``words`` are distinct, in lower case, of 4 to 32 letters and nothing else. One is held, and absent from the answer,
        when a live part has its term (``analysis.index_terms``), when it is common (``spelling.is_common``), or when a
        first-class object had the very word in what ``text.entity_index_text`` makes of it, also if that is deleted by now.
        For each other word: the words of parts whose term live parts hold, at distance 1 (``spelling.edit_distance``); where
        there is none, and the word has nine letters or more, those at distance 2. In ascending order, each once. What another
        process deletes may count as held for a minute.
        """
        ...
