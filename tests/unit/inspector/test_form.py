"""The search form: what was typed becomes a request, or an error that names the field."""

from __future__ import annotations

from urllib.parse import parse_qsl
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.errors import BackendError, InvalidInputError
from brain_async.inspector.form import Form, labels_of, words_of
from brain_async.model.scope import Scope

ONE, TWO = UUID(int=1), UUID(int=2)


def test_a_search_as_typed() -> None:
    form = Form(q="lemon", kinds="deal, note", filters='{"stage": ["won"]}', limit="5", ids=f"{ONE} {TWO}")
    request = form.search()
    assert request.query == "lemon"
    assert request.filters == {"stage": ["won"], "kind": ["deal", "note"]}
    assert (request.limit, request.explain, request.explain_ids) == (5, True, [ONE, TWO])
    assert Form(q="x").search().filters == {}


def test_an_expand_as_typed() -> None:
    request = Form(object=f" {ONE} ", labels="about, reports to,", hops="3", direction="in", parts="1").expand()
    assert (request.object_id, request.relation_types) == (ONE, ["about", "reports to"])
    assert (request.max_hops, request.direction, request.want_containment) == (3, "in", True)


def test_the_other_verbs_as_typed() -> None:
    objects = Form(q="x", kinds="deal", filters='{"n": 1}').find_objects()
    assert (objects.kinds, objects.filters) == (["deal"], {"n": 1})
    links = Form(q="x", labels="about", limit="7").find_links()
    assert (links.relation_type, links.query, links.limit) == ("about", "x", 7)


def test_it_asks_only_once_there_is_something_to_look_for() -> None:
    assert not Form(kinds="deal", q="  ").asks
    assert Form(q="x").asks
    assert not Form(verb="expand", q="x").asks
    assert Form(verb="expand", object="x").asks
    assert Form(next="cursor").asks


def test_a_namespace_narrows_and_never_widens() -> None:
    mine, other = uuid4(), uuid4()
    assert Form(namespace=str(other)).scope(Scope(mine)) == Scope(mine)
    assert Form(namespace=str(other)).scope(Scope()) == Scope(other)
    assert Form(namespace=" ").scope(Scope()) == Scope()


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (Form(filters="{"), "filters"),
        (Form(filters="[1]"), "filters"),
        (Form(filters="[" * 100_000), "filters"),
        (Form(filters='{"kind": "a"}', kinds="b"), "kinds"),
        (Form(limit="1.5"), "limit"),
        (Form(ids="1"), "ids"),
    ],
)
def test_errors_name_their_field(form: Form, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        form.search()
    assert form.field_of(caught.value) == field


def test_errors_of_the_library_find_their_field() -> None:
    form = Form()
    assert form.field_of(InvalidInputError("x", field="query")) == "q"
    assert form.field_of(InvalidInputError("x", field="relation_type")) == "labels"
    assert form.field_of(InvalidInputError("x", field="elsewhere")) == ""
    assert form.field_of(BackendError("x")) == ""


@given(st.dictionaries(st.sampled_from(Form.__struct_fields__), st.text(max_size=12)))
def test_a_link_keeps_what_was_typed(given_: dict[str, str]) -> None:
    form = Form.of(given_)
    text = {name: value.encode("utf-8", "ignore").decode() for name, value in given_.items()}
    assert Form.of(dict(parse_qsl(Form.of(text).link(), keep_blank_values=True))) == Form.of(text)
    assert form == Form.of({**given_, "unknown": "x"})
    assert Form.of(dict(parse_qsl(form.link(next="n"), keep_blank_values=True))).next == "n"


def test_words_and_labels() -> None:
    assert words_of(" a, b\tc,,") == ["a", "b", "c"]
    assert labels_of("reports to, about,,") == ["reports to", "about"]
