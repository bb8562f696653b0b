"""Guard rings and seal rings."""

from __future__ import annotations

from collections.abc import Mapping

import klayout.db as db
from iclayout_checkers.generator_params import GuardRingParams, SealRingParams
from iclayout_checkers.generator_shapes import (
    Level,
    covered,
    exchanged,
    finding,
    fits,
    level_above,
    margin,
    named,
    opened,
    polygons_of,
    space,
    square,
    without,
)
from iclayout_checkers.layouts import Shapes, holes, separate_polygons
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind, Technology

_SIDES = ("left", "bottom", "right", "top")
_STACKS = {
    "li1_met1": ("li1", "met1"),
    "up_to_met2": ("li1", "met1", "met2"),
    "up_to_met3": ("li1", "met1", "met2", "met3"),
}


class GuardRing:
    """A closed ring around a free region; where the layer takes taps, with a contact below the region."""

    def check(self, view: LayoutView, params: GuardRingParams) -> list[Finding]:
        layer = named(view.technology, params.layer)
        region = view.region(layer)
        wide = separate_polygons(opened(region, params.ring_width, params.ring_width))
        rings = [(ring, hole) for ring in wide for hole in holes(ring)]
        size = f"{params.region_width} x {params.region_height} dbu"
        if not rings:
            message = f"{view.describe(layer)} has no closed ring that is {params.ring_width} dbu wide everywhere"
            return [finding(message, layer, region.bbox())]
        rings = [one for one in rings if fits(db.Region(one[1]) - region, params.region_width, params.region_height)]
        if not rings:
            return [finding(f"no ring on {view.describe(layer)} has a free region of {size}", layer, region.bbox())]
        if not params.has_taps:
            return []
        licon = named(view.technology, "licon1")
        if any(covered(view.region(licon), part) for ring, hole in rings for part in _below(ring, hole)):
            return []
        message = f"no cut on {view.describe(licon)} lies within the ring below its region"
        return [finding(message, licon, region.bbox())]

    def witness(self, params: GuardRingParams, bench: Bench) -> Shapes:
        ring = _strips(params, bench)
        layer = named(bench.technology, params.layer)
        return [*((layer, box) for box in ring.values()), *_taps(params, bench, ring["bottom"])]

    def broken(self, params: GuardRingParams, bench: Bench) -> Mapping[str, list[Shapes]]:
        legal, layer = LegalShapes(bench), named(bench.technology, params.layer)
        ring, taps = _strips(params, bench), _taps(params, bench, _strips(params, bench)["bottom"])
        width, height, gap = params.region_width, params.region_height, space(legal, layer)

        def drawn(**changed: db.Box) -> Shapes:
            return [*((layer, box) for box in (ring | changed).values()), *taps]

        right = ring["right"]
        narrow = {
            "left": db.Box(1 - params.ring_width, 0, 0, height),
            "right": db.Box(width, 0, width + params.ring_width - 1, height),
            "top": db.Box(ring["top"].left, height, ring["top"].right, height + params.ring_width - 1),
        }
        lower = db.Box(right.left, right.bottom, right.right, height // 2)
        others = [named(bench.technology, name) for name in ("li1", "met1", "met2", "met3") if name != params.layer]
        island = legal.box(layer).moved(width // 2, height // 2)
        found = {f"{side}_one_dbu_too_narrow": [drawn(**{side: box})] for side, box in narrow.items()} | {
            "gap": [[*drawn(right=lower), (layer, db.Box(right.left, lower.top + gap, right.right, right.top))]],
            "gap_of_one_dbu": [
                [*drawn(right=lower), (layer, db.Box(right.left, lower.top + 1, right.right, right.top))]
            ],
            "side_missing": [[one for one in drawn() if one[1] != ring[side]] for side in _SIDES],
            "region_one_dbu_too_narrow": [drawn(right=right.moved(-1, 0))],
            "region_one_dbu_too_low": [drawn(top=ring["top"].moved(0, -1))],
            "region_not_free": [[*drawn(), (layer, island)]],
            "ring_closed_by_a_corner_only": [
                drawn(bottom=db.Box(ring["bottom"].left, ring["bottom"].bottom, width, 0))
            ],
            "filled": [
                [(layer, db.Box(ring["bottom"].left, ring["bottom"].bottom, right.right, ring["top"].top)), *taps]
            ],
            "on_another_layer": [exchanged(drawn(), layer, other) for other in others],
        }
        if params.has_taps:
            (licon, tap), *_ = taps
            bare = without(drawn(), licon)
            to_top = height + ring["bottom"].height()
            # The top is as wide as the bottom here, so that the tap is covered there.
            top = db.Box(ring["top"].left, height, ring["top"].right, to_top)
            found |= {
                "no_taps": [bare],
                "taps_at_the_top_only": [
                    [*without(drawn(top=top), licon), (licon, tap.moved(0, height + ring["bottom"].height()))]
                ],
                "tap_outside": [[*bare, (licon, tap.moved(0, -2 * ring["bottom"].height()))]],
                "tap_in_the_region": [[*bare, (licon, tap.moved(0, ring["bottom"].height()))]],
                "tap_half_covered": [[*bare, (licon, tap.moved(0, ring["bottom"].bottom - tap.center().y))]],
            }
        return found

    def may_turn(self, params: GuardRingParams) -> bool:
        return params.region_width == params.region_height and not params.has_taps


def _below(ring: db.Polygon, hole: db.Polygon) -> list[db.Polygon]:
    """What of a ring is lower than its hole."""
    outside, inside = ring.bbox(), hole.bbox()
    lower = db.Box(outside.p1, db.Point(outside.right, inside.bottom))
    return separate_polygons(db.Region(ring) & db.Region(lower))


def _strips(params: GuardRingParams, bench: Bench) -> dict[str, db.Box]:
    """The sides of a ring about a region with its lower-left corner at the origin, the long ones last."""
    width, height, side = params.region_width, params.region_height, params.ring_width
    low = side
    if params.has_taps:
        legal, level = LegalShapes(bench), _contact(bench.technology)
        low = max(side, legal.side(level.cut) + 2 * legal.limit(RuleKind.ENCLOSURE, level.cut, level.top))
    return {
        "left": db.Box(-side, 0, 0, height),
        "right": db.Box(width, 0, width + side, height),
        "bottom": db.Box(-side, -low, width + side, 0),
        "top": db.Box(-side, height, width + side, height + side),
    }


def _taps(params: GuardRingParams, bench: Bench, strip: db.Box) -> Shapes:
    if not params.has_taps:
        return []
    level = _contact(bench.technology)
    at = strip.center()
    return [(level.cut, square(LegalShapes(bench).side(level.cut), at.x, at.y))]


def _contact(technology: Technology) -> Level:
    return Level(named(technology, "tap"), named(technology, "licon1"), named(technology, "li1"))


class SealRing:
    """Frames on all conductors of the stack, one over the other, with cuts between on every side."""

    def check(self, view: LayoutView, params: SealRingParams) -> list[Finding]:
        conductors = [named(view.technology, name) for name in _STACKS[params.stack]]
        findings: list[Finding] = []
        places: set[tuple[int, int, int, int]] | None = None
        for layer in conductors:
            here = {_corners(one.bbox()) for one in polygons_of(view, layer) if _is_frame(one, params)}
            if not here:
                message = (
                    f"{view.describe(layer)} has no closed frame of {params.die_width} x {params.die_height} dbu "
                    f"that is {params.ring_width} dbu wide"
                )
                findings.append(finding(message, layer, view.region(layer).bbox()))
            places = here if places is None else places & here
        if findings:
            return findings
        if not places:
            return [finding("the frames of the conductors do not lie over each other")]
        by_place = [self._unjoined(view, conductors, db.Box(*place), params) for place in sorted(places)]
        return min(by_place, key=len)

    def _unjoined(
        self, view: LayoutView, conductors: list[Layer], outside: db.Box, params: SealRingParams
    ) -> list[Finding]:
        findings = []
        for layer in conductors[:-1]:
            cut = level_above(view.technology, layer).cut
            for name, side in zip(_SIDES, _sides(outside, params.ring_width), strict=True):
                if view.region(cut).inside(db.Region(side)).is_empty():
                    message = f"no cut on {view.describe(cut)} lies within the {name} side of the ring"
                    findings.append(finding(message, cut, side))
        return findings

    def witness(self, params: SealRingParams, bench: Bench) -> Shapes:
        return self._drawn(params, bench)

    def _drawn(self, params: SealRingParams, bench: Bench) -> Shapes:
        outside = db.Box(0, 0, params.die_width, params.die_height)
        conductors = [named(bench.technology, name) for name in _STACKS[params.stack]]
        shapes: Shapes = [(layer, side) for layer in conductors for side in _sides(outside, params.ring_width)]
        legal = LegalShapes(bench)
        for layer in conductors[:-1]:
            level = level_above(bench.technology, layer)
            cut, needed = legal.side(level.cut), legal.side(level.cut) + 2 * margin(legal, level)
            if needed > params.ring_width:
                name = bench.technology.name_of(level.cut)
                raise ValueError(f"generator: ring_width: {name} needs a ring of {needed} dbu or more")
            for side in _sides(outside, params.ring_width):
                shapes.append((level.cut, square(cut, side.center().x, side.center().y)))
        return shapes

    def broken(self, params: SealRingParams, bench: Bench) -> Mapping[str, list[Shapes]]:
        shapes = self._drawn(params, bench)
        conductors = [named(bench.technology, name) for name in _STACKS[params.stack]]
        levels = [level_above(bench.technology, layer) for layer in conductors[:-1]]
        outside = db.Box(0, 0, params.die_width, params.die_height)
        legal = LegalShapes(bench)

        def frame(layer: Layer, box: db.Box, width: int) -> Shapes:
            return [*without(shapes, layer), *((layer, side) for side in _sides(box, width))]

        def with_gap(layer: Layer) -> Shapes:
            left, at, gap = _sides(outside, params.ring_width)[0], params.die_height // 4, space(legal, layer)
            rest = [one for one in shapes if one != (layer, left)]
            return [
                *rest,
                (layer, db.Box(left.left, left.bottom, left.right, at)),
                (layer, db.Box(left.left, at + gap, left.right, left.top)),
            ]

        def whole(box: db.Box) -> Shapes:
            return self._drawn(params.model_copy(update={"die_width": box.width(), "die_height": box.height()}), bench)

        def bare(level: Level, side: db.Box) -> Shapes:
            return [one for one in shapes if one[0] != level.cut or not one[1].inside(side)]

        sides = dict(zip(_SIDES, _sides(outside, params.ring_width), strict=True))
        away = params.die_width + 10_000
        larger = db.Box(0, 0, params.die_width + 1, params.die_height)
        higher = db.Box(0, 0, params.die_width, params.die_height + 1)
        return {
            "conductor_missing": [without(shapes, layer) for layer in conductors],
            "conductor_with_a_gap": [with_gap(layer) for layer in conductors],
            "ring_one_dbu_too_wide": [frame(layer, outside, params.ring_width + 1) for layer in conductors],
            "ring_one_dbu_too_narrow": [frame(layer, outside, params.ring_width - 1) for layer in conductors],
            "die_one_dbu_too_wide": [whole(larger), *(frame(layer, larger, params.ring_width) for layer in conductors)],
            "die_one_dbu_too_high": [whole(higher), *(frame(layer, higher, params.ring_width) for layer in conductors)],
            "frame_off_by_one_dbu": [frame(layer, outside.moved(1, 0), params.ring_width) for layer in conductors],
            "filled": [[*without(shapes, layer), (layer, outside)] for layer in conductors],
            "level_without_cuts": [without(shapes, level.cut) for level in levels],
            "two_rings_that_lack_cuts_on_different_sides": [
                [
                    *bare(level, sides["left"]),
                    *((layer, box.moved(away, 0)) for layer, box in bare(level, sides["right"])),
                ]
                for level in levels
            ],
            "cuts_beside_the_ring": [
                [(here, box.moved(-params.ring_width, 0) if here == level.cut else box) for here, box in shapes]
                for level in levels
            ],
        } | {f"no_cuts_on_the_{name}": [bare(level, side) for level in levels] for name, side in sides.items()}

    def may_turn(self, params: SealRingParams) -> bool:
        return params.die_width == params.die_height


def _corners(box: db.Box) -> tuple[int, int, int, int]:
    return box.left, box.bottom, box.right, box.top


def _sides(outside: db.Box, width: int) -> tuple[db.Box, ...]:
    """The four sides of a frame in the order of ``_SIDES``, each with both of its corners."""
    left, bottom, right, top = _corners(outside)
    return (
        db.Box(left, bottom, left + width, top),
        db.Box(left, bottom, right, bottom + width),
        db.Box(right - width, bottom, right, top),
        db.Box(left, top - width, right, top),
    )


def _is_frame(polygon: db.Polygon, params: SealRingParams) -> bool:
    outside = polygon.bbox()
    if (outside.width(), outside.height()) != (params.die_width, params.die_height):
        return False
    inside = outside.enlarged(-params.ring_width)
    return (db.Region(polygon) ^ (db.Region(outside) - db.Region(inside))).is_empty()
