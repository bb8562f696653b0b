"""Where cells are placed, all levels of hierarchy and all members of arrays multiplied out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import klayout.db as db

_Value = TypeVar("_Value")

PER_DBU = 1000
"""Places are told apart to this part of a dbu: a magnified parent may displace by fractions."""


class Placement(NamedTuple):
    """The total transformation of one placement, seen from the judged cell.

    ``x`` and ``y`` are in thousandths of a dbu, ``angle`` in thousandths of a degree.
    """

    x: int
    y: int
    angle: int
    mirrored: bool
    magnification: float

    @classmethod
    def of(cls, trans: db.DCplxTrans) -> Placement:
        return cls(
            round(trans.disp.x * PER_DBU),
            round(trans.disp.y * PER_DBU),
            round(trans.angle * 1000) % 360_000,
            trans.is_mirror(),
            round(trans.mag, 9),
        )


@dataclass(frozen=True)
class Placements:
    """The cells below a cell of a layout, by cell index, and where they stand in it."""

    layout: db.Layout
    cell: db.Cell

    @cached_property
    def counts(self) -> dict[int, int]:
        """How often each cell is placed; placements on one place count each."""
        found = {self.cell.cell_index(): 1}
        for index in self._top_down:
            for instance in self.layout.cell(index).each_inst():
                members = found[index] * max(1, instance.na) * max(1, instance.nb)
                found[instance.cell_index] = found.get(instance.cell_index, 0) + members
        return _without(found, self.cell.cell_index())

    def distinct(self, limit: int) -> dict[int, frozenset[Placement]]:
        """The different placements of each cell, no more of a cell than ``limit``, whatever it is placed in."""
        found: dict[int, dict[Placement, db.DCplxTrans]] = {
            self.cell.cell_index(): {Placement.of(db.DCplxTrans()): db.DCplxTrans()}
        }
        # As many different placements of a parent make as many of each child: what is cut off is never missed.
        for index in self._top_down:
            for instance in self.layout.cell(index).each_inst():
                known = found.setdefault(instance.cell_index, {})
                for trans in self._members(instance, list(found[index].values())):
                    if len(known) >= limit:
                        break
                    known.setdefault(Placement.of(trans), trans)
        return _without({index: frozenset(known) for index, known in found.items()}, self.cell.cell_index())

    @property
    def _top_down(self) -> Iterator[int]:
        wanted = set(self.cell.called_cells()) | {self.cell.cell_index()}
        return (index for index in self.layout.each_cell_top_down() if index in wanted)

    def _members(self, instance: db.Instance, parents: list[db.DCplxTrans]) -> Iterator[db.DCplxTrans]:
        own = instance.cplx_trans
        trans = db.DCplxTrans(own.mag, own.angle, own.is_mirror(), own.disp.x, own.disp.y)
        for parent in parents:
            for row in _steps(instance.nb, instance.b):
                for column in _steps(instance.na, instance.a):
                    yield parent * db.DCplxTrans(1.0, 0.0, False, *_sum(row, column)) * trans

    @cached_property
    def own_shapes(self) -> dict[int, int]:
        """Merged polygons that each cell below draws itself, on all layers together: pieces that overlap or
        abut are one, polygons that meet in a corner only are two, labels and shapes without area are none."""
        return {index: own_shapes(self.layout, self.layout.cell(index)) for index in self.counts}

    @cached_property
    def holding_shapes(self) -> frozenset[int]:
        """The cells below that draw shapes or place, at any depth, a cell that does."""
        drawn = {index for index, count in self.own_shapes.items() if count > 0}
        return frozenset(
            index
            for index in self.counts
            if index in drawn or not drawn.isdisjoint(self.layout.cell(index).called_cells())
        )


def own_shapes(layout: db.Layout, cell: db.Cell) -> int:
    """Merged polygons that a cell draws itself, on all layers together."""
    count = 0
    for index in layout.layer_indexes():
        region = db.Region()
        region.insert(cell.shapes(index))
        count += region.merged(True, 0).count()
    return count


def _without(found: dict[int, _Value], index: int) -> dict[int, _Value]:
    return {key: value for key, value in found.items() if key != index}


def _steps(count: int, step: db.Vector) -> Iterator[tuple[int, int]]:
    return ((number * step.x, number * step.y) for number in range(max(1, count)))


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]
