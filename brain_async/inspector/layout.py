"""layout: where the nodes, the links and their labels of a neighbourhood go, so that none lies on another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean
from unicodedata import east_asian_width
from uuid import UUID

import msgspec

from brain_async.inspector.neighbourhood import Neighbourhood
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.results import RichObject

__all__ = ["Curve", "Label", "Node", "Picture", "layout"]

NODE_WIDTH, NODE_HEIGHT = 170, 40
_GAP_X, _GAP_Y, _MARGIN = 260, 34, 16
_SLOT, _FAN = 25, 44
"""The height that a label takes, and how far apart links bend before they reach one object, so that it has it."""
_BULGE = 120
"""How far links within a column reach beside it."""
_NODE_CHARS, _LABEL_CHARS = 21, 24
_CHAR, _LABEL_HEIGHT = 7.2, 20
_PLACES = (0.66, 0.6, 0.72, 0.54, 0.78, 0.48, 0.42, 0.36, 0.84, 0.3, 0.24, 0.18, 0.12)
"""Of a label along its link, from 0 at the nearer object to 1, the best first: links are farthest apart near their ends."""

_Box = tuple[float, float, float, float]
_Point = tuple[float, float]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """An object at its place: x and y of the upper left corner."""

    obj: RichObject
    name: str
    x: float
    y: float


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A text in a box: x and y of the upper left corner."""

    text: str
    x: float
    y: float
    width: float
    height: float


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A link from its source to its target: an SVG path, its number in the list, its label unless there was no room."""

    number: int
    edge: Edge
    path: str
    label: Label | None


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What to draw, in SVG units; links first, for the nodes lie over them."""

    nodes: tuple[Node, ...]
    curves: tuple[Curve, ...]
    width: float
    height: float


def layout(near: Neighbourhood) -> Picture:
    """A column for each hop, the object itself in the first. Links of an object leave it in the order of where they lead.

    A label that has no room on its link is shortened to the link's number, and left out where that has none either.
    """
    drawn = [edge for edge in near.edges if edge.from_id != edge.to_id]
    nodes = _columns(near, drawn)
    places = {node.obj.id: node for node in nodes}
    ports = _ports(drawn, places)
    taken: list[_Box] = [(node.x - 4, node.y - 4, NODE_WIDTH + 8, NODE_HEIGHT + 8) for node in nodes]
    curves = []
    for index, edge in enumerate(near.edges, start=1):
        if edge.from_id == edge.to_id:
            continue
        points = _curve(edge, places, ports)
        label = _label(index, edge, points, places, taken)
        if label is not None:
            taken.append((label.x, label.y, label.width, label.height))
        curves.append(Curve(number=index, edge=edge, path=_path(points), label=label))
    width = max(box[0] + box[2] for box in taken) + _MARGIN
    height = max(box[1] + box[3] for box in taken) + _MARGIN
    return Picture(nodes=nodes, curves=tuple(curves), width=width, height=height)


def _columns(near: Neighbourhood, drawn: Sequence[Edge]) -> tuple[Node, ...]:
    """The nodes; each has the room that the labels of the links to it need, where it is the farther end."""
    farther = Counter(
        max(edge.from_id, edge.to_id, key=near.depths.__getitem__)
        for edge in drawn
        if near.depths[edge.from_id] != near.depths[edge.to_id]
    )
    columns = _ordered(near, drawn)
    rows = {obj.id: float(max(NODE_HEIGHT + _GAP_Y, _SLOT * farther[obj.id] + 10)) for obj in near.objects}
    tallest = max(sum(rows[obj.id] for obj in column) for column in columns.values())
    nodes = []
    for depth, column in columns.items():
        top = _MARGIN + (tallest - sum(rows[obj.id] for obj in column)) / 2
        for obj in column:
            nodes.append(
                Node(
                    obj=obj,
                    name=_short(obj.title or str(obj.id), _NODE_CHARS),
                    x=_MARGIN + depth * (NODE_WIDTH + _GAP_X),
                    y=top + (rows[obj.id] - NODE_HEIGHT) / 2,
                )
            )
            top += rows[obj.id]
    return tuple(nodes)


