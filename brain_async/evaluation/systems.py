"""What is compared: every channel alone, the whole without each channel, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from brain_async.config import ChannelName, EngineConfig, FusionWeights

__all__ = ["BM25", "WHOLE", "Role", "System", "evaluated_systems"]

Role = Literal["alone", "without", "whole"]

BM25 = "lexical"
"""The name of the system that the others are held against: the lexical channel alone."""

WHOLE = "whole"


class System(msgspec.Struct, frozen=True, kw_only=True):
    """One way to search: a config, and the channels that a request names; None leaves them to the config."""

    name: str
    role: Role
    config: EngineConfig
    channels: tuple[ChannelName, ...] | None = None


def evaluated_systems(config: EngineConfig, weights: FusionWeights) -> list[System]:
    """The systems to compare, in the order of the channels, the whole last, all with ``weights`` in place of the config's.

    BM25 is always among those alone. A channel of weight 0 runs alone only: the whole is the same without it.
    """
    config, channels = msgspec.structs.replace(config, weights=weights), config.search_channels
    alone: tuple[ChannelName, ...] = channels if BM25 in channels else ("lexical", *channels)
    systems = [System(name=name, role="alone", config=config, channels=(name,)) for name in alone]
    weighing = [
        name
        for name in channels
        if getattr(weights, name) > 0 and not (name == "trigram" and weights.trigram_natural == 0)
    ]
    if len(weighing) > 1:
        systems += [_without(config, name, channels) for name in weighing]
    return [*systems, System(name=WHOLE, role="whole", config=config)]


def _without(config: EngineConfig, channel: ChannelName, channels: Sequence[ChannelName]) -> System:
    rest = tuple(name for name in channels if name != channel)
    return System(
        name=f"without {channel}", role="without", config=msgspec.structs.replace(config, search_channels=rest)
    )
