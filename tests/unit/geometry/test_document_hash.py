"""The document hash stands for content: equal for equal drawings, different for different ones, everywhere."""

import klayout.db as db
import pytest
from geometry_strategies import fewer, layouts, points, transformations
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout, write_layout


def rich_layout(backwards=False):
    layout = db.Layout(True)
    for layer in (((68, 20), (69, 20), (68, 5)), ((68, 5), (69, 20), (68, 20)))[backwards]:
        layout.layer(*layer)
    for name in (("via", "top"), ("top", "via"))[backwards]:
        layout.create_cell(name)
    via, top = layout.cell("via"), layout.cell("top")
    corners = [(0, 0), (900, 0), (900, 300), (300, 300), (0, 700)]
    steps = [
        lambda: via.shapes(layout.layer(68, 44)).insert(db.Box(-75, -75, 75, 75)),
        lambda: top.shapes(layout.layer(68, 20)).insert(db.Box(0, 0, 140, 2000)),
        lambda: top.shapes(layout.layer(68, 20)).insert(db.Polygon([db.Point(*one) for one in corners])),
        lambda: top.shapes(layout.layer(69, 20)).insert(
            db.Path([db.Point(0, 0), db.Point(500, 0), db.Point(500, -800)], 140, 70, 70, False)
        ),
        lambda: top.shapes(layout.layer(69, 20)).insert(
            db.Path([db.Point(-10, 0), db.Point(-500, 300)], 200, 100, 100, True)
        ),
        lambda: top.shapes(layout.layer(68, 5)).insert(db.Text("VPWR µ\n\U0001f7e6", -5, 12)),
        lambda: top.insert(db.CellInstArray(via.cell_index(), db.ICplxTrans(2.5, 270, True, 10, -20))),
        lambda: top.insert(
            db.CellInstArray(via.cell_index(), db.Trans(1, True, 3, 4), db.Vector(0, -300), db.Vector(200, 0), 4, 3)
        ),
    ]
    for step in reversed(steps) if backwards else steps:
        step()
    return layout


def test_hash_of_a_fixed_document_is_the_same_on_every_python_and_platform():
    assert document_hash(rich_layout()) == 15142763267614860914


def test_order_of_drawing_layers_and_cells_does_not_count():
    assert document_hash(rich_layout(backwards=True)) == document_hash(rich_layout())


@fewer
@given(layouts())
def test_hash_survives_gds(layout):
    assert document_hash(read_layout(write_layout(layout))) == document_hash(layout)


def placed(trans, *array):
    layout = db.Layout(True)
    child, top = layout.create_cell("child"), layout.create_cell("top")
    child.shapes(layout.layer(1, 0)).insert(db.Box(0, 0, 10, 30))
    top.insert(db.CellInstArray(child.cell_index(), trans, *array))
    return layout


small = st.integers(1, 5)


@given(transformations(magnified=True), points, points, small, small)
@example(db.ICplxTrans(1 / 3, 90, True, 7, -3), (0, -50), (20, 0), 1, 5)
@example(db.ICplxTrans(999_999 / 1_000_000, 0, False, 0, 0), (0, -50), (0, -50), 2, 2)
@example(db.ICplxTrans(), (0, 0), (0, 0), 3, 2)
def test_hash_of_arrays_survives_gds_which_turns_their_directions(trans, along, up, columns, rows):
    layout = placed(trans, db.Vector(*along), db.Vector(*up), columns, rows)
    assert document_hash(read_layout(write_layout(layout))) == document_hash(layout)


def test_array_of_one_member_is_the_single_instance():
    trans = db.Trans(5, 6)
    array = placed(trans, db.Vector(50, 0), db.Vector(0, 70), 1, 1)
    assert document_hash(array) == document_hash(placed(trans))


@given(transformations(), transformations(), transformations())
def test_turns_that_were_made_up_of_others_hash_like_the_plain_one(first, second, third):
    product = first * second * third
    plain = db.ICplxTrans(1.0, round(product.angle), product.is_mirror(), *_xy(product))
    assert document_hash(placed(product)) == document_hash(placed(plain))


