"""The one place where the driver's errors become this library's; the driver's error stays the cause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    DimensionMismatchError,
    InvalidValueError,
    MissingExtensionError,
    SearchIndexNotReadyError,
)

__all__ = ["DRIVER_ERRORS", "STALE_LEXICAL_INDEX", "may_succeed_again", "translated"]

STALE_LEXICAL_INDEX = "BRN01"
"""The SQLSTATE with which the search functions refuse to answer from a lexical index that may have lost rows."""

_LEXICAL_INDEX = "brain_objects_bm25"

_MISSING_SCHEMA = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedColumnError,
    asyncpg.InvalidSchemaNameError,
)
DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that broke at an unlucky moment
    OSError,
    EOFError,
    UnicodeEncodeError,
)
"""What asyncpg and the socket below it raise."""

_DIMENSIONS = re.compile(r"expected (\d+) dimensions, not (\d+)")


def _translate(error: Exception) -> Exception:
    match error:
        case TimeoutError() | asyncpg.QueryCanceledError():
            return BackendTimeoutError(f"Postgres did not answer in time: {error or 'timeout'}")
        case asyncpg.CharacterNotInRepertoireError() | asyncpg.UntranslatableCharacterError() | UnicodeEncodeError():
            return InvalidValueError(f"a value cannot be stored as text: {error}")
        case asyncpg.UndefinedObjectError() if _LEXICAL_INDEX in str(error):
            return SearchIndexNotReadyError("the lexical index is missing: call rebuild_lexical()")
        case asyncpg.PostgresError() if error.sqlstate == STALE_LEXICAL_INDEX:
            return SearchIndexNotReadyError("the lexical index has to be rebuilt")
        case asyncpg.DataError() if found := _DIMENSIONS.search(str(error)):
            return DimensionMismatchError(expected=int(found[1]), got=int(found[2]))
        case asyncpg.UndefinedFileError() | asyncpg.FeatureNotSupportedError() if "extension" in str(error):
            return MissingExtensionError(f"a Postgres extension cannot be used: {error}")
        case _ if isinstance(error, _MISSING_SCHEMA):
            return BackendError(f"the store's tables are not there, call migrate(): {error}")
        case _:
            return BackendError(f"Postgres failed: {type(error).__name__}: {error}")


def may_succeed_again(error: BackendError) -> bool:
    """Whether a transaction that ended with ``error`` lost a conflict, and is worth repeating."""
    cause = error.__cause__
    if isinstance(cause, asyncpg.UndefinedTableError):
        # pg_textsearch finds its index by name, which a concurrent rebuild has just changed.
        return _LEXICAL_INDEX in str(cause)
    return isinstance(cause, (asyncpg.DeadlockDetectedError, asyncpg.SerializationError))


@contextmanager
def translated() -> Iterator[None]:
    """Raise the library's error for what asyncpg or the socket raises. Cancellation and the library's own errors pass."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise _translate(error) from error
