"""via_chain: so many cuts on one net, each of which joins two conductors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.chain_layouts import Conductors, chain, chain_negatives, conductors
from iclayout_checkers.layouts import separate_polygons
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.models import Technology


class ViaChainParams(Params):
    """``vias`` is the least number of cuts.

    Without ``bottom`` or ``top`` each cut may join any pair of conductors that the technology joins by it.
    """

    via: LayerRef
    vias: Annotated[int, Field(ge=1, le=1000, strict=True)]
    bottom: LayerRef | None = None
    top: LayerRef | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> ViaChainParams:
        given = [layer for layer in (self.via, self.bottom, self.top) if layer is not None]
        if len(set(given)) < len(given):
            raise ValueError("via, bottom and top are three different layers")
        return self


class _Ends(NamedTuple):
    """The layers that a cut may join."""

    bottoms: tuple[Layer, ...]
    tops: tuple[Layer, ...]


class ViaChain:
    """At least so many cuts on one extracted net, each with a bottom and a top conductor that it overlaps.

    Whether they lie in series or in parallel is not looked at: both join what they join.
    """

    name = "via_chain"
    params_model = ViaChainParams

    def check(self, view: LayoutView, params: ViaChainParams) -> Verdict:
        ends = _ends(params, view.technology)
        polygons = separate_polygons(view.region(params.via))
        cuts = _apart(polygons)
        # No net may need a corner to hang together.
        nets = Connectivity(view).separate
        most = 0
        for shapes in nets.shapes:
            below, above = (_all_of(shapes, layers) for layers in ends)
            if not below.is_empty():
                most = max(most, _apart(cuts.overlapping(below).each()).overlapping(above).count())
        if most >= params.vias:
            return Verdict()
        finding = Finding(
            rule=self.name,
            message=f"{view.describe(params.via)}: {len(polygons)} cut(s), {most} of them on one net and joining "
            f"a bottom and a top conductor, at least {params.vias} required",
            layer=params.via,
            measured=most,
            required=params.vias,
            place=Rect.from_db(cuts.bbox()) if polygons else None,
        )
        return Verdict.of(finding)

    def witness(self, params: ViaChainParams, bench: Bench) -> Drawing:
        # Of a technology that has no such connection this says so.
        _ends(params, bench.technology)
        return chain(params.via, self._joining(params, bench), params.vias, bench).drawing

    def negatives(self, params: ViaChainParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return chain_negatives(params.via, self._joining(params, bench), params.vias, bench)

    def _joining(self, params: ViaChainParams, bench: Bench) -> Conductors:
        return conductors(params.via, params.bottom, params.top, bench)

    def variants(self, params: ViaChainParams) -> frozenset[str]:
        return MOVED


def _ends(params: ViaChainParams, technology: Technology) -> _Ends:
    """Raises ValueError when the technology has no such connection: no net could go through the cuts."""
    found = [
        one
        for one in technology.connections
        if one.cut == params.via and params.bottom in (None, one.bottom) and params.top in (None, one.top)
    ]
    if not found:
        named = [f"{role} {layer}" for role, layer in (("bottom", params.bottom), ("top", params.top)) if layer]
        what = " and ".join(named) or "any conductors"
        raise ValueError(f"via_chain: technology {technology.name} does not join {what} by layer {params.via}")
    return _Ends(tuple(dict.fromkeys(one.bottom for one in found)), tuple(dict.fromkeys(one.top for one in found)))


def _all_of(shapes: Mapping[Layer, db.Region], layers: tuple[Layer, ...]) -> db.Region:
    found = db.Region()
    for layer in layers:
        if layer in shapes:
            found += shapes[layer]
    return found


def _apart(polygons: Iterable[db.Polygon]) -> db.Region:
    """A region in which polygons that meet in a corner stay two."""
    region = db.Region(list(polygons))
    region.merged_semantics = False
    return region


CHECKER = ViaChain()
