"""Every module says what is public, in order, and it is there."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import brain_async
from brain_async import Engine, Session, errors
from tests.architecture.modules import MODULES


@pytest.mark.parametrize("name", MODULES)
def test_all_is_sorted_and_importable(name: str) -> None:
    module = MODULES[name]
    public = getattr(module, "__all__", None)
    if public is None:
        assert not public_definitions(module), "a module that defines public names has an __all__"
        return
    assert public == sorted(public, key=by_case)
    assert len(public) == len(set(public))
    for exported in public:
        assert hasattr(module, exported), f"{name} has no {exported}"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name: str) -> None:
    module = MODULES[name]
    assert module.__doc__ or not public_definitions(module)


def by_case(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each in order."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def public_definitions(module: ModuleType) -> list[str]:
    """Public classes and functions that the module itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def test_every_error_is_exported_from_the_top() -> None:
    assert set(errors.__all__) <= set(brain_async.__all__)


def test_a_session_has_every_verb_that_is_bound_to_a_scope() -> None:
    for name, verb in inspect.getmembers(Engine, inspect.iscoroutinefunction):
        if "scope" in inspect.signature(verb).parameters and name not in ("drift", "project", "reconcile"):
            assert inspect.iscoroutinefunction(getattr(Session, name, None)), f"Session lacks {name}"


def test_every_public_class_and_function_is_documented() -> None:
    undocumented = [
        f"{name}.{exported}"
        for name, module in MODULES.items()
        for exported in getattr(module, "__all__", ())
        if (inspect.isclass(value := getattr(module, exported)) or inspect.isfunction(value))
        and not inspect.getdoc(value)
    ]
    assert undocumented == []
