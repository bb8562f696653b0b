"""device_netlist: the transistors of the layout are those of a netlist."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis.strategies import SearchStrategy
from iclayout_checkers.device_differences import differences
from iclayout_checkers.device_layouts import RowPlan
from iclayout_checkers.device_negatives import device_negatives
from iclayout_checkers.device_params import DeviceParams

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.mos_extraction import MosExtraction
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing


class DeviceNetlist:
    """The devices that klayout.db extracts are those of the netlist, with the same sizes and nets.

    Nets are named by labels.  Transistors in parallel count as one whose width is their sum.
    """

    name = "device_netlist"
    params_model = DeviceParams

    def check(self, view: LayoutView, params: DeviceParams) -> Verdict:
        extraction = MosExtraction(view, params.layers, params.reference.pins)
        found = differences(extraction, params.reference, params.tolerance * view.technology.dbu_um)
        return Verdict.of(
            *(Finding(rule=self.name, message=message, place=place) for message, place in found),
            *wrong_fingers(self.name, extraction, params),
        )

    def witness(self, params: DeviceParams, bench: Bench) -> Drawing:
        return _plan(params, bench).row().drawing

    def negatives(self, params: DeviceParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return device_negatives(_plan(params, bench), params.tolerance)

    def variants(self, params: DeviceParams) -> frozenset[str]:
        return MOVED


def wrong_fingers(rule: str, extraction: MosExtraction, params: DeviceParams) -> list[Finding]:
    """Channels that are not as wide as each finger must be."""
    wanted = params.finger_width
    if wanted is None:
        return []
    return [
        Finding(
            rule=rule,
            message=f"a channel is {one.width} dbu wide, each must be {wanted} dbu",
            measured=one.width,
            required=wanted,
            place=Rect.from_db(one.box),
        )
        for one in extraction.channels
        if abs(one.width - wanted) > params.tolerance
    ]


def _plan(params: DeviceParams, bench: Bench) -> RowPlan:
    return RowPlan(params.reference, params.layers, bench.technology, params.finger_width)


CHECKER = DeviceNetlist()
