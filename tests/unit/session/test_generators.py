"""Generators: every valid set of parameters gives a layout without a violation, connected as described."""

import math
from itertools import pairwise

import klayout.db as db
import pytest
from command_forms import begun, refused, region, value
from generator_strategies import VALID, guard_rings, structures
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_iclayout.session.generators.registry import GENERATORS
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.technology.load import builtin_technology

SKY130 = builtin_technology("sky130")
LAYERS = {entry.name: entry.layer.model_dump() for entry in SKY130.layers}
PAIR = {"mcon": ("li1", "met1"), "via": ("met1", "met2"), "via2": ("met2", "met3")}


def run(generator, **params):
    return {"op": "run_generator", "cell": "top", "generator_id": generator, "params": params}


def generated(generator, **params):
    return begun(run(generator, **params))


def drawn(session, name):
    return region(session, layer=LAYERS[name])


def elements(session, name):
    return [
        one.bbox for one in session.document.elements.values() if one.layer == SKY130.layer_named(name)
    ]  # fmt: skip


def nets(session):
    return value(session, op="run_extract", cell="top")["nets"]


def violations(session, rule_set):
    session.rule_set = rule_set
    return {one["rule"] for one in value(session, op="run_drc", cell="top")["violations"]}


def known_to_break(generator, params):
    """Rules of the set `full` that some parameters within their ranges break: docs/generators.md lists them."""
    one = GENERATORS[generator].params.model_validate(params)
    broken = set()
    if generator == "guard_ring" and one.region_width * one.region_height < 140_000:
        broken |= {"met1": {"m1.7"}, "met2": {"m2.7"}}.get(one.layer, set())
    if generator == "pad_ring" and one.pad_size < 490:
        broken |= {"m3.6"}
    if generator == "pad_ring" and one.pad_size < 330 and one.power_pads:
        broken |= {"m3.4"}
    if generator == "seal_ring":
        hole = (one.die_width - 2 * one.ring_width) * (one.die_height - 2 * one.ring_width)
        broken |= {"m1.7", "m2.7"} if hole < 140_000 else set()
        broken |= {"m3.4"} if one.ring_width < 330 else set()
    if generator == "fill" and one.layer == "met3" and one.tile < 490:
        broken |= {"m3.6"}
    if generator == "test_structure" and one.kind == "contact_chain" and one.feature_width < 330:
        broken |= {"m3.4"} if one.layer in ("met2", "met3") else set()
    return broken


@pytest.mark.parametrize("generator", GENERATORS)
def test_every_valid_set_of_parameters_is_clean(generator):
    @settings(max_examples=60)
    @given(VALID[generator])
    @example({})
    def check(params):
        session = generated(generator, **params)
        assert violations(session, "published") == set()
        assert violations(session, "full") <= known_to_break(generator, params)

    check()


@pytest.mark.parametrize(
    ("generator", "params", "broken"),
    [
        ("guard_ring", {"layer": "met1", "region_width": 300, "region_height": 300}, {"m1.7"}),
        ("pad_ring", {"pad_size": 329, "die_width": 10_000, "die_height": 10_000}, {"m3.4", "m3.6"}),
        ("seal_ring", {"die_width": 900, "die_height": 900, "ring_width": 300}, {"m1.7", "m2.7", "m3.4"}),
        ("fill", {"layer": "met3", "tile": 300}, {"m3.6"}),
        ("test_structure", {"kind": "contact_chain", "layer": "met3", "feature_width": 300}, {"m3.4"}),
    ],
)
def test_what_is_said_to_break_full_does_so(generator, params, broken):
    assert violations(generated(generator, **params), "full") == broken == known_to_break(generator, params)


@pytest.mark.parametrize("generator", GENERATORS)
def test_affected_ids_are_those_of_all_shapes(generator):
    session = begun()
    outcome = session.execute(run(generator))
    assert outcome.affected == tuple(session.document.elements) == tuple(range(1, len(outcome.affected) + 1))
    assert len(outcome.affected) > 1
    assert session.revision == 3


@given(guard_rings)
def test_guard_ring_is_one_closed_net_around_the_region(params):
    session = generated("guard_ring", **params)
    params = {"layer": "li1", "region_width": 2000, "region_height": 2000, "ring_width": 400, "taps": True, **params}
    (ring,) = drawn(session, params["layer"]).each()
    inner = db.Box(0, 0, params["region_width"], params["region_height"])
    width = params["ring_width"]
    assert (db.Region(ring) ^ (db.Region(inner.enlarged(width, width)) - db.Region(inner))).is_empty()
    assert len(nets(session)) == 1
    taps = elements(session, "licon1")
    assert bool(taps) == (params["taps"] and params["layer"] == "li1" and width >= 330)
    assert all(one.inside(db.Box(-width, -width, inner.right + width, 0).enlarged(-80, -80)) for one in taps)


