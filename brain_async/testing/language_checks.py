"""Checks of languages in the lexical channel: each part is analysed in its own, a query in all of its scope."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.subjects import CheckedStore, family, fresh_scope, new_part, put_all

__all__ = ["CHECKS"]

_UNSEGMENTED = {
    "chinese": ("外币汇率换算规则", ["汇率", "外币", "换算规则", "外币汇率换算规则"]),
    "japanese": ("今日は成語しりとりをした", ["しりとり", "今日", "成語"]),
    "korean": ("오늘 끝말잇기 게임을 했다", ["끝말잇기", "게임", "오늘"]),
    "thai": ("วันนี้อากาศดีมาก", ["อากาศ", "วันนี้"]),
}


async def _found(store: CheckedStore, scope: Scope, query: str) -> set[str]:
    """The titles of what is found."""
    return {hit.title for hit in await store.search_lexical(scope, query, Filters(), k=50)}


async def _put_parts(store: CheckedStore, scope: Scope, *parts: tuple[str, str]) -> list[Object]:
    """One parent with a part for each (language, content), titled ``x0``, ``x1``, ..."""
    fields = [
        {"title": f"x{number}", "language": language, "content": content}
        for number, (language, content) in enumerate(parts)
    ]
    parent, children = family(scope, fields)
    await put_all(store, scope, parent, *children)
    return children


async def check_parts_are_analysed_in_their_language(store: CheckedStore) -> None:
    """Stems and stop words are those of the part's language, whatever its neighbours are in."""
    scope = fresh_scope()
    await _put_parts(
        store,
        scope,
        ("german", "Die Häuser am Fluss wurden verkauft"),
        ("english", "Houses are sold, and old habits die hard"),
        ("french", "Les nationales continuaient"),
        ("simple", "the houses"),
        ("russian", "важные книги"),
    )
    cases: Sequence[tuple[str, set[str]]] = (
        ("Haus", {"x0"}),
        ("Häuser", {"x0"}),
        ("des Flusses", {"x0"}),
        ("house", {"x1"}),
        ("houses", {"x1", "x3"}),
        ("die", {"x1"}),
        ("the", {"x3"}),
        ("nationale continuer", {"x2"}),
        ("важная книга", {"x4"}),
        ("Haus habit", {"x0", "x1"}),
        ("und", set()),
    )
    for query, titles in cases:
        assert await _found(store, scope, query) == titles, f"{query!r} is to find {sorted(titles)}"


async def check_unsegmented_scripts_are_found_in_every_language(store: CheckedStore) -> None:
    """Two characters and more of Chinese, Japanese, Korean and Thai are found; one character does no harm."""
    for language in ("", "english", "german", "simple", *_UNSEGMENTED):
        scope = fresh_scope()
        texts = [text for text, _ in _UNSEGMENTED.values()]
        await _put_parts(store, scope, *((language, text) for text in texts), (language, "docker containers"))
        for number, (_, queries) in enumerate(_UNSEGMENTED.values()):
            for query in queries:
                assert await _found(store, scope, query) == {f"x{number}"}, f"{query} in a part that is {language!r}"
        assert await _found(store, scope, "docker 汇率") == {"x0", "x4"}, "both halves of a mixed query count"
        assert await _found(store, scope, "汇") == set()


async def check_languages_of_other_namespaces_do_not_matter(store: CheckedStore) -> None:
    """A query is analysed in the languages of its scope; without a namespace, in all."""
    german, english = fresh_scope(), fresh_scope()
    await _put_parts(store, english, ("english", "haus rules"))
    assert await _found(store, english, "Häuser") == set()
    await _put_parts(store, german, ("german", "Haus am See"))
    assert await _found(store, english, "Häuser") == set()
    assert await _found(store, german, "Häuser") == {"x0"}
    assert len(await store.search_lexical(Scope(), "Häuser", Filters(), k=50)) >= 2
    await _put_parts(store, english, ("german", "Wald"))
    assert await _found(store, english, "Häuser") == {"x0"}, "the first part of a language is enough"


async def check_a_part_put_in_another_language_is_analysed_anew(store: CheckedStore) -> None:
    """The language is stored and read back, and what is put last counts."""
    scope = fresh_scope()
    (part,) = await _put_parts(store, scope, ("english", "Häuser"))
    assert await _found(store, scope, "Haus") == set()
    changed = msgspec.structs.replace(part, language="german")
    await put_all(store, scope, changed)
    assert await _found(store, scope, "Haus") == {"x0"}
    read = await store.get(scope, part.key)
    assert read is not None
    assert read.language == "german"
    (listed,) = await store.get_many(scope, [part.key])
    scanned = await store.scan(scope, first_class=False, after=None, limit=5)
    assert part.parent_id is not None
    children = await store.list_children(scope, [part.parent_id])
    hydrated = (await store.hydrate(scope, [part.key])).objects[part.key]
    assert {obj.language for obj in (listed, hydrated, *scanned, *children[part.parent_id])} == {"german"}


async def check_a_repeated_word_counts_once_for_all_languages(store: CheckedStore) -> None:
    """A word with one stem in several languages counts as often as the query has it, not once a language."""
    scope, plain = fresh_scope(), fresh_scope()
    texts = ("zebra quagga", "zebra zebra quagga quagga okapi", "okapi")
    for each in (scope, plain):
        parent, children = family(each, [{"content": text, "title": f"x{n}"} for n, text in enumerate(texts)])
        await put_all(store, each, parent, *children)
    # A part in another language that holds no word of the query, and as many terms as its twin.
    parent, _ = family(scope, [])
    other, _ = family(plain, [])
    await put_all(store, scope, parent, new_part(scope, parent, language="german", content="baum"))
    await put_all(store, plain, other, new_part(plain, other, language="english", content="baum"))
    for query in ("zebra", "zebra okapi", "okapi okapi quagga"):
        several = [(hit.title, hit.score) for hit in await store.search_lexical(scope, query, Filters(), k=5)]
        one = [(hit.title, hit.score) for hit in await store.search_lexical(plain, query, Filters(), k=5)]
        assert several == one, f"{query!r} scores differently where several languages are present"


CHECKS = (
    check_parts_are_analysed_in_their_language,
    check_unsegmented_scripts_are_found_in_every_language,
    check_languages_of_other_namespaces_do_not_matter,
    check_a_part_put_in_another_language_is_analysed_anew,
    check_a_repeated_word_counts_once_for_all_languages,
)
