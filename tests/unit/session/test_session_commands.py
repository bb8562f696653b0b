"""Every command: what it does, what it answers, and how it refuses."""

import json

import klayout.db as db
import pytest

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Orientation
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session import queries
from pytest_iclayout.session.commands import MAX_ARRAY_COUNT, MAX_POINTS, command_schema
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.technology.layers import Layer

MET1, MET2, LABEL = {"layer": 68, "datatype": 20}, {"layer": 69, "datatype": 20}, {"layer": 68, "datatype": 5}
FAR = COORD_LIMIT


def at(x, y):
    return {"x": x, "y": y}


def points(*places):
    return [at(*place) for place in places]


def box(left, bottom, right, top):
    return {"min": at(left, bottom), "max": at(right, top)}


def add_rect(cell="top", layer=MET1, rect=(0, 0, 100, 300)):
    return {"op": "add_rect", "cell": cell, "layer": layer, "rect": box(*rect)}


def path(*places, width=10, endcap="flat", cell="top"):
    return {"op": "add_path", "cell": cell, "layer": MET1, "width": width, "points": points(*places), "endcap": endcap}


def array(columns, rows, column_pitch, row_pitch, **transform):
    counts = {"columns": columns, "rows": rows, "column_pitch": column_pitch, "row_pitch": row_pitch}
    return {"op": "place_array", "cell": "top", "child": "child", "transform": transform, **counts}


def place(**transform):
    return {"op": "place_instance", "cell": "top", "child": "child", "transform": transform}


def transform(*ids, **arguments):
    return {"op": "transform_shapes", "ids": list(ids), "transform": arguments}


def polygon(*places):
    return {"op": "add_polygon", "cell": "top", "layer": MET1, "points": points(*places)}


def label(text):
    return {"op": "add_label", "cell": "top", "layer": LABEL, "text": text, "position": at(3, 4)}


def route(*places):
    return {"op": "route_net", "cell": "top", "net": "n", "layer": MET1, "terminals": points(*places)}


def begun(*commands):
    """A session with the cells top and child, after commands that all apply."""
    session = LayoutSession()
    for one in ({"op": "create_cell", "name": "top"}, {"op": "create_cell", "name": "child"}, *commands):
        outcome = session.execute(one)
        assert outcome.ok, outcome.error_message
    return session


def value(session, **command):
    outcome = session.execute(command)
    assert outcome.ok, outcome.error_message
    assert outcome.affected is None
    return outcome.value


def region(session, cell="top", layer=MET1):
    layout = session.document.layout
    return LayoutView(layout, layout.cell(cell), session.technology, "published").region(Layer(**layer))


@pytest.mark.parametrize(
    ("command", "affected"),
    [
        ({"op": "create_cell", "name": "new"}, []),
        ({"op": "delete_cell", "name": "child"}, []),
        (add_rect(), [1]),
        (polygon((0, 0), (9, 0), (0, 9)), [1]),
        (path((0, 0), (100, 0)), [1]),
        (label("VPWR"), [1]),
        (place(), [1]),
        (array(2, 2, 10, 10), [1]),
        ({"op": "set_technology", "source": "technology t\nlayer 1 0 a FFFFFFFF"}, []),
        (
            route((0, 0), (500, 700)),
            [1, 2],
        ),
    ],
    ids=lambda one: one["op"] if isinstance(one, dict) else "",
)
def test_mutation_names_what_it_made_and_counts_one_revision(command, affected):
    session = begun()
    assert session.revision == 2
    outcome = session.execute(command)
    assert (outcome.ok, list(outcome.affected), outcome.revision, session.revision) == (True, affected, 3, 3)
    assert sorted(session.document.elements) == affected


def test_cell_is_created_empty_and_only_once():
    session = begun()
    assert value(session, op="get_cell_info", cell="top") == {
        "name": "top", "shapes": 0, "labels": 0, "instances": 0, "layers": {}, "children": [], "bbox": None,
    }  # fmt: skip
    outcome = session.execute({"op": "create_cell", "name": "top"})
    assert outcome.error_message == "name: cell 'top' exists already"


