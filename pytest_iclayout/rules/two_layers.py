"""Figures of the kinds of rule that measure two layers."""

from __future__ import annotations

from pytest_iclayout.rules.families import Case, Family, diagonal, slanted_family
from pytest_iclayout.rules.figures import Figure, Group, Part, Placement, Role, box, corners, flat, path, polygon

A, B = Role.LAYER, Role.OTHER


def _gap(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 2 * v, 4 * v), box(B, 2 * v + p, 0, 4 * v + p, 4 * v))


def _other_way(p: int, v: int) -> Figure:
    return flat(box(B, 0, 0, 2 * v, 4 * v), box(A, 2 * v + p, v, 6 * v + p, 2 * v))


def _diagonal_gap(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 2 * v, 2 * v), box(B, 2 * v + p, 2 * v + p, 4 * v + p, 4 * v + p))


def _island(p: int, v: int) -> Figure:
    hole = corners(0, 0, p + 4 * v, 6 * v)
    ring = polygon(A, *corners(-2 * v, -2 * v, p + 6 * v, 8 * v), holes=[hole])
    return flat(ring, box(B, p, 2 * v, p + 2 * v, 4 * v))


def _two_cells(p: int, v: int) -> Figure:
    other = Group((box(B, 0, 0, 4 * v, 2 * v),), (Placement(4 * v + p, 0, "r90"),))
    return (Group((box(A, 0, 0, 4 * v, 2 * v),), (Placement(0, 0, "m45"),)), other)


def _path_end(p: int, v: int) -> Figure:
    return flat(box(A, 0, 0, 2 * v, 2 * v), path(B, 2 * v, (v, 3 * v + p), (v, 6 * v), ends="square"))


_GAP = Family("separation", _gap)
SEPARATION = (
    _GAP,
    Family("other_way", _other_way),
    Family("diagonal", _diagonal_gap, diagonal),
    Family("island", _island),
    Family("two_cells", _two_cells),
    Family("path_end", _path_end),
    slanted_family(_GAP),
)


def separation_cases(v: int, overlap_is_error: bool) -> list[Case]:
    """Without ``overlap_is_error`` nothing is drawn that touches: what it measures is a matter of the engine."""
    first = box(A, 0, 0, 4 * v, 4 * v)
    near = v // 2 or 1
    cases = [
        Case("overlap", overlap_is_error, flat(first, box(B, 2 * v, 2 * v, 6 * v, 6 * v))),
        Case("other_inside", overlap_is_error, flat(first, box(B, v, v, 3 * v, 3 * v))),
        Case("inside_other", overlap_is_error, flat(box(B, 0, 0, 4 * v, 4 * v), box(A, v, v, 3 * v, 3 * v))),
        Case(
            "near_of_same_layer",
            False,
            flat(
                *(box(A, left, 0, left + v, 4 * v) for left in (0, v + near)),
                *(box(B, left, 0, left + v, 4 * v) for left in (6 * v, 7 * v + near)),
            ),
        ),
        *_only_one(v),
    ]
    if overlap_is_error:
        cases += [
            Case("abutting", True, flat(first, box(B, 4 * v, 0, 6 * v, 4 * v))),
            Case("corner_contact", True, flat(first, box(B, 4 * v, 4 * v, 6 * v, 6 * v))),
        ]
    return cases


def _only_one(v: int) -> list[Case]:
    return [
        Case("no_other", False, flat(box(A, 0, 0, 2 * v, 4 * v))),
        Case("only_other", False, flat(box(B, 0, 0, 2 * v, 4 * v))),
    ]


def _inner(v: int) -> Part:
    return box(A, 0, 0, 2 * v, 2 * v)


def _one_side(p: int, v: int) -> Figure:
    return flat(_inner(v), box(B, -p, -2 * v, 4 * v, 4 * v))


def _all_sides(p: int, v: int) -> Figure:
    return flat(_inner(v), box(B, -p, -p, 2 * v + p, 2 * v + p))


def _inner_corner(p: int, v: int) -> Figure:
    return flat(_inner(v), _notched(B, 2 * v + p, v))


def _notched(role: Role, at: int, v: int) -> Part:
    """Around a square of 2 v at the origin, without the quadrant above and right of ``at``."""
    return polygon(role, (-2 * v, -2 * v), (6 * v, -2 * v), (6 * v, at), (at, at), (at, 6 * v), (-2 * v, 6 * v))


def _hole_beside(p: int, v: int) -> Figure:
    hole = corners(2 * v + p, 0, 4 * v + p, 2 * v)
    return flat(_inner(v), polygon(B, *corners(-2 * v, -2 * v, 6 * v + p, 4 * v), holes=[hole]))


