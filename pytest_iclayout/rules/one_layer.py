"""Figures of the kinds of rule that measure one layer."""

from __future__ import annotations

from math import isqrt

from pytest_iclayout.rules.families import Case, Family, diagonal, even, slanted_family
from pytest_iclayout.rules.figures import (
    Figure,
    Group,
    Part,
    Placement,
    Point,
    Role,
    box,
    corners,
    flat,
    in_cell,
    path,
    polygon,
    slanted,
)

A = Role.LAYER


def _bar(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, p, 4 * v))


def _neck(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 6 * v, 2 * v), box(A, v, 2 * v, v + p, 4 * v), box(A, 0, 4 * v, 6 * v, 6 * v))


def _side_by_side(p: int, v: int) -> Figure:
    half = p // 2
    return (
        Group((box(A, 0, 0, half, 4 * v),)),
        Group((box(A, 0, 0, 4 * v, p - half),), (Placement(p, 0, "r90"),)),
    )


def _bend(p: int, v: int) -> Figure:
    return flat(polygon(A, (0, 0), (6 * v, 0), (6 * v, p), (p, p), (p, 6 * v), (0, 6 * v)))


def _diagonal_neck(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 4 * v, 4 * v), box(A, 4 * v - p, 4 * v - p, 8 * v - p, 8 * v - p))


def _path(p: int, v: int) -> Figure:
    return flat(path(A, 2 * p, (0, 0), (0, 4 * v)))


_BAR = Family("width", _bar)
WIDTH = (
    _BAR,
    Family("neck", _neck),
    Family("side_by_side", _side_by_side, least=2),
    Family("bend", _bend),
    Family("diagonal", _diagonal_neck, diagonal),
    slanted_family(_BAR),
    Family("path", _path, even),
)


def width_cases(v: int) -> list[Case]:
    return [
        Case("corner_contact", True, flat(box(A, 0, 0, 2 * v, 2 * v), box(A, 2 * v, 2 * v, 4 * v, 4 * v))),
        Case("end_to_end", False, flat(box(A, 0, 0, v, 2 * v), box(A, 0, 2 * v, v, 4 * v))),
    ]


def _gap(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 2 * v, 4 * v), box(A, 2 * v + p, 0, 4 * v + p, 4 * v))


def _notch(p: int, v: int) -> Figure:
    right = 4 * v + p
    outer: tuple[Point, ...] = ((0, 0), (right, 0), (right, 4 * v), (2 * v + p, 4 * v))
    return flat(polygon(A, *outer, (2 * v + p, 2 * v), (2 * v, 2 * v), (2 * v, 4 * v), (0, 4 * v)))


def _diagonal_gap(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 2 * v, 2 * v), box(A, 2 * v + p, 2 * v + p, 4 * v + p, 4 * v + p))


def _slot(p: int, v: int) -> Figure:
    hole = corners(2 * v, 2 * v, 2 * v + p, 4 * v)
    return flat(polygon(A, *corners(0, 0, 4 * v + p, 6 * v), holes=[hole]))


def _island(p: int, v: int) -> Figure:
    hole = corners(0, 0, p + 4 * v, 6 * v)
    ring = polygon(A, *corners(-2 * v, -2 * v, p + 6 * v, 8 * v), holes=[hole])
    return flat(ring, box(A, p, 2 * v, p + 2 * v, 4 * v))


def _array(p: int, v: int) -> Figure:
    return (Group((box(A, 0, 0, 2 * v, 4 * v),), (Placement(array=(3, 1, 2 * v + p, 8 * v)),)),)


def _path_ends(p: int, v: int) -> Figure:
    first = path(A, 2 * v, (0, 0), (0, 4 * v), ends="square")
    return flat(first, path(A, 2 * v, (0, 6 * v + p), (0, 10 * v), ends="square"))


_GAP = Family("space", _gap)
SPACE = (
    _GAP,
    Family("notch", _notch),
    Family("diagonal", _diagonal_gap, diagonal),
    Family("slot", _slot),
    Family("island", _island),
    Family("array", _array),
    Family("path_ends", _path_ends),
    slanted_family(_GAP),
)