@pytest.mark.parametrize("name", ["", "a b", "a\n", "µ", "a/b", "x" * 1025, 7, None])
def test_cell_name_that_a_gds_file_would_change_is_refused(name):
    session = begun()
    outcome = session.execute({"op": "create_cell", "name": name})
    assert outcome.error_code.value == "invalid_argument"
    assert outcome.error_message.startswith("create_cell.name: ")


def test_every_accepted_cell_name_character_survives_gds():
    names = ["aZ09_$.?-", "$", "-", "x" * 1024, "odd", "Top", "TOP"]
    session = begun(*({"op": "create_cell", "name": name} for name in names))
    assert {cell.name for cell in read_layout(session.export()).each_cell()} == {*names, "top", "child"}


def test_deleting_a_cell_takes_its_elements_and_its_instances_and_no_others():
    session = begun({"op": "create_cell", "name": "other"}, add_rect(), add_rect("child"), add_rect("other"))
    for one in (place(dx=5), {**place(), "child": "other"}, {**array(2, 3, 9, 9), "cell": "other"}, place(dx=7)):
        assert session.execute(one).ok
    outcome = session.execute({"op": "delete_cell", "name": "child"})
    assert outcome.affected == (2, 4, 6, 7)
    assert sorted(session.document.elements) == [1, 3, 5]
    assert value(session, op="get_cell_info", cell="top")["children"] == ["other"]
    # The handles of what stays are still good, and a new cell of that name begins empty.
    assert session.execute(transform(1, 3, 5, dx=10)).affected == (1, 3, 5)
    assert session.execute({"op": "create_cell", "name": "child"}).ok
    assert value(session, op="query_shapes", cell="child")["count"] == 0


def test_ids_go_on_counting_after_deletions():
    session = begun(add_rect(), add_rect(), add_rect())
    assert session.execute({"op": "delete_shapes", "ids": [3, 1, 3]}).affected == (3, 1)
    assert session.execute(add_rect()).affected == (4,)
    assert session.execute({"op": "delete_cell", "name": "top"}).affected == (2, 4)
    assert session.execute(add_rect("child")).affected == (5,)


def test_rectangle_may_lie_on_a_layer_that_the_technology_does_not_declare():
    session = begun(add_rect(layer={"layer": 999, "datatype": 65535}))
    assert value(session, op="get_cell_info", cell="top")["layers"] == {"999/65535": 1}


def test_rectangle_without_area_is_kept_as_other_programs_keep_it():
    session = begun(add_rect(rect=(5, 5, 5, 90)))
    assert value(session, op="query_shapes", cell="top")["shapes"][0]["bbox"] == box(5, 5, 5, 90)
    assert region(session).area() == 0


def test_polygon_that_crosses_itself_is_drawn_though_its_signed_area_is_zero():
    bow = points((0, 0), (100, 100), (100, 0), (0, 100))
    session = begun({"op": "add_polygon", "cell": "top", "layer": MET1, "points": bow})
    assert region(session).area() == 5000


@pytest.mark.parametrize(
    ("endcap", "places", "width", "area"),
    [
        ("flat", ((0, 0), (1000, 0)), 100, 1000 * 100),
        (None, ((0, 0), (1000, 0)), 100, 1000 * 100),
        ("square", ((0, 0), (1000, 0)), 100, 1100 * 100),
        ("flat", ((0, 0), (1000, 0), (1000, 500)), 100, 1050 * 100 + 450 * 100),
        ("square", ((0, 0), (0, 0)), 100, 100 * 100),
    ],
)
def test_path_covers_its_width_and_ends(endcap, places, width, area):
    assert region(begun(path(*places, width=width, endcap=endcap))).area() == area


def test_round_path_covers_more_than_flat_and_less_than_square_ends():
    areas = [
        region(begun(path((0, 0), (1000, 0), width=100, endcap=end))).area() for end in ("flat", "round", "square")
    ]
    assert areas == sorted(set(areas))


def test_odd_width_covers_the_next_grid_line_outward():
    assert region(begun(path((0, 0), (1000, 0), width=7))).bbox() == db.Box(0, -4, 1000, 4)


