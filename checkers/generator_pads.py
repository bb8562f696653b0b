"""Pad rings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import klayout.db as db
from iclayout_checkers.generator_params import PadRingParams
from iclayout_checkers.generator_shapes import (
    covered,
    exchanged,
    finding,
    legal_shapes,
    level_of,
    margin,
    named,
    polygons_of,
    size_of,
    space,
    square,
    without,
)
from iclayout_checkers.layouts import Shapes, bounding_box
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.models import Technology

_SIDES = ("bottom", "top", "left", "right")


class PadRing:
    """Square met3 pads along all four edges of the die, none in its corners, and so many of them power pads.

    The die itself is not drawn: its edges are where the outermost pads stand, or up to a pad's size farther
    out.  An edge holds as many pads of one pitch as its length has room for, or more.
    """

    def check(self, view: LayoutView, params: PadRingParams) -> list[Finding]:
        layer, side = named(view.technology, "met3"), params.pad_size
        pads = polygons_of(view, layer)
        where = view.describe(layer)
        wrong = [one.bbox() for one in pads if not one.is_box() or size_of(one.bbox()) != (side, side)]
        if wrong or not pads:
            place = bounding_box(wrong)
            return [finding(f"{where}: all shapes must be pads of {side} x {side} dbu", layer, place)]
        boxes = [one.bbox() for one in pads]
        die = bounding_box(boxes)
        size = f"{params.die_width} x {params.die_height} dbu"
        found = [
            finding(f"{where}: the pads do not stand along the edges of a die of {size}", layer, die)
            for length, wanted in ((die.width(), params.die_width), (die.height(), params.die_height))
            if not wanted - 2 * side <= length <= wanted
        ]
        rows = _rows(boxes, die)
        for box in boxes:
            here = [name for name in _SIDES if box in rows[name]]
            if len(here) != 1 or _in_a_corner(box, die, side):
                at = "in a corner" if here else "along no edge"
                found.append(finding(f"{where}: a pad stands {at} of the die", layer, box))
        legal = legal_shapes(view)
        for name, row in rows.items():
            found += self._row(view, params, legal, name, row)
        return found + self._power(view, params, pads)

    def _row(
        self, view: LayoutView, params: PadRingParams, legal: LegalShapes, name: str, row: list[db.Box]
    ) -> list[Finding]:
        layer = named(view.technology, "met3")
        places = sorted(box.left if name in ("bottom", "top") else box.bottom for box in row)
        length = params.die_width if name in ("bottom", "top") else params.die_height
        least = max(1, _room(params, legal, length))
        if len(row) < least:
            message = f"{view.describe(layer)}: {len(row)} pad(s) along the {name} edge, at least {least} required"
            return [finding(message, layer, bounding_box(row))]
        if any(after - before != params.pad_pitch for before, after in pairwise(places)):
            message = f"{view.describe(layer)}: the pads along the {name} edge are not {params.pad_pitch} dbu apart"
            return [finding(message, layer, bounding_box(row))]
        return []

    def _power(self, view: LayoutView, params: PadRingParams, pads: list[db.Polygon]) -> list[Finding]:
        cut, met2 = (named(view.technology, name) for name in ("via2", "met2"))
        reached = view.region(cut).inside(view.region(met2))
        count = sum(bool(covered(reached, pad)) for pad in pads)
        wanted = min(params.power_pads, len(pads))
        if count == wanted:
            return []
        message = f"{count} pad(s) with a {view.describe(met2)} plate and cuts, exactly {wanted} required"
        return [finding(message, met2)]

    def witness(self, params: PadRingParams, bench: Bench) -> Shapes:
        return self._drawn(params, bench, self._pads(self._smaller(params, bench, 2 * params.pad_size), bench))

    def _smaller(self, params: PadRingParams, bench: Bench, less: int) -> PadRingParams:
        """With the die so much smaller in the directions in which there is room for as many pads still."""
        legal = LegalShapes(bench)
        fields = {"die_width": params.die_width, "die_height": params.die_height}
        room = {name: length - less for name, length in fields.items()}
        return params.model_copy(
            update={
                name: length
                for name, length in room.items()
                if 0 < _room(params, legal, length) == _room(params, legal, fields[name])
            }
        )

    def _drawn(self, params: PadRingParams, bench: Bench, pads: list[db.Box], power: int | None = None) -> Shapes:
        technology = bench.technology
        shapes: Shapes = [(named(technology, "met3"), pad) for pad in pads]
        for pad in pads[: params.power_pads if power is None else power]:
            shapes += _supply(technology, LegalShapes(bench), pad)
        return shapes

    def _pads(self, params: PadRingParams, bench: Bench) -> list[db.Box]:
        """Raises ValueError where an edge has no room for a pad, or the pitch none between two."""
        legal, side = LegalShapes(bench), params.pad_size
        least = side + space(legal, named(bench.technology, "met3"))
        if params.pad_pitch < least:
            raise ValueError(f"generator: pad_pitch: pads of {side} dbu need a pitch of {least} dbu or more")
        pads: list[db.Box] = []
        for name in _SIDES:
            across = name in ("bottom", "top")
            length = params.die_width if across else params.die_height
            count = _room(params, legal, length)
            if count < 1:
                raise ValueError(f"generator: pad_size: {side} dbu leave no room between the corners of {length} dbu")
            # As near to a corner as may be: the next edge's pads are at its other end.
            start = side if name in ("bottom", "right") else length - 2 * side - (count - 1) * params.pad_pitch
            for number in range(count):
                at = start + number * params.pad_pitch
                x, y = {
                    "bottom": (at, 0),
                    "top": (at, params.die_height - side),
                    "left": (0, at),
                    "right": (params.die_width - side, at),
                }[name]
                pads.append(db.Box(x, y, x + side, y + side))
        return pads

    def broken(self, params: PadRingParams, bench: Bench) -> Mapping[str, list[Shapes]]:
        pads, side, technology = self._pads(params, bench), params.pad_size, bench.technology
        met2, via2, met3 = (named(technology, name) for name in ("met2", "via2", "met3"))
        legal, right = LegalShapes(bench), self.witness(params, bench)
        die = bounding_box(pads)
        rows = _rows(pads, die)
        numbers = range(len(pads))

        def changed(number: int, box: db.Box | None) -> Shapes:
            kept = pads[:number] + ([] if box is None else [box]) + pads[number + 1 :]
            return self._drawn(params, bench, kept, min(params.power_pads, len(kept)))

        def resized(box: db.Box, step: int) -> db.Box:
            """Along the edge and across it, to the inside."""
            return db.Box(box.left, box.bottom, box.right + step, box.top + step)

        corner = db.Box(0, 0, side, side)
        middle = square(side, die.center().x, die.center().y)
        outer_row = [number for number in numbers if pads[number] in rows["right"]]
        upper_row = [number for number in numbers if pads[number] in rows["top"]]
        found = {
            "edge_one_pad_short": [
                changed(next(number for number in numbers if pads[number] in rows[name]), None) for name in _SIDES
            ],
            "pad_one_dbu_small": [changed(0, resized(pads[0], -1)), changed(len(pads) - 1, resized(pads[-1], -1))],
            "pad_one_dbu_large": [changed(0, resized(pads[0], 1))],
            "pad_in_a_corner": [changed(0, corner)],
            "pad_in_the_middle": [self._drawn(params, bench, [*pads, middle])],
            "die_one_dbu_too_wide": [
                self._drawn(params, bench, [pads[n].moved(1, 0) if n in outer_row else pads[n] for n in numbers])
            ],
            "die_one_dbu_too_high": [
                self._drawn(params, bench, [pads[n].moved(0, 1) if n in upper_row else pads[n] for n in numbers])
            ],
            "on_another_layer": [exchanged(right, met3, named(technology, "met1"))],
            "row_in_a_corner": [
                self._drawn(params, bench, [box.moved(*_step(name, sign)) if box in row else box for box in pads])
                for name, row in rows.items()
                for sign in (-1, 1)
                if _is_flush(bounding_box(row), die, side, name, sign)
            ],
        }
        pairs = [(name, row) for name, row in rows.items() if len(row) > 1]
        if pairs:
            found["pitch_off_by_one_dbu"] = [
                changed(pads.index(row[-1]), row[-1].moved(*_step(name, 1))) for name, row in pairs
            ]
        small = self._smaller(params, bench, 2 * side + 1)
        if small != params:
            found["far_from_the_edges"] = [self._drawn(params, bench, self._pads(small, bench))]
        if params.power_pads > 0:
            power = min(params.power_pads, len(pads))
            cuts = [shape for shape in right if shape[0] == via2]
            found |= {
                "power_pad_too_few": [self._drawn(params, bench, pads, power - 1)],
                "power_pad_without_cuts": [[shape for shape in right if shape is not cut] for cut in cuts[:1]],
                "power_pads_without_plates": [without(right, met2)],
                "power_pad_with_its_cut_beside": [
                    [*(shape for shape in right if shape is not cuts[0]), (via2, cuts[0][1].moved(side, 0))]
                ],
                "power_pad_with_its_cut_half_covered": [
                    [
                        *(shape for shape in right if shape is not cuts[0]),
                        (via2, cuts[0][1].moved(_half(legal, right), 0)),
                    ]
                ],
            }
        if params.power_pads < len(pads):
            found["power_pad_too_many"] = [self._drawn(params, bench, pads, params.power_pads + 1)]
        return found

    def may_turn(self, params: PadRingParams) -> bool:
        return params.die_width == params.die_height


def _rows(boxes: list[db.Box], die: db.Box) -> dict[str, list[db.Box]]:
    """The pads that stand on each side of the box around all pads."""
    return {name: [box for box in boxes if getattr(box, name) == getattr(die, name)] for name in _SIDES}


def _in_a_corner(box: db.Box, die: db.Box, side: int) -> bool:
    """Whether a pad reaches into a corner square of the size of a pad."""
    along_x = box.left < die.left + side or box.right > die.right - side
    along_y = box.bottom < die.bottom + side or box.top > die.top - side
    return along_x and along_y


def _step(name: str, length: int) -> tuple[int, int]:
    """Along an edge of the die."""
    return (length, 0) if name in ("bottom", "top") else (0, length)


def _is_flush(row: db.Box, die: db.Box, side: int, name: str, sign: int) -> bool:
    """Whether a row ends, towards the lower or (1) the higher coordinates, where the corner of the die begins."""
    if name in ("bottom", "top"):
        return row.left == die.left + side if sign < 0 else row.right == die.right - side
    return row.bottom == die.bottom + side if sign < 0 else row.top == die.top - side


def _room(params: PadRingParams, legal: LegalShapes, length: int) -> int:
    """Pads that an edge has room for, with a pad and a space kept free at both of its ends; less than 1 for none."""
    kept = params.pad_size + space(legal, legal.technology.layer_named("met3"))
    left = length - 2 * kept - params.pad_size
    return 1 + left // params.pad_pitch


def _supply(technology: Technology, legal: LegalShapes, pad: db.Box) -> Shapes:
    """A cut in the middle of a pad, and the plate below it."""
    level = level_of(technology, named(technology, "via2"))
    cut = square(legal.side(level.cut), pad.center().x, pad.center().y)
    around = margin(legal, level)
    return [(level.bottom, legal.grown(level.bottom, cut.enlarged(around, around))), (level.cut, cut)]


def _half(legal: LegalShapes, shapes: Shapes) -> int:
    """How far to move the first cut to the right until it lies half outside of its plate."""
    via2, met2 = (legal.technology.layer_named(name) for name in ("via2", "met2"))
    cut = next(box for layer, box in shapes if layer == via2)
    plate = next(box for layer, box in shapes if layer == met2)
    return plate.right - cut.center().x
