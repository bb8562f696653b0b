"""The editing tools: what they make of the elements, and how they refuse."""

import json

import klayout.db as db
import pytest
from command_forms import (
    FAR,
    MET1,
    MET2,
    add_rect,
    at,
    begun,
    box,
    label,
    path,
    place,
    polygon,
    refused,
    region,
    transform,
    value,
)

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import parse_transcript

VIA = {"layer": 68, "datatype": 44}


def combine(bool_op, *ids, layer=MET2, cell="top"):
    return {"op": "boolean_combine", "cell": cell, "bool_op": bool_op, "ids": list(ids), "layer": layer}


def align(how, *ids):
    return {"op": "align_shapes", "ids": list(ids), "align": how}


def distribute(axis, *ids):
    return {"op": "distribute_shapes", "ids": list(ids), "axis": axis}


def offset(delta, *ids):
    return {"op": "offset_shapes", "ids": list(ids), "delta": delta}


def via_stack(**changed):
    layers = {"lower_layer": MET1, "upper_layer": MET2, "cut_layer": VIA}
    return {
        "op": "build_via_stack", "cell": "top", **layers, "center": at(1000, 2000), "cut_size": 150,
        "default_enclosure": 7, **changed,
    }  # fmt: skip


def bbox(session, number):
    found = session.document.elements[number].bbox
    return found.left, found.bottom, found.right, found.top


@pytest.mark.parametrize("operation", ["union", "intersection", "difference", "xor"])
def test_boolean_of_four_squares_covers_what_the_operation_says(operation):
    # A row of squares of 100, each 50 to the right of the one before it, every other one 50 higher.
    squares = [(50 * n, 50 * (n % 2), 50 * n + 100, 50 * (n % 2) + 100) for n in range(4)]
    session = begun(*(add_rect(rect=one) for one in squares))
    expected = {
        "union": lambda parts: parts[0] + parts[1] + parts[2] + parts[3],
        "intersection": lambda parts: parts[0] & parts[1] & parts[2] & parts[3],
        "difference": lambda parts: parts[0] - parts[1] - parts[2] - parts[3],
        "xor": lambda parts: parts[0] ^ parts[1] ^ parts[2] ^ parts[3],
    }[operation]([db.Region(db.Box(*one)) for one in squares])
    outcome = session.execute(combine(operation, 1, 2, 3, 4))
    assert outcome.ok
    assert outcome.affected[:4] == (1, 2, 3, 4)
    assert sorted(session.document.elements) == list(outcome.affected[4:])
    assert region(session).is_empty()
    assert (region(session, layer=MET2) ^ expected).is_empty()


def test_difference_takes_the_later_ones_from_the_first_named():
    session = begun(add_rect(rect=(0, 0, 10, 10)), add_rect(rect=(0, 0, 100, 10)))
    assert session.execute(combine("difference", 2, 1)).affected == (2, 1, 3)
    assert bbox(session, 3) == (10, 0, 100, 10)


def test_intersection_of_shapes_apart_leaves_nothing():
    session = begun(add_rect(rect=(0, 0, 10, 10)), add_rect(rect=(50, 0, 60, 10)))
    assert session.execute(combine("intersection", 1, 2)).affected == (1, 2)
    assert session.document.elements == {}


def test_combined_squares_that_meet_in_a_corner_stay_two_elements():
    session = begun(add_rect(rect=(0, 0, 10, 10)), add_rect(rect=(10, 10, 20, 20)))
    assert session.execute(combine("union", 1, 2)).affected == (1, 2, 3, 4)


def test_ring_with_two_holes_is_one_element_that_survives_gds_and_can_be_edited():
    holes = [add_rect(rect=(20, 20, 40, 40)), add_rect(rect=(60, 60, 80, 80))]
    session = begun(add_rect(rect=(0, 0, 100, 100)), *holes, combine("difference", 1, 2, 3, layer=MET1))
    assert sorted(session.document.elements) == [4]
    assert region(session).area() == 10_000 - 800
    assert document_hash(read_layout(session.export())) == session.document_hash()
    assert session.execute(transform(4, orientation="r90", dx=7)).ok
    assert session.execute(offset(5, 4)).ok
    assert region(session).area() == 110 * 110 - 2 * 100
    assert document_hash(read_layout(session.export())) == session.document_hash()


