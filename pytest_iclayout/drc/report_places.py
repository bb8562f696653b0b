"""The items of a report where they lie in the layout's top cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import klayout.db as db

from pytest_iclayout.drc.report import load_database, walk_categories

if TYPE_CHECKING:
    import klayout.rdb as rdb

MarkerShape: TypeAlias = "db.Polygon | db.Edge"
"""In dbu.  An edge pair is the polygon between its edges, a text or another point an edge without length."""


class ReportPlaces(NamedTuple):
    """By category, the empty ones included: the shapes in the top cell, and how many items have none there."""

    shapes: dict[str, list[MarkerShape]]
    without_place: dict[str, int]


def places_in_top(path: Path, layout: db.Layout, top: db.Cell) -> ReportPlaces:
    """The shapes of a report database's items in the coordinates of ``top`` (dbu).

    An item lies in a cell, in that cell's coordinates, and stands for all places of the cell below ``top``.  One in a
    cell that the layout does not have (a deck may edit its own copy) is placed by the reference that the report gives
    for the cell.  ``layout`` gets layers of its own for this.  Raises ReportError as ``read_report``.
    """
    report = load_database(path)
    names = {category.rdb_id(): name for name, category in walk_categories(report.each_category())}
    layers: dict[str, int] = {name: layout.insert_layer(db.LayerInfo()) for name in names.values()}
    places = ReportPlaces({name: [] for name in layers}, dict.fromkeys(layers, 0))
    below = {*top.called_cells(), top.cell_index()}
    for item in report.each_item():
        name = names[item.category_id()]
        cell, trans = _cell_of(report.cell_by_id(item.cell_id()), report, layout)
        placed = False
        if cell is not None and cell.cell_index() in below:
            for value in item.each_value():
                for shape in _shapes(value, trans, layout.dbu):
                    cell.shapes(layers[name]).insert(shape)
                    placed = True
        if not placed:
            places.without_place[name] += 1
    for name, layer in layers.items():
        places.shapes[name] += _flat(top, layer)
    return places


def _cell_of(
    found: rdb.RdbCell | None, report: rdb.ReportDatabase, layout: db.Layout
) -> tuple[db.Cell | None, db.DCplxTrans]:
    """The layout's cell in which markers of a report's cell lie, and by what they are to be transformed (µm)."""
    trans = db.DCplxTrans()
    while found is not None:  # no reference leads back: reports name a cell before those that refer to it
        cell = layout.cell(found.name())
        if cell is not None:
            return cell, trans
        reference = next(found.each_reference(), None)
        if reference is None:
            break
        trans = reference.trans * trans
        found = report.cell_by_id(reference.parent_cell_id)
    return None, trans


def _shapes(value: rdb.RdbItemValue, trans: db.DCplxTrans, dbu: float) -> Iterator[MarkerShape]:
    whole = db.CplxTrans(dbu).inverted() * trans
    if value.is_edge():
        yield whole * value.edge()
    elif value.is_edge_pair():
        first, second = (whole * edge for edge in (value.edge_pair().first, value.edge_pair().second))
        yield from _solid(db.EdgePair(first, second).polygon(0), (first, second))
    elif value.is_text():
        at = whole * (db.DPoint() + value.text().trans.disp)
        yield db.Edge(at, at)
    elif value.is_box() or value.is_polygon() or value.is_path():
        drawn = value.box() if value.is_box() else value.polygon() if value.is_polygon() else value.path().polygon()
        polygon = whole * (db.DPolygon(drawn) if isinstance(drawn, db.DBox) else drawn)
        yield from _solid(polygon, tuple(polygon.each_edge()))


def _solid(polygon: db.Polygon, edges: tuple[db.Edge, ...]) -> Iterator[MarkerShape]:
    """The polygon, or its edges where it has no area and so would touch nothing."""
    if polygon.area():
        yield polygon
    else:
        yield from edges or (db.Edge(polygon.bbox().p1, polygon.bbox().p2),)


def _flat(top: db.Cell, layer: int) -> Iterator[MarkerShape]:
    for found in top.begin_shapes_rec(layer).each():
        shape = found.shape()
        yield found.trans() * (shape.edge if shape.is_edge() else shape.polygon)
