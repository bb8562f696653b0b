"""Labels beside their wires and pins that are none, for the negatives of ``labels``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given_layouts import Edit, beside, chosen, outer_edges, rect

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.shapes import Point
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer


class Named(NamedTuple):
    """What a net is labelled with; ``wire`` is the region where the label may stand."""

    text: str
    layer: Layer
    pin: Layer | None
    wire: db.Region


def misplaced_labels(bench: Bench, nets: Sequence[Named]) -> dict[str, SearchStrategy[Drawing]]:
    """A new label one dbu beside its wire, on another layer, or on the wire of another label."""
    labels = _new_labels(bench, nets)
    return chosen(
        {
            "label_one_dbu_beside_its_wire": (
                (*bench.solution, *label.instead(label.net.layer, label.net.text, point))
                for label in labels
                for point in _points_beside(label.net.wire)
            ),
            "label_on_another_layer": (
                (*bench.solution, *label.instead(entry.layer, label.net.text, label.at))
                for label in labels
                for entry in bench.technology.layers
                if entry.layer != label.net.layer
            ),
            "labels_exchanged": (
                (
                    *bench.solution,
                    *one.instead(one.net.layer, other.net.text, one.at),
                    *other.instead(other.net.layer, one.net.text, other.at),
                )
                for one, other in combinations(labels, 2)
                if one.net.layer == other.net.layer
                and one.net.text != other.net.text
                and (one.net.wire & other.net.wire).is_empty()
            ),
        }
    )


def wrong_pins(bench: Bench, nets: Sequence[Named], least: int) -> dict[str, SearchStrategy[Drawing]]:
    """A pin gone, one more, beyond its wire, away from its label, in pieces, too small, no rectangle, elsewhere."""
    pins, given = list(_pins(bench, nets)), Edit(bench, ()).view
    # Where another pin is, one more could be a part of that.
    taken = [one.box for one in pins] + [part.bbox() for one in pins for part in given.region(one.layer).each()]
    found: dict[str, Iterable[Drawing]] = {
        "pin_removed": (_redrawn(bench, one, []) for one in pins),
        "pin_without_area": (
            _redrawn(bench, one, [db.Box(one.box.left, one.box.bottom, one.box.right, one.box.bottom)]) for one in pins
        ),
        "pin_one_dbu_beyond_its_wire": (_redrawn(bench, one, [one.box + box]) for one in pins for box in _beyond(one)),
        "pin_away_from_its_label": (_redrawn(bench, one, [box]) for one in pins for box in _elsewhere(one, least)),
        "pin_too_many": (
            _redrawn(bench, one, [one.box, box])
            for one in pins
            for box in _elsewhere(one, least)
            if not any(box.touches(other) for other in taken)
        ),
        "pin_in_two_pieces": (
            _redrawn(
                bench,
                one,
                [
                    db.Box(one.box.left, one.box.bottom, one.box.left + 1, one.box.top),
                    db.Box(one.box.left + 2, one.box.bottom, one.box.right, one.box.top),
                ],
            )
            for one in pins
            if one.box.width() > 2
        ),
        "pin_that_lacks_a_corner": (
            _redrawn(
                bench,
                one,
                [
                    db.Box(one.box.left, one.box.bottom, one.box.right, one.box.top - 1),
                    db.Box(one.box.left, one.box.top - 1, one.box.right - 1, one.box.top),
                ],
            )
            for one in pins
            if min(one.box.width(), one.box.height()) > 1
        ),
        "pin_on_another_layer": (
            (*_redrawn(bench, one, []), rect(entry.layer, one.box))
            for one in pins
            for entry in bench.technology.layers
            if entry.layer != one.layer
        ),
    }
    if least > 1:
        found["pin_one_dbu_too_small"] = (
            _redrawn(bench, one, [box]) for one in pins for box in _around(one, least - 1, least)
        )
    return chosen(found)


class _New(NamedTuple):
    """A label of the solution, by the number of its element."""

    net: Named
    id: int
    at: Point

    def instead(self, layer: Layer, text: str, at: Point) -> Drawing:
        return (cmd.DeleteShapes(ids=(self.id,)), cmd.AddLabel(cell="top", layer=layer, text=text, position=at))


class _Pin(NamedTuple):
    """A pin of the solution, by the number of its element."""

    id: int
    layer: Layer
    box: db.Box
    label: db.Point
    wire: db.Region


def _new_labels(bench: Bench, nets: Sequence[Named]) -> list[_New]:
    given, solved = {one.id for one in Edit(bench, ()).labels}, Edit(bench, bench.solution)
    found = []
    for label in solved.labels:
        assert isinstance(label.handle, db.Shape)
        text = label.handle.text
        at = db.Point(text.x, text.y)
        if label.id not in given:
            found += [
                _New(net, label.id, Point(x=at.x, y=at.y))
                for net in nets
                if (label.layer, text.string) == (net.layer, net.text) and _is_in(net.wire, at)
            ]
    return found


def _pins(bench: Bench, nets: Sequence[Named]) -> Iterator[_Pin]:
    """The solution's pins that are drawn in ``top`` by one rectangle each."""
    solved, given = Edit(bench, bench.solution), {one.id for one in Edit(bench, ()).elements}
    for label in _new_labels(bench, nets):
        layer, at = label.net.pin, label.at.to_db()
        for shape in solved.shapes([] if layer is None else [layer]):
            assert isinstance(shape.handle, db.Shape)
            drawn_here = shape.id not in given and solved.cell_of(shape) == "top" and shape.handle.is_box()
            if drawn_here and shape.bbox.contains(at) and layer is not None:
                yield _Pin(shape.id, layer, shape.bbox, at, label.net.wire)


