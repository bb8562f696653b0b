"""Opens and shorts against a connectivity intent."""

import json

import klayout.db as db
import pytest
from pydantic import ValidationError

from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.intent import Intent, compare_with_intent
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.load import builtin_technology

SKY130 = builtin_technology("sky130")


def terminal(name, box, layer=(68, 20)):
    x, y, right, top = box
    region = {"min": {"x": x, "y": y}, "max": {"x": right, "y": top}}
    return {"name": name, "layer": {"layer": layer[0], "datatype": layer[1]}, "region": region}


def net(name, *terminals):
    return {"name": name, "terminals": list(terminals)}


def intent(*nets, forbidden=()):
    return {"nets": list(nets), "forbidden": [{"net_a": a, "net_b": b} for a, b in forbidden]}


def compare(boxes, data):
    layout = db.Layout(True)
    top = layout.create_cell("top")
    for box in boxes:
        top.shapes(layout.layer(68, 20)).insert(db.Box(*box))
    found = Connectivity(LayoutView(layout, top, SKY130, "published"))
    result = compare_with_intent(found, Intent.model_validate_json(json.dumps(data)))
    opens = {one.net.name: [terminal.name for terminal in one.unreached] for one in result.opens}
    shorts = [(one.pair.net_a, one.pair.net_b, one.terminal.name) for one in result.shorts]
    assert result.ok == (not opens and not shorts)
    return opens, shorts


A, B, C = (0, 0, 100, 100), (400, 0, 500, 100), (800, 0, 900, 100)
LINE = net("n", terminal("a", A), terminal("b", B), terminal("c", C))


def test_wire_over_all_terminals_is_no_open():
    assert compare([(0, 0, 900, 100)], intent(LINE)) == ({}, [])


@pytest.mark.parametrize(
    ("wires", "unreached"),
    [
        ([(0, 0, 500, 100)], ["c"]),
        ([(0, 0, 500, 100), (800, 0, 900, 100)], ["c"]),
        ([(400, 0, 900, 100)], ["a", "b", "c"]),
        ([A, B, C], ["b", "c"]),
        ([], ["a", "b", "c"]),
    ],
    ids=["nothing at the last", "other wire at the last", "nothing at the first", "three wires", "no wire"],
)
def test_open_names_what_the_first_terminal_does_not_reach(wires, unreached):
    assert compare(wires, intent(LINE)) == ({"n": unreached}, [])


def test_terminal_touched_at_its_edge_only_is_open():
    touching = net("n", terminal("a", A), terminal("b", (500, 0, 600, 100)))
    assert compare([(0, 0, 500, 100)], intent(touching)) == ({"n": ["b"]}, [])
    assert compare([(0, 0, 501, 100)], intent(touching)) == ({}, [])


def test_terminal_on_another_layer_than_the_wire_is_open():
    assert compare([(0, 0, 900, 100)], intent(net("n", terminal("a", A), terminal("b", B, (69, 20)))))[0] == {
        "n": ["b"]
    }


def test_wires_that_meet_in_a_corner_are_open_and_short_at_once():
    wires = [(0, 0, 100, 100), (100, 100, 200, 200)]
    low, high = terminal("low", (0, 0, 50, 50)), terminal("high", (150, 150, 200, 200))
    assert compare(wires, intent(net("n", low, high))) == ({"n": ["high"]}, [])
    assert compare(wires, intent(net("l", low), net("h", high), forbidden=[("l", "h")])) == ({}, [("l", "h", "high")])


def test_terminal_that_two_wires_cover_is_on_both():
    wires = [(0, 0, 40, 100), (60, 0, 500, 100)]
    assert compare(wires, intent(net("n", terminal("a", A), terminal("b", B)))) == ({}, [])
    pair = intent(net("n", terminal("a", A)), net("m", terminal("b", B)), forbidden=[("n", "m")])
    assert compare(wires, pair) == ({}, [("n", "m", "b")])


def test_no_wire_at_all_three_is_open_even_where_any_two_share_one():
    wires = [
        (0, 0, 40, 100),
        (60, 20, 420, 40),
        (450, 0, 900, 100),
        (10, 150, 890, 190),
        (10, 90, 20, 190),
        (840, 90, 850, 190),
    ]
    wires[2] = (450, 0, 820, 60)
    found, _ = compare(wires, intent(LINE))
    assert list(found) == ["n"]
    assert found["n"], "an open that names no terminal tells nothing"


def test_short_is_found_from_any_terminal_of_either_net():
    wires = [(0, 0, 500, 100), C]
    data = intent(
        net("p", terminal("p1", C), terminal("p2", B)),
        net("q", terminal("q1", (200, 0, 300, 100))),
        forbidden=[("p", "q")],
    )
    assert compare(wires, data)[1] == [("p", "q", "q1")]
    assert compare(wires, {**data, "forbidden": [{"net_a": "q", "net_b": "p"}]})[1] == [("q", "p", "p2")]


def test_pair_that_is_not_forbidden_may_share_a_net():
    assert compare([(0, 0, 900, 100)], intent(net("p", terminal("a", A)), net("q", terminal("b", B)))) == ({}, [])


def test_net_of_one_terminal_is_open_only_where_nothing_is():
    assert compare([A], intent(net("n", terminal("a", A)))) == ({}, [])
    assert compare([B], intent(net("n", terminal("a", A)))) == ({"n": ["a"]}, [])


ONE = net("n", terminal("a", A))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (intent(), "nets: "),
        (intent(ONE, ONE), "a net name is used twice"),
        (intent(ONE, forbidden=[("n", "m")]), "forbidden names 'm', which is no net; nets are n"),
        (intent(ONE, forbidden=[("n", "n")]), "forbidden pairs net 'n' with itself"),
        (intent(net("n")), "nets[0].terminals: "),
        (intent(net("", terminal("a", A))), "nets[0].name: "),
        (intent(net("n", terminal("a", (5, 0, 5, 100)))), "terminal 'a' of net 'n' has a region without area"),
        (intent(net("n", terminal("a", (0, 7, 100, 7)))), "terminal 'a' of net 'n' has a region without area"),
        (intent(net("n", terminal("a", (10, 0, 0, 100)))), "nets[0].terminals[0].region: min must be the lower-left"),
        ({**intent(ONE), "nots": []}, "nots: unknown key"),
        ({}, "nets: required, but not given"),
        ([], "needs a table of keys"),
        (intent({**ONE, "terminals": [{**terminal("a", A), "layer": "68-20"}]}), "'68-20' is not a layer"),
        (
            intent({**ONE, "terminals": [{**terminal("a", A), "layer": {"layer": -1, "datatype": 0}}]}),
            "terminals[0].layer.layer",
        ),
    ],
)
def test_bad_intent_names_the_key_and_what_is_wrong(data, message):
    with pytest.raises(ValidationError) as raised:
        Intent.model_validate_json(json.dumps(data))
    assert message in explain(raised.value)


@pytest.mark.parametrize("text", ["", "{", '{"nets": [}', "[" * 100_000, '{"nets": NaN}', "\0"])
def test_intent_that_is_no_json_is_one_clear_error(text):
    with pytest.raises(ValidationError) as raised:
        Intent.model_validate_json(text)
    assert len(explain(raised.value).splitlines()) == 1


def test_layers_may_be_written_short():
    data = intent(net("n", {**terminal("a", A), "layer": "68/20"}))
    assert Intent.model_validate_json(json.dumps(data)) == Intent.model_validate_json(json.dumps(intent(ONE)))
