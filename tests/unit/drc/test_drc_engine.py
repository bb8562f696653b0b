from __future__ import annotations

from collections import Counter

import klayout.db as db
import pytest

from pytest_iclayout.drc.engine import run_rules
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import Rule, RuleKind

SKY130 = builtin_technology("sky130")
MET1, LI1, MCON = (SKY130.layer_named(name) for name in ("met1", "li1", "mcon"))


def rule(kind: str, value: int, layer: Layer = MET1, other: Layer | None = None, **more: bool) -> Rule:
    return Rule(id=f"x.{kind}", kind=RuleKind(kind), layer=layer, other_layer=other, value=value, **more)


class Drawing:
    """Boxes a layer; counts how often a layer is asked for."""

    def __init__(self, shapes: dict[Layer, list[tuple[int, int, int, int]]]) -> None:
        self.shapes = shapes
        self.asked: Counter[Layer] = Counter()

    def __call__(self, layer: Layer) -> db.Region:
        self.asked[layer] += 1
        region = db.Region()
        for corners in self.shapes.get(layer, []):
            region.insert(db.Box(*corners))
        return region.merged()


def test_finding_says_what_where_and_how_much():
    (finding,) = run_rules(Drawing({MET1: [(0, 0, 138, 1000)]}), [rule("width", 140)], name_of=SKY130.name_of)
    assert finding.rule == "x.width"
    assert finding.message == "met1 (68/20): width 138 dbu, at least 140 dbu required"
    assert (finding.measured, finding.required, finding.layer) == (138, 140, MET1)
    assert finding.place == Rect.of(0, 0, 138, 1000)


def test_message_of_each_kind_names_layers_numbers_and_units():
    drawing = Drawing(
        {
            MET1: [(0, 0, 100, 100), (150, 0, 250, 100)],
            MCON: [(20, 20, 60, 70), (300, 0, 350, 50), (110, 0, 140, 40)],
            LI1: [(400, 0, 500, 100)],
        }
    )
    rules = [
        rule("space", 60),
        rule("area", 20000),
        rule("separation", 40, MCON, LI1),
        rule("separation", 1, MCON, MET1),
        rule("enclosure", 0, MCON, LI1),
        rule("enclosure", 21, MCON, MET1, outside_is_error=False),
        rule("extension", 30, MCON, MET1),
        rule("exact_size", 50, MCON),
    ]
    messages = {finding.message for finding in run_rules(drawing, rules)}
    assert messages >= {
        "68/20: space 50 dbu, at least 60 dbu required",
        "68/20: area 10000 dbu², at least 20000 dbu² required",
        "67/44 and 68/20: overlap, separation of at least 1 dbu required",
        "67/44 in 67/20: not covered, enclosure of at least 0 dbu required",
        "67/44 in 68/20: enclosure 20 dbu, at least 21 dbu required",
        "67/44 beyond 68/20: ends within it, extension of at least 30 dbu required",
        "67/44: size 40 x 50 dbu, exactly 50 x 50 dbu required",
    }


def test_findings_follow_the_rules_and_then_the_place():
    drawing = Drawing({MET1: [(5000, 0, 5100, 9), (0, 500, 100, 509), (0, 0, 100, 9)]})
    findings = run_rules(drawing, [rule("area", 10**4), rule("width", 10)])
    assert [(finding.rule, str(finding.place)) for finding in findings] == [
        (name, place)
        for name in ("x.area", "x.width")
        for place in ("(0,0;100,9)", "(0,500;100,509)", "(5000,0;5100,9)")
    ]


def test_what_is_found_twice_at_one_place_is_told_once():
    """A square too small both ways is found by both pairs of edges; two that say something else stay two."""
    square, oblong = [(0, 0, 90, 90)], [(0, 0, 90, 80)]
    assert [one.measured for one in run_rules(Drawing({MET1: square}), [rule("width", 100)])] == [90]
    assert sorted(one.measured for one in run_rules(Drawing({MET1: oblong}), [rule("width", 100)])) == [80, 90]
    elsewhere = [*square, (1000, 0, 1090, 90)]
    assert len(run_rules(Drawing({MET1: elsewhere}), [rule("width", 100)])) == 2


def test_layer_is_asked_for_once():
    drawing = Drawing({MET1: [(0, 0, 10, 10)], MCON: [(0, 0, 5, 5)]})
    run_rules(drawing, [rule("width", 1), rule("space", 1), rule("enclosure", 1, MCON, MET1), rule("area", 1)])
    assert drawing.asked == {MET1: 1, MCON: 1}


@pytest.mark.parametrize(
    ("kind", "leniency", "inner"),
    [
        ("separation", "overlap_is_error", (20, 20, 60, 60)),
        ("enclosure", "outside_is_error", (500, 0, 600, 100)),
        ("extension", "outside_is_error", (20, -500, 60, 50)),
    ],
)
def test_lenient_rule_is_run_leniently(kind, leniency, inner):
    drawing = Drawing({MET1: [(0, 0, 100, 100)], MCON: [inner]})
    assert len(run_rules(drawing, [rule(kind, 10, MCON, MET1)])) == 1
    assert run_rules(drawing, [rule(kind, 10, MCON, MET1, **{leniency: False})]) == ()


def test_empty_layout_breaks_no_rule():
    assert run_rules(Drawing({}), [*SKY130.rule_set("full"), *SKY130.rule_set("published")]) == ()


def test_region_keeps_what_touches_it_and_still_sees_neighbours_outside():
    drawing = Drawing({MET1: [(0, 0, 100, 100), (110, 0, 210, 100), (1000, 0, 1100, 100), (1110, 0, 1210, 100)]})
    findings = run_rules(drawing, [rule("space", 140)], region=db.Box(-50, -50, 100, 50))
    assert [str(finding.place) for finding in findings] == ["(100,0;110,100)"]
    assert run_rules(drawing, [rule("space", 140)], region=db.Box(-50, -50, 99, 50)) == ()
    assert len(run_rules(drawing, [rule("space", 140)])) == 2


def test_legal_inverter_like_stack_is_clean_under_the_published_set():
    def around(x: int, y: int, half: int) -> tuple[int, int, int, int]:
        return (x - half, y - half, x + half, y + half)

    names = {
        "diff": [(0, 0, 1000, 1000)],
        "poly": [(425, -130, 575, 1130)],
        "licon1": [(120, 415, 290, 585)],
        "li1": [(40, 335, 370, 665)],
        "mcon": [(120, 415, 290, 585)],
        "met1": [(0, 300, 410, 700)],
        "via": [(130, 425, 280, 575)],
        "met2": [(0, 300, 410, 700)],
    }
    drawing = Drawing({SKY130.layer_named(name): shapes for name, shapes in names.items()})
    assert run_rules(drawing, SKY130.rule_set("published"), name_of=SKY130.name_of) == ()
    drawing.shapes[SKY130.layer_named("poly")] = [(425, -129, 575, 1130)]
    drawing.shapes[SKY130.layer_named("via")] = [around(205, 500, 74)]
    broken = run_rules(drawing, SKY130.rule_set("published"), name_of=SKY130.name_of)
    assert {finding.rule for finding in broken} == {"poly.8", "via.1a"}
