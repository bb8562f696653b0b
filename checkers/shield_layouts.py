"""Shielded wires, right and wrong ones, drawn from the terminals alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given_layouts import chosen
from iclayout_checkers.layouts import other_layers, separate_polygons, unplaced
from iclayout_checkers.shields import Side, Stretch, covering, shielded_length, stretches
from iclayout_checkers.wires import wire_of

from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

Line = tuple[tuple[int, int], ...]
"""A centre line in dbu; of an odd width the larger half is above it and to its right."""
Shapes = list[tuple[Layer, db.Region]]


@dataclass(frozen=True)
class Order:
    """What is asked for; lengths in dbu.  ``space`` and ``metal`` are the layer's least space and width."""

    layer: Layer
    width: int
    gap: int
    """Of the witness: no more than ``max_gap``."""
    max_gap: int
    permille: int
    space: int
    metal: int
    signal: tuple[db.Box, db.Box]
    grounds: tuple[db.Box, ...]
    keep_out: tuple[db.Box, ...]


@dataclass(frozen=True)
class Shielded:
    line: Line
    wire: db.Region
    shield: db.Region


def shielded(order: Order) -> Shielded:
    """The first simple route that has room for a ring of shield around it and straight ways to the ring.

    Raises ValueError when there is none.
    """
    for line in _lines(order):
        found = _around(order, line, order.gap)
        if found is not None and _is_right(order, found):
            return found
    raise ValueError("shielded_route: no witness found: no simple route has room for a shield of the least width")


def drawing_of(shapes: Iterable[tuple[Layer, db.Region]]) -> Drawing:
    """The shapes in cell ``top``, in pieces without holes."""
    sketch = Sketch()
    for layer, region in shapes:
        for piece in region.decompose_trapezoids_to_region().each():
            sketch.polygon(layer, [(point.x, point.y) for point in piece.each_point_hull()])
    return sketch.drawing


def shield_negatives(order: Order, technology: Technology, least: int) -> Mapping[str, SearchStrategy[Drawing]]:
    """``least`` is the least gap that is allowed."""
    right = shielded(order)
    layer, wire, shield = order.layer, right.wire, right.shield
    whole = drawing_of([(layer, wire + shield)])
    stray = (wire + shield).bbox()
    far = st.integers(order.space, 9000).map(
        lambda gap: db.Box(stray.left, stray.top + gap, stray.right, stray.top + gap + order.metal)
    )
    free = covering([*order.signal, *order.grounds, *order.keep_out])
    return {
        "nothing_drawn": st.just(Sketch().drawing),
        "only_in_a_cell_that_is_not_placed": st.just(unplaced(whole)),
        "on_another_layer": other_layers(technology, layer).map(lambda one: drawing_of([(one, wire + shield)])),
        "without_the_shield": st.just(drawing_of([(layer, wire)])),
        "without_the_wire": st.just(drawing_of([(layer, shield)])),
        "one_shape_more": far.filter(lambda box: (db.Region(box) & free).is_empty()).map(
            lambda box: drawing_of([(layer, wire + shield + db.Region(box))])
        ),
        **chosen(
            {
                name: (drawing_of(shapes) for shapes in candidates)
                for name, candidates in {
                    "wire_cut_by_one_dbu": _cut_wires(order, right),
                    "wire_ends_beyond_its_terminal": _other_ends(order, right, 1),
                    "wire_ends_short_of_its_terminal": _other_ends(order, right, -1),
                    "wire_one_dbu_wider_in_a_place": _bumps(order, right),
                    "one_side_bare": _bare_sides(order, right),
                    "shielded_over_one_dbu_too_little": _short_sides(order, right),
                    "shield_one_dbu_too_far": _rings(order, right, order.max_gap + 1),
                    "shield_one_dbu_too_near": _rings(order, right, least - 1),
                    "shield_in_two_pieces": _halves(order, right, by_a_corner=False),
                    "shield_joined_by_corners_alone": _halves(order, right, by_a_corner=True),
                    "shield_in_two_pieces_under_other_metal": (
                        [*shapes, (other, db.Region(stray))]
                        for shapes in _halves(order, right, by_a_corner=False)
                        for other in _other_conductors(layer, technology)
                    ),
                    "ground_not_reached": ([(layer, wire + (shield - db.Region(one)))] for one in order.grounds),
                    "shorted": ([(layer, wire + shield + db.Region(one))] for one in _bridges(order, right)),
                    "shorted_at_a_corner": (
                        [(layer, wire + shield + db.Region(one))] for one in _corner_bridges(order, right)
                    ),
                    "shorted_over_another_layer": _shorts(order, right, technology, over_the_gap=True),
                    "more_on_the_wire": _shorts(order, right, technology, over_the_gap=False),
                    "shape_in_a_keep_out": _intruders(order, right),
                    "corner_of_the_shield_cut_off": ([(layer, wire + one)] for one in _slanted(shield)),
                }.items()
            }
        ),
    }


