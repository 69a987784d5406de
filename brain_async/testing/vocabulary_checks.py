"""Checks of Vocabulary: which words a corpus holds, and which it has to offer for one that it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from brain_async.model.scope import Scope
from brain_async.ports.vocabulary import Vocabulary, VocabularyWord
from brain_async.testing.subjects import BASE_TIME, CheckedStore, family, fresh_scope, new_part, put_all

__all__ = ["CHECKS", "CheckedVocabulary"]


class CheckedVocabulary(CheckedStore, Vocabulary, Protocol):
    """A store that has a vocabulary."""


async def near(store: Vocabulary, scope: Scope, *words: str) -> dict[str, list[tuple[str, int]]]:
    """The words near each of ``words`` that is not held, and their documents."""
    found: Mapping[str, Sequence[VocabularyWord]] = await store.near_words(scope, words)
    return {word: [(each.word, each.documents) for each in candidates] for word, candidates in found.items()}


async def check_held_words_are_absent(store: CheckedVocabulary) -> None:
    """What a live part has, in whatever inflection, and stop words are held; what is unlike all words has no candidate."""
    scope = fresh_scope()
    parent, (part,) = family(
        scope, [{"title": "Turbines", "summary": "rotating", "content": "Blades of STEEL, cooled."}]
    )
    await put_all(store, scope, parent, part)
    assert await near(store, scope, "turbine", "rotate", "blade", "steel", "cooling", "which", "dont") == {}
    assert await near(store, scope, "xylophone", "turbine") == {"xylophone": []}
    assert await near(store, fresh_scope(), "turbine") == {"turbine": []}, "an empty namespace holds nothing"
    assert await near(store, scope) == {}


async def check_distance_of_candidates(store: CheckedVocabulary) -> None:
    """One edit of any kind; two from nine letters on, and only where one finds nothing."""
    scope = fresh_scope()
    texts = ["flow", "flown flows", "accommodation", "temperature temperatura", "rat"]
    parent, parts = family(scope, [{"content": text} for text in texts])
    await put_all(store, scope, parent, *parts)
    assert await near(store, scope, "folw", "flaw", "fflow", "flwo") == {
        word: [("flow", 2)] for word in ("folw", "flaw", "fflow", "flwo")
    }, "exchange, substitution, insertion"
    assert await near(store, scope, "floow", "lfwo", "ratt") == {
        "floow": [("flow", 2)],
        "lfwo": [],
        "ratt": [("rat", 1)],
    }
    assert await near(store, scope, "acommodatoin", "accomodaton", "acomodaton") == {
        "acommodatoin": [("accommodation", 1)],
        "accomodaton": [("accommodation", 1)],
        "acomodaton": [],
    }, "two edits, not three"
    assert await near(store, scope, "temperatuer") == {"temperatuer": [("temperature", 1)]}, (
        "one edit away there is one"
    )
    assert await near(store, scope, "temperatrue", "temperatxxe") == {
        "temperatrue": [("temperature", 1)],
        "temperatxxe": [("temperature", 1)],
    }


async def check_documents_are_counted(store: CheckedVocabulary) -> None:
    """Documents are live parts with the word's term, however often each has it; candidates come in ascending order."""
    scope = fresh_scope()
    texts = ["casting casting", "cast castings", "casting", "lasting", "masting"]
    parent, parts = family(scope, [{"content": text} for text in texts])
    await put_all(store, scope, parent, *parts)
    assert await near(store, scope, "xasting") == {"xasting": [("casting", 3), ("lasting", 1), ("masting", 1)]}


async def check_letters_of_all_scripts(store: CheckedVocabulary) -> None:
    """Words with letters beyond ASCII are held and found; scripts without spaces between words offer none."""
    scope = fresh_scope()
    parent, parts = family(scope, [{"content": "Überschuss und вертолёт"}, {"content": "外币汇率换算规则"}])
    await put_all(store, scope, parent, *parts)
    assert await near(store, scope, "überschuss", "вертолёт") == {}
    found = await near(store, scope, "überschus", "вертолет", "外币汇")
    assert found == {"überschus": [("überschuss", 1)], "вертолет": [("вертолёт", 1)]}


async def check_namespaces_have_their_own_words(store: CheckedVocabulary) -> None:
    """Another namespace's words are neither held, nor offered, nor counted; without a namespace all are."""
    scope, other = fresh_scope(), fresh_scope()
    parent, parts = family(scope, [{"content": "quillwort"}])
    theirs, their_parts = family(other, [{"content": "quillwort spleenwort"}, {"content": "quillworts spleenwort"}])
    await put_all(store, scope, parent, *parts)
    await put_all(store, other, theirs, *their_parts)
    assert await near(store, scope, "spleenwort", "spleenwor", "quilwort") == {
        "spleenwort": [],
        "spleenwor": [],
        "quilwort": [("quillwort", 1)],
    }
    assert await near(store, other, "quilwort", "spleenwort") == {"quilwort": [("quillwort", 2)]}
    assert await near(store, Scope(), "quilwort", "spleenwort") == {"quilwort": [("quillwort", 3)]}


async def check_words_of_deleted_parts_are_gone(store: CheckedVocabulary) -> None:
    """A word is held as long as a live part under a live parent has it, however it went and came back."""
    scope = fresh_scope()
    parent, parts = family(scope, [{"content": "heliograph"}, {"content": "heliograph clepsydra"}])
    await put_all(store, scope, parent, *parts)
    assert await near(store, scope, "heliograph", "heliogarph") == {"heliogarph": [("heliograph", 2)]}
    await store.soft_delete(scope, parts[0].key, at=BASE_TIME)
    assert await near(store, scope, "heliograph", "heliogarph") == {"heliogarph": [("heliograph", 1)]}
    await put_all(store, scope, msgspec.structs.replace(parts[1], content="clepsydra"))
    gone: dict[str, list[tuple[str, int]]] = {"heliograph": [], "heliogarph": []}
    assert await near(store, scope, "heliograph", "heliogarph") == gone, "replaced"
    await put_all(store, scope, parts[0])
    assert await near(store, scope, "heliograph", "heliogarph") == {"heliogarph": [("heliograph", 1)]}, "put again"
    await store.soft_delete(scope, parent.key, at=BASE_TIME)
    assert await near(store, scope, "heliograph", "heliogarph") == gone, "with its parent"
    await put_all(store, scope, parent)
    assert await near(store, scope, "heliograph", "heliogarph") == {"heliogarph": [("heliograph", 1)]}, "with it again"


async def check_words_of_first_class_objects(store: CheckedVocabulary) -> None:
    """Their words, of properties too, are held, but offered only where a part has them."""
    scope = fresh_scope()
    parent, (part,) = family(
        scope,
        [{"content": "a handbook"}],
        title="Kubernetes Handbook",
        content="Orchestration",
        properties={"owner": "Zimmermann"},
    )
    await put_all(store, scope, parent, part)
    assert await near(store, scope, "kubernetes", "zimmermann", "orchestration") == {}
    assert await near(store, scope, "kubernets", "zimmerman", "handbok") == {
        "kubernets": [],
        "zimmerman": [],
        "handbok": [("handbook", 1)],
    }
    await put_all(store, scope, new_part(scope, parent, content="kubernetes"))
    assert await near(store, scope, "kubernetez") == {"kubernetez": [("kubernetes", 1)]}


CHECKS = (
    check_held_words_are_absent,
    check_distance_of_candidates,
    check_documents_are_counted,
    check_letters_of_all_scripts,
    check_namespaces_have_their_own_words,
    check_words_of_deleted_parts_are_gone,
    check_words_of_first_class_objects,
)