@pytest.mark.parametrize("orientation", ["r0", "mirror_x90"])
def test_largest_array_and_longest_outlines_that_are_accepted_survive_gds(orientation):
    zigzag = [(20 * n, 100 * (n % 2)) for n in range(MAX_POINTS - 1)]
    session = begun(
        array(MAX_ARRAY_COUNT, MAX_ARRAY_COUNT, 30_000, -30_000, orientation=orientation),
        array(2, 1, FAR, 9, dx=-FAR),
        polygon(*zigzag, (0, 5000)),
        path(*zigzag),
    )
    assert document_hash(read_layout(session.export())) == session.document_hash()


@pytest.mark.parametrize("orientation", Orientation)
def test_array_members_stand_where_single_instances_would(orientation):
    turn = {"orientation": orientation.value, "dx": 1000, "dy": -2000}
    arrayed = begun(add_rect("child", rect=(0, 0, 30, 10)), array(3, 2, 100, -70, **turn))
    motion = db.ICplxTrans(1.0, 90.0 * orientation.quarter_turns, orientation.mirrored, 1000, -2000)
    expected = db.Region()
    for column in range(3):
        for row in range(2):
            expected.insert((motion * db.ICplxTrans(db.Trans(100 * column, -70 * row))) * db.Box(0, 0, 30, 10))
    assert (region(arrayed) ^ expected).is_empty()
    assert region(arrayed).count() == 6


def test_pitch_is_not_magnified_with_the_members():
    session = begun(add_rect("child", rect=(0, 0, 30, 10)), array(2, 1, 100, 0, mag_num=2, mag_den=1))
    assert region(session).bbox() == db.Box(0, 0, 160, 20)


@pytest.mark.parametrize("orientation", Orientation)
def test_elements_of_every_kind_move_as_their_shapes_do(orientation):
    session = begun(
        add_rect("child", rect=(0, 0, 30, 10)),
        add_rect(rect=(0, 0, 40, 90)),
        polygon((100, 0), (150, 0), (100, 70)),
        path((0, 200), (60, 200), (60, 260), endcap="square"),
        place(dx=300, orientation="r90"),
        array(2, 3, 100, 50, dx=500, orientation="mirror_x270"),
        label("n"),
    )
    before = region(session)
    motion = db.ICplxTrans(1.0, 90.0 * orientation.quarter_turns, orientation.mirrored, 7, -9)
    ids = (2, 3, 4, 5, 6, 7)
    assert session.execute(transform(*ids, orientation=orientation.value, dx=7, dy=-9)).affected == ids
    assert (region(session) ^ before.transformed(motion)).is_empty()
    (text,) = value(session, op="query_shapes", cell="top", layer=LABEL)["shapes"]
    moved = motion * db.Point(3, 4)
    assert text["bbox"] == box(moved.x, moved.y, moved.x, moved.y)


def test_magnified_path_of_odd_width_keeps_round_ends_in_gds():
    session = begun(path((0, 0), (100, 0), width=3, endcap="round"), transform(1, mag_num=100, mag_den=1))
    assert region(session).bbox() == db.Box(-150, -150, 10_150, 150)
    assert document_hash(read_layout(session.export())) == session.document_hash()


def test_shape_at_the_border_can_be_moved_back_inside():
    session = begun(add_rect(rect=(FAR - 10, 0, FAR, 10)), place(dx=FAR), transform(1, dx=-FAR), transform(2, dx=-FAR))
    assert region(session).bbox() == db.Box(-10, 0, 0, 10)


def test_instance_of_an_empty_cell_cannot_creep_out_of_the_range():
    session = begun(place(dx=FAR - 5), transform(1, dx=5))
    assert not session.execute(transform(1, dx=1)).ok
    assert session.execute(transform(1, orientation="r180")).ok


def test_elements_are_transformed_once_though_named_twice():
    session = begun(add_rect(rect=(0, 0, 10, 10)))
    assert session.execute(transform(1, 1, 1, dx=5)).affected == (1,)
    assert region(session).bbox() == db.Box(5, 0, 15, 10)