def _outer_in_pieces(p: int, v: int) -> Figure:
    inner = Group((_inner(v), box(B, v, -2 * v, 4 * v, 4 * v)))
    return (inner, Group((box(B, 0, 0, 6 * v, v + p),), (Placement(v, -2 * v, "r90"),)))


def _in_path(p: int, v: int) -> Figure:
    return flat(box(A, -v, 0, v, 2 * v), path(B, 2 * (v + p), (0, -2 * v), (0, 4 * v)))


_SIDE = Family("enclosure", _one_side)
ENCLOSURE = (
    _SIDE,
    Family("all_sides", _all_sides),
    Family("diagonal", _inner_corner, diagonal),
    Family("hole_beside", _hole_beside),
    Family("outer_in_pieces", _outer_in_pieces),
    Family("in_path", _in_path),
    slanted_family(_SIDE),
)


def enclosure_cases(v: int, outside_is_error: bool) -> list[Case]:
    inner = _inner(v)
    cases = [
        Case("straddling", outside_is_error, flat(inner, box(B, -2 * v, -2 * v, v, 4 * v))),
        Case("outside", outside_is_error, flat(inner, box(B, 6 * v, 0, 10 * v, 4 * v))),
        Case("no_other", outside_is_error, flat(inner)),
        Case("only_other", False, flat(box(B, 0, 0, 2 * v, 2 * v))),
        Case("flush", True, flat(inner, box(B, 0, -2 * v, 4 * v, 4 * v))),
        Case(
            "two_in_one",
            False,
            flat(inner, box(A, 3 * v, 0, 4 * v, 2 * v), box(B, -v, -v, 5 * v, 3 * v)),
        ),
    ]
    if outside_is_error:
        across = flat(inner, box(B, -2 * v, -2 * v, v, 4 * v), box(B, v + 1, -2 * v, 4 * v, 4 * v))
        cases.append(Case("across_a_gap", True, across))
    return cases


def _crossed(v: int) -> Part:
    return box(B, -2 * v, 0, 4 * v, 2 * v)


def _one_end(p: int, v: int) -> Figure:
    return flat(_crossed(v), box(A, 0, -2 * v, 2 * v, 2 * v + p))


def _lower_end(p: int, v: int) -> Figure:
    return flat(_crossed(v), box(A, 0, -p, 2 * v, 4 * v))


def _all_around(p: int, v: int) -> Figure:
    return flat(box(B, 0, 0, 2 * v, 2 * v), box(A, -p, -p, 2 * v + p, 2 * v + p))


def _beyond_corner(p: int, v: int) -> Figure:
    return flat(box(B, 0, 0, 2 * v, 2 * v), _notched(A, 2 * v + p, v))


def _end_in_pieces(p: int, v: int) -> Figure:
    lower = Group((_crossed(v), box(A, 0, -2 * v, 2 * v, v)))
    return (lower, Group((box(A, 0, 0, v + p, 2 * v),), (Placement(2 * v, v, "r90"),)))


def _one_of_two(p: int, v: int) -> Figure:
    return flat(_crossed(v), box(A, -v, -2 * v, 0, 4 * v), box(A, 2 * v, -2 * v, 3 * v, 2 * v + p))


def _path_beyond(p: int, v: int) -> Figure:
    return flat(_crossed(v), path(A, 2 * v, (v, -2 * v), (v, 2 * v + p)))


_END = Family("extension", _one_end)
EXTENSION = (
    _END,
    Family("lower_end", _lower_end),
    Family("all_around", _all_around),
    Family("diagonal", _beyond_corner, diagonal),
    Family("end_in_pieces", _end_in_pieces),
    Family("one_of_two", _one_of_two),
    Family("path", _path_beyond),
    slanted_family(_END),
)


def extension_cases(v: int, outside_is_error: bool) -> list[Case]:
    crossed = _crossed(v)
    cases = [
        Case("ends_within", outside_is_error, flat(crossed, box(A, 0, -2 * v, 2 * v, v))),
        Case("beside", False, flat(crossed, box(A, 5 * v, -2 * v, 7 * v, 4 * v))),
        Case("along", False, flat(crossed, box(A, 4 * v, -2 * v, 6 * v, 4 * v))),
        *_only_one(v),
    ]
    if outside_is_error:
        cases += [
            Case("flush", True, flat(crossed, box(A, 0, -2 * v, 2 * v, 2 * v))),
            Case("inside", True, flat(crossed, box(A, 0, v // 2, v, 2 * v - 1 if v > 1 else 2))),
        ]
    return cases