def _redrawn(bench: Bench, pin: _Pin, boxes: Iterable[db.Box]) -> Drawing:
    gone = cmd.DeleteShapes(ids=(pin.id,))
    return (*bench.solution, gone, *(rect(pin.layer, box) for box in boxes))


def _beyond(pin: _Pin) -> Iterator[db.Box]:
    """Boxes that reach one dbu out of the wire: with the pin, they make a box that does."""
    for edge in outer_edges(pin.wire):
        yield beside(edge, 0, edge.length(), 1)


def _elsewhere(pin: _Pin, least: int) -> Iterator[db.Box]:
    """Boxes of the least size within the wire that do not hold the label."""
    for polygon in pin.wire.each():
        for part in polygon.decompose_trapezoids():
            box = part.bbox()
            if part.is_box() and min(box.width(), box.height()) >= least:
                lower = db.Box(box.p1, box.p1 + db.Vector(least, least))
                upper = db.Box(box.p2 - db.Vector(least, least), box.p2)
                yield from (one for one in (lower, upper) if not one.contains(pin.label))


def _around(pin: _Pin, width: int, height: int) -> Iterator[db.Box]:
    """A box of that size within the pin that holds the label."""
    left = min(max(pin.box.left, pin.label.x - width), pin.box.right - width)
    bottom = min(max(pin.box.bottom, pin.label.y - height), pin.box.top - height)
    yield db.Box(left, bottom, left + width, bottom + height)


def _points_beside(wire: db.Region) -> Iterator[Point]:
    for edge in outer_edges(wire):
        if edge.length() > 1:
            out = beside(edge, edge.length() // 2, 0, 1)
            ends = (out.p1, out.p2)
            yield from (Point(x=one.x, y=one.y) for one in ends if (wire & db.Region(_near(one))).is_empty())


def _near(point: db.Point) -> db.Box:
    return db.Box(point, point).enlarged(1, 1)


def _is_in(region: db.Region, point: db.Point) -> bool:
    """Whether a point is in a region, its outline included."""
    return any(polygon.inside(point) for polygon in region.each())