def test_query_answers_the_cells_own_elements_in_full():
    session = begun(
        add_rect(rect=(0, 0, 10, 20)),
        {"op": "add_polygon", "cell": "top", "layer": MET2, "points": points((0, 0), (9, 0), (0, 9))},
        path((0, 0), (50, 0)),
        label("VPWR"),
        add_rect("child", rect=(0, 0, 5, 5)),
        place(dx=1000),
        array(2, 3, 100, 200),
    )
    shapes = value(session, op="query_shapes", cell="top")["shapes"]
    assert [(one["id"], one["kind"]) for one in shapes] == [
        (1, "rect"), (2, "polygon"), (3, "path"), (4, "label"), (6, "instance"), (7, "array"),
    ]  # fmt: skip
    assert shapes[0] == {"id": 1, "layer": MET1, "bbox": box(0, 0, 10, 20), "kind": "rect"}
    assert shapes[1]["points"] == points((0, 0), (0, 9), (9, 0))
    assert (shapes[2]["width"], shapes[2]["points"]) == (10, points((0, 0), (50, 0)))
    assert shapes[3]["text"] == "VPWR"
    assert (shapes[4]["child"], shapes[4]["layer"], shapes[4]["bbox"]) == ("child", None, box(1000, 0, 1005, 5))
    assert (shapes[5]["columns"], shapes[5]["rows"], shapes[5]["bbox"]) == (2, 3, box(0, 0, 105, 405))
    info = value(session, op="get_cell_info", cell="top")
    assert info == {
        "name": "top", "shapes": 3, "labels": 1, "instances": 2, "layers": {"68/20": 2, "68/5": 1, "69/20": 1},
        "children": ["child"], "bbox": box(0, -5, 1005, 405),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ({}, [1, 2, 3]),
        ({"layer": None, "region": None}, [1, 2, 3]),
        ({"layer": MET1}, [1, 2]),
        ({"layer": {"layer": 1, "datatype": 0}}, []),
        ({"region": box(100, 0, 200, 10)}, [1, 2]),
        ({"region": box(101, 0, 200, 10)}, [2]),
        ({"region": box(100, 300, 100, 300)}, [1]),
        ({"layer": MET2, "region": box(0, 0, 1000, 1000)}, [3]),
    ],
)
def test_query_selects_by_layer_and_by_touch(arguments, ids):
    session = begun(add_rect(), add_rect(rect=(200, 0, 300, 10)), add_rect(layer=MET2, rect=(900, 900, 950, 950)))
    found = value(session, op="query_shapes", cell="top", **arguments)
    assert [one["id"] for one in found["shapes"]] == ids
    assert found["count"] == len(ids)


def test_layers_are_those_of_the_technology_in_force():
    session = begun()
    assert {"name": "met1", "layer": MET1, "color": "3C78C8A0"} in value(session, op="list_layers")["layers"]
    session.execute({"op": "set_technology", "source": "technology t\ndbu_per_micron 200\nlayer 7 1 a 11223344"})
    assert value(session, op="list_layers") == {
        "technology": "t", "dbu_per_micron": 200,
        "layers": [{"name": "a", "layer": {"layer": 7, "datatype": 1}, "color": "11223344"}],
    }  # fmt: skip
    assert session.document.layout.dbu == 0.005


def test_drc_finds_a_narrow_wire_and_its_violations_stay_until_the_next_run():
    session = begun(add_rect(rect=(0, 0, 100, 5000)))
    found = value(session, op="run_drc", cell="top")
    assert found["count"] == len(found["violations"]) > 0
    first = found["violations"][0]
    assert set(first) == {"rule", "message", "layer", "measured", "required", "region"}
    assert (first["rule"], first["layer"], first["measured"], first["required"]) == ("m1.1", MET1, 100, 140)
    session.execute({"op": "delete_shapes", "ids": [1]})
    assert value(session, op="get_violations") == found
    assert value(session, op="run_drc", cell="top") == {"count": 0, "violations": []}
    assert value(session, op="get_violations")["count"] == 0


def test_drc_within_a_region_leaves_out_what_is_elsewhere():
    session = begun(add_rect(rect=(0, 0, 100, 5000)), add_rect(rect=(9000, 0, 9100, 5000)))
    whole = value(session, op="run_drc", cell="top")["count"]
    half = value(session, op="run_drc", cell="top", region=box(-50, -50, 200, 6000))
    assert 0 < half["count"] < whole
    assert {one["region"]["max"]["x"] for one in half["violations"]} == {100}


