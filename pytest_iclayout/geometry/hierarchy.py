"""Merging cell by cell, where a layout repeats few cells many times.

KLayout's hierarchical mode merges a cell once for all its instances that nothing else meets: an array
of millions takes no longer than its cell.  What comes out is the same region as from merging flat, as
long as nothing is rounded and no polygon leaves open what it covers; elsewhere this says None.
"""

from __future__ import annotations

import klayout.db as db

LEAST_FLAT_SHAPES = 10_000
"""Fewer are merged at once."""
_REPEATED = 10
"""Flat shapes a stored one from which on it pays: what overlaps across instances is merged flat anyway."""
_MOST_POLYGONS = 10_000
"""Stored polygons that are looked at one by one."""


def deep_store() -> db.DeepShapeStore:
    """A store that keeps polygons whole, where KLayout's usual one splits those of many corners or of much
    empty room: its space checks then report some places otherwise.  It must be kept as long as the regions in it."""
    store = db.DeepShapeStore()
    store.max_area_ratio = 0
    store.max_vertex_count = 0
    return store


def merged_by_cell(layout: db.Layout, cell: db.Cell, index: int, store: db.DeepShapeStore) -> db.Region | None:
    """The merged shapes of a layer (by KLayout's layer index) in and below a cell, in ``store``.

    None where merging flat may give something else (turns and magnifications that round, slanted edges,
    polygons that overlap themselves) or costs no more.
    """
    cells = [layout.cell(one) for one in (*cell.called_cells(), cell.cell_index())]
    stored = sum(one.shapes(index).size() for one in cells)
    if not _pays(stored, _flat_shapes(layout, cells, index)[cell.cell_index()]):
        return None
    if not all(_keeps_the_grid(one) and _is_plain(one.shapes(index)) for one in cells):
        return None
    return db.Region(cell.begin_shapes_rec(index), store).merged()


def _pays(stored: int, flat: int) -> bool:
    return flat >= max(LEAST_FLAT_SHAPES, _REPEATED * stored)


def _flat_shapes(layout: db.Layout, cells: list[db.Cell], index: int) -> dict[int, int]:
    """Shapes of each cell once flat, by its index."""
    wanted = {one.cell_index() for one in cells}
    flat: dict[int, int] = {}
    for number in layout.each_cell_bottom_up():
        if number in wanted:
            cell = layout.cell(number)
            placed = sum(flat[one.cell_index] * max(1, one.na) * max(1, one.nb) for one in cell.each_inst())
            flat[number] = cell.shapes(index).size() + placed
    return flat


def _keeps_the_grid(cell: db.Cell) -> bool:
    return not any(instance.is_complex() for instance in cell.each_inst())


def _is_plain(shapes: db.Shapes) -> bool:
    """Whether merging any of the shapes by itself changes nothing and rounds nothing."""
    polygons = 0
    for shape in shapes.each(db.Shapes.SBoxes | db.Shapes.SPolygons | db.Shapes.SPaths):
        if shape.is_box():
            if shape.box_width == 0 or shape.box_height == 0:
                return False
            continue
        polygons += 1
        polygon = shape.polygon
        if polygons > _MOST_POLYGONS or not polygon.is_rectilinear():
            return False
        if db.EdgeProcessor().simple_merge_p2p([polygon], False, False) != [polygon]:
            return False
    return True
