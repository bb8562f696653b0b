"""Where cells are placed once hierarchy and arrays are multiplied out."""

from itertools import pairwise

import klayout.db as db
import pytest
from geometry_strategies import fewer, layouts
from hypothesis import given

from pytest_iclayout.geometry.placements import PER_DBU, Placement, Placements


def placements(layout):
    return Placements(layout, layout.cell("top"))


@pytest.fixture
def chain():
    """Of cells that place each other: top, middle, leaf; the leaf has a shape."""
    layout = db.Layout(True)
    cells = [layout.create_cell(name) for name in ("top", "middle", "leaf")]
    cells[2].shapes(layout.layer(68, 20)).insert(db.Box(0, 0, 10, 30))
    return layout, *(cell.cell_index() for cell in cells)


def place(layout, parent, child, trans=None, *array):
    layout.cell(parent).insert(db.CellInstArray(child, trans or db.ICplxTrans(), *array))


def test_arrays_within_arrays_multiply(chain):
    layout, top, middle, leaf = chain
    place(layout, middle, leaf, None, db.Vector(20, 0), db.Vector(0, 50), 3, 2)
    place(layout, top, middle, None, db.Vector(1000, 0), db.Vector(), 4, 1)
    place(layout, top, leaf, db.ICplxTrans(db.Trans(-500, 0)))
    found = placements(layout)
    assert found.counts == {middle: 4, leaf: 25}
    places = found.distinct(100)
    assert {one.x // PER_DBU for one in places[middle]} == {0, 1000, 2000, 3000}
    assert len(places[leaf]) == 25
    assert {one for one in places[leaf] if one.x < 0} == {Placement(-500 * PER_DBU, 0, 0, False, 1.0)}


def test_total_transformation_turns_what_lies_within(chain):
    layout, top, middle, leaf = chain
    place(layout, middle, leaf, db.ICplxTrans(1.0, 90, False, 100, 0))
    place(layout, top, middle, db.ICplxTrans(2.0, 90, True, 10, 20))
    # Mirrored across x, turned by 90°, doubled: (100, 0) comes to (0, 200).
    assert placements(layout).distinct(9)[leaf] == {Placement(10_000, 220_000, 0, True, 2.0)}


def test_placements_on_one_place_are_one_and_count_each(chain):
    layout, top, middle, leaf = chain
    place(layout, middle, leaf, db.ICplxTrans(db.Trans(5, 0)))
    place(layout, top, middle)
    place(layout, top, leaf, db.ICplxTrans(db.Trans(5, 0)))
    found = placements(layout)
    assert found.counts[leaf] == 2
    assert len(found.distinct(9)[leaf]) == 1


def test_no_more_placements_are_made_than_asked_for(chain):
    layout, top, middle, leaf = chain
    place(layout, middle, leaf, None, db.Vector(20, 0), db.Vector(0, 50), 30_000, 30_000)
    place(layout, top, middle, None, db.Vector(20, 0), db.Vector(0, 50), 30_000, 30_000)
    assert {index: len(places) for index, places in placements(layout).distinct(7).items()} == {middle: 7, leaf: 7}


def test_deep_hierarchy_needs_no_recursion():
    layout = db.Layout(True)
    cells = [layout.create_cell("top" if number == 0 else f"c{number}") for number in range(3000)]
    for parent, child in pairwise(cells):
        parent.insert(db.CellInstArray(child.cell_index(), db.Trans(1, 0)))
    last = cells[-1].cell_index()
    assert placements(layout).distinct(2)[last] == {Placement(2999 * PER_DBU, 0, 0, False, 1.0)}


def test_cell_holds_shapes_by_itself_or_below(chain):
    layout, top, middle, leaf = chain
    empty = layout.create_cell("empty").cell_index()
    place(layout, middle, leaf)
    place(layout, top, middle)
    place(layout, top, empty)
    assert placements(layout).holding_shapes == {middle, leaf}
    assert placements(layout).own_shapes == {middle: 0, leaf: 1, empty: 0}


def test_cells_outside_the_judged_one_are_left_out(chain):
    layout, top, middle, leaf = chain
    place(layout, middle, leaf)
    place(layout, top, leaf)
    assert placements(layout).counts == {leaf: 1}


@fewer
@given(layouts())
def test_places_are_those_of_klayouts_own_iteration(layout):
    found, expected = placements(layout), {}
    iterator = db.RecursiveInstanceIterator(layout, layout.cell("top"))
    while not iterator.at_end():
        element = iterator.current_inst_element()
        total = iterator.trans() * element.specific_cplx_trans()
        trans = db.DCplxTrans(total.mag, total.angle, total.is_mirror(), total.disp.x, total.disp.y)
        expected.setdefault(iterator.inst_cell().cell_index(), []).append(Placement.of(trans))
        iterator.next()
    assert found.counts == {index: len(places) for index, places in expected.items()}
    assert found.distinct(10**6) == {index: frozenset(places) for index, places in expected.items()}
