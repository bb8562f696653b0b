"""contact_stack: cuts that join two conductors, each cut covered by both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Annotated, NamedTuple

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Points, other_layers, separate_polygons, sketch_of, unplaced
from iclayout_checkers.vias import cut_side, joined
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.checks import Violation, enclosure
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.models import Technology

_SIDES = ("left", "bottom", "right", "top")


class ContactStackParams(Params):
    """``min_enclosure`` in dbu, on every side and by both conductors.

    Without ``bottom`` or ``top`` the technology's connections say what the via joins; where they name
    several conductors (diffusion or poly under a contact), each cut may stand on any one of them.
    """

    via: LayerRef
    bottom: LayerRef | None = None
    top: LayerRef | None = None
    min_enclosure: Annotated[int, Field(ge=0, le=100_000, strict=True)] = 0

    @model_validator(mode="after")
    def _is_consistent(self) -> ContactStackParams:
        given = [layer for layer in (self.via, self.bottom, self.top) if layer is not None]
        if len(set(given)) < len(given):
            raise ValueError("via, bottom and top are three different layers")
        return self


class _Plates(NamedTuple):
    """The layers that may cover a cut from below and from above."""

    bottom: tuple[Layer, ...]
    top: tuple[Layer, ...]


class ContactStack:
    """At least one cut, and every cut covered with the enclosure asked for, measured as a design rule is."""

    name = "contact_stack"
    params_model = ContactStackParams

    def check(self, view: LayoutView, params: ContactStackParams) -> Verdict:
        cuts = view.region(params.via)
        if cuts.is_empty():
            message = f"{view.describe(params.via)} has no cut"
            return Verdict.of(Finding(rule=self.name, message=message, layer=params.via))
        findings: list[Finding] = []
        for role, layers in _plates(params, view.technology)._asdict().items():
            findings += self._uncovered(view, params, cuts, role, layers)
        return Verdict.of(*findings)

    def _uncovered(
        self, view: LayoutView, params: ContactStackParams, cuts: db.Region, role: str, layers: tuple[Layer, ...]
    ) -> list[Finding]:
        suspects = cuts
        for layer in layers:
            # A violation may reach beyond its own cut: what is near one is looked at by itself below.
            near = db.Region()
            for violation in enclosure(suspects, view.region(layer), params.min_enclosure):
                near.insert(violation.place.enlarged(1))
            suspects = suspects.interacting(near)
        findings: list[Finding] = []
        for cut in separate_polygons(suspects):
            by_layer = {layer: _violations_of(cut, view, layer, params.min_enclosure) for layer in layers}
            if all(by_layer.values()):
                closest = max(layers, key=lambda one: _least(by_layer[one]))
                findings.append(self._finding(view, params, cut, role, closest, by_layer[closest]))
        return findings

    def _finding(
        self,
        view: LayoutView,
        params: ContactStackParams,
        cut: db.Polygon,
        role: str,
        layer: Layer,
        violations: list[Violation],
    ) -> Finding:
        least, required = _least(violations), params.min_enclosure
        what = f"enclosed by {least:g} dbu" if least >= 0 else "not covered"
        return Finding(
            rule=self.name,
            message=f"{view.describe(params.via)} cut {what} by its {role}, {view.describe(layer)}: "
            f"at least {required} dbu on every side required",
            layer=layer,
            measured=least,
            required=required,
            place=Rect.from_db(cut.bbox()),
        )

    def witness(self, params: ContactStackParams, bench: Bench) -> Drawing:
        bottom, top = _plates(params, bench.technology)
        cut = db.Box(0, 0, cut_side(params.via, bench), cut_side(params.via, bench))
        plate = cut.enlarged(params.min_enclosure, params.min_enclosure)
        return sketch_of([(bottom[0], plate), (params.via, cut), (top[0], plate)]).drawing

    def negatives(self, params: ContactStackParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        plates = _plates(params, bench.technology)
        stacks = _stacks(params, bench)
        wrong = other_layers(bench.technology, params.via, *plates.bottom, *plates.top)
        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "missing_cut": stacks.map(lambda stack: stack.without(params.via)),
            "cut_without_area": stacks.map(lambda stack: stack.with_cut(db.Box(0, 0, stack.cut.width(), 0)).drawing),
            "cut_on_the_wrong_layer": st.builds(_exchanging(params.via), stacks, wrong),
            "second_cut_uncovered": st.builds(
                lambda stack, gap: stack.and_a_cut_beside(gap), stacks, st.integers(0, 5000)
            ),
            "only_in_a_cell_that_is_not_placed": stacks.map(lambda stack: unplaced(stack.drawing)),
        }
        for role, layer in (("bottom", plates.bottom[0]), ("top", plates.top[0])):
            found |= _broken_plate(params, role, layer, stacks, wrong)
        if len(plates.bottom) > 1:
            found["cut_half_on_each_of_two_bottoms"] = stacks.map(
                lambda stack: stack.on_two_bottoms(plates.bottom[0], plates.bottom[1])
            )
        cuts = {one.cut for one in bench.technology.connections if one.cut is not None} - {params.via}
        if cuts:
            found["cut_is_another_cut"] = st.builds(_exchanging(params.via), stacks, st.sampled_from(sorted(cuts)))
        for role, wanted in (("bottom", params.bottom), ("top", params.top)):
            rivals = [one for one in joined(params.via, bench.technology, role) if one != wanted]
            if wanted is not None and rivals:
                found[f"{role}_is_another_conductor_of_the_via"] = st.builds(
                    _exchanging(wanted), stacks, st.sampled_from(rivals)
                )
        return found

    def variants(self, params: ContactStackParams) -> frozenset[str]:
        return MOVED


def _plates(params: ContactStackParams, technology: Technology) -> _Plates:
    """Raises ValueError when neither the parameters nor the technology say what the via joins."""
    bottoms = joined(params.via, technology, "bottom") if params.bottom is None else (params.bottom,)
    tops = joined(params.via, technology, "top") if params.top is None else (params.top,)
    if not bottoms or not tops:
        raise ValueError(
            f"contact_stack: via: layer {params.via} is no cut of technology {technology.name}; "
            "name both bottom and top"
        )
    return _Plates(bottoms, tops)


def _least(violations: list[Violation]) -> float:
    """The least enclosure among violations of one cut, in dbu; negative where it is not covered."""
    return min(-1.0 if one.measured is None else one.measured for one in violations)


class _Stack(NamedTuple):
    """A cut with its plates, drawn bottom, cut, top."""

    via: Layer
    cut: db.Box
    plates: dict[Layer, db.Box]

    @property
    def drawing(self) -> Drawing:
        return sketch_of([*self.plates.items(), (self.via, self.cut)]).drawing

    def with_cut(self, cut: db.Box) -> _Stack:
        return self._replace(cut=cut)

    def with_plate(self, layer: Layer, plate: db.Box) -> _Stack:
        return self._replace(plates=self.plates | {layer: plate})

    def without(self, layer: Layer) -> Drawing:
        return sketch_of([shape for shape in self._shapes() if shape[0] != layer]).drawing

    def exchanged(self, layer: Layer, other: Layer) -> Drawing:
        return sketch_of([(other if here == layer else here, box) for here, box in self._shapes()]).drawing

    def and_a_cut_beside(self, gap: int) -> Drawing:
        right = max(plate.right for plate in self.plates.values())
        second = self.cut.moved(right + gap - self.cut.left, 0)
        return sketch_of([*self._shapes(), (self.via, second)]).drawing

    def on_two_bottoms(self, first: Layer, second: Layer) -> Drawing:
        plate, middle = self.plates[first], self.cut.center().x
        left = db.Box(plate.left, plate.bottom, middle, plate.top)
        right = db.Box(middle, plate.bottom, plate.right, plate.top)
        return self.with_plate(first, left).with_plate(second, right).drawing

    def with_polygon(self, layer: Layer, points: Points) -> Drawing:
        """A plate that is a polygon."""
        shapes = [shape for shape in self._shapes() if shape[0] != layer]
        return sketch_of(shapes).polygon(layer, points).drawing

    def with_frame(self, layer: Layer) -> Drawing:
        """A plate with a hole of one square dbu in the middle of the cut."""
        plate, hole = self.plates[layer], self.cut.center()
        parts = [
            db.Box(plate.left, plate.bottom, plate.right, hole.y),
            db.Box(plate.left, hole.y + 1, plate.right, plate.top),
            db.Box(plate.left, plate.bottom, hole.x, plate.top),
            db.Box(hole.x + 1, plate.bottom, plate.right, plate.top),
        ]
        shapes = [shape for shape in self._shapes() if shape[0] != layer]
        return sketch_of([*shapes, *((layer, part) for part in parts)]).drawing

    def _shapes(self) -> list[tuple[Layer, db.Box]]:
        return [*self.plates.items(), (self.via, self.cut)]


def _stacks(params: ContactStackParams, bench: Bench) -> SearchStrategy[_Stack]:
    """Legal stacks: the plates reach beyond the cut by the enclosure or more, by different amounts."""
    bottoms, tops = _plates(params, bench.technology)
    sides = st.integers(3, 2000)
    more = st.tuples(*[st.integers(0, 2000)] * 4)

    def stack(width: int, height: int, below: tuple[int, ...], above: tuple[int, ...]) -> _Stack:
        cut = db.Box(0, 0, width, height)
        return _Stack(
            params.via,
            cut,
            {bottoms[0]: _around(cut, params, below), tops[0]: _around(cut, params, above)},
        )

    return st.builds(stack, sides, sides, more, more)


def _around(cut: db.Box, params: ContactStackParams, more: tuple[int, ...]) -> db.Box:
    left, bottom, right, top = (params.min_enclosure + one for one in more)
    return db.Box(cut.left - left, cut.bottom - bottom, cut.right + right, cut.top + top)


def _broken_plate(
    params: ContactStackParams,
    role: str,
    layer: Layer,
    stacks: SearchStrategy[_Stack],
    wrong: SearchStrategy[Layer],
) -> dict[str, SearchStrategy[Drawing]]:
    beyond = st.integers(1, 5000)
    found: dict[str, SearchStrategy[Drawing]] = {
        f"{role}_missing": stacks.map(lambda stack: stack.without(layer)),
        f"{role}_on_the_wrong_layer": st.builds(_exchanging(layer), stacks, wrong),
        f"{role}_with_a_hole_over_the_cut": stacks.map(lambda stack: stack.with_frame(layer)),
        f"{role}_beside_the_cut": st.builds(
            lambda stack, gap: stack.with_plate(layer, _beside(stack, layer, gap)).drawing, stacks, beyond
        ),
        f"{role}_only_touches_the_cut": stacks.map(
            lambda stack: stack.with_plate(layer, _beside(stack, layer, 0)).drawing
        ),
        f"{role}_covers_half_of_the_cut": stacks.map(
            lambda stack: stack.with_plate(layer, _half(stack, layer)).drawing
        ),
    }
    for side in _SIDES:
        found[f"{role}_one_dbu_short_on_the_{side}"] = stacks.map(_shortening(layer, params, side))
    if params.min_enclosure > 0:
        found[f"{role}_too_near_at_a_slanted_corner"] = stacks.map(
            lambda stack: stack.with_polygon(layer, _chamfered(stack, params))
        )
    return found


def _exchanging(layer: Layer) -> Callable[[_Stack, Layer], Drawing]:
    return lambda stack, other: stack.exchanged(layer, other)


def _beside(stack: _Stack, layer: Layer, gap: int) -> db.Box:
    return stack.plates[layer].moved(stack.cut.right + gap - stack.plates[layer].left, 0)


def _half(stack: _Stack, layer: Layer) -> db.Box:
    plate = stack.plates[layer]
    return db.Box(stack.cut.center().x, plate.bottom, plate.right, plate.top)


def _shortening(layer: Layer, params: ContactStackParams, side: str) -> Callable[[_Stack], Drawing]:
    """Draws the plate back to one dbu less than the enclosure on one side."""

    def shorten(stack: _Stack) -> Drawing:
        cut, margin, plate = stack.cut, params.min_enclosure - 1, stack.plates[layer]
        edges = {
            "left": cut.left - margin,
            "bottom": cut.bottom - margin,
            "right": cut.right + margin,
            "top": cut.top + margin,
        }
        drawn = [edges[one] if one == side else getattr(plate, one) for one in _SIDES]
        return stack.with_plate(layer, db.Box(*drawn)).drawing

    return shorten


def _chamfered(stack: _Stack, params: ContactStackParams) -> Points:
    """A plate with the enclosure on all four sides, cut off at 45° too near to a corner of the cut.

    The edge runs at (2 m - c) / √2 from the corner, for a plate of margin m less a triangle of leg c.
    Half a dbu less than m is far enough below that no rounding decides.
    """
    margin = params.min_enclosure
    reach = isqrt((2 * margin - 1) ** 2 // 2)
    leg = 2 * margin - reach
    plate = stack.cut.enlarged(margin, margin)
    left, bottom, right, top = plate.left, plate.bottom, plate.right, plate.top
    return [(left, bottom), (right, bottom), (right, top - leg), (right - leg, top), (left, top)]


def _violations_of(cut: db.Polygon, view: LayoutView, layer: Layer, required: int) -> list[Violation]:
    """How one cut's enclosure by a layer falls short, from the shapes as they were drawn around it."""
    plates = view.drawn_near(layer, cut.bbox().enlarged(required))
    return enclosure(db.Region(cut), plates, required)


CHECKER = ContactStack()
