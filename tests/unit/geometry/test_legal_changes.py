"""No legal change of a layout may change what it covers: a verdict would change with it."""

import klayout.db as db
import pytest
from geometry_strategies import coordinates, differing_layers, fewer, layouts, orientations, regions
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.geometry import perturb
from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.extent import ExtentError
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Orientation

permille = st.integers(1, 999)


def unchanged(layout, change, *arguments):
    """The result of a change, after checking that the given layout stayed as it was."""
    before = document_hash(layout)
    result = change(layout, "top", *arguments)
    assert document_hash(layout) == before, "the change altered the layout that it was given"
    assert result is not layout
    return result


@fewer
@given(layouts(), coordinates, coordinates)
def test_moved_layout_moved_back_is_the_same(layout, dx, dy):
    moved = unchanged(layout, perturb.translate, dx, dy)
    for layer, region in regions(layout).items():
        assert (region.moved(dx, dy) ^ regions(moved)[layer]).is_empty()
    assert differing_layers(perturb.translate(moved, "top", -dx, -dy), layout) == []


@fewer
@given(layouts(), orientations)
def test_turned_layout_turned_back_is_the_same(layout, orientation):
    turned = unchanged(layout, perturb.rotate, orientation)
    back = db.ICplxTrans(1.0, 90.0 * orientation.quarter_turns, orientation.mirrored, 0, 0).inverted()
    turned.cell("top").transform(back)
    assert differing_layers(turned, layout) == []


@pytest.mark.parametrize("orientation", Orientation)
def test_layout_is_turned_as_the_orientation_says(orientation):
    layout = db.Layout(True)
    layout.create_cell("top").shapes(layout.layer(68, 20)).insert(db.Box(10, 20, 40, 30))
    (x, y) = {
        "r0": (40, 30), "r90": (-30, 40), "r180": (-40, -30), "r270": (30, -40),
        "mirror_x": (40, -30), "mirror_x90": (30, 40), "mirror_x180": (-40, 30), "mirror_x270": (-30, -40),
    }[orientation.value]  # fmt: skip
    (nx, ny) = {
        "r0": (10, 20), "r90": (-20, 10), "r180": (-10, -20), "r270": (20, -10),
        "mirror_x": (10, -20), "mirror_x90": (20, 10), "mirror_x180": (-10, 20), "mirror_x270": (-20, -10),
    }[orientation.value]  # fmt: skip
    assert perturb.rotate(layout, "top", orientation).cell("top").bbox() == db.Box(nx, ny, x, y)


@fewer
@given(layouts(), permille, st.booleans())
def test_split_shapes_cover_the_same(layout, at, vertical):
    assert differing_layers(unchanged(layout, perturb.split, at, vertical), layout) == []


@fewer
@given(layouts())
def test_rectangles_as_paths_cover_the_same(layout):
    assert differing_layers(unchanged(layout, perturb.as_paths), layout) == []


@fewer
@given(layouts(), permille)
def test_shapes_drawn_twice_cover_the_same(layout, at):
    assert differing_layers(unchanged(layout, perturb.overlap, at), layout) == []


@fewer
@given(layouts(), orientations, coordinates, coordinates)
def test_content_in_a_turned_child_covers_the_same(layout, orientation, dx, dy):
    wrapped = unchanged(layout, perturb.wrap, orientation, dx, dy)
    assert differing_layers(wrapped, layout) == []
    assert wrapped.cell("top").child_instances() == 1


@fewer
@given(layouts())
def test_gds_and_back_covers_the_same(layout):
    assert differing_layers(unchanged(layout, perturb.through_gds), layout) == []


@fewer
@given(layouts())
def test_oasis_and_back_covers_the_same(layout):
    assert differing_layers(unchanged(layout, perturb.through_oasis), layout) == []


@fewer
@given(layouts())
def test_gdstk_and_back_covers_the_same(layout):
    assert differing_layers(unchanged(layout, perturb.through_gdstk), layout) == []