def test_extraction_answers_nets_with_area_and_box():
    session = begun(
        add_rect(rect=(0, 0, 100, 100)), add_rect(rect=(50, 0, 200, 100)), add_rect(layer=MET2, rect=(0, 0, 50, 50)),
        label("VPWR"),
    )  # fmt: skip
    nets = value(session, op="run_extract", cell="top")
    assert nets["count"] == 2
    assert {"name": "VPWR", "layers": [{"layer": MET1, "area": 20_000, "bbox": box(0, 0, 200, 100)}]} in nets["nets"]


def test_intent_check_answers_opens_and_shorts():
    session = begun(add_rect(rect=(0, 0, 100, 100)))
    here, away = ({"layer": MET1, "region": box(x, 0, x + 50, 50)} for x in (0, 500))
    nets = [
        {"name": "a", "terminals": [{"name": "t0", **here}, {"name": "t1", **away}]},
        {"name": "b", "terminals": [{"name": "t2", **here}]},
    ]
    text = json.dumps({"nets": nets, "forbidden": [{"net_a": "a", "net_b": "b"}]})
    assert value(session, op="check_intent", cell="top", intent=text) == {
        "ok": False,
        "opens": [{"net": "a", "unreached": ["t1"]}],
        "shorts": [{"net_a": "a", "net_b": "b", "at": "t2"}],
    }


def test_route_joins_its_terminals_as_wide_as_the_rule_asks():
    terminals = points((0, 0), (1000, 500), (1000, 500), (1000, 900))
    session = begun()
    outcome = session.execute({"op": "route_net", "cell": "top", "net": "n", "layer": MET1, "terminals": terminals})
    assert outcome.value == {"routed": 1, "failed": 0, "total_length_dbu": 1900}
    assert outcome.affected == (1, 2, 3)
    assert value(session, op="run_extract", cell="top")["count"] == 1
    assert value(session, op="run_drc", cell="top")["count"] == 0
    for terminal in terminals:
        assert not (
            region(session) & db.Region(db.Box(terminal["x"], terminal["y"], terminal["x"] + 1, terminal["y"] + 1))
        ).is_empty()


@pytest.mark.parametrize(
    ("layer", "terminals", "reason"),
    [
        ({"layer": 1, "datatype": 0}, points((0, 0), (9, 0)), "layer 1/0 has no width rule in technology sky130"),
        (MET1, points((0, 0)), "a net needs two terminals"),
        (MET1, [], "a net needs two terminals"),
    ],
)
def test_route_that_cannot_be_is_counted_as_failed_and_draws_nothing(layer, terminals, reason):
    session = begun()
    outcome = session.execute({"op": "route_net", "cell": "top", "net": "n", "layer": layer, "terminals": terminals})
    assert outcome.ok
    assert outcome.value == {"routed": 0, "failed": 1, "total_length_dbu": 0, "reason": reason}
    assert (outcome.affected, outcome.revision) == ((), 3)


NEEDS_CELL = [
    {"op": "delete_cell", "name": "absent"},
    add_rect("absent"),
    {"op": "add_polygon", "cell": "absent", "layer": MET1, "points": points((0, 0), (9, 0), (0, 9))},
    path((0, 0), (9, 0), cell="absent"),
    {"op": "add_label", "cell": "absent", "layer": LABEL, "text": "a", "position": at(0, 0)},
    {**place(), "cell": "absent"},
    {**place(), "child": "absent"},
    {**array(2, 2, 9, 9), "cell": "absent"},
    {**array(2, 2, 9, 9), "child": "absent"},
    {"op": "query_shapes", "cell": "absent"},
    {"op": "get_cell_info", "cell": "absent"},
    {"op": "run_drc", "cell": "absent"},
    {"op": "run_extract", "cell": "absent"},
    {"op": "route_net", "cell": "absent", "net": "n", "layer": MET1, "terminals": []},
    {"op": "check_intent", "cell": "absent", "intent": '{"nets": []}'},
]


