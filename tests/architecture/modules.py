"""The modules of the package, imported."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import brain_async

MODULES: dict[str, ModuleType] = {
    name: importlib.import_module(name)
    for name in [
        "brain_async",
        *(
            found.name
            for found in pkgutil.walk_packages(brain_async.__path__, "brain_async.")
            if "__main__" not in found.name
        ),
    ]
}
