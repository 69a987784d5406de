"""EngineConfig: the defaults, and what falls back to them."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import msgspec
import pytest

from brain_async.config import EngineConfig, FusionWeights
from brain_async.errors import InvalidInputError

DEFAULTS = {
    "candidate_k": 40,
    "rrf_k": 60,
    "decay_lambda": 0.02,
    "evidence_n": 3,
    "default_limit": 10,
    "max_limit": 50,
    "expand_inline_max": 20,
    "sibling_radius": 5,
    "graph_neighbor_k": 50,
    "max_expand_hops": 4,
    "max_graph_expand_nodes": 64,
    "max_result_set_size": 1000,
    "fail_on_embedder_error": False,
    "fail_on_graph_error": False,
    "fail_on_lexical_error": True,
    "fail_on_reranker_error": False,
    "default_language": "english",
    "rerank_depth": 0,
    "require_namespace": False,
}
KNOBS = [name for name, value in DEFAULTS.items() if type(value) is int]


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_defaults(name: str, value: Any) -> None:
    assert getattr(EngineConfig(), name) == value


@pytest.mark.parametrize("name", KNOBS)
@pytest.mark.parametrize("value", [0, -1])
def test_an_integer_knob_of_zero_or_below_is_its_default(name: str, value: int) -> None:
    assert getattr(EngineConfig(**{name: value}), name) == DEFAULTS[name]
    assert getattr(EngineConfig(**{name: 7}), name) == 7


@pytest.mark.parametrize(("given", "language"), [("German", "german"), ("pt-BR", "portuguese"), ("simple", "simple")])
def test_the_default_language_by_name_or_code(given: str, language: str) -> None:
    assert EngineConfig(default_language=given).default_language == language


@pytest.mark.parametrize("given", ["", "germn", None, 7])
def test_an_unknown_default_language(given: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        EngineConfig(default_language=given)
    assert caught.value.field == "default_language"


def test_decay_can_be_switched_off() -> None:
    assert EngineConfig(decay_lambda=0.0).decay_lambda == 0.0


@pytest.mark.parametrize(("limit", "size"), [(0, 10), (-1, 10), (1, 1), (50, 50), (51, 50), (10**12, 50)])
def test_page_sizes(limit: int, size: int) -> None:
    assert EngineConfig().page_size(limit) == size


def test_the_clock_is_utc_and_the_config_frozen() -> None:
    config = EngineConfig()
    assert config.now().utcoffset() == timedelta(0)
    assert config.now().tzinfo is UTC
    with pytest.raises(AttributeError):
        config.candidate_k = 1  # type: ignore[misc]
    assert msgspec.structs.replace(config, candidate_k=0).candidate_k == 40


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("candidate_k", "5"),
        ("candidate_k", True),
        ("max_limit", 5.0),
        ("decay_lambda", float("nan")),
        ("channel_timeout", 0),
        ("graph_timeout", float("inf")),
        ("fusion", "sum"),
        ("graph_writes", "lazy"),
        ("search_channels", ("lexical", "psychic")),
    ],
)
def test_a_knob_that_makes_no_sense_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        EngineConfig(**{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf"), "1"])
def test_a_weight_that_makes_no_sense_is_refused(weight: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        FusionWeights(trigram=weight)  # type: ignore[arg-type]
    assert caught.value.field == "trigram"


def test_a_dense_share_leaves_the_rest_to_the_lexical_channel() -> None:
    weights = FusionWeights.with_dense_share(0.4)
    assert (weights.lexical, weights.vector, weights.graph_text) == (0.6, 0.4, FusionWeights().graph_text)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidInputError, match="a share from 0 to 1"):
            FusionWeights.with_dense_share(share)