def _xy(trans):
    return int(trans.disp.x), int(trans.disp.y)


@pytest.mark.parametrize("angle", [-1e-12, 360 - 1e-8, 1e-8])
def test_rounding_noise_of_an_angle_does_not_count(angle):
    assert document_hash(placed(db.ICplxTrans(1.0, angle, False, 0, 0))) == document_hash(placed(db.ICplxTrans()))


CHANGES = {
    "moved shape": lambda layout, top: top.shapes(layout.layer(68, 20)).insert(db.Box(0, 0, 141, 2000)),
    "doubled shape": lambda layout, top: top.shapes(layout.layer(68, 20)).insert(db.Box(0, 0, 140, 2000)),
    "other layer": lambda layout, top: top.shapes(layout.layer(68, 21)).insert(db.Box(0, 0, 140, 2000)),
    "label": lambda layout, top: top.shapes(layout.layer(68, 5)).insert(db.Text("VPWR", 0, 0)),
    "empty cell": lambda layout, top: layout.create_cell("empty"),
    "renamed cell": lambda layout, top: layout.rename_cell(top.cell_index(), "Top"),
    "database unit": lambda layout, top: setattr(layout, "dbu", 0.002),
    "instance": lambda layout, top: top.insert(db.CellInstArray(layout.cell("via").cell_index(), db.Trans(1, 0))),
    "cleared": lambda layout, top: top.clear_shapes(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_content_changes_the_hash(change):
    layout = rich_layout()
    before = document_hash(layout)
    CHANGES[change](layout, layout.cell("top"))
    assert document_hash(layout) != before


def one_shape(shape):
    layout = db.Layout(True)
    layout.create_cell("top").shapes(layout.layer(1, 0)).insert(shape)
    return document_hash(layout)


def test_kinds_of_instances_and_shapes_are_told_apart():
    points = [db.Point(0, 0), db.Point(100, 0)]
    drawn = [
        db.Path(points, 10),
        db.Path(points, 12),
        db.Path(points, 10, 5, 5),
        db.Path(points, 10, 5, 5, True),
        db.Path(points, 10).polygon(),
        db.Text("a", 0, 0),
        db.Text("b", 0, 0),
        db.Text("a", 1, 0),
    ]
    placements = [
        placed(db.ICplxTrans(mag, angle, mirrored, x, 0), *array)
        for mag, angle, mirrored, x, array in (
            (1, 0, False, 0, ()),
            (1, 90, False, 0, ()),
            (1, 0, True, 0, ()),
            (1, 0, False, 1, ()),
            (1.000001, 0, False, 0, ()),
            (1e-6, 0, False, 0, ()),
            (1.001e-6, 0, False, 0, ()),
            (1, 0, False, 0, (db.Vector(50, 0), db.Vector(0, 70), 2, 3)),
            (1, 0, False, 0, (db.Vector(50, 0), db.Vector(0, 70), 3, 2)),
            (1, 0, False, 0, (db.Vector(50, 0), db.Vector(0, 71), 2, 3)),
        )
    ]
    values = [one_shape(shape) for shape in drawn] + [document_hash(layout) for layout in placements]
    assert len(set(values)) == len(values)


def test_rectangle_and_polygon_of_its_corners_are_the_same_content():
    corners = [db.Point(10, 30), db.Point(0, 30), db.Point(0, 0), db.Point(10, 0)]
    assert one_shape(db.Box(0, 0, 10, 30)) == one_shape(db.Polygon(corners))


def test_small_database_units_are_told_apart():
    values = set()
    for per_micron in (1_000_000_000, 2_000_000_000, 9_999_999_999):
        layout = db.Layout(True)
        layout.dbu = 1 / per_micron
        values.add(document_hash(layout))
        assert document_hash(read_layout(write_layout(layout))) in values
    assert len(values) == 3
