"""Wires that are wrong: a task's own ones that are cut, lengthened, widened, shifted or left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import extent
from iclayout_checkers.given_layouts import Edit, beside, changed_shapes, chosen, rect
from iclayout_checkers.layouts import other_layers, separate_polygons
from iclayout_checkers.wires import Wire, coupled_length, wire_of

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.shapes import Point
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer

Polygons = Sequence[db.Polygon]


def matched_negatives(
    bench: Bench,
    layer: Layer,
    width: int,
    regions: list[db.Box],
    tolerance: int,
    gap: int | None,
    permille: int | None,
    space: int,
) -> dict[str, SearchStrategy[Drawing]]:
    """``regions`` are those of the terminals; all lengths in dbu.  A pair runs over ``permille`` at the ``gap``.

    Notches narrower than ``space`` break a rule.
    """
    given = set(separate_polygons(Edit(bench, ()).view.region(layer)))
    solved = Edit(bench, bench.solution).view
    wires = [one for one in separate_polygons(solved.region(layer)) if one not in given]
    lines = [line for one in wires if (line := wire_of(one, width)) is not None]
    far = extent(solved)
    # As long and wide as the others, and in nobody's way.
    length = min((one.length for one in lines), default=2000) // 2
    extra = st.integers(1000, 9000).map(lambda gap: db.Box(0, far.top + gap, length, far.top + gap + width))
    return {
        "as_given": st.just(()),
        "on_another_layer": other_layers(bench.technology, layer).map(lambda other: drawn(other, wires)),
        "only_in_a_cell_that_is_not_placed": st.just((cmd.CreateCell(name="lost"), *drawn(layer, wires, "lost"))),
        "one_shape_more": extra.map(lambda box: (*bench.solution, rect(layer, box))),
        **changed_shapes(bench, (layer,)),
        **chosen(
            {
                "one_wire_missing": (drawn(layer, [*wires[:n], *wires[n + 1 :]]) for n in range(len(wires))),
                "given_shape_deleted": (
                    (*bench.solution, cmd.DeleteShapes(ids=(one.id,))) for one in Edit(bench, ()).shapes([layer])
                ),
                "branch": ((*bench.solution, rect(layer, box)) for box in _along(wires, width, width)),
                "one_dbu_wider_in_a_place": ((*bench.solution, rect(layer, box)) for box in _along(wires, width, 1)),
                "wider_on_both_sides_in_a_place": (
                    (*bench.solution, rect(layer, box)) for box in _bulges(lines, width)
                ),
                "one_dbu_narrower_in_a_place": (drawn(layer, _without(wires, box)) for box in _along(wires, width, -1)),
                "cut_by_one_dbu": (drawn(layer, _without(wires, box)) for box in _across(lines, width)),
                "ends_beyond_its_terminal": (
                    (*bench.solution, rect(layer, box)) for line in lines for box in _overshoots(line, width, regions)
                ),
                "ends_short_of_its_terminal": (
                    drawn(layer, _without(wires, box)) for line in lines for box in _shortfalls(line, width, regions)
                ),
                "ends_beside_its_terminal": (
                    drawn(layer, [*wires[:number], wires[number].moved(step), *wires[number + 1 :]])
                    for number, line in enumerate(lines)
                    for step in _side_steps(line, regions)
                ),
                "at_the_gap_over_one_dbu_too_little": (
                    drawn(layer, pair) for pair in _too_little(wires, lines, width, gap or 0, permille or 0)
                ),
                "notches_narrower_than_the_rule": (
                    drawn(layer, [_detour(line, width, height, width + space - 1) for line in lines])
                    for height in (1, -1)
                    if space > 1
                ),
                "one_wire_too_long": _too_long(layer, wires, lines, width, tolerance),
                "corner_cut_off": (drawn(layer, _without(wires, one)) for one in _outer_corners(wires)),
                "one_dbu_too_near": (
                    drawn(layer, [wires[0], wires[1].moved(dx, dy)])
                    for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1))
                    if gap is not None
                    and len(wires) == 2
                    and not (db.Region(wires[0]).sized(gap - 1, 2) & db.Region(wires[1].moved(dx, dy))).is_empty()
                ),
            }
        ),
    }


def drawn(layer: Layer, polygons: Polygons, cell: str = "top") -> Drawing:
    return tuple(
        cmd.AddPolygon(
            cell=cell, layer=layer, points=tuple(Point(x=one.x, y=one.y) for one in polygon.each_point_hull())
        )
        for polygon in polygons
    )


def _without(wires: Polygons, part: db.Box | db.Polygon) -> list[db.Polygon]:
    rest = db.Region()
    for one in wires:
        rest.insert(one)
    return separate_polygons(rest - db.Region(part))


def _along(wires: Polygons, width: int, depth: int) -> Iterator[db.Box]:
    """Boxes at the middle of the longest side of each wire, outside of it, or inside where ``depth`` is negative."""
    for one in wires:
        edge = max(one.each_edge(), key=lambda edge: int(edge.length()))
        length = int(edge.length())
        yield beside(edge, length // 2 - min(width, length // 3) // 2, max(1, min(width, length // 3)), depth)


def _across(lines: Sequence[Wire], width: int) -> Iterator[db.Box]:
    """A dbu of each wire's longest piece."""
    for line in lines:
        (x0, y0), (x1, y1) = _longest(line)
        x, y = (x0 + x1) // 4, (y0 + y1) // 4
        yield db.Box(x, y - width, x + 1, y + width) if y0 == y1 else db.Box(x - width, y, x + width, y + 1)