def test_result_of_more_points_than_a_record_holds_is_drawn_in_pieces_that_survive_gds():
    comb = [(x, 50 * (n % 2)) for n, x in enumerate(range(0, 40 * 1990, 20))]
    session = begun(polygon(*comb, (0, 4000)), polygon(*((x, 9000 - y) for x, y in comb), (0, 3000)))
    before = region(session).merged()
    assert session.execute(combine("union", 1, 2, layer=MET1)).ok
    assert (region(session) ^ before).is_empty()
    assert all(one.handle.polygon.num_points() <= 4000 for one in session.document.elements.values())
    assert document_hash(read_layout(session.export())) == session.document_hash()


def test_paths_are_neither_used_nor_consumed():
    session = begun(add_rect(rect=(0, 0, 10, 10)), path((0, 0), (100, 0)), add_rect(rect=(5, 0, 20, 10)))
    assert session.execute(combine("difference", 2, 1, 3)).affected == (1, 3, 4)
    assert sorted(session.document.elements) == [2, 4]
    assert session.execute(offset(5, 2, 4)).affected == (4,)


@pytest.mark.parametrize(
    ("how", "boxes"),
    [
        ("left", [(0, 0, 10, 10), (0, 20, 41, 50)]),
        ("right", [(31, 0, 41, 10), (0, 20, 41, 50)]),
        ("bottom", [(31, 0, 41, 10), (0, 0, 41, 30)]),
        ("top", [(31, 40, 41, 50), (0, 20, 41, 50)]),
        ("center_x", [(15, 0, 25, 10), (0, 20, 41, 50)]),
        ("center_y", [(31, 20, 41, 30), (0, 10, 41, 40)]),
    ],
)
def test_elements_are_aligned_within_the_box_around_all(how, boxes):
    session = begun(add_rect(rect=(31, 0, 41, 10)), add_rect(rect=(0, 20, 41, 50)))
    assert session.execute(align(how, 1, 2)).affected == (1, 2)
    assert [bbox(session, number) for number in (1, 2)] == boxes


def test_elements_of_every_kind_are_aligned():
    session = begun(
        add_rect("child", rect=(0, 0, 30, 10)), add_rect(rect=(90, 0, 100, 10)), path((50, 0), (60, 0)), label("a"),
        place(dx=200), align("right", 2, 3, 4, 5),
    )  # fmt: skip
    assert {bbox(session, number)[2] for number in (2, 3, 4, 5)} == {230}


def test_elements_at_both_ends_of_the_range_can_be_aligned():
    session = begun(add_rect(rect=(-FAR, 0, 10 - FAR, 10)), add_rect(rect=(FAR - 10, 0, FAR, 10)), align("right", 1, 2))
    assert bbox(session, 1) == (FAR - 10, 0, FAR, 10)


@pytest.mark.parametrize(
    ("lows", "expected"),
    [
        ([0, 11, 100], [0, 50, 100]),
        ([100, 0, 11], [100, 0, 50]),
        ([0, 1, 2, 101], [0, 34, 68, 101]),
        ([0, 1, 2, 3, 103], [0, 26, 52, 78, 103]),
        ([0, 1, 2, 6], [0, 2, 4, 6]),
    ],
)
@pytest.mark.parametrize("axis", ["horizontal", "vertical"])
def test_gaps_become_equal_and_the_first_ones_take_the_remainder(axis, lows, expected):
    across = axis == "horizontal"
    rects = [(low, 0, low + 10, 10) if across else (0, low, 10, low + 10) for low in lows]
    session = begun(*(add_rect(rect=one) for one in rects))
    ids = range(1, len(lows) + 1)
    assert session.execute(distribute(axis, *ids)).affected == tuple(ids)
    assert [bbox(session, number)[0 if across else 1] for number in ids] == expected
    assert {bbox(session, number)[1 if across else 0] for number in ids} == {0}


