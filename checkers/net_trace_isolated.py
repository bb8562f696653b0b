"""net_trace_isolated: two probes are on different nets."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, other_layers, sketch_of, unplaced
from iclayout_checkers.probe_layouts import TwoPlates, connection_with_cut, drawing_layer, other_conductors
from iclayout_checkers.probes import PointRef, missed, place_of, probed_layers
from pydantic import model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef


class NetTraceIsolatedParams(Params):
    """``a`` and ``b`` in dbu, as ``50/100``; ``layer`` is the conductor that the probes look at, else all are."""

    a: PointRef
    b: PointRef
    layer: LayerRef | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> NetTraceIsolatedParams:
        if self.a == self.b:
            raise ValueError("a and b are the same point")
        return self


class NetTraceIsolated:
    """Both probes are on shapes, and no net has shapes at both; shapes that meet in a corner are one net."""

    name = "net_trace_isolated"
    params_model = NetTraceIsolatedParams

    def check(self, view: LayoutView, params: NetTraceIsolatedParams) -> Verdict:
        nets = Connectivity(view).joined
        layers = probed_layers(view.technology, params.layer)
        under = {name: nets.under(getattr(params, name), layers) for name in ("a", "b")}
        bare = [name for name, numbers in under.items() if not numbers]
        if bare:
            return Verdict.of(*(missed(view, self.name, name, getattr(params, name), params.layer) for name in bare))
        if not under["a"] & under["b"]:
            return Verdict()
        message = f"a ({params.a.x}, {params.a.y}) and b ({params.b.x}, {params.b.y}) are on one net"
        return Verdict.of(
            Finding(rule=self.name, message=message, layer=params.layer, place=place_of(params.a, params.b))
        )

    def witness(self, params: NetTraceIsolatedParams, bench: Bench) -> Drawing:
        plates = TwoPlates.of(params.a, params.b, drawing_layer(bench.technology, params.layer))
        connection = connection_with_cut(bench.technology, plates.layer)
        if connection is None:
            return sketch_of(plates.apart()).drawing
        # A bridge that ends on one of them only: conductors that cross without a cut are apart.
        other = connection.top if connection.bottom == plates.layer else connection.bottom
        return sketch_of(plates.bridged(other, connection.cut, missing=0)).drawing

    def negatives(self, params: NetTraceIsolatedParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        layer = drawing_layer(bench.technology, params.layer)
        plates = st.builds(lambda cut: TwoPlates.of(params.a, params.b, layer, cut), st.integers(0, 1000))

        def drawn(shapes: Shapes) -> Drawing:
            return sketch_of(shapes).drawing

        def exchanged(plates: TwoPlates, wrong: Layer) -> Drawing:
            return drawn([(wrong, box) for _, box in plates.apart()])

        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "one_plate": plates.map(lambda one: drawn(one.whole())),
            "abutting": plates.map(lambda one: drawn(one.apart(0))),
            "meeting_in_a_corner": plates.map(lambda one: drawn(one.meeting_in_a_corner())),
            "a_is_bare": plates.map(lambda one: drawn(one.under(params.b))),
            "b_is_bare": plates.map(lambda one: drawn(one.under(params.a))),
            "on_no_conductor": st.builds(
                exchanged, plates, other_layers(bench.technology, *probed_layers(bench.technology, None))
            ),
            "only_in_a_cell_that_is_not_placed": plates.map(lambda one: unplaced(drawn(one.apart()))),
        }
        if params.layer is not None:
            found["on_another_layer"] = st.builds(exchanged, plates, other_conductors(bench.technology, layer))
        connection = connection_with_cut(bench.technology, layer)
        if connection is not None:
            other = connection.top if connection.bottom == layer else connection.bottom
            found["joined_by_a_bridge"] = plates.map(lambda one: drawn(one.bridged(other, connection.cut)))
        return found

    def variants(self, params: NetTraceIsolatedParams) -> frozenset[str]:
        # Probes are places: nothing may be moved or turned.
        return REDRAWN


CHECKER = NetTraceIsolated()
