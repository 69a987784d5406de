"""The picture of a neighbourhood: nothing lies on anything else, and every link and label is there."""

from __future__ import annotations

from itertools import combinations
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from brain_async.inspector.layout import NODE_HEIGHT, NODE_WIDTH, Picture, layout
from brain_async.inspector.neighbourhood import Neighbourhood
from brain_async.model.relation import Edge
from brain_async.model.results import RichObject


def neighbourhood(depths: list[int], links: list[tuple[int, int, str]], title: str = "An object") -> Neighbourhood:
    ids = [UUID(int=index + 1) for index in range(len(depths))]
    return Neighbourhood(
        objects=tuple(RichObject(id=key, kind="thing", title=f"{title} {key.int}") for key in ids),
        depths=dict(zip(ids, depths, strict=True)),
        edges=tuple(Edge(from_id=ids[a], to_id=ids[b], relation_type=label) for a, b, label in links),
        cut=False,
        needs_labels=False,
    )


def boxes(picture: Picture) -> list[tuple[float, float, float, float]]:
    nodes = [(node.x, node.y, float(NODE_WIDTH), float(NODE_HEIGHT)) for node in picture.nodes]
    labels = [curve.label for curve in picture.curves if curve.label is not None]
    return nodes + [(label.x, label.y, label.width, label.height) for label in labels]


def check(picture: Picture) -> None:
    for one, other in combinations(boxes(picture), 2):
        beside = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        above = one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]
        assert beside or above, (one, other)
    for x, y, width, height in boxes(picture):
        assert x >= 0
        assert y >= 0
        assert x + width <= picture.width
        assert y + height <= picture.height


def labels(picture: Picture) -> list[str]:
    return [curve.label.text if curve.label else "" for curve in picture.curves]


def test_an_object_alone() -> None:
    picture = layout(neighbourhood([0], []))
    assert len(picture.nodes) == 1
    assert picture.curves == ()
    check(picture)


def test_links_side_by_side_each_have_their_label() -> None:
    names = ["references", "derived_from", "supersedes", "contradicts", "cited_in", "a_label_of_the_host"]
    links = [(0, 1, name) if index % 2 else (1, 0, name) for index, name in enumerate(names)]
    picture = layout(neighbourhood([0, 1, 1], [*links, (0, 2, "about"), (2, 0, "about")]))
    assert labels(picture) == [f"{n} {name}" for n, name in enumerate([*names, "about", "about"], start=1)]
    assert len({curve.path for curve in picture.curves}) == 8
    check(picture)


def test_links_within_a_column_and_crossing_ones_are_labelled() -> None:
    links = [
        (0, 1, "about"),
        (0, 2, "about"),
        (0, 3, "about"),
        (1, 2, "near"),
        (1, 3, "near"),
        (1, 5, "to"),
        (3, 4, "to"),
    ]
    picture = layout(neighbourhood([0, 1, 1, 1, 2, 2], links))
    assert all(" " in label for label in labels(picture))
    check(picture)


def test_objects_stand_across_from_what_they_are_linked_to() -> None:
    picture = layout(neighbourhood([0, 1, 1, 2, 2], [(0, 1, "a"), (0, 2, "a"), (1, 4, "a"), (3, 2, "a")]))
    rows = {node.obj.id.int: node.y for node in picture.nodes}
    assert rows[2] < rows[3]
    assert rows[5] < rows[4]


def test_a_path_runs_from_source_to_target() -> None:
    picture = layout(neighbourhood([0, 1], [(0, 1, "out"), (1, 0, "back")]))
    seed, other = picture.nodes
    starts = [float(curve.path.split()[1]) for curve in picture.curves]
    ends = [float(curve.path.split()[-2]) for curve in picture.curves]
    assert starts == [seed.x + NODE_WIDTH, other.x]
    assert ends == [other.x, seed.x + NODE_WIDTH]


def test_long_and_wide_names_are_shortened_and_loops_are_only_listed() -> None:
    picture = layout(neighbourhood([0, 1], [(0, 0, "itself"), (0, 1, "漢字" * 20)], title="W" * 60))
    assert [node.name for node in picture.nodes] == ["W" * 20 + "…"] * 2
    assert [curve.number for curve in picture.curves] == [2]
    assert labels(picture) == ["2 " + "漢字" * 5 + "漢…"]
    check(picture)


@given(st.data())
def test_nothing_overlaps_in_any_neighbourhood(data: st.DataObject) -> None:
    depths = [0, *sorted(data.draw(st.lists(st.integers(1, 4), max_size=12)))]
    ends = st.integers(0, len(depths) - 1)
    links = data.draw(st.lists(st.tuples(ends, ends, st.text(min_size=1, max_size=40)), max_size=30))
    picture = layout(neighbourhood(depths, links))
    assert len(picture.curves) == sum(a != b for a, b, _ in links)
    check(picture)
