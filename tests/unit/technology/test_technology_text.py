from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import TechnologyError
from pytest_iclayout.technology.text import parse_technology_text

SKY130 = builtin_technology("sky130")
TRANSCRIPTS = Path(__file__).parents[4] / "shared" / "data" / "transcripts_dev"


def as_text(name: str, *, per_micron: int = 1000, skip: tuple[str, ...] = ()) -> str:
    """The built-in layers in the line syntax, under a name."""
    lines = ["# header", f"technology {name}   # trailing", f"dbu_per_micron {per_micron}", ""]
    for entry in SKY130.layers:
        if entry.name not in skip:
            pair = f"{entry.layer.layer} {entry.layer.datatype}"
            lines.append(f"layer {pair} {entry.name} {entry.color}")
            if entry.z_bottom_nm is not None:
                lines.append(f"stack {pair} {entry.z_bottom_nm} {entry.thickness_nm}")
    return "\n".join(lines)


def test_text_under_a_builtin_name_gets_what_the_syntax_cannot_say():
    assert parse_technology_text(as_text("sky130")) == SKY130


def test_knowledge_about_undeclared_layers_is_dropped():
    technology = parse_technology_text(as_text("sky130", skip=("via", "tap", "poly", "li1_label")))
    assert all(SKY130.layer_named("via") not in rule.layers for rule in technology.rule_set("full"))
    assert len(technology.rule_set("full")) == len(
        [
            rule
            for rule in SKY130.rule_set("full")
            if not {"via", "tap", "poly"} & {SKY130.name_of(layer) for layer in rule.layers}
        ]
    )
    ends = [(technology.name_of(c.bottom), technology.name_of(c.top)) for c in technology.connections]
    assert ends == [("diff", "li1"), ("li1", "met1"), ("met2", "met3"), ("met3", "met4"), ("met4", "met5")]
    assert technology.cut_by == {}
    li1 = technology.entry(technology.layer_named("li1"))
    assert li1 is not None
    assert li1.label is None


def test_renamed_layers_of_a_builtin_keep_cut_by():
    text = as_text("sky130").replace(" diff ", " active ").replace(" poly ", " gate ")
    assert parse_technology_text(text).cut_by == {"active": "gate"}


def test_connections_from_heights_are_the_builtin_ones_without_the_well():
    technology = parse_technology_text(as_text("renamed"))
    well_tap = SKY130.connections[0]
    assert well_tap.cut is None
    assert set(technology.connections) == set(SKY130.connections) - {well_tap}
    assert technology.rule_sets == {}
    assert technology.cut_by == {}


def test_metal_that_fills_the_gap_between_two_cuts_is_no_cut():
    # li1 spans exactly from the top of licon1 to the bottom of mcon.
    cuts = {c.cut for c in parse_technology_text(as_text("renamed")).connections}
    assert cuts == {SKY130.layer_named(n) for n in ("licon1", "mcon", "via", "via2", "via3", "via4")}


def test_conductors_of_equal_height_share_the_cut_above():
    text = """
    technology t
    layer 1 0 a 000000FF
    layer 2 0 b 000000FF
    layer 3 0 cut 000000FF
    layer 4 0 metal 000000FF
    layer 5 0 well 000000FF
    stack 1 0 0 100
    stack 2 0 0 100
    stack 3 0 100 50
    stack 4 0 150 100
    stack 5 0 -500 500
    """
    assert [(c.bottom.layer, c.top.layer) for c in parse_technology_text(text).connections] == [
        (1, 4),
        (2, 4),
    ]


def test_slab_that_ends_below_nothing_is_no_cut():
    text = """
    technology t
    layer 1 0 diff 000000FF
    layer 2 0 liner 000000FF
    layer 3 0 gate 000000FF
    layer 4 0 contact 000000FF
    layer 5 0 metal 000000FF
    stack 1 0 0 100
    stack 2 0 100 20
    stack 3 0 50 100
    stack 4 0 150 150
    stack 5 0 300 100
    """
    found = [(c.bottom.layer, c.cut.layer, c.top.layer) for c in parse_technology_text(text).connections if c.cut]
    assert sorted(found) == [(1, 4, 5), (2, 4, 5), (3, 4, 5)]


