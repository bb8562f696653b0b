"""Legal changes of a layout: other geometry data for the same shapes, or the same shapes elsewhere.

Each function takes the layout and its judged cell and returns a new layout; none of them may alter a
verdict where the checker allows it (see ``Checker.variants``).  Those that move raise ExtentError rather
than leave the coordinate range.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import klayout.db as db

from pytest_iclayout.geometry.extent import ExtentError, measure, reaches_too_far
from pytest_iclayout.geometry.io import read_layout, write_layout
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Orientation

MAX_COLUMNS = 32_767
"""Columns of one array: a GDS II record holds 15 bits."""


def _copy(layout: db.Layout) -> db.Layout:
    return layout.dup()


def translate(layout: db.Layout, cell_name: str, dx: int, dy: int) -> db.Layout:
    """Move everything in the cell by (dx, dy) dbu."""
    return _transformed(layout, cell_name, db.ICplxTrans(db.Trans(dx, dy)))


def rotate(layout: db.Layout, cell_name: str, orientation: Orientation) -> db.Layout:
    """Turn or mirror everything in the cell about the origin."""
    trans = db.ICplxTrans(1.0, 90.0 * orientation.quarter_turns, orientation.mirrored, 0, 0)
    return _transformed(layout, cell_name, trans)


def split(layout: db.Layout, cell_name: str, permille: int, vertical: bool) -> db.Layout:
    """Cut every rectilinear polygon of the cell in two abutting parts at ``permille`` of its width (height)."""
    return _rewritten(layout, cell_name, lambda polygon: _halves(polygon, permille, vertical))


def as_paths(layout: db.Layout, cell_name: str) -> db.Layout:
    """Draw every rectangle of even height (else width) as a path with flat ends."""
    return _rewritten(layout, cell_name, _path_of_box)


def overlap(layout: db.Layout, cell_name: str, permille: int) -> db.Layout:
    """Draw every polygon together with a part of it again on top: the covered area stays."""
    return _rewritten(layout, cell_name, lambda polygon: [polygon, *_halves(polygon, permille, True)])


def wrap(layout: db.Layout, cell_name: str, orientation: Orientation, dx: int, dy: int) -> db.Layout:
    """Move the cell's content into a child, displaced and turned, and place the child back."""
    result = _copy(layout)
    cell = result.cell(cell_name)
    child = result.create_cell("wrapped_content")
    trans = db.ICplxTrans(1.0, 90.0 * orientation.quarter_turns, orientation.mirrored, dx, dy)
    _check_reach(layout, cell_name, trans)
    child.move_shapes(cell)
    for instance in list(cell.each_inst()):
        child.insert(instance)
        instance.delete()
    child.transform(trans)
    cell.insert(db.CellInstArray(child.cell_index(), trans.inverted()))
    return result


def as_instances(layout: db.Layout, cell_name: str) -> db.Layout:
    """Place every member of an array by an instance of its own."""
    return _replaced(layout, _single_instances)


def as_arrays(layout: db.Layout, cell_name: str) -> db.Layout:
    """Place instances of one cell that stand alike in a row along x, at one pitch, by an array of one row."""
    return _replaced(layout, _row_arrays)


def through_gds(layout: db.Layout, cell_name: str) -> db.Layout:
    """Write and read GDS with klayout."""
    return read_layout(write_layout(layout, "GDS2"))


def through_oasis(layout: db.Layout, cell_name: str) -> db.Layout:
    """Write and read OASIS with klayout."""
    return read_layout(write_layout(layout, "OASIS"))


def through_gdstk(layout: db.Layout, cell_name: str) -> db.Layout:
    """Write GDS with klayout, read and write it with gdstk, read it with klayout."""
    import gdstk

    with tempfile.TemporaryDirectory(prefix="iclayout-") as folder:
        path = Path(folder) / "layout.gds"
        path.write_bytes(write_layout(layout))
        gdstk.read_gds(path).write_gds(path, max_points=8190)
        return read_layout(path.read_bytes())


def _transformed(layout: db.Layout, cell_name: str, trans: db.ICplxTrans) -> db.Layout:
    result = _copy(layout)
    _check_reach(layout, cell_name, trans)
    result.cell(cell_name).transform(trans)
    return result


