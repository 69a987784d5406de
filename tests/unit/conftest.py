"""No unit test may block the event loop."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _guard(no_blocking_calls: None) -> None:
    pass
