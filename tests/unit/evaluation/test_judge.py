"""The measures and the significance, against values computed by hand."""

from __future__ import annotations

import importlib.util
import math

import pytest

from brain_async.errors import MissingExtensionError
from brain_async.evaluation import Collection, Judge, Query

GRADES = {"q1": {"d1": 1, "d2": 1, "d3": 0}, "q2": {"d4": 1}, "q3": {"d5": 1}}
COLLECTION = Collection("c", (), tuple(Query(query, query) for query in GRADES), GRADES, "")


def test_measures_of_every_query_asked() -> None:
    values = Judge(COLLECTION).values({"q1": ["d3", "d1"], "q2": []})
    ideal = 1 + 1 / math.log2(3)
    assert values["nDCG@10"] == pytest.approx({"q1": (1 / math.log2(3)) / ideal, "q2": 0.0})
    assert values["R@10"] == {"q1": 0.5, "q2": 0.0}
    assert values["RR@10"] == {"q1": 0.5, "q2": 0.0}


def test_recall_at_10_and_50_look_as_deep_as_they_say() -> None:
    ranking = {"q1": ["d1", *(f"x{number}" for number in range(10)), "d2"]}
    values = Judge(COLLECTION).values(ranking)
    assert (values["R@10"]["q1"], values["R@50"]["q1"]) == (0.5, 1.0)


def test_the_paired_t_test() -> None:
    judge = Judge(COLLECTION)
    baseline = dict.fromkeys("abcde", 0.0)
    values = dict(zip("abcde", (1.0, 2.0, 3.0, 4.0, 5.0), strict=True))
    # t = 3 / (sqrt(2.5) / sqrt(5)) = 4.2426 with 4 degrees of freedom
    assert judge.p_value(values, baseline) == pytest.approx(0.013236, abs=1e-5)
    assert judge.p_value(baseline, baseline) == 1.0
    assert judge.p_value({"a": 1.0}, {"a": 0.0}) == 1.0
    assert judge.p_value(dict.fromkeys("abcde", 1.0), baseline) == 0.0


def test_a_missing_library_is_named_with_the_line_that_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr("brain_async.evaluation.judge.find_spec", lambda name: None if name == "scipy" else found(name))
    with pytest.raises(MissingExtensionError, match=r"^evaluation needs scipy: pip install 'brain-async\[eval\]'$"):
        Judge(COLLECTION)