def refused(session, command):
    before = session.document_hash(), sorted(session.document.elements), session.revision
    outcome = session.execute(command)
    assert not outcome.ok
    assert (session.document_hash(), sorted(session.document.elements), session.revision) == before
    assert outcome.revision == session.revision
    return outcome.error_code.value, outcome.error_message


@pytest.mark.parametrize("command", NEEDS_CELL, ids=lambda one: one["op"])
def test_absent_cell_is_named(command):
    assert refused(begun(), command) == ("no_such_cell", "no such cell 'absent'")


@pytest.mark.parametrize(
    "command", [transform(1, 2, dx=5), {"op": "delete_shapes", "ids": [1, 2]}], ids=lambda one: one["op"]
)
def test_absent_element_is_named_before_the_others_are_touched(command):
    assert refused(begun(add_rect()), command) == ("no_such_element", "no such element 2")


INVALID = [
    ({"op": "fly"}, "fly"),
    ({}, "op"),
    ({"op": "create_cell"}, "create_cell.name: required, but not given"),
    ({"op": "create_cell", "name": "a", "nam": 1}, "create_cell.nam: unknown key"),
    (add_rect(rect=(10, 0, 0, 10)), "add_rect.rect: min must be the lower-left and max the upper-right corner"),
    (add_rect(rect=(0, 0, FAR + 1, 10)), f"less than or equal to {FAR}"),
    (add_rect(rect=(0, 0, 1.5, 10)), "add_rect.rect.max.x: input should be a valid integer"),
    (add_rect(layer={"layer": 65536, "datatype": 0}), "less than or equal to 65535"),
    (add_rect(layer={"layer": -1, "datatype": 0}), "greater than or equal to 0"),
    (polygon((0, 0), (9, 0)), "at least 3 items"),
    (polygon((0, 0), (9, 0), (5, 0)), "points: the polygon has no area"),
    (polygon(*[(n, n * n % 7) for n in range(MAX_POINTS + 1)]), f"at most {MAX_POINTS} items"),
    (path((0, 0)), "at least 2 items"),
    (path((0, 0), (9, 0), width=0), "greater than or equal to 1"),
    (path((0, 0), (9, 0), endcap="oval"), "input should be 'flat', 'square' or 'round'"),
    (path((0, 0), (FAR, 0), endcap="square"), "points: the path would reach beyond"),
    (path((0, 0), (FAR, FAR), width=FAR), "points: the path would reach beyond"),
    (path(*[(n, 0) for n in range(MAX_POINTS + 1)]), f"at most {MAX_POINTS} items"),
    (label("µ"), "text: GDS labels hold printable ASCII only"),
    (label("a\nb"), "text: GDS labels hold printable ASCII only"),
    (label(""), "at least 1 character"),
    ({**place(), "child": "top"}, "a cell cannot contain itself"),
    ({**place(), "cell": "child", "child": "top"}, "child: cell 'top' contains 'child'; a cell cannot contain itself"),
    (place(mag_num=0), "greater than or equal to 1"),
    (place(orientation="r45"), "place_instance.transform.orientation"),
    (place(dx=FAR), "transform: 'child' would reach beyond"),
    (array(0, 2, 9, 9), "greater than or equal to 1"),
    (array(MAX_ARRAY_COUNT + 1, 1, 9, 9), f"less than or equal to {MAX_ARRAY_COUNT}"),
    (array(2, 1, 0, 9), "column_pitch: 0 stacks 2 members on one place"),
    (array(1, 3, 9, 0), "row_pitch: 0 stacks 3 members on one place"),
    (array(3, 1, FAR, 9), "column_pitch: the array reaches beyond"),
    (array(2, 1, FAR - 5, 9, dx=6), "transform: 'child' would reach beyond"),
    (array(1, 2, 9, -FAR, dy=-6), "transform: 'child' would reach beyond"),
    (transform(), "at least 1 item"),
    (transform(0, dx=1), "greater than or equal to 1"),
    (transform(1, mag_num=1, mag_den=3), "transform: 1/3 takes element 1 off the dbu grid"),
    (transform(1, mag_num=1_000_000), "transform: element 1 would reach beyond"),
    (transform(1, 2, mag_num=2), "element 2 is an instance and is not magnified in place"),
    (transform(1, 2, dx=FAR - 100), "transform: element 2 would reach beyond"),
    ({"op": "transform_shapes", "ids": [1]}, "transform_shapes.transform: required, but not given"),
    ({"op": "delete_shapes", "ids": []}, "at least 1 item"),
    ({"op": "delete_shapes", "ids": ["1"]}, "delete_shapes.ids.0: input should be a valid integer"),
    ({"op": "set_technology", "source": "technology t\nlayer 1 0 a"}, "source: line 2: "),
    ({"op": "set_technology", "source": ""}, "source: no technology line"),
    ({"op": "get_violations"}, "no run_drc since the session or technology began"),
    (route((0, 0), (FAR, 0)), "terminals: a wire would reach beyond"),
    ({"op": "check_intent", "cell": "top", "intent": '{"nets": ['}, "intent: invalid JSON"),
    ({"op": "check_intent", "cell": "top", "intent": '{"nets": []}'}, "intent: nets: "),
]  # fmt: skip