def _bulges(lines: Sequence[Wire], width: int) -> Iterator[db.Box]:
    """A dbu beyond both sides of each wire's longest piece, on half of its length."""
    for line in lines:
        (x0, y0), (x1, y1) = _longest(line)
        length = (abs(x1 - x0) + abs(y1 - y0)) // 2
        along, across = length // 4, width + 2
        x, y = (x0 + x1) // 2, (y0 + y1) // 2
        half = (2 * along, across) if y0 == y1 else (across, 2 * along)
        yield db.Box((x - half[0]) // 2, (y - half[1]) // 2, (x + half[0]) // 2, (y + half[1]) // 2)


def _longest(line: Wire) -> tuple[tuple[int, int], tuple[int, int]]:
    pieces = zip(line.line, line.line[1:], strict=False)
    return max(pieces, key=lambda two: abs(two[0][0] - two[1][0]) + abs(two[0][1] - two[1][1]))


def _ends(line: Wire) -> Iterator[tuple[tuple[int, int], tuple[int, int], int]]:
    """Each end in half dbu, the direction in which the wire leads up to it, and the length of that piece in dbu."""
    for end, before in ((line.line[0], line.line[1]), (line.line[-1], line.line[-2])):
        dx, dy = end[0] - before[0], end[1] - before[1]
        yield end, ((dx > 0) - (dx < 0), (dy > 0) - (dy < 0)), (abs(dx) + abs(dy)) // 2


def _end_box(end: tuple[int, int], way: tuple[int, int], width: int, start: int, stop: int) -> db.Box:
    """The wire's width at an end, from ``start`` to ``stop`` dbu beyond it."""
    across = (width * abs(way[1]), width * abs(way[0]))
    xs = [end[0] + 2 * way[0] * at + sign * across[0] for at in (start, stop) for sign in (-1, 1)]
    ys = [end[1] + 2 * way[1] * at + sign * across[1] for at in (start, stop) for sign in (-1, 1)]
    return db.Box(min(xs) // 2, min(ys) // 2, max(xs) // 2, max(ys) // 2)


def _steps_to_leave(end: tuple[int, int], way: tuple[int, int], region: db.Box) -> int:
    """The fewest whole dbu after which a point that moves on from the end is outside of the region."""
    reach = {(1, 0): region.right, (-1, 0): -region.left, (0, 1): region.top, (0, -1): -region.bottom}[way]
    return (2 * reach - (end[0] * way[0] + end[1] * way[1])) // 2 + 1


def _own(end: tuple[int, int], regions: list[db.Box]) -> Iterator[db.Box]:
    for one in regions:
        if 2 * one.left <= end[0] <= 2 * one.right and 2 * one.bottom <= end[1] <= 2 * one.top:
            yield one


def _overshoots(line: Wire, width: int, regions: list[db.Box]) -> Iterator[db.Box]:
    for end, way, _ in _ends(line):
        for region in _own(end, regions):
            yield _end_box(end, way, width, 0, _steps_to_leave(end, way, region))


def _shortfalls(line: Wire, width: int, regions: list[db.Box]) -> Iterator[db.Box]:
    for end, way, length in _ends(line):
        for region in _own(end, regions):
            back = _steps_to_leave(end, (-way[0], -way[1]), region)
            if back < length - width:
                yield _end_box(end, way, width, -back, 0)


def _side_steps(line: Wire, regions: list[db.Box]) -> Iterator[db.Vector]:
    """The least steps to its sides that bring an end out of its region."""
    for end, way, _ in _ends(line):
        for region in _own(end, regions):
            for aside in ((way[1], way[0]), (-way[1], -way[0])):
                yield db.Vector(*aside) * _steps_to_leave(end, aside, region)


def _too_little(wires: Polygons, lines: Sequence[Wire], width: int, gap: int, permille: int) -> Iterator[Polygons]:
    """Of a pair one wire, then the other, a dbu aside over a stretch, so that the rest is a dbu too short."""
    if permille == 0 or len(lines) < 2:
        return
    for line, partner, other in ((lines[0], lines[1], wires[1]), (lines[1], lines[0], wires[0])):
        # The detour makes a wire 2 dbu longer.
        needed = -(-permille * max(line.length + 4, partner.length) // 2000)
        stretch = max(1, coupled_length(wires[0], wires[1], gap) - needed + 1) + width
        (x0, y0), (x1, y1) = _longest(line)
        for height in (1, -1):
            if max(abs(x1 - x0), abs(y1 - y0)) > 2 * stretch + 8 * width:
                aside = _detour(line, width, height, stretch)
                is_away = (db.Region(aside).sized(gap - 1, 2) & db.Region(other)).is_empty()
                if is_away and coupled_length(aside, other, gap) < needed:
                    yield [aside, other]


def _too_long(layer: Layer, wires: Polygons, lines: Sequence[Wire], width: int, tolerance: int) -> Iterator[Drawing]:
    """A wire with a detour that makes it longer than the shortest one by one or two dbu more than is allowed."""
    if len(lines) < 2:
        return
    for number, line in enumerate(lines):
        others = [one.length for at, one in enumerate(lines) if at != number]
        height = (2 * tolerance - (line.length - min(others))) // 4 + 1
        (x0, y0), (x1, y1) = _longest(line)
        if height < 1 or max(abs(x1 - x0), abs(y1 - y0)) // 2 < 8 * width:
            continue
        for sign in (1, -1):
            detour = _detour(line, width, sign * height, 4 * width)
            yield drawn(layer, [*wires[:number], detour, *wires[number + 1 :]])


def _detour(line: Wire, width: int, height: int, reach: int) -> db.Polygon:
    """With a piece that runs ``height`` dbu aside, ``reach`` half dbu to both sides of its longest piece's middle."""
    start, end = _longest(line)
    at = line.line.index(start)
    way = [(b > a) - (b < a) for a, b in zip(start, end, strict=True)]
    middle = [(a + b) // 2 for a, b in zip(start, end, strict=True)]
    first, second = ([m + sign * reach * w for m, w in zip(middle, way, strict=True)] for sign in (-1, 1))
    aside = [-2 * height * way[1], 2 * height * way[0]]
    bump = [
        first,
        [a + b for a, b in zip(first, aside, strict=True)],
        [a + b for a, b in zip(second, aside, strict=True)],
        second,
    ]
    points = [*line.line[: at + 1], *(tuple(one) for one in bump), *line.line[at + 1 :]]
    # Drawn twice as large, where no half dbu is lost, and brought back.
    path = db.Path([db.Point(*one) for one in points], 2 * width).polygon()
    return db.Polygon([db.Point(one.x // 2, one.y // 2) for one in path.each_point_hull()])


def _outer_corners(wires: Polygons) -> Iterator[db.Polygon]:
    """Triangles of 10 dbu in a corner of each wire."""
    for one in wires:
        point = min(one.each_point_hull(), key=lambda point: (point.x, point.y))
        yield db.Polygon([point, point + db.Vector(10, 0), point + db.Vector(0, 10)])
