"""The legal layouts of drc_clean, and those that lack something or break a rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, halves, sketch_of
from iclayout_checkers.legal import LegalShapes, in_a_row
from iclayout_checkers.offences import Offence, offences, turned

from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind, Technology

_MET1 = Layer(layer=68, datatype=20)
"""Drawn where a task asks for no layer; the first layer with a width rule where the rules leave it out."""


@dataclass(frozen=True)
class Plan:
    """What a legal layout must hold: ``count`` shapes of each layer in ``present``, and two layers that cross."""

    legal: LegalShapes
    present: tuple[Layer, ...]
    count: int
    crossing: tuple[Layer, Layer] | None

    @cached_property
    def blocks(self) -> list[Shapes]:
        """Groups of legal shapes, to be drawn apart from each other."""
        first = [] if self.crossing is None else [self.legal.crossing(*self.crossing)]
        return self.measurable(self.filled(first, self.present, self.count))

    @cached_property
    def measured(self) -> Layer:
        """The layer to draw where none is asked for."""
        return self._to_measure[0]

    @cached_property
    def _to_measure(self) -> list[Layer]:
        with_width = [rule.layer for rule in self.legal.in_force if rule.kind is RuleKind.WIDTH]
        first = [_MET1] if _MET1 in with_width else []
        return list(dict.fromkeys([*first, *with_width, *self.legal.measured_layers]))

    def others(self, layer: Layer) -> list[Layer]:
        """Layers that the rules measure and that can be drawn legally without ``layer``."""
        return [other for other in self._to_measure if not self.needs(other, layer)]

    def needs(self, layer: Layer, other: Layer) -> bool:
        """Whether a legal shape of ``layer`` comes with one of ``other`` (each layer with itself)."""
        return _holds(self.legal.block(layer), other)

    def filled(self, blocks: list[Shapes], layers: Iterable[Layer], count: int) -> list[Shapes]:
        """The blocks and as many more as make ``count`` shapes of each layer."""
        result = list(blocks)
        # Cuts first: the conductors that they bring along count too.
        for layer in sorted(layers, key=lambda one: -len(self.legal.block(one))):
            have = sum(_holds(block, layer) for block in result)
            result += [self.legal.block(layer)] * (count - have)
        return result

    def measurable(self, blocks: list[Shapes], without: Layer | None = None) -> list[Shapes]:
        """The blocks, and one on a layer that the rules measure unless there is one already."""
        if any(_holds(block, layer) for block in blocks for layer in self.legal.measured_layers):
            return blocks
        layers = self._to_measure if without is None else self.others(without)
        return [*blocks, *(self.legal.block(layer) for layer in layers[:1])]


def drawn(legal: LegalShapes, blocks: list[Shapes], more: int = 0) -> Drawing:
    """The blocks in a row, ``more`` dbu farther apart than any rule asks."""
    return sketch_of(in_a_row(blocks, legal.apart + more)).drawing


def spread(legal: LegalShapes, blocks: list[Shapes]) -> SearchStrategy[Drawing]:
    """The blocks at different distances."""
    return st.integers(0, 5000).map(lambda more: drawn(legal, blocks, more))


def unchecked_layers(plan: Plan, technology: Technology) -> dict[str, SearchStrategy[Drawing]]:
    """Shapes where no rule looks."""
    number = st.integers(0, 255)
    unknown = st.builds(lambda layer, datatype: Layer(layer=layer, datatype=datatype), number, number).filter(
        lambda layer: layer not in technology
    )
    unmeasured = [entry.layer for entry in technology.layers if entry.layer not in plan.legal.measured_layers]

    def square_on(layers: SearchStrategy[Layer]) -> SearchStrategy[Drawing]:
        return st.builds(
            lambda layer, side: drawn(plan.legal, [[(layer, db.Box(0, 0, side, side))]]),
            layers,
            st.integers(1000, 9000),
        )

    found = {"only_on_an_unknown_layer": square_on(unknown)}
    if unmeasured:
        found["only_on_a_layer_without_rules"] = square_on(st.sampled_from(unmeasured))
    return found


def broken_rules(plan: Plan, technology: Technology) -> dict[str, SearchStrategy[Drawing]]:
    """A legal layout with a shape beside it that breaks a rule.

    Each way to break a rule of the layers in that layout has its name; all others have one together.
    """
    layers = {layer for block in plan.blocks for layer, _ in block}
    found: dict[str, SearchStrategy[Drawing]] = {}
    others: list[Offence] = []
    for rule in plan.legal.in_force:
        if layers.issuperset(rule.layers):
            for way in offences(plan.legal, rule):
                found[f"{_rule_name(rule, technology)}_{way.name}"] = _broken(plan, st.just(way))
        else:
            others += offences(plan.legal, rule)
    if others:
        found["rule_of_another_layer"] = _broken(plan, st.sampled_from(others))
    return found


def one_short(plan: Plan, layer: Layer, technology: Technology) -> dict[str, SearchStrategy[Drawing]]:
    """One shape less of the layer than required, by the reason why it is one less."""
    name, legal = technology.name_of(layer), plan.legal
    first = [] if plan.crossing is None else [legal.crossing(*plan.crossing)]
    if plan.count == 1:
        first = [block for block in first if not _holds(block, layer)]
    first = plan.filled(first, [one for one in plan.present if not plan.needs(one, layer)], plan.count)
    blocks = plan.filled(first, [layer], plan.count - 1)
    legible = plan.measurable(blocks, without=layer)
    found = {
        f"{name}_one_short": spread(legal, legible),
        f"{name}_one_without_area": spread(legal, [*legible, [(layer, db.Box(0, 0, 5000, 0))]]),
    }
    others = plan.others(layer)
    if others:
        found[f"{name}_one_on_the_wrong_layer"] = st.builds(
            lambda other, more: drawn(legal, [*blocks, legal.block(other)], more),
            st.sampled_from(others),
            st.integers(0, 5000),
        )
    if plan.count > 1 and legal.box(layer).area() > 1:
        at = next(number for number, block in enumerate(blocks) if _holds(block, layer))
        found[f"{name}_one_in_two_pieces_that_abut"] = st.builds(
            lambda cut, more: drawn(legal, [*blocks[:at], _in_pieces(blocks[at], layer, cut), *blocks[at + 1 :]], more),
            st.integers(0, 999),
            st.integers(0, 5000),
        )
    return found


def not_crossing(plan: Plan, over: Layer, under: Layer) -> dict[str, SearchStrategy[Drawing]]:
    """Both layers, but nowhere over each other."""
    legal = plan.legal
    for inner, outer in ((over, under), (under, over)):
        if plan.needs(inner, outer):
            # Where the inner one is drawn legally the other one is, too: it can only be absent.
            kept = plan.filled([], [one for one in plan.present if not plan.needs(one, inner)], plan.count)
            return {"crossing_layer_absent": spread(legal, [*kept, legal.block(outer)])}
    apart = [*plan.filled([], plan.present, plan.count), legal.block(over), legal.block(under)]
    box = legal.box(under)
    touching = legal.covered([(over, legal.box(over)), (under, box.moved(-box.width(), 0))])
    return {
        "crossing_layers_apart": spread(legal, apart),
        "crossing_layers_only_touch": spread(legal, [*apart, touching]),
    }


def _broken(plan: Plan, ways: SearchStrategy[Offence]) -> SearchStrategy[Drawing]:
    return st.builds(
        lambda way, vary, turns, more: drawn(plan.legal, [*plan.blocks, turned(way.draw(vary), turns)], more),
        ways,
        st.integers(0, 2000),
        st.integers(0, 3),
        st.integers(0, 5000),
    )


def _rule_name(rule: Rule, technology: Technology) -> str:
    return "_".join([rule.id, *(technology.name_of(layer) for layer in rule.layers)])


def _holds(block: Shapes, layer: Layer) -> bool:
    return any(here == layer for here, _ in block)


def _in_pieces(block: Shapes, layer: Layer, permille: int) -> Shapes:
    """The block with the shapes of a layer cut in two pieces that abut."""
    result: Shapes = []
    for here, box in block:
        result += [(here, piece) for piece in (halves(box, permille) if here == layer else (box,))]
    return result