@pytest.mark.parametrize(("command", "message"), INVALID, ids=lambda one: str(one)[:60])
def test_invalid_argument_names_what_is_wrong_and_changes_nothing(command, message):
    session = begun(add_rect("child", rect=(0, 0, 10, 2000)), place(dx=200))
    code, given = refused(session, command)
    assert code == "invalid_argument"
    assert message in given
    assert len(given.splitlines()) == 1


def test_technology_forgets_the_violations_of_the_one_before():
    session = begun(add_rect(rect=(0, 0, 100, 5000)), {"op": "run_drc", "cell": "top"})
    session.execute({"op": "set_technology", "source": "technology sky130\nlayer 68 20 met1 FFFFFFFF"})
    assert refused(session, {"op": "get_violations"})[0] == "invalid_argument"


def test_technology_without_the_rule_set_is_an_engine_error_and_no_clean_run():
    session = begun({"op": "set_technology", "source": "technology plain\nlayer 68 20 met1 FFFFFFFF"}, add_rect())
    code, message = refused(session, {"op": "run_drc", "cell": "top"})
    assert code == "engine_error"
    assert message == "technology plain has no rule set 'published'; it has none"
    assert refused(session, {"op": "get_violations"})[0] == "invalid_argument"


def test_error_of_klayout_is_an_outcome_and_not_the_end_of_the_session(monkeypatch):
    def fails(view):
        raise RuntimeError("out of polygons in LayoutToNetlist.extract")

    session = begun(add_rect())
    monkeypatch.setattr(queries, "extract", fails)
    code, message = refused(session, {"op": "run_extract", "cell": "top"})
    assert (code, message) == ("engine_error", "klayout: out of polygons in LayoutToNetlist.extract")
    assert session.execute(add_rect()).ok


def test_more_shapes_than_can_be_flattened_exhaust_the_budget():
    session = begun(add_rect("child", rect=(0, 0, 1, 1)), array(7000, 7000, 2, 2))
    code, message = refused(session, array(7100, 7100, 2, 2))
    assert code == "budget_exhausted"
    assert message == "50410000 members of 1 shapes are more than 50000000 once flat"
    session.execute(array(7000, 7000, 2, 2))
    assert refused(session, {"op": "run_drc", "cell": "top"})[0] == "budget_exhausted"


def test_commands_beyond_the_budget_are_refused_and_recorded():
    session = LayoutSession(max_commands=2)
    outcomes = [session.execute({"op": "create_cell", "name": name}) for name in "abc"]
    assert [one.ok for one in outcomes] == [True, True, False]
    assert outcomes[2].error_code.value == "budget_exhausted"
    assert outcomes[2].error_message == "the session took its 2 commands"
    assert len(session.transcript) == 3
    assert session.document.layout.cell("c") is None


def test_every_command_is_in_the_schema_with_what_it_is_for():
    definitions = command_schema()["$defs"]
    commands = {
        one["properties"]["op"]["const"]: one["description"]
        for one in definitions.values()
        if "op" in one.get("properties", {})
    }
    assert len(commands) == 19
    assert all(commands.values())