def _lines(order: Order) -> Iterator[Line]:
    (x0, y0), (x1, y1) = (_middle(one) for one in order.signal)
    away = order.width + 2 * (order.gap + order.metal) + order.space
    xs, ys = [(x0 + x1) // 2], [(y0 + y1) // 2]
    for one in (*order.keep_out, *order.grounds):
        xs += [one.left - away, one.right + away]
        ys += [one.bottom - away, one.top + away]
    yield from (
        _without_repeats(points)
        for points in (
            [(x0, y0), (x1, y0), (x1, y1)],
            [(x0, y0), (x0, y1), (x1, y1)],
            *([(x0, y0), (x, y0), (x, y1), (x1, y1)] for x in xs),
            *([(x0, y0), (x0, y), (x1, y), (x1, y1)] for y in ys),
        )
    )


def _without_repeats(points: list[tuple[int, int]]) -> Line:
    return tuple(dict.fromkeys(points))


def _middle(box: db.Box) -> tuple[int, int]:
    return (box.left + box.right) // 2, (box.bottom + box.top) // 2


def _wire(line: Line, width: int) -> db.Region:
    low, high = width // 2, width - width // 2
    boxes = [db.Box(x - low, y - low, x + high, y + high) for x, y in line[1:-1]]
    for (x0, y0), (x1, y1) in pairwise(line):
        across = (0, low, 0, high) if y0 == y1 else (low, 0, high, 0)
        boxes.append(
            db.Box(min(x0, x1) - across[0], min(y0, y1) - across[1], max(x0, x1) + across[2], max(y0, y1) + across[3])
        )
    return covering(boxes).merged()


def _around(order: Order, line: Line, gap: int) -> Shielded | None:
    """A wire with a ring around it that has a straight stub to each ground terminal, None where one finds no way."""
    wire = _wire(line, order.width)
    inside, whole = wire.sized(gap), wire.sized(gap + order.metal)
    shield = whole - inside
    for ground in order.grounds:
        if (shield & db.Region(ground)).is_empty():
            stubs = (shield + one for one in _stubs(order, ground, whole))
            found = next((one.merged() for one in stubs if _is_legal(order, one)), None)
            if found is None:
                return None
            shield = found
    return Shielded(line, wire, shield.merged())


def _stubs(order: Order, place: db.Box, whole: db.Region) -> list[db.Region]:
    """Straight ways from the middle of a place to the filled ring, the shortest first."""
    x, y = _middle(place)
    end = whole.bbox() + place
    low, high = order.metal // 2, order.metal - order.metal // 2
    rays = (
        db.Box(x - low, y - low, end.right, y + high),
        db.Box(end.left, y - low, x + high, y + high),
        db.Box(x - low, y - low, x + high, end.top),
        db.Box(x - low, end.bottom, x + high, y + high),
    )
    found = []
    for ray in rays:
        for piece in separate_polygons(db.Region(ray) - whole):
            stub = db.Region(piece)
            if piece.inside(db.Point(x, y)) and (stub + whole).merged().count() == 1:
                found.append(stub)
    return sorted(found, key=lambda stub: int(stub.area()))


def _is_legal(order: Order, shield: db.Region) -> bool:
    merged = shield.merged()
    return merged.space_check(order.space).is_empty() and merged.width_check(order.metal).is_empty()


def _is_right(order: Order, found: Shielded) -> bool:
    polygon = next(found.wire.each())
    wire = wire_of(polygon, order.width)
    barred = (covering(order.signal) & found.shield) + (covering(order.grounds) & found.wire)
    metal = found.wire + found.shield
    return (
        wire is not None
        and found.wire.count() == 1
        and barred.is_empty()
        and (metal & covering(order.keep_out)).is_empty()
        and _is_legal(order, metal)
        and 2000 * shielded_length(polygon, wire, order.width, found.shield, order.max_gap)
        >= order.permille * wire.length
    )


def _longest(order: Order, right: Shielded) -> Stretch:
    return max(_stretches(order, right), key=lambda one: one.length)


def _stretches(order: Order, right: Shielded) -> list[Stretch]:
    wire = wire_of(next(right.wire.each()), order.width)
    assert wire is not None
    return list(stretches(wire))


def _beside(order: Order, side: Side, start: int, stop: int, low: int, high: int) -> db.Region:
    """From ``low`` to ``high`` dbu outward from the wire's edge."""
    edge = side.strip(start, stop, order.width, 0).bottom
    return db.Region(db.Box(start, edge + low, stop, edge + high)).transformed(side.turn.inverted())


def _cut_wires(order: Order, right: Shielded) -> Iterator[Shapes]:
    for one in _stretches(order, right):
        at = (one.start + one.stop) // 2
        slit = _beside(order, one.sides[0], at, at + 1, -order.width, 0)
        yield [(order.layer, (right.wire - slit) + right.shield)]


def _other_ends(order: Order, right: Shielded, way: int) -> Iterator[Shapes]:
    """The wire's middle ends one dbu outside of a terminal, beyond it (``way`` 1) or short of it (-1)."""
    for turned, region in ((False, order.signal[1]), (True, order.signal[0])):
        line = right.line[::-1] if turned else right.line
        (x0, y0), (x1, y1) = line[-2:]
        dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
        half = (region.width() if dx else region.height()) // 2 + 2
        end = (x1 + way * half * dx, y1 + way * half * dy)
        if abs(x1 - x0) + abs(y1 - y0) > half + order.width:
            other = _around(order, (*line[:-1], end), order.gap)
            if other is not None:
                yield [(order.layer, other.wire + other.shield)]


def _bumps(order: Order, right: Shielded) -> Iterator[Shapes]:
    one = _longest(order, right)
    third = one.length // 3
    for side in one.sides:
        bump = _beside(order, side, one.start + third, one.stop - third, 0, 1)
        yield [(order.layer, right.wire + bump + right.shield)]


def _bare_sides(order: Order, right: Shielded) -> Iterator[Shapes]:
    depth = max(order.max_gap + 1, order.gap + order.metal)
    for number in (0, 1):
        gone = db.Region()
        for one in _stretches(order, right):
            gone += _beside(order, one.sides[number], one.start, one.stop, 0, depth)
        yield [(order.layer, right.wire + (right.shield - gone))]


def _short_sides(order: Order, right: Shielded) -> Iterator[Shapes]:
    """So much of one side taken away in the middle of the longest piece that one dbu is missing."""
    polygon = next(right.wire.each())
    wire = wire_of(polygon, order.width)
    assert wire is not None
    covered = shielded_length(polygon, wire, order.width, right.shield, order.max_gap)
    missing = covered - (-(-order.permille * wire.length // 2000) - 1)
    one = _longest(order, right)
    if missing > one.length:
        return
    start = one.start + (one.length - missing) // 2
    for side in one.sides:
        depth = max(order.max_gap + 1, order.gap + order.metal)
        gone = _beside(order, side, start, start + missing, 0, depth)
        yield [(order.layer, right.wire + (right.shield - gone))]


def _rings(order: Order, right: Shielded, gap: int) -> Iterator[Shapes]:
    if gap > 0:
        other = _around(order, right.line, gap)
        if other is not None:
            yield [(order.layer, other.wire + other.shield)]


def _halves(order: Order, right: Shielded, by_a_corner: bool) -> Iterator[Shapes]:
    """The shield cut by one dbu beyond both ends of the wire, there with a corner left that both parts share."""
    whole, slits = right.shield.bbox(), db.Region()
    for (x0, y0), (x1, y1) in (right.line[1::-1], right.line[-2:]):
        step = int(by_a_corner)
        if y0 == y1:
            middle = x1 + (order.gap + order.metal // 2) * (1 if x1 > x0 else -1)
            far = whole.right if x1 > x0 else whole.left
            slits.insert(db.Box(x1, y1, middle, y1 + 1))
            slits.insert(db.Box(middle, y1 + step, far, y1 + 1 + step))
        else:
            middle = y1 + (order.gap + order.metal // 2) * (1 if y1 > y0 else -1)
            far = whole.top if y1 > y0 else whole.bottom
            slits.insert(db.Box(x1, y1, x1 + 1, middle))
            slits.insert(db.Box(x1 + step, middle, x1 + 1 + step, far))
    yield [(order.layer, right.wire + (right.shield - slits))]


def _bridges(order: Order, right: Shielded) -> Iterator[db.Box]:
    for one, number in product(_stretches(order, right), (0, 1)):
        at = (one.start + one.stop) // 2
        yield _beside(order, one.sides[number], at, at + 1, 0, order.gap).bbox()


def _corner_bridges(order: Order, right: Shielded) -> Iterator[db.Box]:
    """A box between a corner of the wire, which it shares, and the shield."""
    reach = order.gap
    for polygon in right.wire.each():
        box = polygon.bbox()
        for corner in polygon.each_point_hull():
            if corner.x in (box.left, box.right) and corner.y in (box.bottom, box.top):
                dx = -reach if corner.x == box.left else reach
                dy = -reach if corner.y == box.bottom else reach
                one = db.Box(corner, corner + db.Vector(dx, dy))
                if (db.Region(one) & right.wire).is_empty():
                    yield one


def _shorts(order: Order, right: Shielded, technology: Technology, over_the_gap: bool) -> Iterator[Shapes]:
    """A bar of another conductor with a cut on the wire, and one on the shield as well."""
    for connection in technology.connections:
        if connection.cut is None or order.layer not in (connection.bottom, connection.top):
            continue
        other = connection.top if connection.bottom == order.layer else connection.bottom
        one = _longest(order, right)
        start, stop = one.start + one.length // 3, one.stop - one.length // 3
        for side in one.sides:
            cut = _beside(order, side, start, stop, -order.width, 0)
            bar = cut
            if over_the_gap:
                cut += _beside(order, side, start, stop, order.gap, order.gap + order.metal)
                bar = _beside(order, side, start, stop, -order.width, order.gap + order.metal)
            yield [(order.layer, right.wire + right.shield), (connection.cut, cut), (other, bar)]


def _other_conductors(layer: Layer, technology: Technology) -> list[Layer]:
    """Those that nothing but cuts joins with the layer."""
    pairs = [(one.bottom, one.top) for one in technology.connections if one.cut is not None]
    return [other for pair in pairs if layer in pair for other in pair if other != layer]


def _intruders(order: Order, right: Shielded) -> Iterator[Shapes]:
    """Metal of the shield that reaches into a place where nothing may be."""
    whole = right.wire.sized(order.gap + order.metal)
    for place in order.keep_out:
        for stub in _stubs(order, place, whole)[:2]:
            yield [(order.layer, right.wire + right.shield + stub)]


def _slanted(shield: db.Region) -> Iterator[db.Region]:
    for polygon in shield.each():
        corner = min(polygon.each_point_hull(), key=lambda point: (point.x, point.y))
        yield shield - db.Region(db.Polygon([corner, corner + db.Vector(10, 0), corner + db.Vector(0, 10)]))
