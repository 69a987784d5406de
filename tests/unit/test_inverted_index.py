"""The inverted index against BM25 written out plainly."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async import inverted_index
from brain_async.inverted_index import InvertedIndex

GROUPS = ("red", "green", "blue")
TERMS = tuple("abcdefg")

documents = st.lists(st.sampled_from(TERMS), max_size=12)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.sampled_from(GROUPS), documents),
        st.tuples(st.sampled_from(("remove", "hide", "show")), st.integers(0, 9), st.just(""), st.just([])),
    ),
    max_size=60,
)
queries = st.lists(st.sampled_from((*TERMS, "unknown")), max_size=5)


def naive_bm25(held: dict[int, tuple[str, list[str]]], groups: list[str], query: list[str]) -> dict[int, float]:
    searched = {slot: terms for slot, (group, terms) in held.items() if group in groups}
    average = sum(map(len, searched.values())) / max(1, len(searched))
    scores: dict[int, float] = {}
    for term in query:
        holding = sum(term in terms for terms in searched.values())
        idf = log(1 + (len(searched) - holding + 0.5) / (holding + 0.5))
        for slot, terms in searched.items():
            if frequency := terms.count(term):
                norm = 1.2 * (1 - 0.75 + 0.75 * len(terms) / average)
                scores[slot] = scores.get(slot, 0.0) + idf * frequency * 2.2 / (frequency + norm)
    return scores


@pytest.mark.parametrize("min_removed", [1024, 0], ids=["tombstones", "compacted"])
def test_scores_are_bm25(monkeypatch: pytest.MonkeyPatch, min_removed: int) -> None:
    monkeypatch.setattr(inverted_index, "_MIN_REMOVED", min_removed)

    @settings(max_examples=300, deadline=None)
    @given(operations, queries, st.lists(st.sampled_from(GROUPS), unique=True))
    def check(steps: list[tuple[str, int, str, list[str]]], query: list[str], groups: list[str]) -> None:
        index = InvertedIndex()
        held: dict[int, tuple[str, list[str]]] = {}
        hidden: set[int] = set()
        for step, slot, group, terms in steps:
            if step in ("hide", "show"):
                index.set_searchable(held[slot][0] if slot in held else "red", slot, step == "show")
                hidden = hidden - {slot} if step == "show" else hidden | ({slot} & set(held))
                continue
            if slot in held:
                index.remove(held.pop(slot)[0], slot)
                hidden.discard(slot)
            if step == "put":
                index.add(group, slot, terms)
                held[slot] = (group, terms)
        shown = {slot: document for slot, document in held.items() if slot not in hidden}
        slots, scores = index.search(groups, query)
        assert dict(zip(slots.tolist(), scores.tolist(), strict=True)) == pytest.approx(
            naive_bm25(shown, groups, query)
        )
        assert set(index.groups) == {group for group, _ in held.values()}

    check()


def test_equal_documents_have_equal_scores() -> None:
    index = InvertedIndex()
    for slot in range(1_001):
        index.add("red", slot, ["a", "b", "b", "c"] if slot % 3 else ["a", "c"])
    slots, scores = index.search(["red"], ["a", "b", "c"])
    by_kind = {(slot % 3 == 0, score) for slot, score in zip(slots.tolist(), scores.tolist(), strict=True)}
    assert len(by_kind) == 2


def test_removed_documents_do_not_pile_up() -> None:
    index = InvertedIndex()
    for _ in range(50):
        for slot in range(200):
            index.add("red", slot, ["a", "b"])
        for slot in range(200):
            index.remove("red", slot) if slot else None
        index.remove("red", 0)
    assert index.groups == []
    index.add("red", 0, ["a"])
    for _ in range(10_000):
        index.add("red", 1, ["a", "c"])
        index.remove("red", 1)
    assert len(index._groups["red"].slots) < 3_000
