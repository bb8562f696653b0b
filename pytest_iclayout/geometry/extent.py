"""How large a layout is once flat, before anything flattens it."""

from __future__ import annotations

from dataclasses import dataclass

import klayout.db as db

from pytest_iclayout.geometry.shapes import COORD_LIMIT

MAX_FLAT_SHAPES = 50_000_000
"""Arrays of arrays make more shapes than any machine holds; beyond this a layout is not judged."""


class ExtentError(ValueError):
    """A layout that is too large to flatten or that leaves the coordinate range."""


@dataclass(frozen=True)
class Extent:
    """Shapes of a cell with all levels below it, and their bounding box in dbu (empty: no shape)."""

    shapes: int
    box: db.DBox


def measure(layout: db.Layout, cell: db.Cell) -> Extent:
    """Count and bound in floating point, where KLayout's 32-bit boxes would wrap around.

    Raises ExtentError when the cell has more than MAX_FLAT_SHAPES shapes or leaves ±COORD_LIMIT.
    """
    known: dict[int, Extent] = {}
    wanted = set(cell.called_cells()) | {cell.cell_index()}
    for index in layout.each_cell_bottom_up():
        if index in wanted:
            known[index] = _measure_one(layout, layout.cell(index), known)
    return known[cell.cell_index()]


def _measure_one(layout: db.Layout, cell: db.Cell, known: dict[int, Extent]) -> Extent:
    # KLayout's box of the cell may have wrapped around only where the box of a path or an instance, below,
    # is out of range.
    shapes, box = 0, db.DBox() if cell.bbox().empty() else db.DBox(cell.bbox())
    for index in layout.layer_indexes():
        drawn = cell.shapes(index)
        shapes += drawn.size()
        for shape in drawn.each(db.Shapes.SPaths):
            box += shape.path.to_dtype(1.0).bbox()
    for instance in cell.each_inst():
        child = known[instance.cell_index]
        shapes += child.shapes * max(1, instance.na) * max(1, instance.nb)
        box += placed_box(child.box, instance)
        if shapes > MAX_FLAT_SHAPES:
            raise ExtentError(f"cell {cell.name} has more than {MAX_FLAT_SHAPES} shapes once flat")
    if reaches_too_far(box):
        raise ExtentError(f"cell {cell.name} reaches beyond ±{COORD_LIMIT} dbu")
    return Extent(shapes, box)


def reaches_too_far(box: db.DBox) -> bool:
    """Whether a box in dbu leaves ±COORD_LIMIT."""
    return not box.empty() and max(abs(v) for v in (box.left, box.bottom, box.right, box.top)) > COORD_LIMIT


def placed_box(child: db.DBox, instance: db.Instance | db.CellInstArray) -> db.DBox:
    """The bounding box of all members of an instance or array, in the parent's dbu."""
    if child.empty():
        return db.DBox()
    trans = instance.cplx_trans
    one = db.DCplxTrans(trans.mag, trans.angle, trans.is_mirror(), trans.disp.x, trans.disp.y) * child
    along_a = db.DVector(*(max(0, instance.na - 1) * v for v in (instance.a.x, instance.a.y)))
    along_b = db.DVector(*(max(0, instance.nb - 1) * v for v in (instance.b.x, instance.b.y)))
    return one + one.moved(along_a) + one.moved(along_b) + one.moved(along_a + along_b)
