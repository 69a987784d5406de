"""What Python computes of words is what the server computes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain_async.adapters.postgres.terms import MAX_LEX_CHARS, decode_term, encode_term, encoded_terms
from brain_async.analysis import index_terms, similarity

_TRICKY = """
v1 1423 2e5 1e5x 0x1f 17e81a 00012 café naïve 汇率 外币汇率 हिन्दी ไทย zq zqab zqx 1e
12345678901234567890 ǅ İstanbul ςσ ａｂ １２
"""

_Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(scope="module")
async def connection(postgres_dsn: str) -> AsyncIterator[_Connection]:
    opened = await asyncpg.connect(postgres_dsn)
    yield opened
    await opened.close()


async def _assert_kept(connection: _Connection, words: list[str]) -> None:
    altered = await connection.fetch(
        "select w from unnest($1::text[]) w where tsvector_to_array(to_tsvector('simple', w)) <> array[w]", words
    )
    assert altered == []
    if words:
        joined = await connection.fetchval("select tsvector_to_array(to_tsvector('simple', $1))", " ".join(words))
        assert set(joined) == set(words)


async def test_tricky_terms_pass_the_parser(connection: _Connection) -> None:
    terms = index_terms(_TRICKY)
    assert len(set(terms)) > 15
    await _assert_kept(connection, [encode_term(term) for term in terms])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=30) | st.from_regex(r"[0-9a-fzqex]{1,9}", fullmatch=True), max_size=40))
async def test_any_term_passes_the_parser_and_comes_back(connection: _Connection, texts: list[str]) -> None:
    terms = index_terms(" ".join(texts))
    words = [encode_term(term) for term in terms]
    assert [decode_term(word) for word in words] == terms
    await _assert_kept(connection, words)


async def test_the_longest_lex_fits_a_tsvector(connection: _Connection) -> None:
    for text in (" ".join(f"語{chr(0x4E00 + n % 20_000)}{chr(0x4E00 + n // 7)}" for n in range(60_000)),):
        words = encoded_terms(index_terms(text))
        assert len(" ".join(words)) <= MAX_LEX_CHARS
        assert await connection.fetchval("select length(to_tsvector('simple', $1)) > 1000", " ".join(words))


_word = st.text(alphabet="abcdeéüß013-_./: ", min_size=1, max_size=14)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(_word, _word), min_size=1, max_size=50))
async def test_similarity_is_that_of_pg_trgm(connection: _Connection, pairs: list[tuple[str, str]]) -> None:
    found = await connection.fetch(
        "select similarity(a, b) as s from unnest($1::text[], $2::text[]) u(a, b)",
        [left for left, _ in pairs],
        [right for _, right in pairs],
    )
    for (left, right), row in zip(pairs, found, strict=True):
        assert row["s"] == pytest.approx(similarity(left.lower(), right.lower()), abs=1e-6), (left, right)