def test_gaps_and_not_centres_become_equal():
    session = begun(*(add_rect(rect=one) for one in [(0, 0, 10, 9), (20, 0, 60, 9), (61, 0, 62, 9), (100, 0, 190, 9)]))
    assert session.execute(distribute("horizontal", 4, 3, 2, 1)).ok
    boxes = [bbox(session, number) for number in (1, 2, 3, 4)]
    assert [boxes[n + 1][0] - boxes[n][2] for n in range(3)] == [17, 16, 16]


def test_offset_keeps_ids_and_grows_or_shrinks_every_edge():
    session = begun(
        add_rect(rect=(0, 0, 100, 100)), polygon((200, 0), (300, 0), (300, 50), (250, 50), (250, 90), (200, 90))
    )
    assert session.execute(offset(10, 1, 2)).affected == (1, 2)
    assert bbox(session, 1) == (-10, -10, 110, 110)
    grown = [(190, -10), (310, -10), (310, 60), (260, 60), (260, 100), (190, 100)]
    assert (
        region(session) - db.Region(db.Box(-10, -10, 110, 110))
        ^ db.Region(db.Polygon([db.Point(*one) for one in grown]))
    ).is_empty()
    assert session.execute(offset(-10, 1, 2)).ok
    assert (bbox(session, 1), bbox(session, 2)) == ((0, 0, 100, 100), (200, 0, 300, 90))


def test_via_stack_is_enclosed_as_the_rules_ask_and_by_default_where_there_is_none():
    session = begun()
    assert session.execute(via_stack()).affected == (1, 2, 3)
    # Rule set published has met2 around via, 55, and none for met1 around via.
    assert [bbox(session, number) for number in (1, 2, 3)] == [
        (925, 1925, 1075, 2075), (918, 1918, 1082, 2082), (870, 1870, 1130, 2130),
    ]  # fmt: skip
    assert [session.document.elements[number].layer.datatype for number in (1, 2, 3)] == [44, 20, 20]
    other = LayoutSession(rule_set="full")
    assert other.execute({"op": "create_cell", "name": "top"}).ok
    assert other.execute(via_stack(cut_size=151)).ok
    assert bbox(other, 1) == (925, 1925, 1076, 2076)
    assert bbox(other, 2) == bbox(other, 3) == (870, 1870, 1131, 2131)


INVALID = [
    (combine("union", 1), "at least 2 items"),
    (combine("union", 1, 1), "ids: 2 different elements or more are needed (given 1)"),
    (combine("union", 1, 4), "ids: element 4 is a label"),
    (combine("union", 1, 5), "ids: element 5 is an instance"),
    (combine("union", 3, 6), "ids: all of them are paths"),
    (combine("union", 1, 7), "ids: element 7 is in cell 'child', not in 'top'"),
    (combine("nand", 1, 2), "boolean_combine.bool_op"),
    (align("left", 1), "at least 2 items"),
    (align("left", 2, 2), "ids: 2 different elements"),
    (align("middle", 1, 2), "align_shapes.align"),
    (align("left", 1, 7), "ids: the elements are in several cells: child, top"),
    (align("left", 1, 8), "ids: element 8 is an instance of an empty cell"),
    (distribute("horizontal", 1, 2), "at least 3 items"),
    (distribute("horizontal", 1, 2, 2), "ids: 3 different elements"),
    (distribute("diagonal", 1, 2, 3), "distribute_shapes.axis"),
    (distribute("vertical", 1, 2, 7), "several cells"),
    (offset(-50, 1, 2), "delta: element 1 would vanish"),
    (offset(-10, 1, 2), "delta: element 2 would fall into 2 pieces"),
    (offset(FAR, 1), "delta: element 1 would reach beyond"),
    (offset(1.5, 1), "offset_shapes.delta"),
    (offset(5, 1, 4), "ids: element 4 is a label"),
    (offset(5, 5), "ids: element 5 is an instance"),
    (offset(5, 3), "ids: all of them are paths"),
    (via_stack(cut_size=0), "greater than or equal to 1"),
    (via_stack(default_enclosure=-1), "greater than or equal to 0"),
    (via_stack(center=at(FAR, 0)), "center: the square on 68/44 would reach beyond"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "message"), INVALID, ids=lambda one: str(one)[:70])
