"""Properties that hold for every layout: a verdict does not depend on where or which way it lies."""

from __future__ import annotations

from collections.abc import Callable

import klayout.db as db
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_iclayout.drc.engine import run_rules
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind

A, B = Layer(layer=1, datatype=0), Layer(layer=2, datatype=0)
VALUE = 40

Shapes = tuple[db.Region, db.Region]


def ruled(*, value: int = VALUE) -> list[Rule]:
    rules = []
    for kind in RuleKind:
        other = B if kind.takes_two_layers else None
        amount = value**2 if kind.is_area else value
        for strict in (True, False) if kind.takes_two_layers else (True,):
            rules.append(
                Rule(
                    id=f"{kind.value}.{'strict' if strict else 'lenient'}",
                    kind=kind,
                    layer=A,
                    other_layer=other,
                    value=amount,
                    overlap_is_error=strict,
                    outside_is_error=strict,
                )
            )
    return rules


# A coarse grid about the rule's value: abutting, kissing, flush and just-too-near shapes are common.
coordinate = st.integers(-12, 12).map(lambda step: step * 10)
side = st.integers(1, 12).map(lambda step: step * 10)
box = st.builds(lambda x, y, w, h: db.Polygon(db.Box(x, y, x + w, y + h)), coordinate, coordinate, side, side)
triangle = st.builds(
    lambda x, y, w, h: db.Polygon([db.Point(x, y), db.Point(x, y + h), db.Point(x + w, y)]),
    coordinate,
    coordinate,
    side,
    side,
)


def region_of_shapes(shapes: list[db.Polygon]) -> db.Region:
    return db.Region(shapes).merged()


manhattan = st.lists(box, max_size=6).map(region_of_shapes)
slanted = st.lists(st.one_of(box, triangle), max_size=5).map(region_of_shapes)


def findings_of(shapes: Shapes, moved: Callable[[db.Region], db.Region] = db.Region.dup, value: int = VALUE):
    layers = {A: moved(shapes[0]).merged(), B: moved(shapes[1]).merged()}
    return run_rules(layers.__getitem__, ruled(value=value))


def no_corner_contact(shapes: Shapes) -> bool:
    """KLayout joins two polygons that share a corner into one; how, depends on their orientation."""
    return all(layer.merged(True, 0).count() == layer.count() for layer in shapes)


def summary(findings):
    return sorted((finding.rule, -1.0 if finding.measured is None else finding.measured) for finding in findings)


@given(st.tuples(manhattan, manhattan), st.integers(0, 3), st.integers(-(10**6), 10**6))
def test_turning_and_moving_change_no_count_and_no_measured_value(shapes, turns, shift):
    assume(no_corner_contact(shapes))
    transform = db.Trans(turns, False, shift, -2 * shift)
    assert summary(findings_of(shapes)) == summary(findings_of(shapes, lambda region: region.transformed(transform)))


@given(st.tuples(slanted, slanted), st.integers(0, 3))
def test_turning_changes_no_verdict_of_slanted_shapes(shapes, turns):
    assume(no_corner_contact(shapes))
    transform = db.Trans(turns, False, 0, 0)
    before = {finding.rule for finding in findings_of(shapes)}
    assert before == {finding.rule for finding in findings_of(shapes, lambda r: r.transformed(transform))}


@given(st.tuples(slanted, slanted))
def test_each_finding_is_below_what_is_required_and_near_the_shapes(shapes):
    extent = (shapes[0].bbox() + shapes[1].bbox()).enlarged(VALUE, VALUE)
    for finding in findings_of(shapes):
        assert finding.place is not None
        assert finding.place.to_db().inside(extent)
        if finding.measured is not None and not finding.rule.startswith("exact_size"):
            assert finding.measured < finding.required


@given(st.tuples(manhattan, manhattan), st.integers(1, 60))
def test_stricter_value_never_clears_a_rule(shapes, value):
    # An exact size is no limit; and what KLayout measures at shapes that overlap (separation) or lie
    # outside (enclosure), where only the strict rules have a meaning, comes and goes with the value.
    exempt = {"exact_size.strict", "separation.lenient", "enclosure.lenient"}

    def broken(at: int) -> set[str]:
        return {finding.rule for finding in findings_of(shapes, value=at)} - exempt

    assert broken(value) <= broken(value + 7)


@given(st.tuples(manhattan, manhattan))
def test_lenient_rule_never_finds_more_kinds_of_fault_than_the_strict_one(shapes):
    broken = {finding.rule for finding in findings_of(shapes)}
    for kind in ("separation", "enclosure", "extension"):
        assert f"{kind}.lenient" not in broken or f"{kind}.strict" in broken


@given(manhattan, manhattan)
def test_separation_does_not_depend_on_which_layer_is_named_first(a, b):
    rules = [rule for rule in ruled() if rule.kind is RuleKind.SEPARATION]
    there = run_rules({A: a, B: b}.__getitem__, rules)
    back = run_rules({A: b, B: a}.__getitem__, rules)
    strict = "separation.strict"
    assert (strict in {f.rule for f in there}) == (strict in {f.rule for f in back})
    # In KLayout an edge of the other layer that lies on one's own edge shields it, and only for one
    # order of the layers: the counts are alike where the layers keep apart.
    if a.interacting(b).is_empty():
        assert summary(there) == summary(back)
