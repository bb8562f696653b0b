"""What is merged cell by cell is what is merged flat: counts, areas, holes, findings."""

from __future__ import annotations

from collections.abc import Iterable
from unittest.mock import patch

import klayout.db as db
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_iclayout.drc import checks
from pytest_iclayout.geometry import hierarchy
from pytest_iclayout.geometry.hierarchy import deep_store, merged_by_cell
from pytest_iclayout.geometry.io import read_layout, write_layout
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology

MET1 = Layer(layer=68, datatype=20)

near = st.integers(-20, 20)
boxes = st.builds(lambda x, y, w, h: db.Box(x, y, x + w, y + h), near, near, st.integers(1, 14), st.integers(1, 14))


@st.composite
def stairs(draw: st.DrawFn) -> db.Polygon:
    """Any closed polygon of axis-parallel edges: some overlap or touch themselves."""
    x, y, points = draw(near), draw(near), []
    for dx, dy in draw(st.lists(st.tuples(near, near), min_size=2, max_size=12)):
        points += [db.Point(x, y), db.Point(x + dx, y)]
        x, y = x + dx, y + dy
    return db.Polygon([*points, db.Point(points[0].x, y)], True)


@st.composite
def hierarchies(draw: st.DrawFn) -> db.Layout:
    """Three cells below ``top``, each with a few shapes, placed in and over each other, read from a file."""
    layout = db.Layout(True)
    index = layout.layer(MET1.layer, MET1.datatype)
    cells = [layout.create_cell(name) for name in ("a", "b", "c", "top")]
    for number, cell in enumerate(cells):
        for shape in draw(st.lists(boxes | boxes | stairs(), max_size=3)):
            cell.shapes(index).insert(shape)
        for child in draw(st.lists(st.sampled_from(cells[:number]), max_size=3)) if number else ():
            trans = db.Trans(draw(st.integers(0, 3)), draw(st.booleans()), draw(near), draw(near))
            a, b = db.Vector(draw(st.integers(1, 40)), draw(near)), db.Vector(0, draw(st.integers(1, 40)))
            size = draw(st.integers(1, 3)), draw(st.integers(1, 3))
            cell.insert(db.CellInstArray(child.cell_index(), trans, a, b, *size))
    return read_layout(write_layout(layout))


def by_cell(layout: db.Layout, store: db.DeepShapeStore, top: str = "top") -> db.Region | None:
    """Merged by cell however small the layout is."""
    index = layout.find_layer(MET1.layer, MET1.datatype)
    if index is None:
        return None
    with patch.multiple(hierarchy, LEAST_FLAT_SHAPES=0, _REPEATED=0):
        return merged_by_cell(layout, layout.cell(top), index, store)


def flat(layout: db.Layout) -> db.Region:
    view = LayoutView(layout, layout.cell("top"), builtin_technology("sky130"), "published")
    return view.region(MET1)


def polygons(region: db.Region) -> list[str]:
    return sorted(str(polygon) for polygon in region.each())


def told(violations: Iterable[checks.Violation]) -> list[str]:
    return sorted({str(one) for one in violations})


@given(hierarchies())
def test_cell_by_cell_finds_what_flat_finds(layout):
    store = deep_store()
    found = by_cell(layout, store)
    assume(found is not None)
    wanted = flat(layout)
    assert (found.count(), found.area(), found.bbox()) == (wanted.count(), wanted.area(), wanted.bbox())
    assert polygons(found) == polygons(wanted)
    assert polygons(found.merged(True, 0)) == polygons(wanted.merged(True, 0))
    assert polygons(found.with_holes(1, None, False)) == polygons(wanted.with_holes(1, None, False))
    for check in (checks.width, checks.space, checks.area, checks.hole_area, checks.exact_size):
        assert told(check(found, 6)) == told(check(wanted, 6)), check.__name__


def of_one_shape(*placed: db.CellInstArray, shape: db.Box | db.Polygon | db.Path) -> db.Layout:
    """A cell of one shape, placed in ``top``."""
    layout = db.Layout(True)
    index = layout.layer(MET1.layer, MET1.datatype)
    unit, top = layout.create_cell("unit"), layout.create_cell("top")
    unit.shapes(index).insert(shape)
    for one in placed:
        one.cell_index = unit.cell_index()
        top.insert(one)
    return layout


PLAIN = db.Box(0, 0, 100, 100)
OVERLAPPING = [(0, 0), (90, 0), (90, 50), (30, 50), (30, 20), (60, 20), (60, 90), (0, 90)]
ROW = db.CellInstArray(0, db.Trans(), db.Vector(200, 0), db.Vector(0, 200), 100, 100)


@pytest.mark.parametrize(
    ("why", "layout"),
    [
        ("turned by 45 degrees", of_one_shape(db.CellInstArray(0, db.ICplxTrans(1, 45, False, 0, 0)), shape=PLAIN)),
        ("magnified", of_one_shape(db.CellInstArray(0, db.ICplxTrans(1.5, 0, False, 0, 0)), shape=PLAIN)),
        ("slanted", of_one_shape(ROW, shape=db.Polygon([db.Point(0, 0), db.Point(50, 90), db.Point(100, 0)]))),
        ("without area", of_one_shape(ROW, shape=db.Box(0, 0, 100, 0))),
        ("overlapping itself", of_one_shape(ROW, shape=db.Polygon([db.Point(*at) for at in OVERLAPPING], True))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_merging_could_round_or_read_two_ways_is_merged_flat(why, layout):
    assert by_cell(layout, deep_store()) is None


def test_array_is_merged_by_cell_and_the_same_shapes_one_by_one_are_not():
    array, single = of_one_shape(ROW, shape=PLAIN), of_one_shape(ROW, shape=PLAIN)
    single.cell("top").flatten(True)
    kinds = []
    for layout in (array, single):
        view = LayoutView(layout, layout.cell("top"), builtin_technology("sky130"), "published")
        found = view.region_by_cell(MET1)
        assert (found.count(), found.area()) == (10_000, 10_000 * 100 * 100)
        kinds.append(found.is_deep())
    assert kinds == [True, False]
