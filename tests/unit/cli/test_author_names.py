"""author_names: the names in author and maintainer headers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.cli.authors import author_names


@pytest.mark.parametrize(
    ("names", "addresses", "expected"),
    [
        (["First Author"], [], ("First Author",)),
        (["First Author, Second Author and Third Author"], [], ("First Author", "Second Author", "Third Author")),
        (["First Author, and Second Author; Third Author"], [], ("First Author", "Second Author", "Third Author")),
        ([], ["First Author <a@example.org>, Second Author <b@example.org>"], ("First Author", "Second Author")),
        ([], ['"Author, First" <a@example.org>'], ("Author", "First")),
        ([], ['"Example Services Inc." <a@example.org>'], ("Example Services Inc.",)),
        (["Example Services, Inc."], [], ("Example Services, Inc.",)),
        (["First Author <a@example.org>"], [], ("First Author",)),
        (["a@example.org"], ["b@example.org", "<c@example.org>"], ()),
        (["UNKNOWN", "First Author and contributors", "Others (See AUTHORS)"], [], ("First Author",)),
        (["First Author et al."], [], ("First Author",)),
        (["FIRST AUTHOR"], ["First Author <a@example.org>"], ("FIRST AUTHOR",)),
        ([], ["=?utf-8?q?=C3=89quipe_Exemple?= <e@example.org>"], ("Équipe Exemple",)),
        ([], ["=?no-such-charset?q?Z?= <z@example.org>"], ("=?no-such-charset?q?Z?=",)),
        ([], [], ()),
    ],
)
def test_names(names: list[str], addresses: list[str], expected: tuple[str, ...]) -> None:
    assert author_names(names, addresses) == expected


@settings(deadline=None)
@given(st.lists(st.text()), st.lists(st.text()))
def test_no_header_raises_and_names_are_distinct(names: list[str], addresses: list[str]) -> None:
    found = author_names(names, addresses)
    assert all(name.strip() == name != "" for name in found)
    assert len({name.casefold() for name in found}) == len(found)
