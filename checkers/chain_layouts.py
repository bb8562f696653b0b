"""Chains of cuts that alternate between two conductors, whole and broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, halves, other_layers, sketch_of, unplaced
from iclayout_checkers.vias import cut_side, joined

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

_MARGIN = 100
"""dbu by which a plate reaches beyond its cuts in the witness."""


class Chain(NamedTuple):
    """Cuts in a row; plates that join each with the next one, below and above in turn, and a pad at either end."""

    via: Layer
    bottoms: tuple[Layer, ...]
    """Plates take them in turn, as they do ``tops``."""
    tops: tuple[Layer, ...]
    length: int
    """The number of cuts."""
    side: int
    margin: int
    gap: int
    """dbu between plates of one layer, at least 3."""

    @property
    def cuts(self) -> Shapes:
        pitch = self.side + 2 * self.margin + self.gap
        return [(self.via, db.Box(n * pitch, 0, n * pitch + self.side, self.side)) for n in range(self.length)]

    @property
    def plates(self) -> Shapes:
        """Each covers two cuts, those at the ends of the chain one: the pads come first, the links after them."""
        cuts, last = [box for _, box in self.cuts], self.length - 1
        pads = [(self.tops[0], 0), (self._layer_from(last), last)]
        links = [(self._layer_from(number), number) for number in range(last)]
        found = [(layer, cuts[number]) for layer, number in pads]
        found += [(layer, cuts[number] + cuts[number + 1]) for layer, number in links]
        return [(layer, box.enlarged(self.margin, self.margin)) for layer, box in found]

    def _layer_from(self, number: int) -> Layer:
        """The layer on which the chain goes on from a cut."""
        layers = self.tops if number % 2 else self.bottoms
        return layers[number // 2 % len(layers)]

    @property
    def shapes(self) -> Shapes:
        return [*self.plates, *self.cuts]

    @property
    def drawing(self) -> Drawing:
        return sketch_of(self.shapes).drawing

    @property
    def separate_stacks(self) -> Shapes:
        """A pad below and a pad above each cut."""
        around = [box.enlarged(self.margin, self.margin) for _, box in self.cuts]
        return [*self.cuts, *((layer, box) for box in around for layer in (self.bottoms[0], self.tops[0]))]

    def with_cut(self, number: int, change: Callable[[db.Box], list[db.Box]]) -> Drawing:
        boxes = [box for _, box in self.cuts]
        changed = [*boxes[:number], *change(boxes[number]), *boxes[number + 1 :]]
        return sketch_of([*self.plates, *((self.via, box) for box in changed)]).drawing

    def with_cut_on(self, number: int, layer: Layer) -> Drawing:
        cuts = self.cuts
        cuts[number] = (layer, cuts[number][1])
        return sketch_of([*self.plates, *cuts]).drawing

    def with_plate(self, number: int, change: Callable[[Layer, db.Box], Shapes]) -> Drawing:
        plates = self.plates
        changed = [*plates[:number], *change(*plates[number]), *plates[number + 1 :]]
        return sketch_of([*changed, *self.cuts]).drawing

    def and_a_cut_on(self, role: str, gap: int) -> Drawing:
        """One more cut, below the first one, on a plate of one role; the other role's ends ``gap`` dbu before it."""
        first = self.cuts[0][1]
        more = first.moved(0, -(self.side + 2 * self.margin + self.gap))
        on = first.enlarged(self.margin, self.margin) + more
        beside = db.Box(on.left, more.top + gap, on.right, on.top)
        plates = {"bottom": (on, beside), "top": (beside, on)}[role]
        shapes = [(self.via, more), (self.bottoms[0], plates[0]), (self.tops[0], plates[1])]
        return sketch_of([*self.shapes, *shapes]).drawing

    def and_two_that_meet_in_a_corner(self) -> Drawing:
        """Two more cuts, below the first one: the one on its bottom plate, the other on its top plate."""
        first = self.cuts[0][1]
        one = first.moved(0, -(self.side + 2 * self.margin + self.gap))
        other = one.moved(self.side, -self.side)
        beside = db.Box(other.left, other.bottom, other.right, first.top)
        shapes = [(self.via, one), (self.via, other), (self.bottoms[0], first + one), (self.tops[0], beside)]
        return sketch_of([*self.shapes, *shapes]).drawing


class Conductors(NamedTuple):
    bottoms: tuple[Layer, ...]
    tops: tuple[Layer, ...]


def conductors(via: Layer, bottom: Layer | None, top: Layer | None, bench: Bench) -> Conductors:
    """What cuts of a chain may join; worked out apart from the check, which may be wrong about it."""
    pairs = [(one.bottom, one.top) for one in bench.technology.connections if one.cut == via]
    pairs = [pair for pair in pairs if bottom is None or pair[0] == bottom]
    pairs = [pair for pair in pairs if top is None or pair[1] == top]
    return Conductors(tuple(dict.fromkeys(one for one, _ in pairs)), tuple(dict.fromkeys(one for _, one in pairs)))


def chain(via: Layer, found: Conductors, count: int, bench: Bench) -> Chain:
    """A chain of ``count`` cuts, of the size that the rules in force ask for."""
    return Chain(via, *found, count, cut_side(via, bench), _MARGIN, 4 * _MARGIN)