def test_stack_lines_may_stand_before_their_layers():
    technology = parse_technology_text("technology t\nstack 1 0 5 7\nlayer 1 0 a 000000FF")
    entry = technology.entry(Layer(layer=1, datatype=0))
    assert entry is not None
    assert (entry.z_bottom_nm, entry.thickness_nm) == (5, 7)


def test_rules_follow_the_grid_of_the_text():
    coarse = parse_technology_text(as_text("sky130", per_micron=200))
    fine = parse_technology_text(as_text("sky130", per_micron=2000))

    def value(technology, rule_id):
        return next(rule.value for rule in technology.rule_set("published") if rule.id == rule_id)

    assert (value(coarse, "li.1"), value(fine, "li.1")) == (34, 340)
    assert (value(coarse, "li.6"), value(fine, "li.6")) == (2244, 224400)
    # 55 nm on a 10 nm grid: 50 nm is too little, 60 nm is the next that can be drawn.
    ten_nm = parse_technology_text(as_text("sky130", per_micron=100))
    assert value(ten_nm, "m2.4") == 6


def test_grid_on_which_an_exact_size_cannot_be_drawn_is_refused():
    with pytest.raises(TechnologyError, match=r"dbu_per_micron 50: .* rule ct\.1 .* no whole number of dbu"):
        parse_technology_text(as_text("sky130", per_micron=50))


GOOD = "technology t\nlayer 1 0 m AABBCCDD\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no technology line; write technology NAME"),
        ("layer 1 0 m AABBCCDD", "no technology line; write technology NAME"),
        ("technology t", "no layer line; write layer LAYER DATATYPE NAME RRGGBBAA"),
        (GOOD + "rule m 140", "line 3: unknown keyword 'rule'; a line is one of: technology NAME | "),
        (GOOD + "technology u", "line 3: second technology line; the first one says 't'"),
        (GOOD + "technology", "line 3: 0 values after 'technology'; write technology NAME"),
        (GOOD + "layer 2 0 n", "line 3: 3 values after 'layer'; write layer LAYER DATATYPE NAME RRGGBBAA"),
        (GOOD + "layer 1 0 n AABBCCDD", "line 3: layer 1/0 is declared twice, first as 'm'"),
        (GOOD + "layer 2 0 m AABBCCDD", "line 3: layer name 'm' is declared twice, first for 1/0"),
        (GOOD + "layer two 0 n AABBCCDD", "line 3: LAYER must be an integer (given 'two')"),
        (GOOD + "layer 2 -1 n AABBCCDD", "line 3: datatype: "),
        (GOOD + "layer 65536 0 n AABBCCDD", "line 3: layer: "),
        (GOOD + "layer 2 0 n red", "line 3: color: "),
        (GOOD + "\n# x\nstack 2 0 0 100", "line 5: stack names layer 2/0, which no layer line declares"),
        (GOOD + "stack 1 0 0 1.5", "line 3: THICKNESS must be an integer (given '1.5')"),
        (GOOD + "stack 1 0 0 0", "line 3: THICKNESS must be above 0 nm (given 0)"),
        (GOOD + "stack 1 0 0 9\nstack 1 0 0 9", "line 4: second stack line for layer 1/0; the first one is"),
        (GOOD + "dbu_per_micron 0", "line 3: dbu_per_micron must be above 0 (given 0)"),
        (GOOD + "dbu_per_micron many", "line 3: N must be an integer (given 'many')"),
        (GOOD + "dbu_per_micron 1\ndbu_per_micron 1", "line 4: second dbu_per_micron line"),
    ],
)
def test_fault_names_origin_and_line(text, message):
    with pytest.raises(TechnologyError) as caught:
        parse_technology_text(text, "set_technology")
    assert str(caught.value).startswith(f"set_technology: {message}")
    assert "\n" not in str(caught.value)


def test_published_session_technology_is_read():
    files = sorted(TRANSCRIPTS.glob("*/*.jsonl"))
    if not files:
        pytest.skip("the published transcripts are not beside the repository")
    with files[0].open(encoding="utf-8") as lines:
        command = json.loads(next(lines))["command"]
    assert command["op"] == "set_technology"
    technology = parse_technology_text(command["source"])
    assert technology.name == "sky130"
    assert technology.connections == SKY130.connections
    assert technology.rule_set("published") == SKY130.rule_set("published")
    renamed = parse_technology_text(command["source"].replace("technology sky130", "technology other"))
    assert set(renamed.connections) == set(SKY130.connections[1:])
