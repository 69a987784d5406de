"""What does respelling cost? ``python benchmarks/bench_respell.py --parts 100000 --json``

On the local Postgres: parts of invented words, as long as English ones are, that follow Zipf's law over 250,000 words, so that
half of those in use stand in a few parts only. Then ``Engine.search`` (lexical channel alone) with and without respelling,
in turns, over queries whose words are all known and over the same with one word misspelt; and the lookup by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from uuid import UUID, uuid4

from brain_async import Engine, EngineConfig, Object, Scope, SearchContext, SearchRequest
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.local import local_postgres
from brain_async.spelling import edit_distance
from report import Check, Report, percentile

SPACE = Scope(UUID(int=1))
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY = 250_000
PART_WORDS = 150
PER_PARENT = 10
QUERIES = 400
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
WEIGHTS = (
    12,
    9,
    8,
    7.5,
    7,
    6.7,
    6.3,
    6,
    6,
    4.2,
    4,
    2.8,
    2.8,
    2.4,
    2.2,
    2.3,
    2,
    1.9,
    1,
    1.5,
    2,
    0.8,
    0.2,
    0.1,
    0.2,
    0.1,
)


def invent_words(rng: random.Random, count: int) -> list[str]:
    """Distinct words of 3 to 14 letters, the most frequent first: the shorter the likelier."""
    words: dict[str, None] = {}
    while len(words) < count:
        length = min(14, 3 + int(rng.gammavariate(4, 1.3)))
        words["".join(rng.choices(LETTERS, WEIGHTS, k=length))] = None
    return sorted(words, key=lambda word: len(word) + rng.gauss(0, 3))


def corpus(rng: random.Random, words: list[str], parts: int) -> Iterator[list[Object]]:
    """Batches of 100 parents with 10 parts each."""
    cumulative = list(accumulate((rank + 3) ** -1.15 for rank in range(len(words))))
    for start in range(0, parts, 100 * PER_PARENT):
        batch = []
        for _ in range(start, min(parts, start + 100 * PER_PARENT), PER_PARENT):
            parent = Object(
                id=uuid4(), kind="document", namespace_id=SPACE.namespace_id, created_at=MOMENT, updated_at=MOMENT
            )
            batch.append(parent)
            for position in range(PER_PARENT):
                text = " ".join(rng.choices(words, cum_weights=cumulative, k=PART_WORDS))
                batch.append(
                    Object(
                        id=uuid4(),
                        kind="section",
                        content=text,
                        parent_id=parent.id,
                        position=position,
                        namespace_id=SPACE.namespace_id,
                        created_at=MOMENT,
                        updated_at=MOMENT,
                    )
                )
        yield batch


def misspelt(rng: random.Random, word: str) -> str:
    """``word`` with one edit."""
    place = rng.randrange(len(word) - 1)
    match rng.randrange(4):
        case 0:
            return word[:place] + word[place + 1 :]
        case 1:
            return word[:place] + rng.choice(LETTERS) + word[place:]
        case 2:
            return word[:place] + rng.choice(LETTERS) + word[place + 1 :]
        case _:
            return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


async def p50_ms(calls: list[Callable[[], Awaitable[object]]]) -> float:
    """The median of the calls, in milliseconds."""
    seconds = []
    for call in calls:
        began = time.perf_counter()
        await call()
        seconds.append(time.perf_counter() - began)
    return round(percentile(seconds, 0.5), 2)


async def measure_searches(report: Report, store: PostgresStore, clean: list[str], typo: list[str]) -> None:
    """Searches with and without respelling, in turns; a search is measured once its words are known to the process."""
    engines = {
        name: Engine(store, config=EngineConfig(respell=name == "respelling", search_channels=("lexical",)))
        for name in ("respelling", "as_typed")
    }

    async def search(name: str, query: str) -> float:
        began = time.perf_counter()
        await engines[name].search(SPACE, SearchRequest(query=query), SearchContext(SPACE.namespace_id))
        return time.perf_counter() - began

    for kind, queries in (("clean", clean), ("misspelt", typo)):
        seconds: dict[str, list[float]] = {name: [] for name in engines}
        for turn in range(3):
            for number, query in enumerate(queries):
                order = list(engines) if (number + turn) % 2 else list(engines)[::-1]
                for name in order:
                    taken = await search(name, query)
                    if turn:
                        seconds[name].append(taken)
        p50 = {name: percentile(taken, 0.5) for name, taken in seconds.items()}
        report.figures[f"search_{kind}_p50_ms"] = {name: round(value, 2) for name, value in p50.items()}
        added = p50["respelling"] - p50["as_typed"]
        if kind == "clean":
            report.checks.append(Check.of("added_ms_clean", added, "<=", 0.3))


async def measure_lookups(report: Report, store: PostgresStore, words: list[str], rng: random.Random) -> None:
    """The lookup alone: by how the word fares."""

    async def lookup(word: str) -> object:
        return await store.near_words(SPACE, [word])

    known = [word for word in rng.sample(words[: len(words) // 10], 3 * QUERIES) if len(word) >= 5]
    asked: dict[str, list[str]] = {"known_first_time": known, "known_again": known}
    asked["one_edit"] = [misspelt(rng, word) for word in known]
    long = [word for word in words[: len(words) // 5] if len(word) >= 10][: 4 * QUERIES]
    twice = [(word, misspelt(rng, misspelt(rng, word))) for word in long]
    asked["two_edits"] = [typed for word, typed in twice if len(typed) >= 9 and edit_distance(word, typed, 2) == 2]
    asked["short_nothing_near"] = ["qzxjqv"[:4] + "".join(rng.choices("qzxj", k=3)) for _ in known]
    asked["long_nothing_near"] = ["".join(rng.choices(LETTERS, WEIGHTS, k=12)) for _ in known]
    report.figures["lookup_p50_ms"] = {
        name: await p50_ms([lambda word=word: lookup(word) for word in typed[:QUERIES]])  # type: ignore[misc]
        for name, typed in asked.items()
    }
    found = [await store.near_words(SPACE, [word]) for word in asked["one_edit"][:QUERIES]]
    report.figures["candidates_of_one_edit"] = round(
        sum(len(candidates) for each in found for candidates in each.values()) / max(1, sum(map(len, found))), 2
    )
    report.checks.append(Check.of("lookup_one_edit_ms", report.figures["lookup_p50_ms"]["one_edit"], "<=", 2.0))
    report.checks.append(Check.of("lookup_two_edits_ms", report.figures["lookup_p50_ms"]["two_edits"], "<=", 3.0))


async def run(parts: int, lexical: str, home: Path) -> Report:
    """Load, then measure."""
    report = Report(benchmark="bench_respell", parameters={"parts": parts, "lexical": lexical, "words": VOCABULARY})
    rng = random.Random(5)
    words = invent_words(rng, VOCABULARY)
    async with (
        local_postgres(home) as server,
        open_postgres(server.dsn, dimension=8, lexical=lexical, statement_timeout=600) as store,  # type: ignore[arg-type]
    ):
        loaded = await store.bulk_load(corpus(rng, words, parts))
        assert not loaded.refused, loaded.refused[:1]
        report.figures["bulk"] = {
            "load_s": round(loaded.load_seconds, 1),
            "index_s": round(loaded.index_seconds, 1),
        }
        async with store.connections.session() as connection:
            report.figures["vocabulary"] = dict(
                await connection.fetchrow(
                    "select count(*) as words, pg_table_size('brain_words') as table_bytes,"
                    " pg_relation_size('brain_words_keys') as keys_bytes from brain_words"
                )
                or {}
            )
        middle = [word for word in words[50:20_000] if len(word) >= 4]
        clean = [" ".join(rng.sample(middle, rng.randint(2, 6))) for _ in range(QUERIES)]
        typo = []
        for query in clean:
            found = query.split()
            place = rng.randrange(len(found))
            found[place] = misspelt(rng, found[place])
            typo.append(" ".join(found))
        await measure_lookups(report, store, words, rng)
        await measure_searches(report, store, clean, typo)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=100_000)
    parser.add_argument("--lexical", choices=["pg_textsearch", "portable"], default="portable")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        report = asyncio.run(run(arguments.parts, arguments.lexical, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
