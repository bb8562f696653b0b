"""Every command: what it does and what it answers."""

import json
from typing import get_args

import klayout.db as db
import pytest
from command_forms import (
    FAR,
    LABEL,
    MET1,
    MET2,
    add_rect,
    array,
    begun,
    box,
    label,
    path,
    place,
    points,
    polygon,
    region,
    route,
    transform,
    value,
)

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session.commands import MAX_ARRAY_COUNT, MAX_POINTS, Command, command_schema


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


def test_every_command_is_in_the_schema_with_what_it_is_for():
    definitions = command_schema()["$defs"]
    commands = {
        one["properties"]["op"]["const"]: one["description"]
        for one in definitions.values()
        if "op" in one.get("properties", {})
    }
    assert len(commands) == len(get_args(get_args(Command)[0]))
    assert all(commands.values())
