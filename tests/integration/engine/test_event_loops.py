"""An engine meets another event loop, or one that is gone: a typed error or plain work, never a hang or noise at exit."""

from __future__ import annotations

import sys

import anyio
import pytest

from tests.integration.engine import loop_scenarios


@pytest.mark.parametrize("scenario", loop_scenarios.SCENARIOS)
async def test_it_ends_quietly(backend: tuple[str, str], fresh_schema: str, scenario: str) -> None:
    lexical, dsn = backend
    command = [sys.executable, "-X", "dev", "-W", "error", loop_scenarios.__file__, scenario, dsn, fresh_schema]
    with anyio.fail_after(60):
        done = await anyio.run_process(command, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    refused = scenario == "second_loop" and lexical != "memory"
    assert done.stdout.decode().strip() == ("EventLoopMismatchError" if refused else "ok")