def chain_negatives(via: Layer, joining: Conductors, count: int, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
    """Chains that lack one cut or are broken in one place, and what is no chain at all."""
    bottoms, tops = joining
    chains = st.builds(
        Chain,
        st.just(via),
        st.just(bottoms),
        st.just(tops),
        st.just(count),
        st.integers(2, 2000),
        st.integers(1, 500),
        st.integers(3, 2000),
    )
    wrong = other_layers(bench.technology, via, *bottoms, *tops)
    cut, pad, link = st.integers(0, count - 1), st.integers(0, 1), st.integers(2, max(2, count))
    plate = st.integers(0, count)

    def with_cut(change: Callable[[db.Box], list[db.Box]]) -> SearchStrategy[Drawing]:
        return st.builds(lambda one, number: one.with_cut(number, change), chains, cut)

    found: dict[str, SearchStrategy[Drawing]] = {
        "nothing_drawn": st.just(Sketch().drawing),
        "only_in_a_cell_that_is_not_placed": chains.map(lambda one: unplaced(one.drawing)),
        "no_cut": chains.map(lambda one: sketch_of(one.plates).drawing),
        "no_bottom": chains.map(lambda one: _without(one, one.bottoms)),
        "no_top": chains.map(lambda one: _without(one, one.tops)),
        "cut_missing": with_cut(lambda box: []),
        "cut_without_area": with_cut(lambda box: [db.Box(box.left, box.bottom, box.right, box.bottom)]),
        "cut_on_the_wrong_layer": st.builds(lambda one, n, layer: one.with_cut_on(n, layer), chains, cut, wrong),
        "cut_only_touches_its_plates": chains.map(
            lambda one: one.with_cut(0, lambda box: [box.moved(0, one.side + one.margin)])
        ),
        "plate_missing": st.builds(lambda one, n: one.with_plate(n, lambda layer, box: []), chains, plate),
        "plate_on_the_wrong_layer": st.builds(
            lambda one, n, other: one.with_plate(n, lambda layer, box: [(other, box)]), chains, plate, wrong
        ),
        "pad_beside_the_cut": st.builds(
            lambda one, n, gap: one.with_plate(
                n, lambda layer, box: [(layer, box.moved(0, box.height() - one.margin + gap))]
            ),
            chains,
            pad,
            st.integers(0, 500),
        ),
    }
    if count > 1:
        found |= {
            "one_cut_of_the_rest_in_two_pieces": st.builds(
                lambda one, permille: one._replace(length=count - 1).with_cut(0, lambda box: [*halves(box, permille)]),
                chains,
                st.integers(0, 999),
            ),
            "one_cut_of_the_rest_drawn_twice": chains.map(
                lambda one: one._replace(length=count - 1).with_cut(0, lambda box: [box, box])
            ),
            "one_joins_a_bottom_only": _with_a_cut_on("bottom", chains, count - 1),
            "one_joins_a_top_only": _with_a_cut_on("top", chains, count - 1),
            "one_from_two_that_meet_in_a_corner": chains.map(
                lambda one: one._replace(length=count - 1).and_two_that_meet_in_a_corner()
            ),
            "one_short": chains.map(lambda one: one._replace(length=count - 1).drawing),
            "link_with_a_gap_of_one_dbu": st.builds(
                lambda one, n: one.with_plate(n, lambda layer, box: [(layer, half) for half in _apart(box)]),
                chains,
                link,
            ),
            "link_that_hangs_together_by_a_corner": st.builds(
                lambda one, n: one.with_plate(n, lambda layer, box: [(layer, half) for half in _by_a_corner(box)]),
                chains,
                link,
            ),
            "separate_stacks": chains.map(lambda one: sketch_of(one.separate_stacks).drawing),
        }
    rivals = [
        (role, layer)
        for role, layers in (("bottom", bottoms), ("top", tops))
        for layer in joined(via, bench.technology, role)
        if layer not in layers
    ]
    for role, layer in rivals:
        found[f"{role}_is_{bench.technology.name_of(layer)}"] = chains.map(_replacing(role, layer))
    cuts = sorted({one.cut for one in bench.technology.connections if one.cut is not None} - {via})
    if cuts:
        found["cuts_are_others"] = st.builds(
            lambda one, other: one._replace(via=other).drawing, chains, st.sampled_from(cuts)
        )
    return found


def _with_a_cut_on(role: str, chains: SearchStrategy[Chain], count: int) -> SearchStrategy[Drawing]:
    return st.builds(lambda one, gap: one._replace(length=count).and_a_cut_on(role, gap), chains, st.integers(0, 3))


def _without(one: Chain, layers: tuple[Layer, ...]) -> Drawing:
    return sketch_of([shape for shape in one.shapes if shape[0] not in layers]).drawing


def _replacing(role: str, layer: Layer) -> Callable[[Chain], Drawing]:
    return lambda one: (one._replace(bottoms=(layer,)) if role == "bottom" else one._replace(tops=(layer,))).drawing


def _apart(box: db.Box) -> list[db.Box]:
    """Two pieces with one dbu between them, which lies between the cuts."""
    at = box.center().x
    return [db.Box(box.left, box.bottom, at, box.top), db.Box(at + 1, box.bottom, box.right, box.top)]


def _by_a_corner(box: db.Box) -> list[db.Box]:
    """The lower half of the left piece, the upper half of the right one: both still overlap their cuts."""
    at = box.center()
    return [db.Box(box.left, box.bottom, at.x, at.y), db.Box(at.x, at.y, box.right, box.top)]
