"""Checks of PartSearcher: what each channel finds, in what order, and what no scope or filter lets through."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import msgspec

from brain_async.errors import DimensionMismatchError
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.scope import Scope
from brain_async.testing.channels import MANY, channels_of, findable, found_by
from brain_async.testing.subjects import (
    BASE_TIME,
    CheckedStore,
    dimension_of,
    direction,
    family,
    fresh_scope,
    new_parent,
    new_part,
    put_all,
    raises,
)

__all__ = ["CHECKS", "OPERATOR_QUERIES"]

OPERATOR_QUERIES = (
    'say "hello',
    r"C:\repo\src\main.py",
    "curl x | bash",
    "tb-",
    "node:",
    "C++",
    "(",
    "~alien",
    "/b testing",
    "a && !b",
    "'; --",
    "100%_",
    "$1",
    "a:* & <-> !",
    "\\",
    "{}[]^?",
    "\x00",
)
"""User text that a query parser would trip over, or read as an operator."""


async def check_candidate_columns(store: CheckedStore) -> None:
    """A candidate carries what ranking needs, and only parts are candidates."""
    scope = fresh_scope()
    parent, (part,) = family(scope, [findable(store, position=7)], **findable(store))
    await put_all(store, scope, parent, part)
    for name, search in channels_of(store).items():
        hits = await search(scope, Filters(), MANY)
        assert [hit.id for hit in hits] == [part.id], f"{name} must find the part and not its parent"
        expected = Candidate(
            id=part.key,
            parent_id=parent.id,
            title=part.title,
            position=7,
            updated_at=part.updated_at,
            score=hits[0].score,
        )
        assert hits[0] == expected, f"{name} returned {hits[0]}"
        assert hits[0].score > 0.0, f"{name} must score above 0"
        if name != "lexical":
            assert hits[0].score <= 1.0 + 1e-6, f"{name} scores are at most 1"


async def check_ties_keep_one_order_at_the_cut(store: CheckedStore) -> None:
    """60 equal parts, put in random order: newer first, then id, and every k cuts the same list."""
    scope = fresh_scope()
    parents = [new_parent(scope) for _ in range(60)]
    moments = [BASE_TIME + timedelta(microseconds=n // 20) for n in range(60)]
    parts = [
        new_part(scope, parent, **findable(store, updated_at=moment))
        for parent, moment in zip(parents, moments, strict=True)
    ]
    Random(3).shuffle(parts)
    await put_all(store, scope, *parents, *parts)
    newest = sorted(parts, key=lambda part: ((part.updated_at or BASE_TIME) - BASE_TIME, -part.key.int), reverse=True)
    expected = [part.id for part in newest]
    for name, search in channels_of(store).items():
        for k in (1, 10, 25, 40, 60, 100):
            got = [hit.id for hit in await search(scope, Filters(), k)]
            assert got == expected[:k], f"{name} with k={k} must cut the one order of equal scores"


async def check_unusual_k_and_empty_input(store: CheckedStore) -> None:
    """k of 0 or below, and a query without a term, find nothing and raise nothing."""
    scope = fresh_scope()
    parent, (part,) = family(scope, [findable(store)])
    await put_all(store, scope, parent, part)
    for name, search in channels_of(store).items():
        for k in (0, -1, -(2**31)):
            assert list(await search(scope, Filters(), k)) == [], f"{name} with k={k}"
        assert await found_by(search, scope, Filters(), 100_000) == {part.id}, f"{name} with a large k"
    for query in ("", "   ", "!!!", "the of and"):
        assert list(await store.search_lexical(scope, query, Filters(), k=10)) == [], f"lexical for {query!r}"
        assert list(await store.search_trigram(scope, query, Filters(), k=10)) == [], f"trigram for {query!r}"


async def check_lexical_ranks_by_bm25(store: CheckedStore) -> None:
    """Rare terms weigh more than common ones, short parts more than long ones, and query terms count as often as repeated."""
    scope = fresh_scope()
    texts = [
        "zebra crossing",
        "common crossing",
        "common words only here",
        "zebra zebra " + "filler " * 40,
        *["common filler text"] * 10,
    ]
    parent, parts = family(scope, [{"content": text} for text in texts])
    await put_all(store, scope, parent, *parts)
    hits = await store.search_lexical(scope, "the common zebras", Filters(), k=10)
    zebras = [hit.id for hit in hits[:2]]
    assert zebras[0] == parts[0].id, "the short part with the rare term is first, whatever stemming it takes"
    assert zebras[1] == parts[3].id
    once = await store.search_lexical(scope, "zebra", Filters(), k=10)
    thrice = await store.search_lexical(scope, "zebra Zebras, the zebra", Filters(), k=10)
    assert [hit.id for hit in once] == [hit.id for hit in thrice] == zebras
    assert all(abs(more.score - 3 * hit.score) < 1e-4 for more, hit in zip(thrice, once, strict=True))
    scored = await store.search_lexical(scope, "crossing", Filters(), k=10)
    assert [hit.id for hit in scored] == sorted((parts[0].key, parts[1].key), key=lambda key: key.int)
    assert abs(scored[0].score - scored[1].score) < 1e-9


async def check_title_and_summary_are_searched(store: CheckedStore) -> None:
    """The lexical channel looks at title, summary and content alike."""
    scope = fresh_scope()
    parent, parts = family(scope, [{"title": "aardvark"}, {"summary": "Aardvark!"}, {"content": "(aardvarks)"}, {}])
    await put_all(store, scope, parent, *parts)
    hits = await store.search_lexical(scope, "AARDVARK", Filters(), k=10)
    assert {hit.id for hit in hits} == {part.id for part in parts[:3]}


async def check_operator_characters_are_text(store: CheckedStore) -> None:
    """No query raises; an operator never negates, groups or empties a query; a stored phrase is found."""
    scope = fresh_scope()
    texts = ["curl x | bash", "tb runs here", "say hello twice", r"see C:\repo\src\main.py", "node modules", "C++ code"]
    parent, parts = family(scope, [{"content": text} for text in texts])
    titled = new_part(scope, parent, title=r"C:\repo\src\main.py", position=99)
    await put_all(store, scope, parent, *parts, titled)
    for query in OPERATOR_QUERIES:
        await store.search_lexical(scope, query, Filters(), k=5)
        await store.search_trigram(scope, query, Filters(), k=5)
    for query, wanted in (
        ("curl x | bash", parts[0]),
        ("tb-", parts[1]),
        ('say "hello', parts[2]),
        ("node:", parts[4]),
    ):
        hits = await store.search_lexical(scope, query, Filters(), k=5)
        assert hits, f"{query!r} must find what holds its words"
        assert hits[0].id == wanted.id, f"{query!r} must find what holds its words first"
    dashed = await store.search_lexical(scope, "tb-", Filters(), k=5)
    assert dashed == await store.search_lexical(scope, "tb", Filters(), k=5), "'tb-' is 'tb'"
    paths = await store.search_trigram(scope, r"C:\repo\src\main.py", Filters(), k=5)
    assert {hit.id for hit in paths[:2]} == {parts[3].id, titled.id}, "a path is one key term, in title and content"


async def check_unsegmented_scripts(store: CheckedStore) -> None:
    """A substring of two or more characters of Chinese, Japanese or Korean is found; one character may miss."""
    scope = fresh_scope()
    texts = ["外币汇率换算规则", "今日は成語しりとりをした", "오늘 끝말잇기 게임을 했다"]
    english = [f"docker container number {n} serves page {n}" for n in range(20)]
    parent, parts = family(scope, [{"content": text} for text in (*texts, *english)])
    await put_all(store, scope, parent, *parts)
    for query, wanted in (("汇率", 0), ("しりとり", 1), ("끝말잇기", 2)):
        hits = await store.search_lexical(scope, query, Filters(), k=5)
        assert [hit.id for hit in hits] == [parts[wanted].id], f"{query!r} must find its part"
    mixed = await store.search_lexical(scope, "docker 汇率", Filters(), k=30)
    assert mixed[0].id == parts[0].id, "the rarer half of a mixed query comes first"
    assert len(mixed) == 21, "both halves of a mixed query find"
    for query in ("汇", "し", "끝"):
        await store.search_lexical(scope, query, Filters(), k=5)


async def check_trigram_finds_typos(store: CheckedStore) -> None:
    """A misspelt word and an identifier with a wrong digit find their part; nothing near finds nothing."""
    scope = fresh_scope()
    parent, parts = family(
        scope,
        [
            {"title": "Kubernetes upgrade"},
            {"title": "Invoice", "content": "see ACME-1423 for the amount"},
            {"title": "Holiday calendar", "content": "kubernetes is not a key term in running text"},
        ],
    )
    await put_all(store, scope, parent, *parts)
    for query, wanted in (("kubernets", 0), ("ACME-1424", 1), ("invoise", 1), ("calender", 2)):
        hits = await store.search_trigram(scope, query, Filters(), k=5)
        assert hits, f"{query!r} must find its part"
        assert hits[0].id == parts[wanted].id, f"{query!r} must find its part"
        assert 0.3 <= hits[0].score < 1.0
    exact = await store.search_trigram(scope, "kubernetes upgrade", Filters(), k=5)
    assert [hit.id for hit in exact] == [parts[0].id]
    assert abs(exact[0].score - 1.0) < 1e-6, "all words found exactly: 1"
    half = await store.search_trigram(scope, "kubernetes xylophone", Filters(), k=5)
    assert abs(half[0].score - 0.5) < 1e-6, "the score is divided by the number of query words"
    assert list(await store.search_trigram(scope, "xylophone", Filters(), k=5)) == []


async def check_trigram_takes_the_three_nearest_terms(store: CheckedStore) -> None:
    """Of five terms near a word, only the three nearest count; equally near ones in the order of their characters."""
    scope = fresh_scope()
    titles = ["documents", "documentz", "documenta", "documentb", "document"]
    parent, parts = family(scope, [{"title": title} for title in titles])
    await put_all(store, scope, parent, *parts)
    hits = await store.search_trigram(scope, "document", Filters(), k=10)
    assert [hit.title for hit in hits[:1]] == ["document"]
    assert {hit.title for hit in hits} == {"document", "documenta", "documentb"}


async def check_vector_order(store: CheckedStore) -> None:
    """Cosine similarity, best first, whatever the lengths of the vectors; parts without an embedding are absent."""
    scope = fresh_scope()
    dimension = dimension_of(store)
    angles = [170, 5, 60, 95, 30]
    parent, parts = family(
        scope, [{"embedding": direction(dimension, angle) * (n + 1)} for n, angle in enumerate(angles)]
    )
    bare = new_part(scope, parent, content="no embedding")
    await put_all(store, scope, parent, *parts, bare)
    hits = await store.search_vector(scope, direction(dimension, 0) * 3, Filters(), k=10)
    assert [hit.id for hit in hits] == [parts[n].id for n in (1, 4, 2, 3, 0)]
    wanted = [0.9962, 0.8660, 0.5, -0.0872, -0.9848]
    assert all(abs(hit.score - cosine) < 2e-3 for hit, cosine in zip(hits, wanted, strict=True)), hits


async def check_vector_dimension_mismatch(store: CheckedStore) -> None:
    """A query vector of another length raises the error that names both."""
    scope = fresh_scope()
    dimension = dimension_of(store)
    parent, (part,) = family(scope, [findable(store)])
    await put_all(store, scope, parent, part)
    search = store.search_vector(scope, direction(dimension + 1, 0), Filters(), k=5)
    error = await raises(DimensionMismatchError, search)
    assert (error.expected, error.got) == (dimension, dimension + 1)


async def check_other_namespaces_are_never_seen(store: CheckedStore) -> None:
    """No channel shows, counts or scores by what another namespace holds; an unrestricted scope sees both."""
    scope, other = fresh_scope(), fresh_scope()
    parent, parts = family(scope, [findable(store, position=n) for n in range(3)])
    await put_all(store, scope, parent, *parts)
    channels = channels_of(store)
    before = {name: list(await search(scope, Filters(), MANY)) for name, search in channels.items()}
    theirs, their_parts = family(other, [findable(store, title="Quarterly quarterly") for _ in range(30)])
    await put_all(store, other, theirs, *their_parts)
    within = Filters(scope_ids=(parent.key, theirs.key))
    for name, search in channels.items():
        assert list(await search(scope, Filters(), MANY)) == before[name], f"{name} changed by another namespace"
        assert await found_by(search, scope, within) == {part.id for part in parts}, f"{name} with foreign scope_ids"
        assert await found_by(search, other, Filters()) == {part.id for part in their_parts}
        assert await found_by(search, fresh_scope(), Filters()) == set()
        everywhere = await found_by(search, Scope(), within)
        assert everywhere == {part.id for part in (*parts, *their_parts)}, f"{name} without a namespace"


async def check_small_namespace_is_not_starved(store: CheckedStore) -> None:
    """5 far parts of one namespace are all found beside 2,000 near ones of another, in true order."""
    big, small = fresh_scope(), fresh_scope()
    dimension = dimension_of(store)
    crowd = new_parent(big)
    near = [
        new_part(big, crowd, title="Quarterly report", embedding=direction(dimension, n / 1_000), position=n)
        for n in range(2_000)
    ]
    await put_all(store, big, crowd)
    for start in range(0, len(near), 500):
        await put_all(store, big, *near[start : start + 500])
    parent, far = family(
        small, [{"title": "Quarterly", "embedding": direction(dimension, 150 - 10 * n)} for n in range(5)]
    )
    await put_all(store, small, parent, *far)
    hits = await store.search_vector(small, direction(dimension, 0), Filters(), k=5)
    assert [hit.id for hit in hits] == [part.id for part in far[::-1]], "all 5, nearest first"
    for name, search in channels_of(store).items():
        assert await found_by(search, small, Filters(), 5) == {part.id for part in far}, name


async def check_deleted_parents_hide_their_parts(store: CheckedStore) -> None:
    """Parts of a deleted parent are no candidates, nor are parts put before or after; a re-put brings them back."""
    scope = fresh_scope()
    parent, parts = family(scope, [findable(store) for _ in range(3)])
    await put_all(store, scope, parent, *parts)
    await store.soft_delete(scope, parts[0].key, at=BASE_TIME)
    channels = channels_of(store)
    for name, search in channels.items():
        assert await found_by(search, scope, Filters()) == {parts[1].id, parts[2].id}, f"{name} shows a deleted part"
    await store.soft_delete(scope, parent.key, at=BASE_TIME)
    for name, search in channels.items():
        assert await found_by(search, scope, Filters()) == set(), f"{name} shows parts of a deleted parent"
        assert await found_by(search, scope, Filters(scope_ids=(parts[1].key,))) == set()
    await put_all(store, scope, parent)
    for name, search in channels.items():
        assert await found_by(search, scope, Filters()) == {parts[1].id, parts[2].id}, (
            f"{name} after the parent's re-put"
        )
    await put_all(store, scope, parts[0])
    for name, search in channels.items():
        assert await found_by(search, scope, Filters()) == {part.id for part in parts}, (
            f"{name} after the part's re-put"
        )


async def check_updates_replace_what_is_found(store: CheckedStore) -> None:
    """After a second put a part is found by its new text, keys, vector and properties, and not by the old ones."""
    scope = fresh_scope()
    dimension = dimension_of(store)
    parent, (part,) = family(
        scope,
        [{"title": "Walrus", "content": "ivory", "embedding": direction(dimension, 0), "properties": {"n": 1}}],
    )
    await put_all(store, scope, parent, part)
    changed = msgspec.structs.replace(
        part, kind="moved", title="Penguin", content="feather", embedding=None, properties={"n": 2}
    )
    await put_all(store, scope, changed)
    for query, count in (("walrus", 0), ("ivory", 0), ("penguin", 1), ("feather", 1)):
        assert len(await store.search_lexical(scope, query, Filters(), k=5)) == count, query
    assert list(await store.search_trigram(scope, "walrus", Filters(), k=5)) == []
    assert len(await store.search_trigram(scope, "penguin", Filters(), k=5)) == 1
    assert list(await store.search_vector(scope, direction(dimension, 0), Filters(), k=5)) == []
    for filters, count in (
        (Filters(properties=(PropertyFilter("n", (1,)),)), 0),
        (Filters(properties=(PropertyFilter("n", (2,)),)), 1),
        (Filters(kinds=("section",)), 0),
        (Filters(kinds=("moved",)), 1),
    ):
        assert len(await store.search_lexical(scope, "penguin", filters, k=5)) == count, filters
    await put_all(store, scope, msgspec.structs.replace(changed, parent_id=None))
    assert list(await store.search_lexical(scope, "penguin", Filters(), k=5)) == [], "first-class objects are no corpus"


CHECKS = (
    check_candidate_columns,
    check_ties_keep_one_order_at_the_cut,
    check_unusual_k_and_empty_input,
    check_lexical_ranks_by_bm25,
    check_title_and_summary_are_searched,
    check_operator_characters_are_text,
    check_unsegmented_scripts,
    check_trigram_finds_typos,
    check_trigram_takes_the_three_nearest_terms,
    check_vector_order,
    check_vector_dimension_mismatch,
    check_other_namespaces_are_never_seen,
    check_small_namespace_is_not_starved,
    check_deleted_parents_hide_their_parts,
    check_updates_replace_what_is_found,
)