@pytest.mark.parametrize("cut", PAIR)
@given(rows=st.integers(1, 5), cols=st.integers(1, 5))
def test_via_farm_joins_its_two_plates_by_all_cuts(cut, rows, cols):
    session = generated("via_farm", cut=cut, rows=rows, cols=cols)
    lower, upper = PAIR[cut]
    assert [len(elements(session, name)) for name in (lower, upper, cut)] == [1, 1, rows * cols]
    assert (drawn(session, cut) - (drawn(session, lower) & drawn(session, upper))).is_empty()
    (net,) = nets(session)
    assert [one["layer"] for one in net["layers"]] == [LAYERS[lower], LAYERS[upper]]


def test_largest_via_farm_has_all_its_cuts():
    assert len(elements(generated("via_farm", rows=256, cols=256), "mcon")) == 256 * 256


@given(VALID["pad_ring"])
def test_pads_are_apart_and_power_pads_are_joined_to_met2(params):
    session = generated("pad_ring", **params)
    pads = elements(session, "met3")
    die = db.Box(0, 0, params["die_width"], params["die_height"])
    corner = params["pad_size"]
    assert len(nets(session)) == len(pads) == drawn(session, "met3").count() > 0
    assert all(one.inside(die) and one.width() == one.height() == corner for one in pads)
    for x, y in ((0, 0), (die.right - corner, 0), (0, die.top - corner), (die.right - corner, die.top - corner)):
        assert (drawn(session, "met3") & db.Region(db.Box(x, y, x + corner, y + corner))).is_empty()
    power = [one for one in nets(session) if LAYERS["met2"] in [layer["layer"] for layer in one["layers"]]]
    assert len(power) == min(params["power_pads"], len(pads)) == len(elements(session, "met2"))
    assert all(len(one["layers"]) == 2 for one in power)


def test_pad_ring_of_a_wide_die_has_pads_at_the_pitch_on_every_side():
    session = generated("pad_ring", die_width=1_000_000, die_height=500_000)
    pads = elements(session, "met3")
    lower = sorted(one.left for one in pads if one.bottom == 0)
    left = sorted(one.bottom for one in pads if one.left == 0)
    assert (len(lower), len(left), len(pads)) == (9, 4, 26)
    assert {after - before for side in (lower, left) for before, after in pairwise(side)} == {100_000}
    assert lower[0] == 1_000_000 - (lower[-1] + 60_000)


@given(VALID["seal_ring"])
def test_frames_are_closed_and_joined_by_cuts_on_each_level(params):
    session = generated("seal_ring", **params)
    cuts = {"li1_met1": ["mcon"], "up_to_met2": ["mcon", "via"], "up_to_met3": ["mcon", "via", "via2"]}[params["stack"]]
    outer = db.Box(0, 0, params["die_width"], params["die_height"])
    ring = db.Region(outer) - db.Region(outer.enlarged(-params["ring_width"], -params["ring_width"]))
    frames = ["li1", "met1", "met2", "met3"][: len(cuts) + 1]
    assert all((drawn(session, name) ^ ring).is_empty() for name in frames)
    assert [len(one["layers"]) for one in nets(session)] == [len(frames)]
    for cut in cuts:
        assert len(elements(session, cut)) >= 4
        assert (drawn(session, cut) - ring).is_empty()
        pitch = {"mcon": 360, "via": 320, "via2": 400}[cut]
        corners = drawn(session, cut).bbox()
        for side in (
            [one.left for one in elements(session, cut) if one.bottom == corners.bottom],
            [one.left for one in elements(session, cut) if one.top == corners.top],
            [one.bottom for one in elements(session, cut) if one.left == corners.left],
            [one.bottom for one in elements(session, cut) if one.right == corners.right],
        ):
            assert all(pitch <= after - before < 2 * pitch for before, after in pairwise(sorted(side)))
        assert corners.left == corners.bottom
        assert {corners.right, corners.top} <= {outer.right - corners.left - odd for odd in (0, 1)} | {
            outer.top - corners.left - odd for odd in (0, 1)
        }
    ids = [number for number, one in session.document.elements.items() if one.layer == SKY130.layer_named(cuts[-1])]
    assert session.execute({"op": "delete_shapes", "ids": ids}).ok
    assert len(nets(session)) == 2


