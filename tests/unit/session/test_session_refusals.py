"""Every command: how it refuses, with nothing changed."""

import pytest
from command_forms import (
    FAR,
    LABEL,
    MET1,
    add_rect,
    array,
    at,
    begun,
    label,
    path,
    place,
    points,
    polygon,
    refused,
    route,
    transform,
)

from pytest_iclayout.session import queries
from pytest_iclayout.session.commands import MAX_ARRAY_COUNT, MAX_POINTS
from pytest_iclayout.session.errors import ErrorCode
from pytest_iclayout.session.session import LayoutSession

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
    ({"op": "delete_shapes", "ids": ["1"]}, "delete_shapes.ids[0]: input should be a valid integer"),
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


def test_commands_beyond_the_budget_are_refused_and_only_the_first_refusal_is_recorded():
    """An agent in a loop would fill the disk with refusals otherwise."""
    session = LayoutSession(max_commands=3)
    outcomes = [session.execute({"op": "list_layers"}) for _ in range(10)]
    assert [one.ok for one in outcomes] == [True] * 3 + [False] * 7
    assert {one.error_code for one in outcomes[3:]} == {ErrorCode.BUDGET_EXHAUSTED}
    assert len(session.transcript) == 4
