"""What the judges of generated layouts share: measuring by boxes, and legal cuts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import klayout.db as db
from iclayout_checkers.layouts import Shapes, separate_polygons
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind, Technology


class Purpose(Protocol):
    """What a generator is for: a judge of it, a layout that serves, and layouts that do not."""

    def check(self, view: LayoutView, params: Any) -> list[Finding]:
        """Findings by shape and net; design rules are run apart from it."""
        ...

    def witness(self, params: Any, bench: Bench) -> Shapes:
        """A legal layout. Raises ValueError for parameters that leave none."""
        ...

    def broken(self, params: Any, bench: Bench) -> Mapping[str, list[Shapes]]:
        """Layouts that must be rejected, by what is wrong with them."""
        ...

    def may_turn(self, params: Any) -> bool:
        """Whether a quarter turn or a mirror leaves the layout right."""
        ...


def finding(message: str, layer: Layer | None = None, box: db.Box | None = None) -> Finding:
    place = None if box is None or box.empty() else Rect.from_db(box)
    return Finding(rule="generator", message=message, layer=layer, place=place)


def legal_shapes(view: LayoutView) -> LegalShapes:
    return LegalShapes(Bench(technology=view.technology, rule_set=view.rule_set))


def eroded(region: db.Region, width: int, height: int) -> db.Region:
    """The lower-left corners of boxes of that size (dbu) within the region, as far as they cover an area.

    For a size less by one dbu than the one that is asked for, this is empty exactly where no box of the
    size asked for fits into a rectilinear region.
    """
    whole = region.bbox()
    blocked = db.Region(whole.enlarged(1)) - region
    return db.Region(whole) - blocked.minkowski_sum(db.Box(db.Point(-width, -height), db.Point()))


def fits(region: db.Region, width: int, height: int) -> bool:
    """Whether an axis-parallel box of that size (dbu) fits into the region."""
    return not region.is_empty() and not eroded(region, width - 1, height - 1).is_empty()


def opened(region: db.Region, width: int, height: int) -> db.Region:
    """The parts of the region that boxes of that size (dbu) within it cover."""
    if region.is_empty():
        return db.Region()
    corners = eroded(region, width - 1, height - 1)
    return corners.minkowski_sum(db.Box(db.Point(), db.Point(width - 1, height - 1))).merged()


def covered(cuts: db.Region, polygon: db.Polygon) -> list[db.Box]:
    """The cuts that lie within a polygon."""
    return [cut.bbox() for cut in cuts.inside(db.Region(polygon)).each()]


def size_of(box: db.Box) -> tuple[int, int]:
    return box.width(), box.height()


class Level(NamedTuple):
    """A cut with the conductors that it joins."""

    bottom: Layer
    cut: Layer
    top: Layer


def level_above(technology: Technology, layer: Layer) -> Level:
    """Raises ValueError where the technology joins the layer to nothing above."""
    for one in technology.connections:
        if one.bottom == layer and one.cut is not None:
            return Level(one.bottom, one.cut, one.top)
    raise ValueError(f"generator: technology {technology.name} joins {technology.name_of(layer)} to nothing above")


def level_of(technology: Technology, cut: Layer) -> Level:
    """Raises ValueError where the cut joins nothing."""
    for one in technology.connections:
        if one.cut == cut:
            return Level(one.bottom, cut, one.top)
    raise ValueError(f"generator: {technology.name_of(cut)} joins nothing in technology {technology.name}")


def named(technology: Technology, name: str) -> Layer:
    """Raises TechnologyError that lists the names."""
    return technology.layer_named(name)


def margin(legal: LegalShapes, level: Level) -> int:
    """The enclosure (dbu) of a cut that both of its conductors are content with."""
    return max(legal.limit(RuleKind.ENCLOSURE, level.cut, layer) for layer in (level.bottom, level.top))


def space(legal: LegalShapes, layer: Layer) -> int:
    """The least space (dbu) on a layer, 1 where no rule asks for any."""
    return max(legal.limit(RuleKind.SPACE, layer), 1)


def square(side: int, x: int, y: int) -> db.Box:
    """A square about a centre."""
    left, bottom = x - side // 2, y - side // 2
    return db.Box(left, bottom, left + side, bottom + side)


def transposed(box: db.Box) -> db.Box:
    return db.Box(box.bottom, box.left, box.top, box.right)


def flipped(region: db.Region) -> db.Region:
    """The region with x and y exchanged."""
    return region.transformed(db.Trans(db.Trans.M45))


def without(shapes: Shapes, *layers: Layer) -> Shapes:
    return [shape for shape in shapes if shape[0] not in layers]


def exchanged(shapes: Shapes, layer: Layer, other: Layer) -> Shapes:
    return [(other if here == layer else here, box) for here, box in shapes]


def polygons_of(view: LayoutView, layer: Layer) -> list[db.Polygon]:
    return separate_polygons(view.region(layer))
