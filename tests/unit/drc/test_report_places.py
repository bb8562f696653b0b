"""Items of a report are where their cells stand in the top cell, not at their cells' own coordinates."""

from __future__ import annotations

from pathlib import Path

import klayout.db as db
import klayout.rdb as rdb
import pytest

from pytest_iclayout.drc.report import ReportError
from pytest_iclayout.drc.report_places import places_in_top

BOX = db.DBox(0, 0, 0.1, 1)


@pytest.fixture
def layout() -> db.Layout:
    """A cell that stands at 5, 0, and turned at 9, 0 and, within another cell, at 9, 50."""
    layout = db.Layout()
    top, middle, cell = (layout.create_cell(name) for name in ("top", "middle", "cell"))
    top.insert(db.CellInstArray(cell.cell_index(), db.Trans(5000, 0)))
    middle.insert(db.CellInstArray(cell.cell_index(), db.Trans(1, False, 9000, 0)))
    top.insert(db.CellInstArray(middle.cell_index(), db.Vector(0, 0), db.Vector(0, 50000), db.Vector(), 2, 1))
    layout.create_cell("unused")
    return layout


class Reported:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = rdb.ReportDatabase("")
        self.database.top_cell_name = "top"
        self.cells: dict[str, rdb.RdbCell] = {}

    def cell(self, name: str, reference: tuple[str, db.DCplxTrans] | None = None) -> rdb.RdbCell:
        if name not in self.cells:
            self.cells[name] = self.database.create_cell(name)
        if reference is not None:
            parent = self.cell(reference[0]).rdb_id()
            self.cells[name].add_reference(rdb.RdbReference(reference[1], parent))
        return self.cells[name]

    def add(self, category: str, cell: str, *values: object) -> None:
        found = self.database.category_by_path(f"'{category}'") or self.database.create_category(category)
        item = self.database.create_item(self.cell(cell).rdb_id(), found.rdb_id())
        for value in values:
            item.add_value(value)

    def places(self, layout: db.Layout):
        self.database.save(str(self.path))
        return places_in_top(self.path, layout, layout.cell("top"))


@pytest.fixture
def reported(tmp_path) -> Reported:
    return Reported(tmp_path / "r.lyrdb")


def boxes(found, category: str) -> set[str]:
    return {str(shape.bbox()) for shape in found.shapes[category]}


def test_item_in_a_cell_is_at_all_places_of_the_cell(reported, layout):
    reported.add("m1.1", "cell", BOX)
    found = reported.places(layout)
    assert boxes(found, "m1.1") == {"(5000,0;5100,1000)", "(8000,0;9000,100)", "(8000,50000;9000,50100)"}
    assert found.without_place == {"m1.1": 0}


def test_item_in_a_cell_that_the_layout_lacks_is_at_its_reference(reported, layout):
    reported.cell("top")
    reported.cell("cell$VAR1", ("top", db.DCplxTrans(2, 90, False, 20, 0)))
    reported.add("w", "cell$VAR1", BOX)
    assert boxes(reported.places(layout), "w") == {"(18000,0;20000,200)"}


def test_item_in_a_cell_of_no_place_is_counted(reported, layout):
    reported.add("w", "unused", BOX)
    reported.add("w", "elsewhere", BOX)
    reported.add("w", "top", "a text alone")
    found = reported.places(layout)
    assert (found.shapes, found.without_place) == ({"w": []}, {"w": 3})


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (BOX, db.Polygon(db.Box(0, 0, 100, 1000))),
        (db.DPolygon(BOX), db.Polygon(db.Box(0, 0, 100, 1000))),
        (db.DPath([db.DPoint(0, 0), db.DPoint(0, 1)], 0.2), db.Polygon(db.Box(-100, 0, 100, 1000))),
        (db.DEdge(0, 0, 0, 1), db.Edge(0, 0, 0, 1000)),
        (db.DEdgePair(db.DEdge(0, 0, 0, 1), db.DEdge(0.1, 1, 0.1, 0)), db.Polygon(db.Box(0, 0, 100, 1000))),
        (db.DText("x", 1, 2), db.Edge(1000, 2000, 1000, 2000)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_shape_has_its_place(reported, layout, value, shape):
    reported.add("w", "top", rdb.RdbItemValue(value))
    assert reported.places(layout).shapes == {"w": [shape]}


@pytest.mark.parametrize(
    "value",
    [
        db.DEdgePair(db.DEdge(0, 0, 1, 0), db.DEdge(1, 0, 0, 0)),
        db.DEdgePair(db.DEdge(1, 1, 1, 1), db.DEdge(1, 1, 1, 1)),
        db.DPolygon(db.DBox(0, 0, 1, 0.0001)),
        db.DBox(1, 1, 1, 1),
    ],
    ids=str,
)
def test_shape_without_area_has_a_place(reported, layout, value):
    reported.add("w", "top", rdb.RdbItemValue(value))
    found = reported.places(layout)
    assert [type(shape) for shape in found.shapes["w"]] in ([db.Edge], [db.Edge] * 2, [db.Edge] * 4)
    assert found.without_place == {"w": 0}


def test_dotted_categories_keep_their_names_and_empty_ones_are_there(reported, layout):
    reported.add("M1.2b", "top", BOX)
    reported.database.create_category("M1.3")
    found = reported.places(layout)
    assert {name: len(shapes) for name, shapes in found.shapes.items()} == {"M1.2b": 1, "M1.3": 0}


def test_cut_off_report_is_an_error(reported, layout):
    reported.add("w", "top", BOX)
    reported.database.save(str(reported.path))
    reported.path.write_bytes(reported.path.read_bytes()[:-200])
    with pytest.raises(ReportError, match=r"r\.lyrdb: not a complete report database"):
        places_in_top(reported.path, layout, layout.cell("top"))
