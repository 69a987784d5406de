"""Which systems are compared."""

from __future__ import annotations

from brain_async.config import EngineConfig, FusionWeights
from brain_async.evaluation import evaluated_systems

DEFAULT = FusionWeights()


def names(config: EngineConfig, weights: FusionWeights = DEFAULT) -> list[str]:
    return [system.name for system in evaluated_systems(config, weights)]


def test_each_channel_alone_the_whole_without_each_that_weighs_and_the_whole() -> None:
    assert names(EngineConfig(search_channels=("lexical", "trigram", "vector"))) == [
        "lexical",
        "trigram",
        "vector",
        "without lexical",
        "without vector",
        "whole",
    ]


def test_bm25_is_always_there_to_compare_with() -> None:
    assert names(EngineConfig(search_channels=("vector",))) == ["lexical", "vector", "whole"]


def test_a_channel_of_weight_0_runs_alone_only() -> None:
    config = EngineConfig(search_channels=("lexical", "vector", "graph_text"))
    assert names(config, FusionWeights(graph_text=0.0)) == [
        "lexical",
        "vector",
        "graph_text",
        "without lexical",
        "without vector",
        "whole",
    ]


def test_without_a_channel_the_others_keep_their_weights() -> None:
    config = EngineConfig(search_channels=("lexical", "vector", "graph_text"))
    (without,) = (system for system in evaluated_systems(config, FusionWeights()) if system.name == "without vector")
    assert without.config.search_channels == ("lexical", "graph_text")
    assert without.config.weights == FusionWeights()
    assert without.channels is None
