"""An error as one line."""

from __future__ import annotations

import pytest

from brain_async.cli.error_lines import error_line
from brain_async.errors import InvalidInputError, LocalServerError

CORRUPT = """PostgreSQL in /h/postgres did not start: pg_ctl: could not start server
Examine the log output.; its log ends:
2026-01-01 10:00:00.100 UTC [7] LOG:  starting PostgreSQL 18.6
2026-01-01 10:00:00.200 UTC [7] PANIC:  could not locate a valid checkpoint record
2026-01-01 10:00:00.300 UTC [7] LOG:  database system is shut down"""
DENIED = (
    "PostgreSQL in /h/postgres did not start: pg_ctl: "
    'could not open PID file "/h/postgres/postmaster.pid": Permission denied; its log ends:\n'
)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            CORRUPT,
            "PostgreSQL in /h/postgres did not start: pg_ctl: could not start server; "
            "its log says: PANIC: could not locate a valid checkpoint record",
        ),
        (
            DENIED,
            "PostgreSQL in /h/postgres did not start: pg_ctl: "
            'could not open PID file "/h/postgres/postmaster.pid": Permission denied',
        ),
    ],
)
def test_of_a_log_only_the_line_that_tells(message: str, line: str) -> None:
    assert error_line(LocalServerError(message)) == line


def test_any_other_message_is_one_line() -> None:
    assert error_line(InvalidInputError("one\n  two", field="x")).endswith("one two")
