"""Layouts too large to flatten are told before anything flattens them."""

import time

import klayout.db as db
import pytest

from pytest_iclayout.geometry.extent import MAX_FLAT_SHAPES, ExtentError, measure
from pytest_iclayout.geometry.shapes import COORD_LIMIT
from pytest_iclayout.session.session import LayoutSession

LAYER = (68, 20)


def chain(*steps):
    """Cells c0 (one square) .. cN; every cell holds an array of the one before: (columns, rows, pitch)."""
    layout = db.Layout(True)
    cell = layout.create_cell("c0")
    cell.shapes(layout.layer(*LAYER)).insert(db.Box(0, 0, 1, 1))
    for number, (columns, rows, pitch) in enumerate(steps, 1):
        parent = layout.create_cell(f"c{number}")
        along, up = db.Vector(pitch, 0), db.Vector(0, pitch)
        parent.insert(db.CellInstArray(cell.cell_index(), db.Trans(), along, up, columns, rows))
        cell = parent
    return layout, cell


def test_shapes_and_box_of_nested_arrays_are_those_of_the_flat_layout():
    layout, top = chain((3, 2, 10), (2, 4, 100))
    top.insert(db.CellInstArray(layout.cell("c0").cell_index(), db.ICplxTrans(3.0, 90, True, -700, 20)))
    extent = measure(layout, top)
    expected_box = db.DBox(top.bbox())
    flat = layout.dup()
    flat.cell(top.name).flatten(True)
    assert extent.shapes == flat.cell(top.name).shapes(flat.layer(*LAYER)).size() == 3 * 2 * 2 * 4 + 1
    assert extent.box == expected_box


def test_as_many_shapes_as_allowed_are_measured_and_one_more_is_refused():
    layout, top = chain((5000, 10_000, 2))
    assert measure(layout, top).shapes == MAX_FLAT_SHAPES
    top.shapes(layout.layer(*LAYER)).insert(db.Box(0, 0, 1, 1))
    top.insert(db.CellInstArray(layout.cell("c0").cell_index(), db.Trans()))
    with pytest.raises(ExtentError, match="cell c1 has more than 50000000 shapes once flat"):
        measure(layout, top)


def test_huge_nested_arrays_are_refused_without_flattening():
    layout, top = chain(*[(1000, 1000, 1)] * 6)
    begun = time.perf_counter()
    with pytest.raises(ExtentError, match="shapes once flat"):
        measure(layout, top)
    assert time.perf_counter() - begun < 1.0, "10^36 shapes were not counted one by one"


def test_empty_cells_have_no_box_and_no_shapes_however_often_placed():
    layout = db.Layout(True)
    child, top = layout.create_cell("child"), layout.create_cell("top")
    top.insert(db.CellInstArray(child.cell_index(), db.Trans(), db.Vector(1, 0), db.Vector(0, 1), 30_000, 30_000))
    extent = measure(layout, top)
    assert extent.shapes == 0
    assert extent.box.empty()


@pytest.mark.parametrize("place", [(1, 0), (0, 1), (-1, 0), (0, -1)], ids=["right", "up", "left", "down"])
def test_instance_beyond_the_range_is_refused_where_32_bits_would_wrap_around(place):
    layout = db.Layout(True)
    child, top = layout.create_cell("child"), layout.create_cell("top")
    child.shapes(layout.layer(*LAYER)).insert(db.Box(-COORD_LIMIT, -COORD_LIMIT, COORD_LIMIT, COORD_LIMIT))
    measure(layout, child)
    far = db.Vector(*(2 * COORD_LIMIT * v for v in place))
    top.insert(db.CellInstArray(child.cell_index(), db.Trans(far)))
    with pytest.raises(ExtentError, match="cell top reaches beyond"):
        measure(layout, top)


def test_array_whose_last_member_leaves_the_range_is_refused():
    layout, _ = chain((2, 1, COORD_LIMIT))
    with pytest.raises(ExtentError, match=f"cell c1 reaches beyond ±{COORD_LIMIT} dbu"):
        measure(layout, layout.cell("c1"))


def test_path_whose_end_wraps_around_into_the_range_is_refused():
    layout = db.Layout(True)
    top = layout.create_cell("top")
    far = 2**31 - 1
    path = db.Path([db.Point(0, 0), db.Point(far, 0)], 10, 0, far - 100)
    assert path.bbox() == db.Box(-102, -5, 0, 5), "the wrap-around that this is about"
    top.shapes(layout.layer(*LAYER)).insert(path)
    with pytest.raises(ExtentError, match="reaches beyond"):
        measure(layout, top)


def test_child_that_grew_after_it_was_placed_is_refused_by_every_query_and_drawing_goes_on():
    session = LayoutSession()
    layer = {"layer": 68, "datatype": 20}
    big = {"min": {"x": 0, "y": 0}, "max": {"x": COORD_LIMIT, "y": 10}}
    for command in (
        {"op": "create_cell", "name": "child"},
        {"op": "create_cell", "name": "top"},
        {"op": "place_instance", "cell": "top", "child": "child", "transform": {"dx": 10}},
        {"op": "add_rect", "cell": "child", "layer": layer, "rect": big},
    ):
        assert session.execute(command).ok
    for op in ("get_cell_info", "query_shapes", "run_drc", "run_extract"):
        outcome = session.execute({"op": op, "cell": "top"})
        assert outcome.error_code.value == "budget_exhausted", op
        assert "cell top reaches beyond" in outcome.error_message
        assert session.execute({"op": op, "cell": "child"}).ok
    assert session.execute({"op": "delete_shapes", "ids": [2]}).ok
    assert session.execute({"op": "get_cell_info", "cell": "top"}).value["bbox"] is None


def test_child_that_grew_in_a_huge_array_is_refused_fast():
    session = LayoutSession()
    array = {"columns": 32_000, "rows": 32_000, "column_pitch": 20, "row_pitch": 20}
    layer, rect = {"layer": 68, "datatype": 20}, {"min": {"x": 0, "y": 0}, "max": {"x": 10, "y": 10}}
    assert session.execute({"op": "create_cell", "name": "child"}).ok
    assert session.execute({"op": "create_cell", "name": "top"}).ok
    assert session.execute({"op": "place_array", "cell": "top", "child": "child", **array}).ok
    assert session.execute({"op": "add_rect", "cell": "child", "layer": layer, "rect": rect}).ok
    begun = time.perf_counter()
    outcome = session.execute({"op": "run_drc", "cell": "top"})
    assert outcome.error_code.value == "budget_exhausted"
    placed = session.execute({"op": "place_array", "cell": "top", "child": "child", **array})
    assert placed.error_code.value == "budget_exhausted"
    assert time.perf_counter() - begun < 1.0
