"""drc_clean: clean means that rules looked at something and found nothing, and what was asked for is there."""

from __future__ import annotations

import pytest
from iclayout_checkers.drc_clean import DrcClean
from iclayout_checkers.layouts import Shapes, sketch_of
from iclayout_checkers.legal import LegalShapes
from iclayout_checkers.offences import offences, turned
from judging import judge, oracle_of

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.drc.engine import run_rules
from pytest_iclayout.geometry.view import open_view
from pytest_iclayout.session.sketch import Sketch, draw
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import Rule, RuleKind, Technology, TechnologyLayer

SKY130 = builtin_technology("sky130")
SETS = sorted(SKY130.rule_sets)
MET1 = Layer(layer=68, datatype=20)
DIFF, POLY = Layer(layer=65, datatype=20), Layer(layer=66, datatype=20)

PARAMS = [
    "",
    ":present=65/20+66/20,crossing=66/20*65/20",
    ":present=68/20,min_shapes=3",
    ":present=67/44+68/20+68/44,min_shapes=2",
    ":present=71/44",
    ":present=82/64",
    ":present=61/20",
    ":present=68/16",
    ":crossing=67/44*67/20",
    ":crossing=71/44*66/20",
    ":present=65/20,min_shapes=2,crossing=65/20*66/20",
]


def broken(shapes: Shapes, rule_set: str, technology: Technology = SKY130) -> set[tuple[str, Layer | None]]:
    view = open_view(draw(sketch_of(shapes).drawing, technology).export(), technology, rule_set)
    return {(one.rule, one.layer) for one in run_rules(view.region, view.rules)}


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("in_force", SETS)
@pytest.mark.parametrize("other", SETS)
def test_witness_is_clean_under_every_rule_set(params: str, in_force: str, other: str) -> None:
    """So that a task may change its rule set and still show the same layout."""
    drawn = oracle_of(f"drc_clean{params}", rule_set=in_force)
    under = oracle_of(f"drc_clean{params}", rule_set=other)
    verdict = under.judge(drawn.build(drawn.witness()))
    # In a smaller set there may be no rule for the asked layer: what was drawn for it is then unchecked.
    assert [one for one in verdict.findings if one.rule != "drc_clean"] == []


@pytest.mark.parametrize("rule_set", SETS)
def test_every_rule_is_broken_alone_by_its_negatives(rule_set: str) -> None:
    legal = LegalShapes(Bench(technology=SKY130, rule_set=rule_set))
    for rule in SKY130.rule_set(rule_set):
        ways = offences(legal, rule)
        assert ways, f"no way to break {rule.id}"
        for way in ways:
            for number, vary in enumerate((0, 1, 37, 1999)):
                found = broken(turned(way.draw(vary), number), rule_set)
                assert found == {(rule.id, rule.layer)}, f"{rule.id} {way.name} varied by {vary}"


def test_each_kind_of_rule_has_a_way_to_break_it() -> None:
    """Also those kinds that no rule of SKY130 has with these values."""
    layers = [TechnologyLayer(name=name, layer=f"{number}/0") for number, name in enumerate("ABC", start=1)]
    a, b, c = (one.layer for one in layers)
    rules = (
        Rule(id="w", kind=RuleKind.WIDTH, layer=a, value=10),
        Rule(id="s", kind=RuleKind.SPACE, layer=a, value=12),
        Rule(id="a", kind=RuleKind.AREA, layer=a, value=401),
        Rule(id="h", kind=RuleKind.HOLE_AREA, layer=a, value=503),
        Rule(id="x", kind=RuleKind.EXACT_SIZE, layer=b, value=7),
        Rule(id="e", kind=RuleKind.ENCLOSURE, layer=b, other_layer=a, value=3),
        Rule(id="d", kind=RuleKind.SEPARATION, layer=c, other_layer=a, value=9),
        Rule(id="o", kind=RuleKind.EXTENSION, layer=c, other_layer=b, value=4),
    )
    assert {rule.kind for rule in rules} == set(RuleKind)
    technology = Technology(name="t", layers=tuple(layers), rule_sets={"all": rules})
    legal = LegalShapes(Bench(technology=technology, rule_set="all"))
    for rule in rules:
        ways = offences(legal, rule)
        assert ways
        for way in ways:
            assert (rule.id, rule.layer) in broken(way.draw(5), "all", technology), f"{rule.id} {way.name}"


def test_nothing_drawn_is_not_clean() -> None:
    (finding,) = judge(Sketch(), "drc_clean").findings
    assert finding.message == "nothing is drawn on a layer that rule set published checks"


def test_shapes_where_no_rule_looks_are_not_clean() -> None:
    """nsm has rules in the full set only."""
    nsm = Sketch().rect(Layer(layer=61, datatype=20), 0, 0, 9000, 9000)
    assert not judge(nsm, "drc_clean").ok
    assert judge(nsm, "drc_clean", rule_set="full").ok


