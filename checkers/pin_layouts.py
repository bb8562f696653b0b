"""Layouts in which the nets of pins are wrong, for the negatives of checkers that compare nets with a given layout."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given_layouts import Edit, chosen, rect
from iclayout_checkers.pins import Group, Pin, are_apart

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer

_WIDTHS = (2, 140, 200, 300, 400)
"""dbu; of wires that short two nets: a sliver, and such as rules allow."""
_GAPS = (1, 150, 300)
"""dbu; half of the gap that opens a net."""


def changed_nets(
    bench: Bench, groups: Sequence[Group], layers: Collection[Layer]
) -> dict[str, SearchStrategy[Drawing]]:
    """The solved layout with two groups of pins joined, a group taken apart, a pin's shape cut away: on ``layers``."""
    return {
        **_joined(bench, groups, layers),
        **_uncovered(bench, groups, layers),
        **chosen({"net_cut": _cut(bench, groups, layers)}),
    }


def _joined(bench: Bench, groups: Sequence[Group], layers: Collection[Layer]) -> dict[str, SearchStrategy[Drawing]]:
    # A wire on a conductor that something cuts may end at the cut.
    cut_by = {bench.technology.layer_named(name) for name in bench.technology.cut_by}
    pairs = [
        (one, other)
        for group, another in combinations(groups, 2)
        for one in sorted(group)
        for other in sorted(another)
        if one.layer == other.layer and one.layer in layers and one.layer not in cut_by
    ]
    if not pairs:
        return {}
    drawn = st.builds(lambda pair, width: _wire(bench, pair, width), st.sampled_from(pairs), st.sampled_from(_WIDTHS))
    return {"nets_joined": drawn}


def _wire(bench: Bench, pair: tuple[Pin, Pin], width: int) -> Drawing:
    """Along x and then along y from the one pin to the other."""
    (one, other), half = pair, width // 2
    across = db.Box(min(one.x, other.x), one.y, max(one.x, other.x), one.y)
    up = db.Box(other.x, min(one.y, other.y), other.x, max(one.y, other.y))
    return (*bench.solution, *(rect(one.layer, box.enlarged(half, half)) for box in (across, up)))


def _uncovered(bench: Bench, groups: Sequence[Group], layers: Collection[Layer]) -> dict[str, SearchStrategy[Drawing]]:
    def cut(pin: Pin, half: int) -> Edit:
        return Edit(bench, bench.solution).cut(pin.layer, _around(pin, half))

    pins = [
        pin
        for group in groups
        for pin in sorted(group)
        # What is drawn as a path or in another cell is not cut, and would still be there.
        if pin.layer in layers and (cut(pin, 1).view.region(pin.layer) & db.Region(_around(pin, 1))).is_empty()
    ]
    if not pins:
        return {}
    drawn = st.builds(lambda pin, half: cut(pin, half).drawing, st.sampled_from(pins), st.integers(1, 1000))
    return {"pin_uncovered": drawn}


def _around(pin: Pin, half: int) -> db.Box:
    return db.Box(pin.x - half, pin.y - half, pin.x + half, pin.y + half)


def _cut(bench: Bench, groups: Sequence[Group], layers: Collection[Layer]) -> Iterator[Drawing]:
    """A shape deleted, or a gap between two pins, where that takes pins of a group apart."""
    for element in Edit(bench, bench.solution).shapes(layers):
        edit = Edit(bench, bench.solution).do(cmd.DeleteShapes(ids=(element.id,)))
        if are_apart(edit.view, groups):
            yield edit.drawing
    for one, other in (pair for group in groups for pair in combinations(sorted(group), 2)):
        if one.layer == other.layer and one.layer in layers:
            middle = db.Point((one.x + other.x) // 2, (one.y + other.y) // 2)
            for half in _GAPS:
                edit = Edit(bench, bench.solution).cut(one.layer, db.Box(middle, middle).enlarged(half, half))
                if are_apart(edit.view, groups):
                    yield edit.drawing
