"""Ports are async: a Protocol's public members are coroutines, async iterators, async context managers or properties.

Each has its contract in words.
"""

from __future__ import annotations

import inspect
from typing import Any, Protocol

import pytest

from tests.architecture.modules import MODULES

PROTOCOLS = {
    f"{module.__name__}.{name}": value
    for module in MODULES.values()
    if module.__name__.startswith("brain_async.ports")
    for name, value in vars(module).items()
    if inspect.isclass(value) and value is not Protocol and value.__module__ == module.__name__
    if getattr(value, "_is_protocol", False)
}


def is_async(member: Any) -> bool:
    """Whether it is awaited, iterated with ``async for`` or entered with ``async with``."""
    returns = str(inspect.get_annotations(member).get("return", ""))
    return inspect.iscoroutinefunction(member) or returns.startswith(("AsyncIterator[", "AbstractAsyncContextManager["))


def test_there_are_ports() -> None:
    assert len(PROTOCOLS) >= 13


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_member_is_async_or_a_property(name: str) -> None:
    members: dict[str, Any] = {
        member: value for member, value in vars(PROTOCOLS[name]).items() if not member.startswith("_")
    }
    assert members, "a port without members says nothing"
    for member, value in members.items():
        assert isinstance(value, property) or is_async(value), f"{member} is not async"
        assert inspect.getdoc(value), f"{member} has no contract"
        if inspect.iscoroutinefunction(value):
            assert "return" in inspect.get_annotations(value), f"{member} does not say what it returns"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_ports_can_be_asked_for_at_construction(name: str) -> None:
    assert getattr(PROTOCOLS[name], "_is_runtime_protocol", False)