def test_shapes_on_an_undeclared_layer_alone_are_not_clean() -> None:
    (finding,) = judge(Sketch().rect(Layer(layer=1, datatype=0), 0, 0, 400, 400), "drc_clean").findings
    assert finding.message == "nothing is drawn on a layer that rule set published checks"


def test_undeclared_layer_may_stand_beside_a_checked_one() -> None:
    """No rule can be broken there, and a scratch layer is no fault of what was asked for."""
    sketch = Sketch().rect(MET1, 0, 0, 400, 400).rect(Layer(layer=68, datatype=99), 5, 5, 10, 10)
    assert judge(sketch, "drc_clean").ok


def test_declared_layer_without_rules_may_stand_beside_a_checked_one() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 400, 400).rect(Layer(layer=68, datatype=16), 0, 0, 50, 50)
    assert judge(sketch, "drc_clean").ok


def test_violations_are_the_findings() -> None:
    (finding,) = judge(Sketch().rect(MET1, 0, 0, 139, 1000), "drc_clean").findings
    assert (finding.rule, finding.measured, finding.required) == ("m1.1", 139, 140)
    assert "met1 (68/20)" in finding.message
    assert judge(Sketch().rect(MET1, 0, 0, 140, 1000), "drc_clean").ok


def test_every_kind_of_rule_is_run_of_the_rule_set_in_force_and_no_other() -> None:
    small = Sketch().rect(MET1, 0, 0, 250, 250)
    assert [one.rule for one in judge(small, "drc_clean").findings] == ["m1.6"]
    short = Sketch().rect(DIFF, 0, 0, 400, 400).rect(POLY, 100, -129, 250, 600)
    assert [one.rule for one in judge(short, "drc_clean").findings] == ["poly.8"]
    # The full set has no rule for the end of poly, and one for holes in met1, which the published one has not.
    assert judge(short, "drc_clean", rule_set="full").ok
    ring = Sketch().rect(MET1, 0, 0, 700, 200).rect(MET1, 0, 500, 700, 700)
    ring.rect(MET1, 0, 0, 200, 700).rect(MET1, 500, 0, 700, 700)
    assert judge(ring, "drc_clean").ok
    assert [one.rule for one in judge(ring, "drc_clean", rule_set="full").findings] == ["m1.7"]


def test_present_layer_with_too_few_merged_shapes_is_named() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 400, 400).rect(MET1, 400, 0, 800, 400)
    (finding,) = judge(sketch, "drc_clean:present=68/20,min_shapes=2").findings
    assert finding.message == "met1 (68/20): 1 shape(s), at least 2 required"
    assert judge(sketch.rect(MET1, 1000, 0, 1400, 400), "drc_clean:present=68/20,min_shapes=2").ok


def test_every_present_layer_is_asked_for() -> None:
    sketch = Sketch().rect(DIFF, 0, 0, 400, 400)
    (finding,) = judge(sketch, "drc_clean:present=65/20+66/20").findings
    assert finding.layer == POLY
    assert "at least 1 required" in finding.message


def test_crossing_is_an_overlap_by_area() -> None:
    crossing = "drc_clean:crossing=66/20*65/20"
    diff = Sketch().rect(DIFF, 0, 0, 400, 400)
    assert judge(diff.rect(POLY, 100, -200, 250, 600), crossing).ok
    (finding,) = judge(Sketch().rect(DIFF, 0, 0, 400, 400).rect(POLY, 400, -200, 550, 600), crossing).findings
    assert finding.message == "poly (66/20) overlaps diff (65/20) nowhere"


def test_crossing_in_two_cells_counts_where_they_are_placed() -> None:
    part = Sketch("part").rect(POLY, 0, 0, 150, 800)
    diff = Sketch().include(part).rect(DIFF, 0, 0, 400, 400)
    assert judge(diff.place("part", 100, -200), "drc_clean:crossing=66/20*65/20").ok


def test_parameters_are_read_from_text_and_from_lists() -> None:
    text = oracle_of("drc_clean:present=65/20+66/20,crossing=66/20*65/20").params
    assert text == oracle_of("drc_clean", {"present": ["65/20", "66/20"], "crossing": ["66/20", "65/20"]}).params
    assert oracle_of("drc_clean:present=68/20").params == oracle_of("drc_clean", {"present": ["68/20"]}).params


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("present=68/20+68/20", "present names a layer twice"),
        ("min_shapes=2", "min_shapes counts the shapes of the layers in present"),
        ("crossing=68/20*68/20", "two different layers"),
        ("crossing=68/20", "crossing"),
        ("present=met1", "'met1' is not a layer"),
        ("present=1/0", "present: layer 1/0 is not in technology sky130"),
        ("crossing=68/20*1/0", "crossing: layer 1/0 is not in technology sky130"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: str, said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of(f"drc_clean:{params}")


def test_rule_set_without_rules_judges_nothing() -> None:
    technology = SKY130.model_copy(update={"rule_sets": {"none": ()}})
    oracle = Oracle(DrcClean(), DrcClean.params_model(), Bench(technology=technology, rule_set="none"))
    with pytest.raises(ValueError, match="rule set none has no rules"):
        oracle.witness()
