"""Reading a test collection in the BEIR layout: documents, queries, and which documents answer which query."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from brain_async.errors import InvalidInputError
from brain_async.text import UNSTORABLE

__all__ = ["Collection", "Document", "Query", "read_collection"]

_QRELS = ("qrels.tsv", "qrels/test.tsv")


class Document(msgspec.Struct, frozen=True):
    """One document of the corpus; its title may be empty."""

    id: str
    title: str
    text: str


class Query(msgspec.Struct, frozen=True):
    """One question."""

    id: str
    text: str


class Collection(msgspec.Struct, frozen=True):
    """A corpus with labelled queries.

    Attributes:
        queries: those with at least one relevant document, in the order of the file.
        grades: query id to document id to grade; a grade above 0 is relevant.
        digest: of the documents' file; another corpus has another.
    """

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    grades: dict[str, dict[str, int]]
    digest: str


async def read_collection(folder: Path, *, queries: Path | None = None) -> Collection:
    """The collection in ``folder``: ``corpus.jsonl``, ``queries.jsonl``, and ``qrels.tsv`` or ``qrels/test.tsv``.

    A line of the first two is an object with ``_id`` or ``id``, ``text`` and, for documents, ``title``. A line of the
    judgements is query id, document id and grade, tab separated; a heading line and TREC's second column are skipped.
    ``queries`` names another file of queries with the same ids. Read in a worker thread.
    Raises InvalidInputError for a file that is missing or malformed, and where no query has a relevant document.
    """
    return await anyio.to_thread.run_sync(_read, folder, queries or folder / "queries.jsonl")


def _read(folder: Path, queries_file: Path) -> Collection:
    corpus_file = folder / "corpus.jsonl"
    documents = tuple(
        Document(row_id, _text(row, "title"), _text(row, "text")) for row_id, row in _rows(corpus_file, "text")
    )
    grades = _grades(next((folder / name for name in _QRELS if (folder / name).is_file()), folder / _QRELS[0]))
    queries = tuple(
        Query(row_id, _text(row, "text"))
        for row_id, row in _rows(queries_file, "text")
        if any(grade > 0 for grade in grades.get(row_id, {}).values()) and _text(row, "text")
    )
    if not queries:
        raise InvalidInputError(f"no query of {queries_file} has a relevant document", field="queries")
    return Collection(
        name=folder.resolve().name,
        documents=documents,
        queries=queries,
        grades=grades,
        digest=hashlib.sha256(corpus_file.read_bytes()).hexdigest(),
    )


def _text(row: dict[str, Any], key: str) -> str:
    return UNSTORABLE.sub("", str(row.get(key) or "")).strip()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}", field=path.name) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8", field=path.name) from error


def _rows(path: Path, needed: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON-lines file with their ids, each id once."""
    seen = set()
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise InvalidInputError(f"{path} line {number}: {error}", field=path.name) from error
        row_id = row.get("_id", row.get("id"))
        if row_id is None or needed not in row:
            raise InvalidInputError(f"{path} line {number} has no _id or no {needed}", field=path.name)
        if (key := str(row_id)) in seen:
            raise InvalidInputError(f"{path} line {number} repeats the id {key!r}", field=path.name)
        seen.add(key)
        yield key, row


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for number, fields in enumerate(csv.reader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE), start=1):
        if not fields:
            continue
        try:
            query, document, grade = fields[0], fields[-2], int(fields[-1])
        except (ValueError, IndexError) as error:
            if number == 1:
                continue
            message = f"{path} line {number} is not query, document and grade"
            raise InvalidInputError(message, field=path.name) from error
        grades.setdefault(query, {})[document] = grade
    return grades
