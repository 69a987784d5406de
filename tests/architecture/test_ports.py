"""Ports are async: a Protocol's public members are coroutines, properties, or return what is entered or iterated
asynchronously, each with its contract in words."""

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

ASYNC_RESULTS = ("AbstractAsyncContextManager[", "AsyncIterator[")


def test_there_are_ports() -> None:
    assert len(PROTOCOLS) >= 13


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_member_is_async_or_a_property(name: str) -> None:
    members: dict[str, Any] = {
        member: value for member, value in vars(PROTOCOLS[name]).items() if not member.startswith("_")
    }
    assert members, "a port without members says nothing"
    for member, value in members.items():
        assert inspect.getdoc(value), f"{member} has no contract"
        if not isinstance(value, property):
            returned = inspect.get_annotations(value).get("return")
            assert returned is not None, f"{member} does not say what it returns"
            assert inspect.iscoroutinefunction(value) or returned.startswith(ASYNC_RESULTS), f"{member} is not async"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_ports_can_be_asked_for_at_construction(name: str) -> None:
    assert getattr(PROTOCOLS[name], "_is_runtime_protocol", False)
