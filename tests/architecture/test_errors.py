"""The error tree drawn in the module is the tree of the classes."""

from __future__ import annotations

import inspect
import re

import pytest

from brain_async import errors
from brain_async.errors import BackendError, BrainError, InvalidInputError, NotFoundError

CLASSES = {
    name: value for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, BrainError)
}

_LINE = re.compile(r"^    (?P<rails>[│├└─ ]*)(?P<name>[A-Z]\w+Error)(?: \((?P<builtin>\w+)\))?(?:  .*)?$")


def drawn_tree() -> dict[str, tuple[str | None, str | None]]:
    """Class to (its parent in the drawing, the builtin it also is)."""
    tree: dict[str, tuple[str | None, str | None]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := _LINE.match(line):
            depth = len(match["rails"]) // 4
            path = [*path[:depth], match["name"]]
            tree[match["name"]] = (path[-2] if depth else None, match["builtin"])
    return tree


def test_the_drawing_holds_every_class_once_and_nothing_else() -> None:
    assert sorted(drawn_tree()) == sorted(CLASSES) == sorted(errors.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_the_drawing_shows_each_classs_parent(name: str) -> None:
    parent, builtin = drawn_tree()[name]
    bases = [base.__name__ for base in CLASSES[name].__bases__]
    assert bases == [base for base in (parent or "Exception", builtin) if base is not None]


def test_every_class_has_a_code_of_its_own_and_says_when_it_is_raised() -> None:
    codes = [cls.code for cls in CLASSES.values()]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)
    assert all("code" in vars(cls) for cls in CLASSES.values())
    assert all(cls.__doc__ for cls in CLASSES.values())


def test_misuse_is_also_pythons_own_error() -> None:
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(NotFoundError, LookupError)
    assert not issubclass(BackendError, ValueError)
