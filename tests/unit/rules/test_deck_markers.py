"""Labels on marker layers, and which markers of a report count for a box."""

from __future__ import annotations

import klayout.db as db
import pytest

from pytest_iclayout.rules.markers import MarkedBox, MarkerLayers, assign, read_marked
from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.technology.layers import Layer

PASSES, FAILS, BOXES, NAMES, ROWS, COLUMNS = (Layer(layer=100, datatype=number) for number in range(1, 7))
LAYERS = MarkerLayers(passes=PASSES, fails=FAILS, boxes=BOXES, names=NAMES, rows=ROWS, columns=COLUMNS)


class Sheet:
    def __init__(self) -> None:
        self.layout = db.Layout()
        self.top = self.layout.create_cell("top")

    def box(self, layer: Layer, *edges: int, cell: db.Cell | None = None) -> db.Box:
        box = db.Box(*edges)
        (cell or self.top).shapes(self.layout.layer(layer.layer, layer.datatype)).insert(box)
        return box

    def text(self, layer: Layer, text: str, x: int, y: int, cell: db.Cell | None = None) -> None:
        (cell or self.top).shapes(self.layout.layer(layer.layer, layer.datatype)).insert(db.Text(text, x, y))

    def read(self, layers: MarkerLayers = LAYERS):
        return read_marked(self.layout, layers, "sheet.gds")


@pytest.fixture
def sheet() -> Sheet:
    return Sheet()


def test_layer_of_the_box_says_pass_or_fail_and_the_text_inside_names_the_rule(sheet):
    good, bad = sheet.box(PASSES, 0, 0, 10, 10), sheet.box(FAILS, 20, 0, 30, 10)
    sheet.text(NAMES, "m1.1", 1, 1)
    sheet.text(NAMES, " m1.1 ", 30, 10)  # on the corner, with space around
    assert sheet.read() == ((MarkedBox("m1.1", False, good), MarkedBox("m1.1", True, bad)), ())


def test_box_with_several_names_counts_for_each(sheet):
    box = sheet.box(FAILS, 0, 0, 10, 10)
    sheet.text(NAMES, "b", 1, 1)
    sheet.text(NAMES, "a", 2, 2)
    assert sheet.read().boxes == (MarkedBox("a", True, box), MarkedBox("b", True, box))


def test_abutting_boxes_stay_two(sheet):
    left, right = sheet.box(PASSES, 0, 0, 10, 10), sheet.box(PASSES, 10, 0, 20, 10)
    sheet.text(NAMES, "a", 5, 5)
    sheet.text(NAMES, "a", 15, 5)
    assert [one.box for one in sheet.read().boxes] == [left, right]


def test_table_of_rows_and_columns(sheet):
    boxes = {(column, row): sheet.box(BOXES, *edges(column, row)) for column in range(2) for row in range(2)}
    for row, rule in enumerate(("w", "s")):
        sheet.text(ROWS, rule, -50, 100 * row + 5)
    sheet.text(COLUMNS, "Pass", 5, 500)
    sheet.text(COLUMNS, "FAIL", 105, 500)
    assert set(sheet.read().boxes) == {
        MarkedBox("w", False, boxes[0, 0]),
        MarkedBox("w", True, boxes[1, 0]),
        MarkedBox("s", False, boxes[0, 1]),
        MarkedBox("s", True, boxes[1, 1]),
    }
    assert sheet.read().warnings == ()


def test_table_turned_around(sheet):
    boxes = [sheet.box(BOXES, *edges(column, 0)) for column in range(2)]
    sheet.text(ROWS, "fail", -50, 5)
    sheet.text(COLUMNS, "w", 5, 500)
    sheet.text(COLUMNS, "s", 105, 500)
    assert set(sheet.read().boxes) == {MarkedBox("w", True, boxes[0]), MarkedBox("s", True, boxes[1])}


def edges(column: int, row: int) -> tuple[int, int, int, int]:
    return (100 * column, 100 * row, 100 * column + 10, 100 * row + 10)


def test_nearest_text_of_a_row_names_its_boxes(sheet):
    first, second = sheet.box(FAILS, 0, 0, 10, 10), sheet.box(FAILS, 100, 0, 110, 10)
    sheet.text(ROWS, "far", -50, 5)
    sheet.text(ROWS, "near", 50, 5)
    assert set(sheet.read().boxes) == {MarkedBox("far", True, first), MarkedBox("near", True, second)}


def test_texts_inside_go_before_those_of_the_row(sheet):
    box = sheet.box(FAILS, 0, 0, 10, 10)
    sheet.text(ROWS, "row", -5, 5)
    sheet.text(NAMES, "inside", 5, 5)
    assert sheet.read().boxes == (MarkedBox("inside", True, box),)


def test_labels_in_turned_instances_are_where_they_are_seen(sheet):
    child = sheet.layout.create_cell("child")
    sheet.box(FAILS, 0, 0, 10, 20, cell=child)
    sheet.text(NAMES, "a", 10, 20, child)
    for trans in (db.Trans(1, False, 500, 0), db.Trans(0, True, 0, 500)):
        sheet.top.insert(db.CellInstArray(child.cell_index(), trans))
    assert [one.box for one in sheet.read().boxes] == [db.Box(0, 480, 10, 500), db.Box(480, 0, 500, 10)]