def _ordered(near: Neighbourhood, drawn: Sequence[Edge]) -> dict[int, list[RichObject]]:
    """The objects by hop, each across from those of the hop before that it is linked to: fewer links cross."""
    columns: dict[int, list[RichObject]] = defaultdict(list)
    for obj in sorted(near.objects, key=lambda obj: near.depths[obj.id]):
        columns[near.depths[obj.id]].append(obj)
    before: dict[UUID, list[UUID]] = defaultdict(list)
    for edge in drawn:
        for one, other in ((edge.from_id, edge.to_id), (edge.to_id, edge.from_id)):
            if near.depths[other] < near.depths[one]:
                before[one].append(other)
    heights: dict[UUID, float] = {}
    for column in columns.values():
        means = {
            obj.id: fmean(heights[other] for other in before[obj.id] or heights) if heights else 0.5 for obj in column
        }
        column.sort(key=lambda obj: means[obj.id])
        heights |= {obj.id: (index + 0.5) / len(column) for index, obj in enumerate(column)}
    return columns


def _ports(drawn: Sequence[Edge], places: dict[UUID, Node]) -> dict[tuple[UUID, EdgeKey], float]:
    """How far from the middle of its side of an object each link ends, in steps: -0.5 and 0.5 for two."""
    sides: dict[tuple[UUID, bool], list[tuple[float, float, int, EdgeKey]]] = defaultdict(list)
    for index, edge in enumerate(drawn):
        for one, other in ((edge.from_id, edge.to_id), (edge.to_id, edge.from_id)):
            here, there = places[one], places[other]
            sides[one, there.x >= here.x].append((there.y, there.x, index, edge.key))
    return {
        (object_id, key): place - (len(links) - 1) / 2
        for (object_id, _), links in sides.items()
        for place, (_, _, _, key) in enumerate(sorted(links, key=lambda link: link[:3]))
    }


def _curve(edge: Edge, places: dict[UUID, Node], ports: dict[tuple[UUID, EdgeKey], float]) -> tuple[_Point, ...]:
    """The four points of a cubic curve from source to target."""
    near, far = sorted((places[edge.from_id], places[edge.to_id]), key=lambda node: (node.x, node.y))
    steps = [ports[node.obj.id, edge.key] for node in (near, far)]
    near_y, far_y = (node.y + NODE_HEIGHT / 2 + _spread(step) for node, step in zip((near, far), steps, strict=True))
    right = near.x + NODE_WIDTH
    points: tuple[_Point, ...]
    if near.x == far.x:
        reach = right + _BULGE + 14 * abs(steps[0])
        points = (right, near_y), (reach, near_y), (reach, far_y), (right, far_y)
    else:
        middle = (right + far.x) / 2
        points = (right, near_y), (middle, near_y), (middle, far_y + _FAN * steps[1]), (far.x, far_y)
    return points if near.obj.id == edge.from_id else points[::-1]


def _spread(step: float) -> float:
    return max(min(step * 7, NODE_HEIGHT / 2 - 5), 5 - NODE_HEIGHT / 2)


def _label(
    number: int, edge: Edge, points: Sequence[_Point], places: dict[UUID, Node], taken: Sequence[_Box]
) -> Label | None:
    outwards = places[edge.from_id].x <= places[edge.to_id].x
    for shown in (f"{number} {_short(edge.relation_type, _LABEL_CHARS)}", str(number)):
        width = _units(shown) * _CHAR + 10
        for place in _PLACES:
            x, y = _at(points, place if outwards else 1 - place)
            box = (x - width / 2, y - _LABEL_HEIGHT / 2, width, float(_LABEL_HEIGHT))
            if box[0] >= 0 and box[1] >= 0 and not any(_overlap(box, other) for other in taken):
                return Label(text=shown, x=box[0], y=box[1], width=width, height=box[3])
    return None


def _at(points: Sequence[_Point], place: float) -> _Point:
    """The point of a cubic curve."""
    rest = 1 - place
    weights = (rest**3, 3 * rest**2 * place, 3 * rest * place**2, place**3)
    return (
        sum(weight * x for weight, (x, _) in zip(weights, points, strict=True)),
        sum(weight * y for weight, (_, y) in zip(weights, points, strict=True)),
    )


def _overlap(one: _Box, other: _Box) -> bool:
    return (
        one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    )


def _path(points: Sequence[_Point]) -> str:
    start, first, second, end = (f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M {start} C {first}, {second}, {end}"


def _units(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _short(text: str, units: int) -> str:
    if _units(text) <= units:
        return text
    kept = ""
    for char in text:
        if _units(kept + char) >= units:
            break
        kept += char
    return kept.rstrip() + "…"