def _check_reach(layout: db.Layout, cell_name: str, trans: db.ICplxTrans) -> None:
    """Before KLayout moves it: what leaves the coordinate range comes back in at the other end."""
    floating = db.DCplxTrans(trans.mag, trans.angle, trans.is_mirror(), trans.disp.x, trans.disp.y)
    if reaches_too_far(floating * measure(layout, layout.cell(cell_name)).box):
        raise ExtentError(f"cell {cell_name} moved by {trans} reaches beyond ±{COORD_LIMIT} dbu")


Redraw = Callable[[db.Polygon], list[db.Polygon | db.Path]]


def _rewritten(layout: db.Layout, cell_name: str, redraw: Redraw) -> db.Layout:
    result = _copy(layout)
    for cell in result.each_cell():
        for index in result.layer_indexes():
            shapes = cell.shapes(index)
            old = [shape.polygon for shape in shapes.each(db.Shapes.SBoxes | db.Shapes.SPolygons)]
            for shape in list(shapes.each(db.Shapes.SBoxes | db.Shapes.SPolygons)):
                shape.delete()
            for polygon in old:
                for piece in redraw(polygon):
                    shapes.insert(piece)
    return result


def _halves(polygon: db.Polygon, permille: int, vertical: bool) -> list[db.Polygon | db.Path]:
    box = polygon.bbox()
    # A cut through a slanted edge would have to round to the grid and so change the shape.
    if not polygon.is_rectilinear():
        return [polygon]
    if vertical:
        at = box.left + box.width() * permille // 1000
        parts = [db.Box(box.left, box.bottom, at, box.top), db.Box(at, box.bottom, box.right, box.top)]
    else:
        at = box.bottom + box.height() * permille // 1000
        parts = [db.Box(box.left, box.bottom, box.right, at), db.Box(box.left, at, box.right, box.top)]
    whole = db.Region(polygon)
    return [piece for part in parts for piece in (whole & db.Region(part)).each()]


def _path_of_box(polygon: db.Polygon) -> list[db.Polygon | db.Path]:
    box = polygon.bbox()
    if not polygon.is_box() or box.area() == 0:
        return [polygon]
    if box.height() % 2 == 0:
        y = box.center().y
        return [db.Path([db.Point(box.left, y), db.Point(box.right, y)], box.height())]
    if box.width() % 2 == 0:
        x = box.center().x
        return [db.Path([db.Point(x, box.bottom), db.Point(x, box.top)], box.width())]
    return [polygon]


Instances = list[db.CellInstArray]


def _replaced(layout: db.Layout, redraw: Callable[[Instances], Instances]) -> db.Layout:
    result = _copy(layout)
    for cell in result.each_cell():
        placed = [instance.cell_inst for instance in cell.each_inst()]
        cell.clear_insts()
        for one in redraw(placed):
            cell.insert(one)
    return result


def _single_instances(placed: Instances) -> Instances:
    singles = []
    for one in placed:
        for row in range(max(1, one.nb)):
            for column in range(max(1, one.na)):
                step = one.a * column + one.b * row
                singles.append(db.CellInstArray(one.cell_index, db.ICplxTrans(db.Trans(step)) * one.cplx_trans))
    return singles


def _row_arrays(placed: Instances) -> Instances:
    arrays = [one for one in placed if one.is_regular_array()]
    rows: dict[tuple[int, str, int], Instances] = {}
    for one in placed:
        if not one.is_regular_array():
            trans = one.cplx_trans
            alike = f"{trans.mag:.9g} {trans.angle:.6f} {trans.is_mirror()}"
            rows.setdefault((one.cell_index, alike, trans.disp.y), []).append(one)
    for row in rows.values():
        row.sort(key=lambda one: one.cplx_trans.disp.x)
        start = 0
        while start < len(row):
            end = _end_of_run(row, start)
            # KLayout takes an array of pitch 0 for a single instance.
            if end - start > 1 and _pitch(row, start) > 0:
                pitch = db.Vector(_pitch(row, start), 0)
                first = row[start]
                arrays.append(db.CellInstArray(first.cell_index, first.cplx_trans, pitch, db.Vector(), end - start, 1))
            else:
                arrays += row[start:end]
            start = end
    return arrays


def _pitch(row: Instances, number: int) -> int:
    return int(row[number + 1].cplx_trans.disp.x - row[number].cplx_trans.disp.x)


def _end_of_run(row: Instances, start: int) -> int:
    """The end of the longest run from ``start`` in which each instance stands one pitch beyond the one before."""
    end = start + 1
    while end < len(row) and _pitch(row, end - 1) == _pitch(row, start) and end - start < MAX_COLUMNS:
        end += 1
    return end
