"""net_trace_extent: the net under a probe is wide and high enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, bounding_box, other_layers, sketch_of, unplaced
from iclayout_checkers.probe_layouts import connection_with_cut, drawing_layer
from iclayout_checkers.probes import PointRef, missed, probed_layers
from pydantic import Field

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Point, Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

Length = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]

_CUT_FROM = 20
"""dbu; a net that is narrower or lower is drawn on one layer."""


class NetTraceExtentParams(Params):
    """``probe`` in dbu, as ``50/100``; ``min_width`` (along x) and ``min_height`` (along y) in dbu."""

    probe: PointRef
    min_width: Length
    min_height: Length


class NetTraceExtent:
    """The bounding box of a net under the probe, over all conductors that the net is drawn on."""

    name = "net_trace_extent"
    params_model = NetTraceExtentParams

    def check(self, view: LayoutView, params: NetTraceExtentParams) -> Verdict:
        nets = Connectivity(view).separate
        under = nets.under(params.probe, probed_layers(view.technology, None))
        if not under:
            return Verdict.of(missed(view, self.name, "probe", params.probe, None))
        boxes = [bounding_box([region.bbox() for region in nets.shapes[number].values()]) for number in sorted(under)]
        if any(box.width() >= params.min_width and box.height() >= params.min_height for box in boxes):
            return Verdict()
        return Verdict.of(*(self._finding(params, box) for box in boxes))

    def _finding(self, params: NetTraceExtentParams, box: db.Box) -> Finding:
        message = (
            f"the net under probe ({params.probe.x}, {params.probe.y}) "
            f"reaches over {box.width()} x {box.height()} dbu, "
            f"at least {params.min_width} x {params.min_height} dbu required"
        )
        return Finding(rule=self.name, message=message, place=Rect.from_db(box))

    def witness(self, params: NetTraceExtentParams, bench: Bench) -> Drawing:
        return sketch_of(_net(bench.technology, _around(params.probe, params.min_width, params.min_height))).drawing

    def negatives(self, params: NetTraceExtentParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        technology, probe = bench.technology, params.probe
        layer = drawing_layer(technology, None)
        width, height = params.min_width, params.min_height
        box, more = _around(probe, width, height), st.integers(0, 5000)

        def beside(gap: int) -> list[db.Box]:
            """One dbu short of the width, and the rest beyond a gap."""
            cut = db.Box(box.left, box.bottom, box.right - 1, box.top)
            return [cut, db.Box(cut.right + gap, box.bottom, cut.right + gap + 100, box.top)]

        def drawn(*boxes: db.Box) -> Drawing:
            return sketch_of([(layer, one) for one in boxes]).drawing

        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "probe_is_bare": st.builds(
                lambda dx, dy: drawn(box.moved(box.width() + 1 + dx, dy)), more, st.integers(-5000, 5000)
            ),
            "on_no_conductor": st.builds(
                lambda wrong, more: sketch_of([(wrong, box.enlarged(more, more))]).drawing,
                other_layers(technology, *probed_layers(technology, None)),
                more,
            ),
            "only_a_shape_without_area": st.just(drawn(db.Box(box.left, probe.y, box.right, probe.y))),
            "only_in_a_cell_that_is_not_placed": more.map(lambda more: unplaced(drawn(box.enlarged(more, more)))),
        }
        for name, short in (("narrow", (1, 0)), ("low", (0, 1))):
            if width - short[0] < 1 or height - short[1] < 1:
                continue
            found[f"one_dbu_too_{name}"] = st.builds(
                lambda more, short=short: sketch_of(_net(technology, _shortened(probe, params, short, more))).drawing,
                more,
            )
        if width > 1:
            found |= {
                "rest_beyond_a_gap": st.builds(lambda gap: drawn(*beside(gap)), st.integers(1, 5000)),
                "rest_meets_it_in_a_corner": st.just(drawn(beside(0)[0], beside(0)[1].moved(0, box.height()))),
                "large_net_beside_it": st.builds(
                    lambda gap: drawn(beside(gap)[0], box.moved(0, box.height() + gap)),
                    st.integers(1, 5000),
                ),
            }
        connection = connection_with_cut(technology, layer)
        if connection is not None and _is_large(box):
            shapes = _net(technology, box)
            found |= {
                "two_layers_without_a_cut": st.just(
                    sketch_of([one for one in shapes if one[0] != connection.cut]).drawing
                ),
                "two_layers_with_a_cut_beside": st.just(sketch_of(_with_cut_beside(shapes, connection.cut)).drawing),
            }
        return found

    def variants(self, params: NetTraceExtentParams) -> frozenset[str]:
        # A probe is a place: nothing may be moved or turned.
        return REDRAWN


def _around(probe: Point, width: int, height: int) -> db.Box:
    left, bottom = probe.x - width // 2, probe.y - height // 2
    return db.Box(left, bottom, left + width, bottom + height)


def _shortened(probe: Point, params: NetTraceExtentParams, short: tuple[int, int], more: int) -> db.Box:
    """Short by a dbu in one direction, and larger than asked for in the other."""
    width = params.min_width - short[0] + (0 if short[0] else more)
    height = params.min_height - short[1] + (0 if short[1] else more)
    return _around(probe, width, height)


def _is_large(box: db.Box) -> bool:
    return min(box.width(), box.height()) >= _CUT_FROM


def _net(technology: Technology, box: db.Box) -> Shapes:
    """A net that fills a box: two overlapping parts on two layers with a cut between, where there is room."""
    layer = drawing_layer(technology, None)
    connection = connection_with_cut(technology, layer)
    if connection is None or connection.cut is None or not _is_large(box):
        return [(layer, box)]
    other = connection.top if connection.bottom == layer else connection.bottom
    tenth, quarter = box.width() // 10, box.height() // 4
    middle = db.Box(box.left + 4 * tenth, box.bottom, box.right - 4 * tenth, box.top)
    return [
        (layer, db.Box(box.left, box.bottom, middle.right, box.top)),
        (other, db.Box(middle.left, box.bottom, box.right, box.top)),
        (connection.cut, db.Box(middle.left + 1, box.bottom + quarter, middle.right - 1, box.top - quarter)),
    ]


def _with_cut_beside(shapes: Shapes, cut: Layer | None) -> Shapes:
    """The cut touches both parts from below, and overlaps neither."""
    (_, lower), *_ = shapes
    return [(layer, box if layer != cut else box.moved(0, lower.bottom - box.top)) for layer, box in shapes]


CHECKER = NetTraceExtent()
