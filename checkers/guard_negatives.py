"""Transistors whose ring is open, elsewhere, of the wrong kind, on the wrong net or lacks contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.device_layouts import CUT, DeviceRow, Piece
from iclayout_checkers.device_negatives import Negatives, device_negatives
from iclayout_checkers.guard_layouts import (
    IMPLANT,
    MARGIN,
    TAP,
    WELL,
    Guard,
    GuardPlan,
    grown,
    redrawn,
)
from iclayout_checkers.layouts import bounding_box
from iclayout_checkers.legal import LegalShapes
from iclayout_checkers.offences import offences
from iclayout_checkers.ring_layouts import Ring

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.session.sketch import Drawing

_RING = ("ring_tap", "ring_metal", "ring_implant", "ring_cut", "ring_tie")
_SIDES = ("bottom", "top", "left", "right")
"""In the order of a ring's bars."""


def guard_negatives(plan: GuardPlan, tolerance: int, *, leaving: bool) -> Negatives:
    """By name; faults of the ring leave taps beside the transistors, so that these are what they should be.

    ``leaving``: nets must reach beyond the ring.
    """
    right = plan.guarded(plan.guard, taps=True)
    groups = {
        **_open(plan, right),
        **_elsewhere(plan, right),
        **_on_a_wrong_net(plan, right),
        **_of_a_wrong_kind(plan, right),
        **_with_bad_contacts(plan, right),
        **(_kept_within(plan, right) if leaving else {}),
    }
    found = device_negatives(plan, tolerance) | _gaps(plan, right)
    return found | {name: _one_of(rows) for name, rows in groups.items() if rows}


def rule_breaking(plan: GuardPlan, bench: Bench) -> Negatives:
    """The right layout, and beside it shapes that make no transistor and no tap, and break a rule."""
    row, legal = plan.row(), LegalShapes(bench)
    devices = {plan.layers.diff, plan.layers.tap, plan.layers.poly}
    found = []
    for way in (one for rule in bench.rules if not devices & set(rule.layers) for one in offences(legal, rule)):
        shapes = way.draw(0)
        away = row.box.left - bounding_box([box for _, box in shapes]).right - 10_000
        found.append(row.plus(*(Piece("", layer, box.moved(away, 0)) for layer, box in shapes)))
    return {"rule_broken_beside_the_ring": _one_of(found)} if found else {}


def _one_of(rows: list[DeviceRow]) -> SearchStrategy[Drawing]:
    return st.sampled_from(rows).map(lambda row: row.drawing)


def _levels(plan: GuardPlan) -> list[tuple[str, Ring]]:
    guard = plan.guard
    return [("ring_tap", guard.tap), ("ring_metal", guard.metal)]


def _gaps(plan: GuardPlan, right: DeviceRow) -> Negatives:
    """Rings of which one level is open at any place."""
    side, at = st.integers(0, 3), st.integers(0, 1000)
    found: Negatives = {}
    for role, ring in _levels(plan):
        cut, kissing = (
            partial(_with_bars, right, role, ring.with_gap),
            partial(_with_bars, right, role, ring.with_corner),
        )
        found[f"{role}_with_a_gap_of_one_dbu"] = st.builds(cut, side, at)
        found[f"{role}_that_hangs_together_by_a_corner"] = st.builds(kissing, side, at)
    return found


def _with_bars(right: DeviceRow, role: str, bars: Callable[[int, int], list[db.Box]], side: int, at: int) -> Drawing:
    return redrawn(right, role, bars(side, at)).drawing


def _open(plan: GuardPlan, right: DeviceRow) -> dict[str, list[DeviceRow]]:
    guard = plan.guard

    def with_metal(hole: db.Box) -> DeviceRow:
        return plan.guarded(guard._replace(metal=Ring.around(hole, guard.metal.thickness)), taps=True)

    found = {
        "ring_missing": [right.replaced(right.of(*_RING))],
        "metal_around_the_tap": [with_metal(guard.tap.outside)],
        "metal_beside_the_tap_on_one_side": [
            with_metal(_with_side(guard.metal.hole, side, guard.tap.outside)) for side in _SIDES
        ],
    }
    for role, ring in _levels(plan):
        found[f"{role}_missing"] = [right.replaced(right.of(role))]
        found[f"{role}_without_a_side"] = [redrawn(right, role, ring.without(side)) for side in range(4)]
    return found