@given(VALID["fill"])
@example({})
@example({"tile": 400, "target_density_permille": 900})
def test_fill_tiles_are_whole_and_as_dense_as_their_pitch(params):
    session = generated("fill", **params)
    layer, tile = params.get("layer", "li1"), params.get("tile", 400)
    space = {"li1": 170, "met1": 140, "met2": 140, "met3": 300}[layer]
    pitch = max(round(tile / math.sqrt(params.get("target_density_permille", 400) / 1000)), tile + space)
    width, height = params.get("region_width", 10_000), params.get("region_height", 10_000)
    tiles = elements(session, layer)
    counts = [0 if length < tile else (length - tile) // pitch + 1 for length in (width, height)]
    assert len(tiles) == counts[0] * counts[1]
    assert {(one.width(), one.height()) for one in tiles} <= {(tile, tile)}
    assert all(one.inside(db.Box(0, 0, width, height)) for one in tiles)
    assert {one.left % pitch for one in tiles} | {one.bottom % pitch for one in tiles} <= {0}
    assert drawn(session, layer).count() == len(tiles)


def test_fill_of_the_default_region_is_near_its_target():
    tiles = elements(generated("fill"), "li1")
    assert 0.38 < len(tiles) * 400**2 / 10_000**2 < 0.42


@given(structures("van_der_pauw"))
def test_cross_is_one_net_with_four_equal_arms(params):
    session = generated("test_structure", **params)
    width, length = params.get("feature_width", 400), params.get("feature_length", 2000)
    (cross,) = drawn(session, params.get("layer", "li1")).each()
    assert cross.area() == width * width + 4 * width * length
    assert cross.bbox() == db.Box(0, 0, 2 * length + width, 2 * length + width)
    assert len(nets(session)) == 1


@given(structures("comb"))
def test_comb_is_two_nets_with_their_fingers_in_turn(params):
    session = generated("test_structure", **params)
    layer, width, count = params.get("layer", "li1"), params.get("feature_width", 400), params.get("count", 8)
    lower, upper = sorted(drawn(session, layer).each(), key=lambda one: one.bbox().bottom)
    assert len(nets(session)) == 2
    middle = drawn(session, layer).bbox().center().y
    line = db.Region(db.Box(-10, middle, count * 2 * width + 10, middle + 1))
    fingers = [sorted(one.bbox().left for one in (db.Region(comb) & line).each()) for comb in (lower, upper)]
    in_turn = sorted((left, number) for number, lefts in enumerate(fingers) for left in lefts)
    assert [number for _, number in in_turn] == [number % 2 for number in range(count)]


@given(structures("serpentine"))
def test_serpentine_is_one_line_from_end_to_end(params):
    session = generated("test_structure", **params)
    layer, width, length = (
        params.get("layer", "li1"),
        params.get("feature_width", 400),
        params.get("feature_length", 2000),
    )
    count = params.get("count", 8)
    (line,) = drawn(session, layer).each()
    assert line.holes() == 0
    assert line.num_points() == 4 * count
    # Above, the turns join legs 0 and 1, 2 and 3, ...; below, legs 1 and 2, 3 and 4, ...
    for low, pieces in ((length + width, (count + 1) // 2), (0, count // 2 + 1)):
        strip = db.Region(db.Box(0, low, line.bbox().right, low + width))
        assert (db.Region(line) & strip).count() == pieces
    assert line.area() == width * (count * (length + 2 * width) + (count - 1) * width)
    assert len(nets(session)) == 1


@given(structures("contact_chain"))
def test_contact_chain_is_one_net_that_every_contact_carries(params):
    session = generated("test_structure", **params)
    layer, count = params.get("layer", "li1"), params.get("count", 8)
    cut = {"li1": "mcon", "met1": "via", "met2": "via2", "met3": "via2"}[layer]
    contacts = [number for number, one in session.document.elements.items() if one.layer == SKY130.layer_named(cut)]
    assert len(contacts) == count
    (net,) = nets(session)
    assert len(net["layers"]) == 2
    assert len(elements(session, layer)) == (count + 1) // 2
    for number in contacts[:: max(1, count - 1)]:
        broken = generated("test_structure", **params)
        assert broken.execute({"op": "delete_shapes", "ids": [number]}).ok
        assert len(nets(broken)) == 2


INVALID = [
    ("ring", {}, "generator_id: 'ring' is unknown; known are guard_ring, via_farm, "),
    ("guard_ring", {"layer": "met5"}, "params: layer: input should be 'li1', 'met1', 'met2' or 'met3'"),
    ("guard_ring", {"taps": 1}, "params: taps: "),
    ("via_farm", {"rows": 3.0}, "params: rows: "),
    ("via_farm", {"rows": "3"}, "params: rows: "),
    ("via_farm", {"columns": 3}, "params: columns: unknown key"),
    ("pad_ring", {"pad_pitch": 60_299}, "params: pad_pitch: 60299 does not keep pads of 60000 apart; 60300 or"),
    ("pad_ring", {"die_height": 10_000}, "params: pad_size: pads of 60000 on both sides do not fit"),
    ("pad_ring", {"die_width": 150_000, "die_height": 150_000}, "params: pad_size: no pad of 60000 fits between"),
    ("seal_ring", {"ring_width": 49_851}, "params: ring_width: 49851 leaves no hole in a die of 100000 x 100000;"),
    ("test_structure", {"kind": "meander"}, "params: kind: "),
]  # fmt: skip


@pytest.mark.parametrize(("generator", "params", "message"), INVALID, ids=lambda one: str(one)[:50])
def test_wrong_parameter_is_named_and_nothing_drawn(generator, params, message):
    code, given_message = refused(begun(), run(generator, **params))
    assert code == "invalid_argument"
    assert message in given_message


def ranges():
    for generator, one in GENERATORS.items():
        for name, info in one.params.model_fields.items():
            limits = {type(rule).__name__: rule for rule in info.metadata}
            if "Ge" in limits:
                yield generator, name, limits["Ge"].ge, limits["Le"].le


SPECIFIED = {
    ("guard_ring", "region_width"): (300, 10**6), ("guard_ring", "region_height"): (300, 10**6),
    ("guard_ring", "ring_width"): (300, 10**6), ("via_farm", "rows"): (1, 256), ("via_farm", "cols"): (1, 256),
    ("pad_ring", "die_width"): (10_000, 4 * 10**6), ("pad_ring", "die_height"): (10_000, 4 * 10**6),
    ("pad_ring", "pad_pitch"): (600, 10**6), ("pad_ring", "pad_size"): (300, 500_000),
    ("pad_ring", "power_pads"): (0, 4096), ("seal_ring", "die_width"): (900, 4 * 10**6),
    ("seal_ring", "die_height"): (900, 4 * 10**6), ("seal_ring", "ring_width"): (300, 100_000),
    ("fill", "region_width"): (600, 10**6), ("fill", "region_height"): (600, 10**6), ("fill", "tile"): (300, 100_000),
    ("fill", "target_density_permille"): (1, 900), ("test_structure", "feature_width"): (300, 50_000),
    ("test_structure", "feature_length"): (300, 500_000), ("test_structure", "count"): (2, 128),
}  # fmt: skip


def test_ranges_are_those_of_the_vocabulary():
    assert {(generator, name): (least, most) for generator, name, least, most in ranges()} == SPECIFIED


@pytest.mark.parametrize(("generator", "name", "least", "most"), list(ranges()), ids=lambda one: str(one))
def test_value_beyond_a_range_is_refused(generator, name, least, most):
    for wrong in (least - 1, most + 1):
        code, message = refused(begun(), run(generator, **{name: wrong}))
        assert code == "invalid_argument"
        assert message.startswith(f"params: {name}: input should be ")


def test_largest_seal_ring_is_drawn_and_more_tiles_than_a_session_holds_are_not():
    assert generated("seal_ring", die_width=4_000_000, die_height=4_000_000).document.elements
    code, message = refused(begun(), run("fill", region_width=10**6, region_height=10**6))
    assert code == "budget_exhausted"
    assert message == "2502724 shapes are more than 200000 of one generator"


def test_absent_cell_is_named():
    assert refused(LayoutSession(), run("fill")) == ("no_such_cell", "no such cell 'top'")


def test_technology_without_the_layer_or_its_rules_is_told():
    plain = "technology plain\nlayer 67 20 li1 FFFFFFFF\nlayer 66 44 licon1 FFFFFFFF"
    session = begun({"op": "set_technology", "source": plain})
    assert refused(session, run("guard_ring", layer="met1"))[0] == "no_such_layer"
    code, message = refused(session, run("guard_ring"))
    assert (code, message) == ("engine_error", "technology plain has no rule for the size of licon1")
    assert session.execute(run("guard_ring", taps=False)).ok
    assert refused(session, run("via_farm"))[0] == "no_such_layer"


def test_parameters_that_are_null_or_left_out_are_the_defaults():
    for command in ({**run("via_farm"), "params": None}, {k: v for k, v in run("via_farm").items() if k != "params"}):
        assert begun(command).document_hash() == generated("via_farm", cut="mcon", rows=3, cols=3).document_hash()
