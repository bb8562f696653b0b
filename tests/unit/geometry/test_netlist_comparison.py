"""Netlists: every difference is told, and nothing that is none."""

import klayout.db as db
import pytest
from pydantic import ValidationError

from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.netlist import Netlist, compare_with_netlist
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.load import builtin_technology

SKY130 = builtin_technology("sky130")
MET1, MET2 = (68, 20), (69, 20)


def compared(expected, *drawn, labels=()):
    layout = db.Layout(True)
    top = layout.create_cell("top")
    for layer, box in drawn:
        top.shapes(layout.layer(*layer)).insert(db.Box(*box))
    for text, x, y in labels:
        top.shapes(layout.layer(68, 5)).insert(db.Text(text, x, y))
    view = LayoutView(layout, top, SKY130, "published")
    found = compare_with_netlist(Connectivity(view), Netlist.model_validate({"nets": expected}))
    return [(one.kind, one.nets, one.pins) for one in found]


def terminal(name, x, y, layer="68/20"):
    return {"name": name, "layer": layer, "region": {"min": {"x": x, "y": y}, "max": {"x": x + 10, "y": y + 10}}}


FLAT = {"min": {"x": 0, "y": 0}, "max": {"x": 0, "y": 9}}
LEFT, RIGHT = (MET1, (0, 0, 100, 100)), (MET1, (200, 0, 300, 100))
BRIDGE = (MET1, (100, 0, 200, 50))


def test_layout_that_has_the_nets_has_no_difference():
    expected = [{"name": "A", "labels": ["A", "IN"]}, {"name": "B", "terminals": [terminal("out", 250, 50)]}]
    assert compared(expected, LEFT, RIGHT, labels=[("A", 5, 5), ("IN", 90, 90)]) == []


def test_name_is_the_label_where_a_net_has_no_pins():
    assert compared([{"name": "A"}, {"name": "B"}], LEFT, RIGHT, labels=[("A", 5, 5), ("B", 205, 5)]) == []


def test_pins_on_nothing_are_missing():
    expected = [{"name": "A", "labels": ["A", "IN"], "terminals": [terminal("t", 500, 0)]}]
    assert compared(expected, LEFT, labels=[("A", 5, 5), ("IN", 150, 5)]) == [("missing", ("A",), ("IN", "t"))]


def test_broken_wire_is_an_open():
    expected = [{"name": "A", "labels": ["A", "IN"]}]
    assert compared(expected, LEFT, RIGHT, labels=[("A", 5, 5), ("IN", 205, 5)]) == [("open", ("A",), ("A", "IN"))]


def test_one_label_on_two_wires_is_an_open():
    assert compared([{"name": "A"}], LEFT, RIGHT, labels=[("A", 5, 5), ("A", 205, 5)]) == [("open", ("A",), ("A",))]


def test_bridge_between_nets_is_one_short_of_all_of_them():
    expected = [{"name": "A"}, {"name": "B"}, {"name": "C", "terminals": [terminal("c", 120, 0)]}]
    assert compared(expected, LEFT, BRIDGE, RIGHT, labels=[("A", 5, 5), ("B", 205, 5)]) == [
        ("short", ("A", "B", "C"), ("A", "B", "c"))
    ]


def test_label_that_no_net_has_is_unexpected():
    assert compared([{"name": "A"}], LEFT, RIGHT, labels=[("A", 5, 5), ("X", 205, 5), ("Y", 500, 500)]) == [
        ("unexpected", (), ("X",))
    ]


def test_corner_contact_is_open_for_one_net_and_short_for_two():
    touching = (MET1, (100, 100, 200, 200))
    labels = [("A", 5, 5), ("B", 150, 150)]
    assert [one[0] for one in compared([{"name": "n", "labels": ["A", "B"]}], LEFT, touching, labels=labels)] == [
        "open"
    ]
    assert [one[0] for one in compared([{"name": "A"}, {"name": "B"}], LEFT, touching, labels=labels)] == ["short"]


def test_nets_are_told_apart_by_layer():
    expected = [{"name": "A"}, {"name": "B", "terminals": [terminal("b", 5, 5, "69/20")]}]
    assert compared(expected, LEFT, (MET2, (0, 0, 100, 100)), labels=[("A", 5, 5)]) == []


@pytest.mark.parametrize(
    ("nets", "message"),
    [
        ([], "at least 1 item"),
        ([{"name": "A"}, {"name": "A", "labels": ["B"]}], "net name A is used twice"),
        ([{"name": "A"}, {"name": "B", "labels": ["A"]}], "label A is used twice"),
        ([{"name": "A", "labels": ["a,b"]}], "'a,b' of net 'A' is empty, has a comma or begins with"),
        ([{"name": "A", "labels": [""]}], "is empty"),
        ([{"name": "$1"}], "begins with"),
        ([{"name": "A", "labels": ["t"], "terminals": [terminal("t", 0, 0)]}], "two pins of one name"),
        ([{"name": "A", "pins": []}], "Extra inputs"),
        ([{"name": "A", "terminals": [{**terminal("t", 0, 0), "region": FLAT}]}], "without area"),
    ],
)  # fmt: skip
def test_netlist_that_cannot_be_meant_is_refused(nets, message):
    with pytest.raises(ValidationError, match=message.replace("$", r"\$")):
        Netlist.model_validate({"nets": nets})