def space_cases(v: int) -> list[Case]:
    first = box(A, 0, 0, 2 * v, 4 * v)
    return [
        Case("corner_contact", True, flat(first, box(A, 2 * v, 4 * v, 4 * v, 8 * v))),
        Case("abutting", False, flat(first, box(A, 2 * v, 0, 4 * v, 4 * v))),
        Case("overlapping", False, flat(first, box(A, v, v, 3 * v, 3 * v))),
        Case("alone", False, flat(first)),
    ]


def _blob(area: int) -> tuple[Point, ...]:
    """A polygon of exactly that area, as square as it can be: a rectangle with a strip of height 1 on top."""
    side = isqrt(area)
    height, rest = divmod(area, side)
    if rest == 0:
        return corners(0, 0, side, height)
    return ((0, 0), (side, 0), (side, height), (rest, height), (rest, height + 1), (0, height + 1))


def _solid(p: int, v: int) -> Figure:
    return flat(polygon(A, *_blob(p)))


def _strips(p: int, ends: tuple[int, ...]) -> list[Part]:
    """The blob in boxes: upright ones between ``ends``, and the strip on top."""
    side = isqrt(p)
    height, rest = divmod(p, side)
    upright = [box(A, left, 0, right, height) for left, right in zip(ends[::2], ends[1::2], strict=True)]
    return upright + ([box(A, 0, height, rest, height + 1)] if rest else [])