def _with_side(box: db.Box, side: str, other: db.Box) -> db.Box:
    """A box with one side where another box has it."""
    edges = {one: getattr(other if one == side else box, one) for one in _SIDES}
    return db.Box(edges["left"], edges["bottom"], edges["right"], edges["top"])


def _elsewhere(plan: GuardPlan, right: DeviceRow) -> dict[str, list[DeviceRow]]:
    guard = plan.guard
    hole, outside = guard.tap.hole, guard.tap.outside
    beside = Guard.around(hole.moved(outside.width() + 2000, 0))
    found = {
        "ring_beside_the_devices": [plan.guarded(beside, taps=True)],
        "ring_folded_around_the_devices": [_folded(plan, right)],
        "gate_across_the_ring": [
            right.changed([one], lambda box: db.Box(box.left, outside.bottom - 200, box.right, box.top))
            for one in right.of("poly")
        ],
    }
    ends = sorted(right.of("diff"), key=lambda one: one.box.left)
    # Between two fingers, with its tap in the middle of the 900 dbu or more that are there.
    inner = [one.box.right + 245 for one in ends[:-1]]
    found["device_outside"] = [
        plan.guarded(Guard.around(db.Box(hole.left, hole.bottom, edge, hole.top)), taps=True) for edge in inner
    ]
    return found


def _folded(plan: GuardPlan, right: DeviceRow) -> DeviceRow:
    """A closed ring that goes around the devices on three sides and back, and so does not enclose them."""
    hole = plan.guard.tap.hole
    area = db.Region(hole.enlarged(3 * TAP, 3 * TAP)) - db.Region(hole)
    area -= db.Region(db.Box(hole.right - 1, hole.bottom + 100, hole.right + 4 * TAP, hole.bottom + 1100))

    def band(outer: int, inner: int) -> Iterator[db.Box]:
        return (one.bbox() for one in (area.sized(outer) - area.sized(inner)).decompose_trapezoids_to_region().each())

    row = redrawn(right, "ring_tap", band(0, -TAP))
    row = redrawn(row, "ring_metal", band(-MARGIN, MARGIN - TAP))
    row = redrawn(row, "ring_implant", band(IMPLANT, -TAP - IMPLANT))
    return row.changed(row.of("ring_well"), lambda box: box.enlarged(3 * TAP, 3 * TAP))


def _on_a_wrong_net(plan: GuardPlan, right: DeviceRow) -> dict[str, list[DeviceRow]]:
    guard, ties = plan.guard, right.of("ring_tie")
    bare = right.replaced(ties)
    others = [net for net in plan.track_places if net != plan.net]
    bottom = guard.metal.bars[0].top

    def down(one: Piece) -> DeviceRow:
        return right.changed([one], lambda box: db.Box(box.left, bottom - 100, box.right, box.top))

    label = next(one for one in right.labels if one.text == plan.net)
    bar = guard.metal.bars[0].center()
    listed = label._replace(text=f"{plan.net},X", layer=plan.stack.li, x=bar.x, y=bar.y)
    return {
        "ring_not_tied": [bare],
        "ring_not_tied_that_bears_a_list_of_names": [bare.labelled([*bare.labels, listed])],
        "two_rings_with_a_fault_each": [_two_rings(plan, bare)],
        "ring_tied_to_another_net": [bare.plus(*plan.ties(guard, net)) for net in others],
        "ring_shorted_to_another_net": [right.plus(one) for net in others for one in plan.ties(guard, net)],
        "terminal_on_the_ring": [down(one) for one in right.of("strip") if one.net != plan.net],
    }


def _two_rings(plan: GuardPlan, bare: DeviceRow) -> DeviceRow:
    """Around a ring that is not tied another one that is, without contacts."""
    outer = Guard.around(plan.guard.tap.outside.enlarged(2000, 2000))
    whole = plan.guarded(outer)
    row = bare.plus(*whole.of("ring_tap", "ring_metal", "ring_implant", "ring_tie"))
    row = row.replaced(row.of("ring_well"), whole.of("ring_well"))
    return row.replaced(row.of("track"), whole.of("track"))


