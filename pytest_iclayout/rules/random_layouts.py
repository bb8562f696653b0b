"""Random layouts of a declared structure, labelled by how they are made, as a Hypothesis strategy."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt

from hypothesis import assume
from hypothesis import strategies as st

from pytest_iclayout.rules.derived import meant_regions, text_of
from pytest_iclayout.rules.families import Case, Family
from pytest_iclayout.rules.figures import Figure, Placement, Role, box, flat, in_cell, in_pieces, is_flat, moved, turned
from pytest_iclayout.rules.kinds import families_of, limit_of, single_cases
from pytest_iclayout.rules.rule import LabelledLayout
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

_TURNS = ("r0", "r90", "r180", "r270", "m0", "m45", "m90", "m135")
_MOST_FIGURES = 3
_FAR = 3
"""Times the value that a measure may be: as far as all families can be drawn."""


def labelled_layouts(
    category: str, structure: Structure, layers: Mapping[str, Layer], dbu_um: float
) -> st.SearchStrategy[LabelledLayout]:
    """One to three figures far from each other; the layout violates the category where one of them does.

    Their measures are up to 2 dbu from the value, or anywhere up to three times of it.  Figures are turned, cut into
    pieces, and put into cells, turned, mirrored, made smaller or larger.  The structure is one that
    :func:`~pytest_iclayout.rules.boundary.boundary_layouts` does not refuse.
    """
    return _layouts(category, structure, layers, dbu_um)


@st.composite
def _layouts(
    draw: st.DrawFn, category: str, structure: Structure, layers: Mapping[str, Layer], dbu_um: float
) -> LabelledLayout:
    cases = draw(st.lists(_cases(structure), min_size=1, max_size=_MOST_FIGURES))
    gap = 10 * isqrt(limit_of(structure))
    text = text_of(_side_by_side([case.figure for case in cases], gap), structure, layers, dbu_um)
    assume(text is not None)
    assert text is not None
    fails = any(case.fails for case in cases)
    name = f"{'fail' if fails else 'pass'}/{category}-{'-'.join(case.name for case in cases)}.gds"
    return LabelledLayout(name, frozenset((category,)) if fails else frozenset(), ShapeList(text, layers, dbu_um))


def _side_by_side(figures: list[Figure], gap: int) -> Figure:
    """From left to right, ``gap`` (dbu) apart."""
    row: Figure = ()
    cursor = 0
    for figure in figures:
        regions = meant_regions(figure)
        around = regions.layer.bbox() + regions.other.bbox()
        row += moved(figure, cursor - around.left, 0)
        cursor += around.width() + gap
    return row


@st.composite
def _cases(draw: st.DrawFn, structure: Structure) -> Case:
    """In one of the many ways in which a figure can be drawn, which change nothing of its label."""
    factor = draw(st.sampled_from((1, 1, 1, 2, 3)))
    case = draw(_plain(structure, factor))
    figure = case.figure
    if not is_flat(figure):
        return case  # it has cells of its own
    if draw(st.booleans()):
        figure = turned(figure)
    if draw(st.booleans()):
        figure = in_pieces(figure, draw(st.sampled_from((0.25, 0.5, 0.75))))
    if factor > 1:
        figure = in_cell(figure, draw(_placements(str(factor))))
    elif draw(st.booleans()):
        multiple, smaller = draw(st.sampled_from(((1, "1"), (2, "0.5"), (4, "0.25"))))
        figure = in_cell(figure, draw(_placements(smaller)), multiple)
    return case._replace(figure=figure)


def _placements(factor: str) -> st.SearchStrategy[Placement]:
    place = st.integers(-1000, 1000)
    return st.builds(Placement, place, place, st.sampled_from(_TURNS), st.just(factor))


def _plain(structure: Structure, factor: int) -> st.SearchStrategy[Case]:
    """Figures that, once enlarged by ``factor``, have the labels of their cases."""
    if structure.kind is RuleKind.EXACT_SIZE:
        sized = _of_size(structure.value_dbu, factor)
    else:
        # What has cells of its own is not put into another one, and so cannot be enlarged.
        families = [one for one in families_of(structure.kind) if factor == 1 or not one.has_cells]
        sized = st.sampled_from(families).flatmap(lambda family: _of_family(family, structure, factor))
    if factor > 1:
        return sized
    return st.one_of(sized, sized, st.sampled_from(single_cases(structure)))


def _of_size(value: int, factor: int) -> st.SearchStrategy[Case]:
    nearest = max(1, value // factor)
    side = st.one_of(st.just(nearest), st.integers(max(1, nearest - 2), nearest + 2), st.integers(1, _FAR * nearest))

    def case(width: int, height: int) -> Case:
        right = factor * width == factor * height == value
        return Case("size", not right, flat(box(Role.LAYER, 0, 0, width, height)))

    return st.builds(case, side, side)


def _of_family(family: Family, structure: Structure, factor: int) -> st.SearchStrategy[Case]:
    # Sizes of lengths are squares, those of areas are areas: both grow with the square of the factor.
    limit = -(-limit_of(structure) // factor**2)
    value = -(-structure.value_dbu // factor ** (2 if structure.kind.is_area else 1))
    first = family.first_passing(limit)

    def parameters(low: int, high: int) -> st.SearchStrategy[int]:
        low = max(low, family.least)
        return st.integers(low, high) if low <= high else st.nothing()

    below, kept = first - 1 - family.slack, first + family.slack
    parameter = st.one_of(
        parameters(below - 2, below), parameters(kept, kept + 2), parameters(1, below), parameters(kept, _FAR * first)
    )
    return parameter.map(lambda one: Case(family.name, family.fails(one, limit), family.draw(one, value)))
