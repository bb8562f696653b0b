"""Rows of transistors with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.device_layouts import CUT, DeviceRow, Label, Piece, RowPlan, same_terminals
from iclayout_checkers.layouts import unplaced

from pytest_iclayout.geometry.mos import MosNetlist
from pytest_iclayout.session.sketch import Drawing, Sketch

Negatives = dict[str, SearchStrategy[Drawing]]


def device_negatives(plan: RowPlan, tolerance: int) -> Negatives:
    """By name; names that make no sense for the netlist (a PMOS without its well, say) are left out."""
    row = plan.row()
    found: Negatives = {
        "nothing_drawn": st.just(Sketch().drawing),
        "only_in_a_cell_that_is_not_placed": st.just(unplaced(row.drawing)),
    }
    found |= _wrong_devices(plan, row, tolerance)
    found |= _wrong_kinds(plan, row)
    found |= _wrong_nets(plan, row)
    found |= _wrong_labels(plan, row)
    return found


def _each(pieces: Sequence[Piece], change: Callable[[Piece], DeviceRow]) -> SearchStrategy[Drawing]:
    return st.sampled_from(list(pieces)).map(lambda one: change(one).drawing)


def _wrong_devices(plan: RowPlan, row: DeviceRow, tolerance: int) -> Negatives:
    diffs, gates = row.of("diff"), row.of("poly")
    more = st.integers(tolerance + 1, tolerance + 40)
    # Nothing is left of a channel that gets narrower than that.
    smallest = min(min(one.box.height() for one in diffs), min(one.box.width() for one in gates))
    less = st.integers(tolerance + 1, max(tolerance + 1, min(tolerance + 40, smallest - 1)))
    by = st.one_of(more, less.map(int.__neg__)) if smallest > tolerance + 1 else more

    def short(one: Piece) -> DeviceRow:
        """Poly that leaves the last dbu of the diffusion free."""
        top = plan.pad_place
        return row.changed([one], lambda box: db.Box(box.left, 1, box.right, top))

    def taller(one: Piece, by: int) -> Drawing:
        return row.changed([one], lambda box: db.Box(box.left, box.bottom, box.right, box.top + by)).drawing

    def longer(one: Piece, by: int) -> Drawing:
        return row.changed([one], lambda box: db.Box(box.left, box.bottom, box.right + by, box.top)).drawing

    def stepped(one: Piece) -> DeviceRow:
        """A channel that is a dbu longer at one end."""
        bottom = db.Box(one.box.left, one.box.bottom, one.box.right + 1, 1)
        return row.plus(one._replace(box=bottom))

    def notched(one: Piece) -> DeviceRow:
        """Diffusion that is a dbu narrower on one side of the channel."""
        box, gate = one.box, next(g.box for g in gates if (g.device, g.finger) == (one.device, one.finger))
        parts = [
            db.Box(box.left, box.bottom, gate.right, box.top),
            db.Box(gate.right, box.bottom, box.right, box.top - 1),
        ]
        return row.replaced([one], [one._replace(box=part) for part in parts])

    def beside(one: Piece) -> DeviceRow:
        """One more transistor that nothing is connected to."""
        away = row.box.left - one.box.left - 10_000
        return row.plus(
            *(
                piece._replace(box=piece.box.moved(away, 0))
                for piece in row.device(one.device)
                if piece.role in ("diff", "implant", "poly", "well")
            )
        )

    found = {
        "gate_that_ends_a_dbu_within_diffusion": _each(gates, short),
        "wrong_width": st.builds(taller, st.sampled_from(diffs), by),
        "wrong_length": st.builds(longer, st.sampled_from(gates), by),
        "stepped_gate": _each(gates, stepped),
        "diffusion_narrower_on_one_side": _each(diffs, notched),
        "gate_missing": _each(gates, lambda one: row.replaced([one])),
        "diffusion_missing": _each(diffs, lambda one: row.replaced([one])),
        "device_missing": _each(diffs, lambda one: row.replaced(row.device(one.device))),
        "extra_device": _each(diffs, beside),
        "two_gates_in_place_of_one": _each(gates, lambda one: row.plus(one._replace(box=one.box.moved(300, 0)))),
    }
    finger = plan.finger_width
    if finger is not None:
        several = [mos for mos in plan.netlist.devices if plan.dbu(mos.width_um) > finger]
        if several:
            found["one_finger_for_several"] = st.just(replace(plan, finger_width=None).row().drawing)
    return found


def _wrong_kinds(plan: RowPlan, row: DeviceRow) -> Negatives:
    layers = plan.layers
    implants, wells, taps = row.of("implant"), row.of("well"), row.of("tap")
    other = {layers.n_implant: layers.p_implant, layers.p_implant: layers.n_implant}

    def wrong_tap(one: Piece) -> DeviceRow:
        implant = next(i for i in row.of("tap_implant") if i.device == one.device)
        return row.replaced([implant], [implant._replace(layer=other[implant.layer])])

    found = {
        "implant_missing": _each(implants, lambda one: row.replaced([one])),
        "wrong_implant": _each(implants, lambda one: row.replaced([one], [one._replace(layer=other[one.layer])])),
        "both_implants": _each(implants, lambda one: row.plus(one._replace(layer=other[one.layer]))),
        "implant_a_dbu_short_of_the_diffusion": st.sampled_from(row.of("diff")).map(
            lambda diff: (
                row.changed(
                    [one for one in implants if (one.device, one.finger) == (diff.device, diff.finger)],
                    lambda box: db.Box(box.left, box.bottom, diff.box.right - 1, box.top),
                ).drawing
            )
        ),
    }
    pmos = [one for one in row.of("diff") if plan.netlist.devices[one.device].kind == "PMOS"]
    nmos = [one for one in row.of("diff") if plan.netlist.devices[one.device].kind == "NMOS"]
    if wells:
        found["pmos_without_a_well"] = _each(wells, lambda one: row.replaced([one]))
        found["well_a_dbu_short_of_the_diffusion"] = _each(
            pmos,
            lambda diff: row.changed(
                [one for one in wells if one.device == diff.device],
                lambda box: db.Box(box.left, diff.box.bottom + 1, box.right, box.top),
            ),
        )
    if nmos:
        well = Piece("well", layers.nwell, db.Box())
        found["nmos_in_a_well"] = _each(nmos, lambda one: row.plus(well._replace(box=one.box.enlarged(250, 250))))
    if taps:
        found["tap_with_the_wrong_implant"] = _each(taps, wrong_tap)
        found["tap_missing"] = _each(taps, lambda one: row.replaced([one]))
    return found


def _wrong_nets(plan: RowPlan, row: DeviceRow) -> Negatives:
    tracks, cuts = row.of("track"), row.of("licon", "mcon")
    strips = row.of("strip")

    def moved_to(one: Piece, net: str) -> DeviceRow:
        """A terminal's cut and strip end on another net's track."""
        y = plan.track_places[net]
        strip = next(s for s in strips if s[3:] == one[3:] and s.box.contains(one.box.center()))
        high = strip._replace(box=db.Box(strip.box.left, strip.box.bottom, strip.box.right, y + CUT))
        return row.replaced([one, strip], [one._replace(box=_at_height(one.box, y)), high])

    def gap(one: Piece) -> DeviceRow:
        low, high = _cut_in_two(one, plan, 1)
        return row.replaced([one], [one._replace(box=low), one._replace(box=high)])

    def by_a_corner(one: Piece) -> DeviceRow:
        low, high = _cut_in_two(one, plan, 0)
        middle = one.box.center().x
        halves = [db.Box(low.left, low.bottom, middle, low.top), db.Box(middle, high.bottom, high.right, high.top)]
        wide = [
            db.Box(low.left, low.bottom, low.right, low.top - 20),
            db.Box(high.left, high.bottom + 20, high.right, high.top),
        ]
        return row.replaced([one], [one._replace(box=box) for box in (*halves, *wide)])

    def beside(one: Piece) -> DeviceRow:
        """A cut that touches its strip from outside."""
        strip = next(s for s in strips if s.box.contains(one.box.center()) and s.device == one.device)
        return row.changed([one], lambda box: box.moved(strip.box.right - box.left, 0))

    moves = [
        (one, net)
        for one in row.of("mcon")
        for net in plan.track_places
        if net != one.net and {net, one.net} & set(plan.netlist.pins)
    ]
    found = {
        "cut_missing": _each(cuts, lambda one: row.replaced([one])),
        "cut_beside_its_strip": _each(cuts, beside),
        "strip_missing": _each(strips, lambda one: row.replaced([one])),
        "strip_with_a_gap_of_one_dbu": _each(strips, gap),
        "strip_that_hangs_together_by_a_corner": _each(strips, by_a_corner),
    }
    if moves:
        found["terminal_on_another_net"] = st.sampled_from(moves).map(lambda one: moved_to(*one).drawing)
    if len(tracks) > 1:
        pairs = list(combinations(tracks, 2))
        found["nets_shorted_by_metal"] = st.builds(
            lambda pair, x: row.plus(_between(pair[0], pair[1], x, 200)).drawing,
            st.sampled_from(pairs),
            st.integers(tracks[0].box.left, tracks[0].box.right - 200),
        )
        found["nets_shorted_by_a_corner"] = st.sampled_from(pairs).map(lambda pair: _kissing(row, *pair).drawing)
    return found


def _wrong_labels(plan: RowPlan, row: DeviceRow) -> Negatives:
    labels = list(row.labels)
    found: Negatives = {}

    def changed(one: Label, *others: Label) -> Drawing:
        return row.labelled([*(label for label in row.labels if label != one), *others]).drawing

    below = row.box.bottom - 5000
    found["label_missing"] = st.sampled_from(labels).map(lambda one: changed(one))
    found["label_beside_every_shape"] = st.sampled_from(labels).map(lambda one: changed(one, one._replace(y=below)))
    found["label_of_another_text"] = st.sampled_from(labels).map(
        lambda one: changed(one, one._replace(text=one.text + "X"))
    )
    found["label_on_a_layer_that_names_no_net"] = st.sampled_from(labels).map(
        lambda one: changed(one, one._replace(layer=plan.layers.n_implant))
    )
    swaps = [pair for pair in combinations(labels, 2) if not _exchangeable(plan.netlist, *(one.text for one in pair))]
    if swaps:
        found["two_labels_exchanged"] = st.sampled_from(swaps).map(lambda pair: _exchanged(row, *pair).drawing)
    if len(labels) > 1:
        found["label_on_two_nets"] = st.sampled_from(list(combinations(labels, 2))).map(
            lambda pair: row.labelled([*row.labels, pair[0]._replace(y=pair[1].y, x=pair[1].x + 100)]).drawing
        )
    found["net_in_two_parts_with_a_label_on_each"] = st.sampled_from(labels).map(
        lambda one: _in_two_parts(row, one).drawing
    )
    return found


def _in_two_parts(row: DeviceRow, label: Label) -> DeviceRow:
    """A track with a gap of one dbu, and the label on both sides of it."""
    track = next(one for one in row.of("track") if one.box.contains(db.Point(label.x, label.y)))
    box, at = track.box, label.x + 100
    parts = [db.Box(box.left, box.bottom, at, box.top), db.Box(at + 1, box.bottom, box.right, box.top)]
    cut = row.replaced([track], [track._replace(box=part) for part in parts])
    return cut.labelled([*row.labels, label._replace(x=at + 101)])


def _exchangeable(netlist: MosNetlist, a: str, b: str) -> bool:
    """Whether the circuit is the same when two pins change places."""
    names = {a: b, b: a}
    devices = tuple(
        replace(
            one,
            drain=names.get(one.drain, one.drain),
            gate=names.get(one.gate, one.gate),
            source=names.get(one.source, one.source),
            body=names.get(one.body, one.body),
        )
        for one in netlist.combined.devices
    )
    return same_terminals(replace(netlist.combined, devices=devices), netlist.combined)


def _exchanged(row: DeviceRow, a: Label, b: Label) -> DeviceRow:
    others = [one for one in row.labels if one not in (a, b)]
    return row.labelled([*others, a._replace(text=b.text), b._replace(text=a.text)])


def _at_height(box: db.Box, y: int) -> db.Box:
    return box.moved(0, y - box.center().y)


def _cut_in_two(one: Piece, plan: RowPlan, gap: int) -> tuple[db.Box, db.Box]:
    """A strip's parts below and above a line between the pads and the first track."""
    at = plan.pad_place + 300
    box = one.box
    return db.Box(box.left, box.bottom, box.right, at), db.Box(box.left, at + gap, box.right, box.top)


def _between(a: Piece, b: Piece, x: int, width: int) -> Piece:
    low, high = sorted((a.box, b.box), key=lambda box: box.bottom)
    return a._replace(box=db.Box(x, low.bottom, x + width, high.top))


def _kissing(row: DeviceRow, a: Piece, b: Piece) -> DeviceRow:
    """Two tracks brought around the end of all others, to meet in a corner."""
    low, high = sorted((a, b), key=lambda one: one.box.bottom)
    right, middle = low.box.right, (low.box.top + high.box.bottom) // 2
    return row.plus(
        low._replace(box=db.Box(right, low.box.bottom, right + 200, middle)),
        high._replace(box=db.Box(right, high.box.bottom, right + 400, high.box.top)),
        high._replace(box=db.Box(right + 200, middle, right + 400, high.box.top)),
    )