def _of_a_wrong_kind(plan: GuardPlan, right: DeviceRow) -> dict[str, list[DeviceRow]]:
    guard, layers, implants = plan.guard, plan.layers, right.of("ring_implant")
    outside = guard.tap.outside
    exchanged = [one._replace(layer=layers.n_implant if plan.is_nmos else layers.p_implant) for one in implants]
    # But for the last dbu of the tap on one side.
    short = [_with_side(outside.enlarged(WELL, WELL), side, outside.enlarged(-1, -1)) for side in _SIDES]
    frame = [Piece("ring_well", layers.nwell, bar) for bar in grown(guard.tap, WELL).bars]
    found = {
        "implant_of_the_ring_missing": [right.replaced(implants), *(right.replaced([one]) for one in implants)],
        "wrong_implant_of_the_ring": [right.replaced(implants, exchanged)],
        "both_implants_of_the_ring": [right.plus(one) for one in exchanged],
        "implant_a_dbu_short_of_the_ring": [_cut_off(right, implants, within) for within in short],
    }
    if plan.is_nmos:
        return found | {
            "ring_in_a_well": [right.plus(*frame)],
            "ring_that_contacts_a_well": [right.replaced(implants, [*exchanged, *frame])],
        }
    wells = right.of("ring_well")
    devices = bounding_box([one.box for one in right.of("diff", "tap")])
    inner = wells[0]._replace(box=devices.enlarged(WELL, WELL))
    return found | {
        "well_of_all_missing": [right.replaced(wells)],
        "well_a_dbu_short_of_the_ring": [_cut_off(right, wells, within) for within in short],
        "ring_that_contacts_the_substrate": [right.replaced([*wells, *implants], [*exchanged, inner])],
        "ring_in_a_well_of_its_own": [right.replaced(wells, [*frame, inner])],
    }


def _with_bad_contacts(plan: GuardPlan, right: DeviceRow) -> dict[str, list[DeviceRow]]:
    line, cuts = plan.guard.line, right.of("ring_cut")
    # Out of the metal by a dbu.
    off = (plan.guard.metal.thickness - CUT) // 2 + 1

    def outward(box: db.Box) -> db.Box:
        x, y = box.center().x, box.center().y
        return box.moved(off * ((x == line.right) - (x == line.left)), off * ((y == line.top) - (y == line.bottom)))

    found = {
        "no_contacts": [right.replaced(cuts)],
        "contacts_that_stick_out_of_the_metal": [right.changed(cuts, outward)],
        "contacts_beside_the_ring": [right.changed(cuts, lambda box: box.moved(0, 2 * right.box.height()))],
    }
    if plan.reach is None:
        return found
    rows = [sorted((one for one in cuts if one.box.center().y == y), key=_left) for y in (line.bottom, line.top)]
    columns = [sorted((one for one in cuts if one.box.center().x == x), key=_bottom) for x in (line.left, line.right)]
    return found | {
        "contact_missing": [right.replaced([one]) for one in cuts],
        "contacts_missing_on_a_side": [right.replaced(side) for side in (*rows, *columns)],
        "contacts_a_dbu_too_far_apart_along_x": [
            right.changed([one], lambda box: box.moved(1, 0)) for row in rows for one in row[1:]
        ],
        "contacts_a_dbu_too_far_apart_along_y": [
            right.changed([one], lambda box: box.moved(0, 1)) for column in columns for one in column[1:]
        ],
    }


def _cut_off(row: DeviceRow, pieces: list[Piece], within: db.Box) -> DeviceRow:
    return row.changed(pieces, lambda box: box & within)


def _left(one: Piece) -> int:
    return one.box.left


def _bottom(one: Piece) -> int:
    return one.box.bottom


def _kept_within(plan: GuardPlan, right: DeviceRow) -> dict[str, list[DeviceRow]]:
    """Tracks that end flush with the ring, by net: each must be missed."""
    outside, found = plan.guard.metal.outside, {}
    for one in right.of("track"):
        if one.net != plan.net:
            short = one._replace(box=db.Box(outside.left, one.box.bottom, outside.right, one.box.top))
            labels = [one._replace(x=outside.left + 200) if one.text == short.net else one for one in right.labels]
            found[f"net_{one.net}_that_ends_with_the_ring"] = [right.replaced([one], [short]).labelled(labels)]
    return found
