"""The trigram index against similarity computed term by term."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.adapters.memory.trigrams import TrigramIndex
from brain_async.analysis import similarity

GROUPS = ("red", "green")
terms = st.one_of(
    st.text("abcé", min_size=3, max_size=6),
    st.sampled_from(("acme-1423", "acme-1424", "document", "documents", "dokument", "外币汇率", "外币汇", "a.b.c")),
)
key_lists = st.lists(terms, max_size=5, unique=True)
operations = st.lists(
    st.tuples(st.booleans(), st.integers(0, 9), st.sampled_from(GROUPS), key_lists),
    max_size=30,
)


def float32_similarity(word: str, term: str) -> float:
    return float(np.float32(similarity(word, term)))


def naive_scores(held: dict[int, tuple[str, list[str]]], groups: list[str], words: list[str]) -> dict[int, float]:
    searched = {slot: keys for slot, (group, keys) in held.items() if group in groups}
    dictionary = {key for keys in searched.values() for key in keys}
    totals: dict[int, float] = {}
    for word in words:
        near = [(-float32_similarity(word, key), key) for key in dictionary if float32_similarity(word, key) >= 0.3]
        best = {key: -negative for negative, key in sorted(near)[:3]}
        for slot, keys in searched.items():
            if found := [best[key] for key in keys if key in best]:
                totals[slot] = totals.get(slot, 0.0) + max(found)
    return {slot: total / len(words) for slot, total in totals.items()}


@settings(max_examples=300, deadline=None)
@given(operations, st.lists(terms, max_size=4, unique=True), st.lists(st.sampled_from(GROUPS), unique=True))
def test_scores_are_similarity_to_the_nearest_terms(
    steps: list[tuple[bool, int, str, list[str]]], words: list[str], groups: list[str]
) -> None:
    index = TrigramIndex()
    held: dict[int, tuple[str, list[str]]] = {}
    for put, slot, group, keys in steps:
        if slot in held:
            old_group, old_keys = held.pop(slot)
            index.remove(old_group, slot, old_keys)
        if put:
            index.add(group, slot, keys)
            held[slot] = (group, keys)
    slots, scores = index.search(groups, words, rows=10)
    found = dict(zip(slots.tolist(), scores.tolist(), strict=True))
    assert found == pytest.approx(naive_scores(held, groups, words))
    assert all(0 < score <= 1 for score in found.values())


def test_equally_near_terms_are_taken_in_code_point_order() -> None:
    index = TrigramIndex()
    for slot, key in enumerate(["documentz", "documentß", "documenta", "documentb"]):
        index.add("red", slot, [key])
    slots, _ = index.search(["red"], ["document"], rows=4)
    assert slots.tolist() == [0, 2, 3]


def test_terms_no_part_uses_are_passed_over() -> None:
    index = TrigramIndex()
    for slot, key in enumerate(["documenta", "documentb", "documentc", "documentd"]):
        index.add("red", slot, [key])
    index.remove("red", 0, ["documenta"])
    slots, _ = index.search(["red"], ["document"], rows=4)
    assert slots.tolist() == [1, 2, 3]
