"""Small figures in dbu on the two layers of a structure, and their text as shape lists.

A figure is drawn for a role, the measured layer or the other one, not yet on named layers: a derived layer needs
its shapes on several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum

Point = tuple[int, int]
"""dbu."""
Names = Mapping["Role", tuple[str, ...]]
"""The drawn layers of each role."""


class Role(Enum):
    LAYER = "layer"
    OTHER = "other"


@dataclass(frozen=True)
class Part:
    """A box (two corners), a polygon with holes, or a path of a width, in dbu."""

    role: Role
    points: tuple[Point, ...]
    form: str = "box"
    holes: tuple[tuple[Point, ...], ...] = ()
    width: int = 0
    ends: str = "flush"

    def mapped(self, of: Callable[[int, int], Point]) -> Part:
        holes = tuple(tuple(of(*point) for point in hole) for hole in self.holes)
        return replace(self, points=tuple(of(*point) for point in self.points), holes=holes)


@dataclass(frozen=True)
class Placement:
    """Of a cell: its origin in dbu, a turn of the shape lists (``r90``, ``m45``), a factor and an array in dbu."""

    x: int = 0
    y: int = 0
    turn: str = "r0"
    factor: str = "1"
    array: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class Group:
    """Parts in the top cell or, with placements, in a cell of their own."""

    parts: tuple[Part, ...]
    placements: tuple[Placement, ...] = ()


Figure = tuple[Group, ...]


def box(role: Role, left: int, bottom: int, right: int, top: int) -> Part:
    return Part(role, ((left, bottom), (right, top)))


def polygon(role: Role, *points: Point, holes: Iterable[tuple[Point, ...]] = ()) -> Part:
    return Part(role, points, "poly", tuple(holes))


def path(role: Role, width: int, *points: Point, ends: str = "flush") -> Part:
    """``width`` is even: the half of an odd one is off the grid."""
    return Part(role, points, "path", width=width, ends=ends)


def corners(left: int, bottom: int, right: int, top: int) -> tuple[Point, ...]:
    return ((left, bottom), (right, bottom), (right, top), (left, top))


def flat(*parts: Part) -> Figure:
    return (Group(parts),)


def turned(figure: Figure) -> Figure:
    """x and y exchanged, of a figure in the top cell."""
    return _mapped(figure, lambda x, y: (y, x))


def slanted(figure: Figure) -> Figure:
    """Turned by 45° and larger by √2, so that all corners stay on the grid; of a figure in the top cell."""
    outlined = tuple(replace(group, parts=tuple(_outlined(part) for part in group.parts)) for group in figure)
    return _mapped(outlined, lambda x, y: (x - y, x + y))


def in_cell(figure: Figure, placement: Placement, multiple: int = 1) -> Figure:
    """A figure of the top cell, its coordinates multiplied, in a cell of its own."""
    parts = tuple(
        replace(part.mapped(lambda x, y: (x * multiple, y * multiple)), width=part.width * multiple)
        for group in figure
        for part in group.parts
    )
    return (Group(parts, (placement,)),)


def moved(figure: Figure, right: int, up: int) -> Figure:
    """By dbu, in the top cell."""
    return tuple(
        replace(
            group,
            placements=tuple(replace(one, x=one.x + right, y=one.y + up) for one in group.placements),
            parts=group.parts
            if group.placements
            else tuple(part.mapped(lambda x, y: (x + right, y + up)) for part in group.parts),
        )
        for group in figure
    )


def in_pieces(figure: Figure, share: float) -> Figure:
    """Each box in two that overlap or abut, cut at that share of its width."""
    return tuple(
        replace(group, parts=tuple(piece for part in group.parts for piece in _cut(part, share))) for group in figure
    )


def is_flat(figure: Figure) -> bool:
    return not any(group.placements for group in figure)


def figure_text(figure: Figure, names: Names, dbu_um: float) -> str:
    """The statements of a shape list, each part on all layers of its role."""
    unit = Decimal(str(dbu_um))
    lines = []
    for number, group in enumerate(figure, 1):
        statements = [_statement(part, name, unit) for part in group.parts for name in names.get(part.role, ())]
        if not group.placements:
            lines += statements
            continue
        cell = f"PART{number}"
        lines.append(f"cell {cell} {{\n  " + ";\n  ".join(statements) + "\n}")
        lines += [_put(cell, placement, unit) for placement in group.placements]
    return ";\n".join(lines)


def _mapped(figure: Figure, of: Callable[[int, int], Point]) -> Figure:
    return tuple(replace(group, parts=tuple(_ordered(part.mapped(of)) for part in group.parts)) for group in figure)


def _ordered(part: Part) -> Part:
    if part.form != "box":
        return part
    xs, ys = sorted(x for x, _ in part.points), sorted(y for _, y in part.points)
    return replace(part, points=((xs[0], ys[0]), (xs[1], ys[1])))


def _cut(part: Part, share: float) -> list[Part]:
    if part.form != "box":
        return [part]
    (left, bottom), (right, top) = part.points
    at = left + int((right - left) * share)
    if not left < at < right:
        return [part]
    return [box(part.role, left, bottom, at, top), box(part.role, max(left, at - 1), bottom, right, top)]


def _outlined(part: Part) -> Part:
    if part.form != "box":
        return part
    (left, bottom), (right, top) = part.points
    return polygon(part.role, *corners(left, bottom, right, top))


def _statement(part: Part, name: str, unit: Decimal) -> str:
    if part.form == "box":
        (left, bottom), (right, top) = part.points
        return f"{name} {' '.join(_um(value, unit) for value in (left, bottom, right, top))}"
    points = _points(part.points, unit)
    if part.form == "path":
        return f"{name} path {_um(part.width, unit)} {points} {part.ends}"
    return f"{name} poly {points}" + "".join(f" hole {_points(hole, unit)}" for hole in part.holes)


def _put(cell: str, placement: Placement, unit: Decimal) -> str:
    words = ["put", cell, _um(placement.x, unit), _um(placement.y, unit)]
    if placement.turn != "r0":
        words.append(placement.turn)
    if placement.factor != "1":
        words.append(f"x{placement.factor}")
    if placement.array is not None:
        columns, rows, right, up = placement.array
        words += ["array", str(columns), str(rows), _um(right, unit), _um(up, unit)]
    return " ".join(words)


def _points(points: Iterable[Point], unit: Decimal) -> str:
    return " ".join(f"{_um(x, unit)},{_um(y, unit)}" for x, y in points)


def _um(value: int, unit: Decimal) -> str:
    return f"{(value * unit).normalize():f}" if value else "0"