def test_editing_tool_names_what_is_wrong_and_changes_nothing(command, message):
    # Element 2: two squares of 100 joined by a bar of 16.
    dumbbell = polygon(
        (300, 0), (400, 0), (400, 42), (500, 42), (500, 0), (600, 0), (600, 100), (500, 100), (500, 58), (400, 58),
        (400, 100), (300, 100),
    )  # fmt: skip
    session = begun(
        add_rect(rect=(0, 0, 100, 100)), dumbbell, path((0, 0), (9, 0)), label("a"), place(dx=900),
        path((50, 50), (90, 50)), add_rect("child"), {"op": "create_cell", "name": "empty"},
        {**place(), "child": "empty"},
    )  # fmt: skip
    code, given = refused(session, command)
    assert code == "invalid_argument"
    assert message in given


@pytest.mark.parametrize(
    "command",
    [combine("union", 1, 9), align("left", 1, 9), distribute("vertical", 1, 2, 9), offset(5, 1, 9)],
    ids=lambda one: one["op"],
)
def test_absent_element_stops_a_tool_before_the_others_are_touched(command):
    assert refused(begun(add_rect(), add_rect()), command) == ("no_such_element", "no such element 9")


@pytest.mark.parametrize("command", [combine("union", 1, 2, cell="absent"), via_stack(cell="absent")])
def test_absent_cell_stops_a_tool(command):
    assert refused(begun(add_rect(), add_rect()), command)[0] == "no_such_cell"


@pytest.mark.parametrize("argument", ["lower_layer", "upper_layer", "cut_layer"])
def test_via_stack_on_a_layer_that_the_technology_does_not_declare_is_refused(argument):
    command = via_stack(**{argument: {"layer": 999, "datatype": 0}})
    assert refused(begun(), command) == ("no_such_layer", "technology sky130 has no layer 999/0")


def test_transcript_that_lists_only_what_a_boolean_drew_replays_without_divergence():
    lines = [
        ({"op": "create_cell", "name": "top"}, []), (add_rect(), [1]), (add_rect(rect=(50, 0, 150, 300)), [2]),
        (combine("union", 1, 2), [3]), ({"op": "delete_shapes", "ids": [3]}, [3]),
    ]  # fmt: skip

    def told(lines):
        text = [
            json.dumps({"seq": n, "command": one, "outcome": {"ok": {"result": "ok", "affected": ids}}})
            for n, (one, ids) in enumerate(lines)
        ]
        return parse_transcript("\n".join([*text, '{"final_hash": 0}']), "run")

    assert replay(told(lines), LayoutSession()).divergences == ()
    lines[3] = (lines[3][0], [3, 4])
    assert replay(told(lines[:4]), LayoutSession()).divergences == ()  # 4 is in neither document
    lines[3] = (lines[3][0], [])
    assert [one.seq for one in replay(told(lines[:4]), LayoutSession()).divergences] == [3]


def test_aligned_shapes_show_in_a_query():
    session = begun(add_rect(rect=(0, 0, 10, 10)), add_rect(rect=(30, 0, 40, 10)), align("left", 1, 2))
    shapes = value(session, op="query_shapes", cell="top")["shapes"]
    assert [one["bbox"] for one in shapes] == [box(0, 0, 10, 10)] * 2
