"""Reading test collections."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain_async.errors import InvalidInputError
from brain_async.evaluation import Document, Query, read_collection

CORPUS = '{"_id": "d1", "title": "Cats", "text": " purr "}\n\n{"_id": "d2", "text": "bark"}\n'
QUERIES = '{"_id": "q1", "text": "who purrs"}\n{"id": 2, "text": "who barks"}\n{"_id": "q3", "text": "unjudged"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n2\td2\t1\nq3\td1\t0\n"


def written(folder: Path, *, corpus: str = CORPUS, queries: str = QUERIES, qrels: str = QRELS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text(corpus)
    (folder / "queries.jsonl").write_text(queries)
    (folder / "qrels.tsv").write_text(qrels)
    return folder


async def test_documents_judged_queries_and_grades_are_read(tmp_path: Path) -> None:
    found = await read_collection(written(tmp_path / "pets"))
    assert found.name == "pets"
    assert found.documents == (Document("d1", "Cats", "purr"), Document("d2", "", "bark"))
    assert found.queries == (Query("q1", "who purrs"), Query("2", "who barks"))
    assert found.grades == {"q1": {"d1": 2, "d2": 0}, "2": {"d2": 1}, "q3": {"d1": 0}}


async def test_trec_columns_and_the_beir_folder_of_judgements_are_read(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "qrels.tsv").unlink()
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("q1\t0\td2\t1\n")
    found = await read_collection(folder)
    assert found.grades == {"q1": {"d2": 1}}


async def test_other_queries_keep_the_ids(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "typo.jsonl").write_text('{"_id": "q1", "text": "who purs"}\n')
    found = await read_collection(folder, queries=folder / "typo.jsonl")
    assert found.queries == (Query("q1", "who purs"),)


async def test_the_digest_is_the_corpus(tmp_path: Path) -> None:
    one = await read_collection(written(tmp_path / "one"))
    same = await read_collection(written(tmp_path / "same", queries='{"_id": "q1", "text": "else"}\n'))
    other = await read_collection(written(tmp_path / "other", corpus=CORPUS.replace("bark", "barks")))
    assert one.digest == same.digest != other.digest


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"corpus": '{"_id": "d1", "text": "a"}\n{"_id": "d1", "text": "b"}\n'}, "line 2 repeats the id 'd1'"),
        ({"corpus": '{"_id": "d1"}\n'}, "line 1 has no _id or no text"),
        ({"corpus": "[1]\n"}, "line 1: Expected `object`"),
        ({"qrels": "q1\td1\t1\nq1\td2\tyes\n"}, "line 2 is not query, document and grade"),
        ({"qrels": "q1\td1\t0\n"}, "has a relevant document"),
    ],
)
async def test_a_malformed_file_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await read_collection(written(tmp_path, **files))


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"corpus\.jsonl cannot be read: No such file"):
        await read_collection(tmp_path)
