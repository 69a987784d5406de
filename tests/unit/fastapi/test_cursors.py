"""Cursors: what was sealed is opened, by whom it was sealed for, and nothing else is."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.errors import InvalidInputError, InvalidSessionStateError
from brain_async.fastapi import Cursors
from brain_async.model.relation import EdgeMeta, Relation
from brain_async.model.results import ResultSet

SECRET = b"sixteen bytes ok"
NAMESPACE = UUID(int=7)

relations = st.builds(
    Relation,
    type=st.text(max_size=8),
    direction=st.sampled_from(["out", "in", ""]),
    depth=st.integers(0, 4),
    source_id=st.none() | st.uuids(),
    meta=st.builds(EdgeMeta, note=st.text(max_size=20), confidence=st.floats(0, 1), evidence_id=st.none() | st.uuids()),
)
result_sets = st.builds(
    ResultSet,
    id=st.uuids(),
    object_ids=st.lists(st.uuids(), max_size=20).map(tuple),
    relations=st.dictionaries(st.uuids(), relations, max_size=5),
    offset=st.integers(0, 20),
    respelled=st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=3).map(tuple),
)


@given(result_set=result_sets, namespace=st.none() | st.uuids())
def test_what_was_sealed_is_opened_whole_also_by_another_process(result_set: ResultSet, namespace: UUID | None) -> None:
    cursor = Cursors(SECRET).seal(namespace, result_set)
    assert Cursors(SECRET).open(namespace, cursor) == result_set
    assert cursor.isascii()
    assert not set(cursor) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@given(result_set=result_sets, owner=st.none() | st.uuids(), other=st.none() | st.uuids())
def test_another_namespaces_cursor_is_no_cursor(result_set: ResultSet, owner: UUID | None, other: UUID | None) -> None:
    cursors = Cursors(SECRET)
    cursor = cursors.seal(owner, result_set)
    if other != owner:
        with pytest.raises(InvalidSessionStateError) as foreign:
            cursors.open(other, cursor)
        with pytest.raises(InvalidSessionStateError) as garbage:
            cursors.open(other, "garbage")
        assert str(foreign.value) == str(garbage.value)


@given(data=st.data(), result_set=result_sets)
def test_no_byte_may_be_changed(data: st.DataObject, result_set: ResultSet) -> None:
    cursors = Cursors(SECRET)
    sealed = bytearray(urlsafe_b64decode(cursors.seal(NAMESPACE, result_set) + "=="))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidSessionStateError):
        cursors.open(NAMESPACE, urlsafe_b64encode(sealed).decode())


@given(text=st.text(max_size=200))
def test_any_text_is_refused_in_the_same_words(text: str) -> None:
    with pytest.raises(InvalidSessionStateError, match="this cursor cannot be used here: search again"):
        Cursors(SECRET).open(NAMESPACE, text)


def test_another_secret_opens_nothing_and_a_random_one_is_its_own() -> None:
    cursor = Cursors().seal(NAMESPACE, ResultSet(id=uuid4()))
    for other in (Cursors(), Cursors(SECRET)):
        with pytest.raises(InvalidSessionStateError):
            other.open(NAMESPACE, cursor)


def test_a_full_result_set_fits_and_large_notes_are_left_out() -> None:
    keys = tuple(uuid4() for _ in range(1_000))
    noted = {key: Relation(type="about", depth=1, meta=EdgeMeta(note="n" * 500)) for key in keys}
    cursors = Cursors(SECRET)
    plain = cursors.seal(None, ResultSet(id=uuid4(), object_ids=keys))
    assert len(plain) < 25_000
    large = ResultSet(id=uuid4(), object_ids=keys, relations=noted)
    opened = cursors.open(None, cursors.seal(None, large))
    assert opened.object_ids == keys
    assert opened.relations == {key: Relation(type="about", depth=1) for key in keys}


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="16 bytes"):
        Cursors(b"short")
