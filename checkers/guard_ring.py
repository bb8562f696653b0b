"""guard_ring: a ring on one layer that is closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Points, other_layers, separate, sizes, sketch_of, unplaced
from iclayout_checkers.ring_layouts import Ring

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import LayerRef


class GuardRingParams(Params):
    layer: LayerRef


class GuardRing:
    """At least one merged polygon on the layer has a hole, whatever its outline and the pieces it was drawn
    from.  What closes by a corner only is open.
    """

    name = "guard_ring"
    params_model = GuardRingParams

    def check(self, view: LayoutView, params: GuardRingParams) -> Verdict:
        # Polygons that are kept apart at corners have a hole only where no corner is needed to close it.
        shapes = separate(view.region_by_cell(params.layer))
        if not shapes.holes().is_empty():
            return Verdict()
        layer = view.describe(params.layer)
        if shapes.is_empty():
            return Verdict.of(Finding(rule=self.name, layer=params.layer, message=f"{layer} has no shape"))
        message = f"{layer} has {shapes.count()} shape(s), none of them a closed ring"
        place = Rect.from_db(shapes.bbox())
        return Verdict.of(Finding(rule=self.name, layer=params.layer, message=message, place=place))

    def witness(self, params: GuardRingParams, bench: Bench) -> Drawing:
        return sketch_of([(params.layer, bar) for bar in Ring(2000, 2000, 400).bars]).drawing

    def negatives(self, params: GuardRingParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        layer, rings = params.layer, _rings()
        wrong, side, at = other_layers(bench.technology, layer), st.integers(0, 3), st.integers(0, 1000)

        def drawn(bars: Callable[[Ring], list[db.Box]]) -> SearchStrategy[Drawing]:
            return rings.map(lambda ring: sketch_of([(layer, bar) for bar in bars(ring)]).drawing)

        def of_a_side(bars: Callable[[Ring, int, int], list[db.Box]]) -> SearchStrategy[Drawing]:
            return st.builds(
                lambda ring, side, at: sketch_of([(layer, bar) for bar in bars(ring, side, at)]).drawing,
                rings,
                side,
                at,
            )

        return {
            "nothing_drawn": st.just(Sketch().drawing),
            "wrong_layer": st.builds(
                lambda ring, other: sketch_of([(other, bar) for bar in ring.bars]).drawing, rings, wrong
            ),
            "only_in_a_cell_that_is_not_placed": drawn(lambda ring: ring.bars).map(unplaced),
            "plate": sizes().map(lambda size: sketch_of([(layer, db.Box(0, 0, *size))]).drawing),
            "filled_ring": drawn(lambda ring: [*ring.bars, ring.hole]),
            "side_missing": of_a_side(lambda ring, side, at: ring.without(side)),
            "side_with_a_gap_of_one_dbu": of_a_side(lambda ring, side, at: ring.with_gap(side, at)),
            "side_that_hangs_together_by_a_corner": of_a_side(lambda ring, side, at: ring.with_corner(side, at)),
            "side_without_area": of_a_side(lambda ring, side, at: [*ring.without(side), _line(ring.bars[side])]),
            "sides_that_meet_in_corners_only": drawn(lambda ring: ring.corners_only),
            "two_halves_that_meet_in_corners_only": drawn(lambda ring: ring.halves),
            "bars_side_by_side": drawn(
                lambda ring: [bar.moved(0, 2 * n * ring.outside.top) for n, bar in enumerate(ring.bars)]
            ),
            "side_on_the_wrong_layer": st.builds(
                lambda ring, side, other: (
                    sketch_of(
                        [(other if number == side else layer, bar) for number, bar in enumerate(ring.bars)]
                    ).drawing
                ),
                rings,
                side,
                wrong,
            ),
            "slanted_ring_with_a_gap_of_one_dbu": rings.map(
                lambda ring: Sketch().polygon(layer, _open_diamond(ring)).drawing
            ),
            "spiral": rings.map(lambda ring: Sketch().path(layer, 2 * ring.thickness, _spiral(ring)).drawing),
        }

    def variants(self, params: GuardRingParams) -> frozenset[str]:
        return MOVED


def _rings() -> SearchStrategy[Ring]:
    lengths = st.tuples(st.integers(5, 100_000), st.integers(5, 100_000), st.integers(2, 5000))
    return lengths.map(lambda one: Ring(*one))


def _line(bar: db.Box) -> db.Box:
    """The bar, flattened along its length."""
    if bar.width() >= bar.height():
        return db.Box(bar.left, bar.bottom, bar.right, bar.bottom)
    return db.Box(bar.left, bar.bottom, bar.left, bar.top)


def _open_diamond(ring: Ring) -> Points:
    """A square ring on its corner, with a slit of one dbu in the lower half of the right corner."""
    inner = ring.width
    outer = inner + 2 * ring.thickness
    return [
        (outer, 0), (0, outer), (-outer, 0), (0, -outer), (outer - 1, -1),
        (inner - 1, -1), (0, -inner), (-inner, 0), (0, inner), (inner, 0),
    ]  # fmt: skip


def _spiral(ring: Ring) -> Points:
    """A turn and a half, the second turn around the first one with room between."""
    wide, high, step = ring.width + 8 * ring.thickness, ring.height + 8 * ring.thickness, 3 * ring.thickness
    return [
        (0, 0), (wide, 0), (wide, high), (0, high), (0, step),
        (wide - step, step), (wide - step, high - step),
    ]  # fmt: skip


CHECKER = GuardRing()
