"""Stand-ins for collections that are not at hand: what asks for what, and that they are the same every time."""

from __future__ import annotations

import random

import numpy as np
import pytest

import standins
from brain_async.evaluation import Collection, Document, Query

TREES = Collection(
    name="trees",
    documents=(
        Document(
            "d1",
            "Quinces in late autumn gardens",
            "Quinces in late autumn gardens. Pick the hard yellow fruit before the first frost comes. "
            "Store them in a cool dry room for six weeks. Short one.",
        ),
        Document("d2", "Plums", "Plums are picked when they come off the branch with a light pull."),
    ),
    queries=(Query("q1", "when are quinces ripe"),),
    grades={"q1": {"d1": 1}},
    digest="1",
)


def test_a_turn_is_asked_for_by_its_own_words_and_some_of_the_next() -> None:
    made = standins.turns(TREES, 4, seed=1)
    assert [document.id for document in made.documents] == ["d1:0", "d1:1", "d1:2", "d2:0"]
    texts = {document.id: document.text.lower() for document in made.documents}
    following = {"d1:0": texts["d1:1"], "d1:1": texts["d1:2"], "d1:2": "", "d2:0": ""}
    assert {query.id for query in made.queries} == set(texts)
    for query in made.queries:
        assert made.grades[query.id] == {query.id: 1}
        words = query.text.split()
        assert all(word in texts[query.id] or word in following[query.id] for word in words)
        assert len(words) == max(3, int(len(texts[query.id].split()) * 0.35)) + (4 if following[query.id] else 0)


def test_a_title_asks_for_its_text_which_does_not_hold_it() -> None:
    made = standins.titles(TREES, 1, seed=1)
    assert made is not None
    assert [(query.id, query.text) for query in made.queries] == [("d1", "Quinces in late autumn gardens")]
    assert made.documents[0].text.startswith("Pick the hard")
    assert all(not document.title for document in made.documents)
    assert standins.titles(TREES, 2, seed=1) is None, "one title is too short"


def test_the_same_seed_makes_the_same() -> None:
    assert standins.turns(TREES, 2, seed=4) == standins.turns(TREES, 2, seed=4)


def test_noise_keeps_the_length_and_moves_more_where_it_is_stronger() -> None:
    vectors = np.eye(40, 64, dtype=np.float32)
    weak, strong = standins.noisy(vectors, 0.3, 1), standins.noisy(vectors, 1.2, 1)
    assert np.allclose(np.linalg.norm(strong, axis=1), 1.0, atol=1e-5)
    assert (weak * vectors).sum() > (strong * vectors).sum()


def test_shuffling_moves_a_share_of_the_rows_and_changes_none() -> None:
    vectors = np.eye(40, dtype=np.float32)
    made = standins.shuffled(vectors, 0.5, 1)
    assert sorted(map(tuple, made.tolist())) == sorted(map(tuple, vectors.tolist()))
    assert 10 < (made != vectors).any(axis=1).sum() <= 20


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_misspelt_words_keep_their_letters_and_short_ones_stay(share: float) -> None:
    made = standins.misspelt("when the quinces ripen", share, random.Random(1))
    assert [sorted(word) for word in made.split()] == [sorted(word) for word in ["when", "the", "quinces", "ripen"]]
    assert made.split()[1] == "the"
    assert (made == "when the quinces ripen") is (share == 0.0)


def test_a_text_without_words_left_is_kept_whole() -> None:
    assert standins.shortened("when ripe", 1.0, random.Random(1)) == "when ripe"
    assert standins.shortened("when ripe", 0.0, random.Random(1)) == "when ripe"
