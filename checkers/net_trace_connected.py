"""net_trace_connected: two probes are on one net."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, other_layers, sketch_of, unplaced
from iclayout_checkers.probe_layouts import TwoPlates, connection_with_cut, drawing_layer, other_conductors
from iclayout_checkers.probes import PointRef, missed, place_of, probed_layers
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef


class NetTraceConnectedParams(Params):
    """``a`` and ``b`` in dbu, as ``50/100``; ``layer`` is the conductor that the probes look at, else all are."""

    a: PointRef
    b: PointRef
    min_shapes: Annotated[int, Field(ge=1, le=100, strict=True)] = 1
    layer: LayerRef | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> NetTraceConnectedParams:
        if self.a == self.b:
            raise ValueError("a and b are the same point")
        return self


class NetTraceConnected:
    """Both probes are on shapes of one net, which is drawn with ``min_shapes`` different shapes at least.

    Those are counted as drawn, in all cells: a wire of two rectangles that abut has two.  How a shape is cut
    alters the count, but only upwards, so no layout that is accepted is rejected when it is drawn in pieces.
    """

    name = "net_trace_connected"
    params_model = NetTraceConnectedParams

    def check(self, view: LayoutView, params: NetTraceConnectedParams) -> Verdict:
        nets = Connectivity(view).separate
        layers = probed_layers(view.technology, params.layer)
        under = {name: nets.under(getattr(params, name), layers) for name in ("a", "b")}
        bare = [name for name, numbers in under.items() if not numbers]
        if bare:
            return Verdict.of(*(missed(view, self.name, name, getattr(params, name), params.layer) for name in bare))
        place = place_of(params.a, params.b)
        shared = under["a"] & under["b"]
        if not shared:
            message = f"a ({params.a.x}, {params.a.y}) and b ({params.b.x}, {params.b.y}) are not on one net"
            return Verdict.of(Finding(rule=self.name, message=message, layer=params.layer, place=place))
        count = max(_drawn_shapes(view, nets.shapes[number]) for number in shared)
        if count >= params.min_shapes:
            return Verdict()
        message = f"the net of a and b is drawn with {count} shape(s), at least {params.min_shapes} required"
        return Verdict.of(
            Finding(rule=self.name, message=message, measured=count, required=params.min_shapes, place=place)
        )

    def witness(self, params: NetTraceConnectedParams, bench: Bench) -> Drawing:
        plates = TwoPlates.of(params.a, params.b, drawing_layer(bench.technology, params.layer))
        connection = connection_with_cut(bench.technology, plates.layer)
        if connection is None:
            return sketch_of(plates.apart(0) + plates.pads(params.min_shapes - 2, params.a)).drawing
        other = connection.top if connection.bottom == plates.layer else connection.bottom
        shapes = plates.bridged(other, connection.cut)
        return sketch_of(shapes + plates.pads(params.min_shapes - len(shapes), params.a)).drawing

    def negatives(self, params: NetTraceConnectedParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        layer, least = drawing_layer(bench.technology, params.layer), params.min_shapes
        plates = st.builds(lambda cut: TwoPlates.of(params.a, params.b, layer, cut), st.integers(0, 1000))
        gap = st.integers(1, 5000)

        def drawn(shapes: Shapes) -> Drawing:
            return sketch_of(shapes).drawing

        def filled(plates: TwoPlates, shapes: Shapes) -> Drawing:
            """So many shapes that their number is not what is wrong."""
            return drawn(shapes + plates.pads(least, params.a) + plates.pads(least, params.b))

        def exchanged(plates: TwoPlates, wrong: Layer) -> Drawing:
            return drawn([(wrong, box) for _, box in plates.whole() + plates.pads(least, params.a)])

        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "gap_of_one_dbu": plates.map(lambda one: filled(one, one.apart())),
            "meeting_in_a_corner": plates.map(lambda one: filled(one, one.meeting_in_a_corner())),
            "a_is_bare": plates.map(lambda one: drawn(one.under(params.b) + one.pads(least, params.b))),
            "b_is_bare": plates.map(lambda one: drawn(one.under(params.a) + one.pads(least, params.a))),
            "on_no_conductor": st.builds(
                exchanged, plates, other_layers(bench.technology, *probed_layers(bench.technology, None))
            ),
            "only_shapes_without_area": st.just(
                Sketch().rect(layer, *_corners(place_of(params.a, params.b).to_db(), flat=True)).drawing
            ),
            "only_in_a_cell_that_is_not_placed": plates.map(lambda one: unplaced(filled(one, one.whole()))),
        }
        if params.layer is not None:
            found["on_another_layer"] = st.builds(exchanged, plates, other_conductors(bench.technology, layer))
        connection = connection_with_cut(bench.technology, layer)
        if connection is not None:
            other = connection.top if connection.bottom == layer else connection.bottom
            end = st.integers(0, 1)
            found |= {
                "bridge_without_cuts": plates.map(lambda one: filled(one, one.bridged(other, None))),
                "bridge_with_one_cut": st.builds(
                    lambda one, end: filled(one, one.bridged(other, connection.cut, missing=end)), plates, end
                ),
                "bridge_with_a_cut_beside": st.builds(
                    lambda one, end: filled(one, one.bridged(other, connection.cut, aside=end)), plates, end
                ),
            }
        if least > 1:
            short = least - 2
            found |= {
                "one_shape_short": plates.map(lambda one: drawn(one.whole() + one.pads(short, params.a))),
                "one_shape_drawn_twice": plates.map(
                    lambda one: drawn(one.whole() * 2 + one.pads(short, params.a)),
                ),
                "one_shape_without_area": plates.map(
                    lambda one: drawn([*one.whole(), *one.pads(short, params.a), (layer, _flat(one.whole()[0][1]))])
                ),
                "one_shape_on_another_net": st.builds(
                    lambda one, gap: drawn(one.whole() + one.pads(short, params.a) + one.bystanders(1, gap)),
                    plates,
                    gap,
                ),
            }
        return found

    def variants(self, params: NetTraceConnectedParams) -> frozenset[str]:
        # Probes are places: nothing may be moved or turned.
        return REDRAWN


def _drawn_shapes(view: LayoutView, by_layer: Mapping[Layer, db.Region]) -> int:
    """Different drawn shapes of a net: on its conductors, and the cuts that overlap these."""
    regions = list(by_layer.items())
    for one in view.technology.connections:
        if one.cut is not None:
            regions += [(one.cut, by_layer[end]) for end in (one.bottom, one.top) if end in by_layer]
    return len({(layer, outline) for layer, region in regions for outline in _drawn(view, layer, region)})


def _drawn(view: LayoutView, layer: Layer, net: db.Region) -> Iterator[str]:
    """The drawn shapes of a layer that overlap the net by area, as their outlines."""
    single = view.drawn(layer)
    single.merged_semantics = False
    for polygon in single.not_outside(net).each():
        if polygon.area() > 0:
            yield str(polygon)


def _flat(box: db.Box) -> db.Box:
    """A line through the middle."""
    return db.Box(box.left, box.center().y, box.right, box.center().y)


def _corners(box: db.Box, flat: bool) -> tuple[int, int, int, int]:
    return box.left, box.bottom, box.right, box.bottom if flat else box.top


CHECKER = NetTraceConnected()