@pytest.mark.parametrize(
    ("draw", "warning"),
    [
        (lambda sheet: sheet.box(FAILS, 0, 0, 10, 10), "box (0.000,0.000;0.010,0.010) µm: no text names the rule"),
        (lambda sheet: sheet.text(NAMES, "lost", 5, 5), "text 'lost' at (0.005,0.005) µm: belongs to no box"),
        (
            lambda sheet: (sheet.box(BOXES, 0, 0, 10, 10), sheet.text(NAMES, "a", 5, 5)),
            "box (0.000,0.000;0.010,0.010) µm: no text says pass or fail",
        ),
    ],
)
def test_what_labels_nothing_is_told(sheet, draw, warning):
    draw(sheet)
    boxes, (told,) = sheet.read()
    assert boxes == ()
    assert f"sheet.gds: {warning}" in told


def test_texts_that_say_pass_or_fail_name_no_rule(sheet):
    sheet.box(FAILS, 0, 0, 10, 10)
    sheet.text(ROWS, "fail", -5, 5)
    assert sheet.read().boxes == ()


def contradictory(sheet: Sheet) -> None:
    for layer in (PASSES, FAILS):
        sheet.box(layer, 0, 0, 10, 10)
    sheet.text(NAMES, "a", 5, 5)


def contradicted_by_its_column(sheet: Sheet) -> None:
    sheet.box(PASSES, 0, 0, 10, 10)
    sheet.text(NAMES, "a", 5, 5)
    sheet.text(COLUMNS, "fail", 5, 50)


def of_two_rules(sheet: Sheet) -> None:
    sheet.box(PASSES, 0, 0, 10, 10)
    sheet.text(ROWS, "a", -5, 5)
    sheet.text(COLUMNS, "b", 5, 50)


def with_two_nearest(sheet: Sheet) -> None:
    sheet.box(PASSES, 0, 0, 10, 10)
    sheet.text(ROWS, "a", -5, 4)
    sheet.text(ROWS, "b", -5, 6)


def triangle(sheet: Sheet) -> None:
    shape = db.Polygon([db.Point(0, 0), db.Point(0, 10), db.Point(10, 0)])
    sheet.top.shapes(sheet.layout.layer(FAILS.layer, FAILS.datatype)).insert(shape)


def two_tops(sheet: Sheet) -> None:
    sheet.box(FAILS, 0, 0, 10, 10)
    sheet.layout.create_cell("other")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (contradictory, "box (0.000,0.000;0.010,0.010) µm: marked to pass and to fail a"),
        (contradicted_by_its_column, "marked to pass and to fail, by its layer or the texts beside and above"),
        (of_two_rules, "a and b: its row and its column name a rule each"),
        (with_two_nearest, "'a' and 'b' are as near to it"),
        (triangle, "the shape on 100/2 is no box"),
        (two_tops, "sheet.gds: has 2 top cells"),
    ],
)
def test_labels_that_say_two_things_are_refused(sheet, draw, message):
    draw(sheet)
    with pytest.raises(RuleError) as error:
        sheet.read()
    assert str(error.value).startswith("sheet.gds: ")
    assert message in str(error.value)


def test_layout_without_marker_layers_has_no_labels(sheet):
    sheet.layout.create_cell("other")
    assert sheet.read() == ((), ())


def polygon(*edges: int) -> db.Polygon:
    return db.Polygon(db.Box(*edges))


LEFT, RIGHT, APART = db.Box(0, 0, 10, 10), db.Box(10, 0, 20, 10), db.Box(30, 0, 40, 10)
RING = db.Polygon(db.Box(-10, -10, 50, 50))
RING.insert_hole([db.Point(-5, -5), db.Point(-5, 45), db.Point(45, 45), db.Point(45, -5)])


@pytest.mark.parametrize(
    ("marker", "counts_for"),
    [
        (polygon(2, 2, 4, 4), [LEFT]),
        (polygon(8, 2, 12, 4), [LEFT, RIGHT]),
        (polygon(18, 2, 32, 4), [RIGHT, APART]),
        (polygon(6, 2, 10, 4), [LEFT]),  # inside, up to the common edge: none of the neighbour's
        (db.Edge(10, 2, 10, 4), [LEFT, RIGHT]),  # on the common edge: both touch it
        (polygon(20, 10, 25, 15), [RIGHT]),  # by a corner
        (polygon(21, 2, 29, 4), []),
        (db.Edge(12, 2, 18, 8), [RIGHT]),
        (db.Edge(22, 5, 28, -5), []),  # its bounding box is outside
        (db.Edge(5, 20, 25, 4), [RIGHT]),  # its bounding box overlaps both
        (db.Edge(5, 20, 25, 7), []),  # that of this one, too
        (db.Edge(35, 5, 35, 5), [APART]),  # a point
        (RING, []),  # all around, touching nothing
        (polygon(-5, -5, 50, 50), [LEFT, RIGHT, APART]),
    ],
)
def test_markers_count_for_the_boxes_that_they_overlap_else_touch(marker, counts_for):
    boxes = [LEFT, RIGHT, APART]
    found = assign([marker], boxes)
    assert [box for box, markers in zip(boxes, found, strict=True) if markers] == counts_for
    assert all(markers in ([], [marker.bbox()]) for markers in found)


def test_equal_boxes_of_two_labels_get_the_same_markers():
    assert assign([polygon(1, 1, 2, 2)], [LEFT, LEFT]) == [[db.Box(1, 1, 2, 2)]] * 2
