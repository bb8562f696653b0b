"""What the checkers of transistors take: a netlist, and the layers that transistors are drawn with."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from pytest_iclayout.checking.checker import Params
from pytest_iclayout.geometry.mos import MosNetlist, read_spice
from pytest_iclayout.geometry.mos_extraction import MosLayers
from pytest_iclayout.technology.layers import Layer, LayerRef


class DeviceParams(Params):
    """``netlist`` is SPICE text: one ``.subckt`` of M lines of the models NMOS and PMOS.

    ``finger_width`` is the width of each drawn channel in dbu; None: any, as long as they add up.
    ``tolerance`` is how much a width or length may differ, in dbu.
    """

    netlist: str
    finger_width: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = None
    tolerance: Annotated[int, Field(ge=0, le=1000, strict=True)] = 0
    diff: LayerRef = Layer(layer=65, datatype=20)
    tap: LayerRef = Layer(layer=65, datatype=44)
    poly: LayerRef = Layer(layer=66, datatype=20)
    nwell: LayerRef = Layer(layer=64, datatype=20)
    n_implant: LayerRef = Layer(layer=93, datatype=44)
    p_implant: LayerRef = Layer(layer=94, datatype=20)

    @field_validator("netlist")
    @classmethod
    def _is_a_netlist(cls, text: str) -> str:
        read_spice(text)
        return text

    @model_validator(mode="after")
    def _layers_differ(self) -> DeviceParams:
        if len(set(self.layers)) < len(self.layers):
            raise ValueError(f"{', '.join(MosLayers._fields)} are different layers")
        return self

    @property
    def reference(self) -> MosNetlist:
        return read_spice(self.netlist)

    @property
    def layers(self) -> MosLayers:
        return MosLayers(self.diff, self.tap, self.poly, self.nwell, self.n_implant, self.p_implant)
