"""brain serve: a process that answers over HTTP until it is told to stop."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx
import pytest

from brain_async.cli.serve import is_loopback
from tests.integration.cli.conftest import COMMAND, brain, brain_process


@pytest.fixture
async def database(postgres_dsn: str) -> AsyncIterator[str]:
    """A database of its own, as `--dsn` takes it."""
    name = f"serve_{uuid4().hex}"
    connection = await asyncpg.connect(postgres_dsn)
    try:
        await connection.execute(f"create database {name}")
        yield postgres_dsn.replace("/postgres?", f"/{name}?")
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@contextmanager
def serving(*options: str, env: dict[str, str] | None = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(address, process) of a `brain serve` on a free port."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address, line + (process.stderr.read() if process.stderr else "")
        yield address[0], process
    finally:
        process.kill()
        process.communicate()


def test_it_serves_until_it_is_stopped(database: str) -> None:
    with serving("--dsn", database) as (url, process), httpx.Client(base_url=url) as http:
        assert http.get("/healthz").json()["status"] == "up"
        assert "Why not these ids?" in http.get("/").text
        ready = http.get("/readyz").json()
        assert sorted(ready["backends"]) == ["embedder", "graph", "ledger", "store"]
        assert ready["backends"]["store"]["details"]["migration"] > 0
        head = ready["backends"]["ledger"]["details"]
        assert (head["head"], head["edges"], len(head["root"]), len(head["overall_root"])) == (0, 0, 64, 64)
        namespace = str(uuid4())
        put = http.post("/v1/objects", json={"kind": "thing", "title": "lemon grove", "namespace_id": namespace})
        assert put.status_code == 200, put.text
        found = http.post("/v1/find_objects", json={"query": "lemon"}).json()
        assert [obj["id"] for obj in found["objects"]] == [put.json()["id"]]
        assert http.get("/healthz", headers={"Host": "evil.example"}).status_code == 421
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_ctrl_c_ends_it_as_it_ends_other_commands(database: str) -> None:
    with serving("--dsn", database) as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_with_a_token_it_may_listen_anywhere(database: str) -> None:
    options = ("--dsn", database, "--host", "0.0.0.0", "--namespace", str(uuid4()), "--read-only")
    with serving(*options, env={"BRAIN_TOKEN": "sesame"}) as (url, process):
        with httpx.Client(base_url=url.replace("0.0.0.0", "127.0.0.1")) as http:
            assert http.get("/v1/schema").status_code == 401
            assert http.get("/readyz").status_code == 401
            assert http.get("/healthz").status_code == 200
            assert 'name="token"' in http.get("/kinds").text
            assert http.post("/sign-in", data={"token": "sesame"}).status_code == 303
            assert "Kinds and fields" in http.get("/kinds").text
            assert http.get("/v1/schema").status_code == 401
            http.headers["Authorization"] = "Bearer sesame"
            assert http.get("/v1/schema").status_code == 200
            assert http.post("/v1/objects", json={"kind": "thing"}).status_code == 404
        process.terminate()
        assert process.wait(20) == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "127.0.0.1.example.org"])
def test_without_a_token_it_listens_nowhere_else(host: str, tmp_path: Path) -> None:
    result = brain("serve", "--host", host, home=tmp_path, env={"BRAIN_TOKEN": ""})
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: --token or BRAIN_TOKEN is needed to listen on {host}")
    assert len(result.stderr.splitlines()) == 1


def test_what_is_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "", "localhost.example.org", "127.0.0.1.x")))


def test_what_cannot_be_served_is_one_line(tmp_path: Path) -> None:
    nothing = brain("serve", home=tmp_path)
    assert (nothing.returncode, nothing.stderr.splitlines()) == (
        1,
        [f"error: no knowledge base in {tmp_path}: make one with `brain ingest PATH` or `brain demo`"],
    )
    half = brain("serve", "--helix", "http://localhost:6969", home=tmp_path)
    assert (half.returncode, half.stderr) == (1, "error: --helix needs --dsn: a home has a graph of its own\n")
    nowhere = brain("serve", "--dsn", "postgresql://127.0.0.1:1/x", "--port", "0", home=tmp_path)
    assert nowhere.returncode == 1
    assert len(nowhere.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_named(database: str, tmp_path: Path) -> None:
    with serving("--dsn", database) as (url, _):
        port = url.rpartition(":")[2]
        result = brain_process("serve", "--port", port, home=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}: ")


def test_a_request_that_is_running_is_finished_before_it_stops(database: str) -> None:
    with serving("--dsn", database, "--namespace", str(uuid4())) as (url, process):
        objects = [{"kind": "thing", "title": f"t{number}"} for number in range(2_000)]
        with (
            httpx.Client(base_url=url, timeout=30) as http,
            http.stream(
                "POST", "/v1/objects/batch", json={"objects": objects}, headers={"Accept": "text/event-stream"}
            ) as response,
        ):
            lines = response.iter_lines()
            assert next(lines) == "event: progress"
            process.terminate()
            time.sleep(0.1)
            rest = list(lines)
        assert "event: result" in rest
        assert process.wait(20) == 0
