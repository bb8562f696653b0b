"""Conductor connections derived from the heights of a layer stack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Connection, TechnologyLayer


@dataclass(frozen=True)
class _Slab:
    layer: Layer
    bottom: int
    top: int


def connections_from_heights(layers: Iterable[TechnologyLayer]) -> tuple[Connection, ...]:
    """Connections by the heights (nm) of the layers that have some.

    A slab that spans exactly from the top of a conductor to the bottom of another layer is a cut,
    every other slab a conductor; a layer whose top is at or below the surface (z = 0) is a well and
    takes no part.  Each conductor reaches, through the nearest cut at or above its top, the
    conductor whose bottom is nearest at or above that cut's top.  Layers of equal height share
    what they reach.
    """
    slabs = sorted(
        (slab for slab in map(_slab, layers) if slab is not None and slab.top > 0),
        key=lambda slab: (slab.bottom, slab.top, slab.layer),
    )
    conductors: list[_Slab] = []
    cuts: list[_Slab] = []
    bottoms = {slab.bottom for slab in slabs}
    # From below: in a stack without gaps a metal, too, spans from the top of the via under it to the
    # bottom of the via over it.  What is known of the slabs below tells them apart.
    for slab in slabs:
        stands_on_conductor = any(slab.bottom == below.top for below in conductors)
        (cuts if stands_on_conductor and slab.top in bottoms else conductors).append(slab)
    found: list[Connection] = []
    for conductor in conductors:
        for cut in _nearest_above(cuts, conductor.top):
            found.extend(
                Connection(bottom=conductor.layer, cut=cut.layer, top=above.layer)
                for above in _nearest_above(conductors, cut.top)
            )
    return tuple(found)


def _slab(entry: TechnologyLayer) -> _Slab | None:
    if entry.z_bottom_nm is None or entry.thickness_nm is None:
        return None
    return _Slab(entry.layer, entry.z_bottom_nm, entry.z_bottom_nm + entry.thickness_nm)


def _nearest_above(slabs: Iterable[_Slab], height: int) -> list[_Slab]:
    above = [slab for slab in slabs if slab.bottom >= height]
    lowest = min((slab.bottom for slab in above), default=None)
    return [slab for slab in above if slab.bottom == lowest]