def test_split_and_paths_do_change_the_drawing():
    layout = db.Layout(True)
    layout.create_cell("top").shapes(layout.layer(68, 20)).insert(db.Box(0, 0, 100, 50))
    for changed, count in (
        (perturb.split(layout, "top", 300, True), 2),
        (perturb.split(layout, "top", 300, False), 2),
        (perturb.overlap(layout, "top", 300), 3),
        (perturb.as_paths(layout, "top"), 1),
    ):
        assert document_hash(changed) != document_hash(layout)
        assert changed.cell("top").shapes(changed.layer(68, 20)).size() == count


@pytest.mark.parametrize("width", [100, 101])
@pytest.mark.parametrize("height", [50, 51])
def test_rectangle_of_odd_size_is_never_rounded_to_a_path(width, height):
    layout = db.Layout(True)
    layout.create_cell("top").shapes(layout.layer(68, 20)).insert(db.Box(3, 5, 3 + width, 5 + height))
    assert differing_layers(perturb.as_paths(layout, "top"), layout) == []


def test_move_out_of_the_coordinate_range_is_refused_instead_of_coming_back_in_at_the_other_end():
    layout = db.Layout(True)
    layout.create_cell("top").shapes(layout.layer(68, 20)).insert(db.Box(0, 0, COORD_LIMIT, 10))
    with pytest.raises(ExtentError, match=f"cell top moved by .* reaches beyond ±{COORD_LIMIT} dbu"):
        perturb.translate(layout, "top", 1, 0)
    with pytest.raises(ExtentError, match="reaches beyond"):
        perturb.wrap(layout, "top", Orientation.R90, 0, 1)
    perturb.translate(layout, "top", -COORD_LIMIT, 0)


@fewer
@given(layouts())
def test_arrays_as_instances_cover_the_same(layout):
    changed = unchanged(layout, perturb.as_instances)
    assert differing_layers(changed, layout) == []
    assert not any(one.is_regular_array() for cell in changed.each_cell() for one in cell.each_inst())


@fewer
@given(layouts())
def test_instances_as_arrays_cover_the_same(layout):
    assert differing_layers(unchanged(layout, perturb.as_arrays), layout) == []
    singles = perturb.as_instances(layout, "top")
    assert differing_layers(perturb.as_arrays(singles, "top"), layout) == []


def instances_at(places, turned_last=False):
    layout = db.Layout(True)
    top, child = layout.create_cell("top"), layout.create_cell("child")
    child.shapes(layout.layer(68, 20)).insert(db.Box(0, 0, 10, 30))
    for number, (x, y) in enumerate(places):
        angle = 1 if turned_last and number == len(places) - 1 else 0
        top.insert(db.CellInstArray(child.cell_index(), db.Trans(angle, False, x, y)))
    return layout


@pytest.mark.parametrize(
    ("places", "turned_last", "sizes"),
    [
        ([(0, 0), (50, 0), (100, 0)], False, [3]),
        ([(100, 0), (0, 0), (50, 0)], False, [3]),
        ([(0, 0), (50, 0), (100, 0)], True, [0, 2]),
        ([(0, 0), (50, 1)], False, [0, 0]),
        ([(0, 0), (50, 0), (110, 0)], False, [0, 2]),
        ([(0, 0), (0, 0)], False, [0, 0]),
    ],
)
def test_rows_of_instances_at_one_pitch_become_arrays(places, turned_last, sizes):
    layout = instances_at(places, turned_last)
    arrays = perturb.as_arrays(layout, "top")
    assert sorted(one.na for one in arrays.cell("top").each_inst()) == sizes
    assert differing_layers(arrays, layout) == []


def test_array_becomes_instances_in_the_places_of_its_members():
    layout = instances_at([])
    child = layout.cell("child").cell_index()
    trans = db.ICplxTrans(2.0, 90, True, 7, 9)
    layout.cell("top").insert(db.CellInstArray(child, trans, db.Vector(40, 3), db.Vector(-5, 80), 3, 2))
    singles = perturb.as_instances(layout, "top")
    assert {(one.cplx_trans.disp.x, one.cplx_trans.disp.y) for one in singles.cell("top").each_inst()} == {
        (7 + 40 * a - 5 * b, 9 + 3 * a + 80 * b) for a in range(3) for b in range(2)
    }
    assert differing_layers(singles, layout) == []
