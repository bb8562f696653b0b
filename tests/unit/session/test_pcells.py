"""PCells: one cell for each set of parameters, placed as often as asked."""

import klayout.db as db
import pytest
from command_forms import FAR, MET1, MET2, add_rect, begun, box, refused, region, transform, value

from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.session.session import LayoutSession


def pad(cell="top", transform=None, **params):
    given = {"outer": MET1, "inner": MET2, "width": 200, **params}
    return {"op": "place_pcell", "cell": cell, "pcell": "box_pad", "params": given, "transform": transform}


NAME = "box_pad$68_20-69_20-200-20"


def cells(session):
    return sorted(cell.name for cell in session.document.layout.each_cell())


def test_box_pad_is_an_outer_square_at_the_origin_and_a_concentric_inner_one():
    session = begun(pad())
    assert region(session).bbox() == db.Box(0, 0, 200, 200)
    assert region(session, layer=MET2).bbox() == db.Box(20, 20, 180, 180)
    assert region(session, layer=MET2).area() == 160 * 160
    assert sorted(session.document.elements) == [1, 2, 3]
    assert session.revision == 3


def test_cell_is_reused_for_the_same_parameters_and_for_no_others():
    session = begun()
    assert session.execute(pad()).affected == (1, 2, 3)
    assert session.execute(pad(transform={"dx": 500, "orientation": "r90"}, margin=20)).affected == (4,)
    assert cells(session) == [NAME, "child", "top"]
    assert session.execute(pad(margin=30)).affected == (5, 6, 7)
    assert session.execute(pad(inner=MET1)).affected == (8, 9, 10)
    assert cells(session) == [
        "box_pad$68_20-68_20-200-20", NAME, "box_pad$68_20-69_20-200-30", "child", "top",
    ]  # fmt: skip
    assert value(session, op="get_cell_info", cell="top")["instances"] == 4


def test_pcell_is_placed_by_its_transform():
    session = begun(pad(transform={"dx": 500, "dy": -7, "orientation": "r90"}))
    assert region(session).bbox() == db.Box(300, -7, 500, 193)


@pytest.mark.parametrize(
    "edit",
    [
        add_rect(NAME),
        transform(1, dx=5),
        {"op": "delete_shapes", "ids": [2]},
        {"op": "place_instance", "cell": NAME, "child": "child"},
        {"op": "add_label", "cell": NAME, "layer": MET1, "text": "a", "position": {"x": 0, "y": 0}},
    ],
    ids=lambda one: one["op"],
)
def test_cell_that_was_edited_since_is_left_alone(edit):
    session = begun(pad(), edit)
    assert session.execute(pad()).ok
    assert cells(session) == [NAME, f"{NAME}$2", "child", "top"]
    assert session.execute(pad()).ok
    assert cells(session) == [NAME, f"{NAME}$2", "child", "top"]


def test_deleted_cell_is_drawn_again_with_new_ids():
    session = begun(pad(), {"op": "delete_cell", "name": NAME})
    assert session.execute(pad()).affected == (4, 5, 6)


def test_cell_of_a_pcell_survives_gds():
    session = begun(pad())
    assert sorted(cell.name for cell in read_layout(session.export()).each_cell()) == cells(session)


INVALID = [
    (pad(margin=100), "params: margin: 100 on every side leaves nothing of a width of 200"),
    (pad(width=40), "params: margin: 20 on every side leaves nothing of a width of 40"),
    (pad(width=0), "params: width: input should be greater than or equal to 1"),
    (pad(margin=-1), "params: margin: input should be greater than or equal to 0"),
    (pad(size=3), "params: size: unknown key"),
    (pad(outer="68/20"), "params: outer: "),
    (pad(inner={"layer": 70_000, "datatype": 0}), "params: inner.layer: "),
    ({**pad(), "params": {}}, "params: outer: required, but not given; inner: required, but not given; width: "),
    ({**pad(), "pcell": "pad"}, "pcell: 'pad' is unknown; known are box_pad"),
    (pad(transform={"dx": FAR}), f"transform: '{NAME}' would reach beyond"),
    (pad(width=FAR, transform={"mag_num": 2}), "would reach beyond"),
]


@pytest.mark.parametrize(("command", "message"), INVALID, ids=lambda one: str(one)[:40])
def test_wrong_parameter_is_named_and_no_cell_is_left_behind(command, message):
    session = begun()
    code, given = refused(session, command)
    assert code == "invalid_argument"
    assert message in given
    assert cells(session) == ["child", "top"]


def test_absent_cell_is_named():
    assert refused(LayoutSession(), pad()) == ("no_such_cell", "no such cell 'top'")


def test_cell_of_a_pcell_cannot_contain_itself():
    session = begun(pad())
    assert (
        refused(session, pad(cell=NAME))[1] == f"child: cell {NAME!r} contains {NAME!r}; a cell cannot contain itself"
    )


def test_pcell_of_half_a_margin_is_the_smallest_that_is_left():
    session = begun(pad(width=41))
    shapes = value(session, op="query_shapes", cell="box_pad$68_20-69_20-41-20")["shapes"]
    assert shapes[1]["bbox"] == box(20, 20, 21, 21)
