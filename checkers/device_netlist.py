"""device_netlist: the transistors of the layout are those of a netlist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
        return Verdict.of(*wrong_devices(self.name, extraction, params))

    def witness(self, params: DeviceParams, bench: Bench) -> Drawing:
        return _plan(params, bench).row().drawing

    def negatives(self, params: DeviceParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return device_negatives(_plan(params, bench), params.tolerance)

    def variants(self, params: DeviceParams) -> frozenset[str]:
        return MOVED


def wrong_devices(rule: str, extraction: MosExtraction, params: DeviceParams) -> Iterator[Finding]:
    """Where the transistors of a layout are not those that the parameters ask for."""
    tolerance_um = params.tolerance * extraction.view.technology.dbu_um
    for message, place in differences(extraction, params.reference, tolerance_um):
        yield Finding(rule=rule, message=message, place=place)
    yield from _wrong_fingers(rule, extraction, params)


def _wrong_fingers(rule: str, extraction: MosExtraction, params: DeviceParams) -> Iterator[Finding]:
    """Channels that are not as wide as each finger must be."""
    wanted = params.finger_width
    if wanted is None:
        return
    for one in extraction.channels:
        if abs(one.width - wanted) > params.tolerance:
            yield Finding(
                rule=rule,
                message=f"a channel is {one.width} dbu wide, each must be {wanted} dbu",
                measured=one.width,
                required=wanted,
                place=Rect.from_db(one.box),
            )


def _plan(params: DeviceParams, bench: Bench) -> RowPlan:
    return RowPlan(params.reference, params.layers, bench.technology, params.finger_width)


CHECKER = DeviceNetlist()
