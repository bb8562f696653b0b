"""Layouts at the threshold of a declared structure, labelled by how they are made.

No engine is asked for a label: each figure has one measure, which is known because it was drawn.  Where KLayout's
versions differ (slanted edges that meet in a point), or where the rule leaves open what holds (layers that touch and
are allowed to overlap), nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_iclayout.rules.controls import controls
from pytest_iclayout.rules.derived import text_of
from pytest_iclayout.rules.families import Case, Family
from pytest_iclayout.rules.figures import Placement, in_cell, is_flat, turned
from pytest_iclayout.rules.kinds import families_of, limit_of, single_cases
from pytest_iclayout.rules.rule import LabelledLayout, RuleError
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer

LEAST = 10
"""Layouts of a structure; with fewer it is refused."""
_LEAST_OF_A_LABEL = 3


def boundary_layouts(
    category: str, structure: Structure, layers: Mapping[str, Layer], dbu_um: float
) -> list[LabelledLayout]:
    """At least ten layouts, the same each time: below, at and above the value, and what is no case of the rule.

    They are named ``pass/CATEGORY-CASE.gds`` and ``fail/CATEGORY-CASE.gds``.  A derived layer is drawn so that it
    is exactly the figure: on all layers that it is the intersection of, on none that are taken away; controls leave
    one of them out, or cover the figure.

    Raises RuleError for structures of which no layouts can be labelled by construction: two layers that are the
    same or exclude each other by their expressions (an enclosure of ``a`` in ``b - a``, a separation of ``a & b``
    from ``b``, an extension of ``a & b`` beyond ``b``), a layer that is always empty (``a - a``), a value of 1 dbu
    (nothing is narrower).
    """
    found: dict[str, LabelledLayout] = {}
    for case in boundary_cases(structure):
        text = text_of(case.figure, structure, layers, dbu_um)
        if text is not None:
            _add(found, category, case.name, case.fails, ShapeList(text, layers, dbu_um))
    for control in controls(structure, layers, dbu_um):
        _add(found, category, control.name, control.fails, ShapeList(control.text, layers, dbu_um))
    failing = sum(bool(one.violates) for one in found.values())
    if structure.value_dbu == 1 or len(found) < LEAST or min(failing, len(found) - failing) < _LEAST_OF_A_LABEL:
        other = f" and {structure.other}" if structure.other else ""
        raise RuleError(
            f"{structure.kind.value} of {structure.layer}{other}, value {structure.value_dbu}: no layouts can be made "
            "from this structure; leave it out and list layouts in pass, fail or layout"
        )
    return list(found.values())


def boundary_cases(structure: Structure) -> Iterator[Case]:
    """The figures with their labels, not yet drawn on layers."""
    for number, family in enumerate(families_of(structure.kind)):
        first = family.first_passing(limit_of(structure))
        if number == 0:
            yield from _of_plainest(family, first, structure.value_dbu)
        else:
            yield from _of_other(family, first, structure.value_dbu, turn=number % 2 == 1)
    yield from single_cases(structure)
    yield Case("empty", False, ())


def _of_plainest(family: Family, first: int, value: int) -> Iterator[Case]:
    at = family.draw(first, value)
    yield Case("at_value", False, at)
    yield Case("at_value_turned", False, turned(at))
    yield Case("one_above", False, family.draw(first + 1, value))
    yield Case("at_value_in_cell", False, in_cell(at, Placement(0, 0, "m45", "0.5"), 2))
    if first <= family.least:
        return
    below = family.draw(first - 1, value)
    yield Case("one_below", True, below)
    yield Case("one_below_turned", True, turned(below))
    yield Case("one_below_in_cell", True, in_cell(below, Placement(0, 0, "r270", "0.5"), 2))


def _of_other(family: Family, first: int, value: int, turn: bool) -> Iterator[Case]:
    for parameter, fails in ((first - 1 - family.slack, True), (first + family.slack, False)):
        if parameter >= family.least:
            figure = family.draw(parameter, value)
            if turn and is_flat(figure):
                figure = turned(figure)
            yield Case(f"{family.name}_{'below' if fails else 'kept'}", fails, figure)


def _add(found: dict[str, LabelledLayout], category: str, case: str, fails: bool, source: ShapeList) -> None:
    name = f"{'fail' if fails else 'pass'}/{category}-{case}.gds"
    found[name] = LabelledLayout(name, frozenset((category,)) if fails else frozenset(), source)