def _pieces(p: int, v: int) -> Figure:
    side = isqrt(p)
    return flat(*_strips(p, (0, side // 2, side // 2, side)))


def _overlapping(p: int, v: int) -> Figure:
    side = isqrt(p)
    return flat(*_strips(p, (0, side - 1, 1, side)))


def _ring(p: int, v: int) -> Figure:
    hole = isqrt(p) // 2
    return flat(polygon(A, *_blob(p + hole * hole), holes=[corners(1, 1, 1 + hole, 1 + hole)]))


def _triangle(p: int, v: int) -> Figure:
    return flat(polygon(A, (0, 0), (2 * p, 0), (0, 2 * p)))


def _short_path(p: int, v: int) -> Figure:
    return flat(path(A, 2 * p, (0, 0), (2 * p, 0)))


AREA = (
    Family("area", _solid, lambda p: p),
    Family("pieces", _pieces, lambda p: p, least=4),
    Family("overlapping", _overlapping, lambda p: p, least=9),
    Family("ring", _ring, lambda p: p, least=25),
    Family("triangle", _triangle, diagonal),
    Family("path", _short_path, even),
)


def area_cases(v: int) -> list[Case]:
    side = isqrt(v) + 2
    small = polygon(A, *_blob(max(1, v - 1)))
    half = polygon(A, *_blob((v + 1) // 2))
    away = half.mapped(lambda x, y: (x + 3 * side, y))
    large = box(A, 3 * side, 0, 6 * side, 3 * side)
    return [
        Case("two_halves_apart", v > 1, flat(half, away)),
        Case("small_beside_large", v > 1, flat(small, large)),
        Case("large", False, flat(large)),
    ]


def _around(hole: tuple[Point, ...], margin: int) -> Part:
    right, top = max(x for x, _ in hole) + margin, max(y for _, y in hole) + margin
    return polygon(A, *corners(-margin, -margin, right, top), holes=[hole])


def _margin(v: int) -> int:
    return isqrt(v) + 2


def _hole(p: int, v: int) -> Figure:
    return flat(_around(_blob(p), _margin(v)))


def _frame(p: int, v: int) -> Figure:
    side, margin = isqrt(p), _margin(v)
    height, rest = divmod(p, side)
    fill = [box(A, rest, height, side, height + 1)] if rest else []
    top = height + bool(rest)
    return flat(
        *fill,
        box(A, -margin, -margin, 0, top + margin),
        box(A, side, -margin, side + margin, top + margin),
        box(A, 0, -margin, side, 0),
        box(A, 0, top, side, top + margin),
    )


def _hole_with_island(p: int, v: int) -> Figure:
    side = isqrt(p)
    return flat(_around(_blob(p), _margin(v)), box(A, 1, 1, side - 1, p // side - 1))


def _triangular_hole(p: int, v: int) -> Figure:
    return flat(_around(((0, 0), (2 * p, 0), (0, 2 * p)), _margin(v)))


def _loop(p: int, v: int) -> Figure:
    half = _margin(v)
    c = p + half
    return flat(path(A, 2 * half, (-c, -c), (c, -c), (c, c), (-c, c), (-c, -c), ends="square"))


HOLE_AREA = (
    Family("hole", _hole, lambda p: p),
    Family("frame", _frame, lambda p: p),
    Family("island", _hole_with_island, lambda p: p, least=9),
    Family("triangle", _triangular_hole, diagonal),
    Family("loop", _loop, even),
)


def hole_area_cases(v: int) -> list[Case]:
    side = isqrt(v) + 2
    open_at_top = polygon(A, *_blob(max(1, v - 1)))
    half = _blob((v + 1) // 2)
    beside = tuple((x + 2 * side, y) for x, y in half)
    twice = polygon(A, *corners(-side, -side, 5 * side, 3 * side), holes=[half, beside])
    notch: tuple[Point, ...] = ((2 * side, 3 * side), (2 * side, side), (side, side), (side, 3 * side))
    return [
        Case("small_shape", False, flat(open_at_top)),
        Case("open", False, flat(polygon(A, (0, 0), (3 * side, 0), (3 * side, 3 * side), *notch, (0, 3 * side)))),
        Case("two_small_holes", v > 1, flat(twice)),
        Case("solid", False, flat(box(A, 0, 0, 3 * side, 3 * side))),
    ]


def exact_size_cases(v: int) -> list[Case]:
    def square(width: int, height: int) -> Figure:
        return flat(box(A, 0, 0, width, height))

    half = v // 2
    cases = [
        Case("at_value", False, square(v, v)),
        Case("one_above", True, square(v + 1, v + 1)),
        Case("one_too_wide", True, square(v + 1, v)),
        Case("one_too_high", True, square(v, v + 1)),
        Case("twice_as_long", True, square(v, 2 * v)),
        Case("at_value_in_cell", False, in_cell(square(v, v), Placement(0, 0, "m45", "0.5"), 2)),
        Case("one_above_in_cell", True, in_cell(square(v, v + 1), Placement(0, 0, "r90", "0.5"), 2)),
        Case("array", False, (Group(square(v, v)[0].parts, (Placement(array=(3, 2, 3 * v, 4 * v)),)),)),
        Case("drawn_twice", False, flat(box(A, 0, 0, v, v), box(A, 0, 0, v, v))),
        Case("two_abutting", True, flat(box(A, 0, 0, v, v), box(A, v, 0, 2 * v, v))),
        Case("wrong_among_right", True, flat(box(A, 0, 0, v, v), box(A, 3 * v, 0, 4 * v, v + 1))),
        Case("slanted", True, slanted(square(v, v))),
        Case("same_place_twice", False, (Group(square(v, v)[0].parts, (Placement(), Placement(v, v, "r180"))),)),
    ]
    if v > 1:
        cut = polygon(A, (0, 0), (v, 0), (v, v - 1), (v - 1, v), (0, v))
        cases += [
            Case("one_below", True, square(v - 1, v - 1)),
            Case("one_too_narrow", True, square(v - 1, v)),
            Case("one_too_low", True, square(v, v - 1)),
            Case("one_below_in_cell", True, in_cell(square(v - 1, v - 1), Placement(0, 0, "m90", "0.5"), 2)),
            Case("pieces", False, flat(box(A, 0, 0, half, v), box(A, half, 0, v, v))),
            Case("overlapping_pieces", False, flat(box(A, 0, 0, v, v - 1), box(A, 0, 1, v, v))),
            Case("corner_cut", True, flat(cut)),
            Case("corner_missing", True, flat(box(A, 0, 0, v - 1, v), box(A, 0, 0, v, v - 1))),
        ]
    if v % 2 == 0:
        cases.append(Case("path", False, flat(path(A, v, (0, 0), (v, 0)))))
    if v > 2:
        cases.append(Case("ring", True, flat(polygon(A, *corners(0, 0, v, v), holes=[corners(1, 1, v - 1, v - 1)]))))
    return cases
