"""Shapes that keep the design rules of a technology."""

from __future__ import annotations

from collections.abc import Iterable

import klayout.db as db
from iclayout_checkers.layouts import Shapes, bounding_box

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

_FREE_SIDE = 400
"""dbu; the side of a shape on a layer whose width no rule limits."""
_FREE_OVERHANG = 100
"""dbu; how far crossing layers reach beyond each other where no rule asks for more."""


class LegalShapes:
    """The smallest legal shapes of one technology; lengths in dbu.

    They keep the rules of every rule set, so that a layout made of them stays clean when a task is judged
    with another set.  Only where two sets ask for different exact sizes, the set in force decides.
    """

    def __init__(self, bench: Bench) -> None:
        self.technology = bench.technology
        self.in_force = bench.rules
        others = [rule for rules in bench.technology.rule_sets.values() for rule in rules]
        self._limits: dict[tuple[RuleKind, Layer, Layer | None], int] = {}
        covers: dict[tuple[Layer, Layer], int] = {}
        for rule in (*bench.rules, *others):
            key = (rule.kind, rule.layer, rule.other_layer)
            self._limits[key] = max(rule.value, self._limits.get(key, 0))
            if rule.kind is RuleKind.ENCLOSURE and rule.other_layer is not None and rule.outside_is_error:
                pair = (rule.layer, rule.other_layer)
                covers[pair] = max(rule.value, covers.get(pair, 0))
        self._covers = [(inner, outer, margin) for (inner, outer), margin in covers.items()]
        self._exact: dict[Layer, int] = {}
        for rule in (*bench.rules, *others):
            if rule.kind is RuleKind.EXACT_SIZE and rule.value >= self.limit(RuleKind.WIDTH, rule.layer):
                self._exact.setdefault(rule.layer, rule.value)

    @property
    def measured_layers(self) -> tuple[Layer, ...]:
        """Layers that the rules in force measure, in the order of the rules."""
        return tuple(dict.fromkeys(rule.layer for rule in self.in_force))

    @property
    def apart(self) -> int:
        """A distance at which no rule sees two shapes as neighbours."""
        return 1 + max((value for (kind, *_), value in self._limits.items() if not kind.is_area), default=0)

    def limit(self, kind: RuleKind, layer: Layer, other: Layer | None = None) -> int:
        """The largest value of the rules of a kind, 0 without one."""
        return self._limits.get((kind, layer, other), 0)

    def exact(self, layer: Layer) -> int | None:
        """The only side that a square on the layer may have, None where the rules leave it open."""
        return self._exact.get(layer)

    def side(self, layer: Layer) -> int:
        """The least width of a shape."""
        return self.exact(layer) or self.limit(RuleKind.WIDTH, layer) or _FREE_SIDE

    def box(self, layer: Layer) -> db.Box:
        """The narrowest legal rectangle, standing on the origin."""
        return self.grown(layer, db.Box(0, 0, self.side(layer), self.side(layer)))

    def grown(self, layer: Layer, box: db.Box) -> db.Box:
        """The box, extended to the right and the top until its width and area are legal."""
        if self.exact(layer) is not None:
            return box
        width = max(box.width(), self.side(layer))
        height = max(box.height(), self.side(layer), -(-self.limit(RuleKind.AREA, layer) // width))
        return db.Box(box.left, box.bottom, box.left + width, box.bottom + height)

    def covered(self, shapes: Shapes, leave: tuple[Layer, Layer] | None = None) -> Shapes:
        """The shapes and what must enclose them; nothing is done about the inner and outer layer of ``leave``."""
        covers: dict[Layer, db.Box] = {}
        for _ in self._covers:
            before = dict(covers)
            for inner, outer, margin in self._covers:
                inside = _boxes(shapes, covers, inner)
                if not inside or (inner, outer) == leave:
                    continue
                needed = bounding_box(inside).enlarged(margin, margin)
                here = _boxes(shapes, covers, outer)
                if not any(needed.inside(box) for box in here):
                    covers[outer] = self.grown(outer, bounding_box([needed, *here]))
            if covers == before:
                break
        return [*shapes, *covers.items()]

    def block(self, layer: Layer) -> Shapes:
        """A legal rectangle with what must enclose it."""
        return self.covered([(layer, self.box(layer))])

    def crossing(self, over: Layer, under: Layer) -> Shapes:
        """Two layers that overlap, each reaching beyond the other as far as extension rules ask."""
        for one, other in ((over, under), (under, over)):
            block, box = self.block(one), self.box(one)
            if any(layer == other for layer, _ in block):
                return block
            if self.exact(one) is not None:
                around = self.grown(other, box.enlarged(_FREE_OVERHANG, _FREE_OVERHANG))
                return self.covered([(one, box), (other, around)])
            margin = self.limit(RuleKind.ENCLOSURE, one, other)
            if margin:  # a rule that only asks for the margin where one lies within the other
                return self.covered([(one, box), (other, self.grown(other, box.enlarged(margin, margin)))])
        return self.covered(self.cross(over, under))

    def cross(self, over: Layer, under: Layer, more: int = 0, top: int | None = None) -> Shapes:
        """A vertical bar over a horizontal one.

        ``more`` makes the vertical one longer; ``top`` is how far it reaches beyond the other one at the
        top, negative where it ends within it.
        """
        width = self.side(over)
        aside = max(self.limit(RuleKind.EXTENSION, under, over), _FREE_OVERHANG)
        beyond = max(self.limit(RuleKind.EXTENSION, over, under), _FREE_OVERHANG)
        lower = self.grown(under, db.Box(-aside, 0, width + aside, self.side(under)))
        end = lower.top + (beyond if top is None else top)
        length = max(width, -(-self.limit(RuleKind.AREA, over) // width))
        return [(under, lower), (over, db.Box(0, min(-beyond, end - length) - more, width, end))]


def _boxes(shapes: Shapes, covers: dict[Layer, db.Box], layer: Layer) -> list[db.Box]:
    return [box for here, box in (*shapes, *covers.items()) if here == layer]


def require_rules(bench: Bench, checker: str) -> None:
    """Raises ValueError where the rule set in force has no rules, so that nothing could break one."""
    if not bench.rules:
        raise ValueError(f"{checker}: rules: rule set {bench.rule_set} has no rules")


def in_a_row(blocks: Iterable[Shapes], gap: int) -> Shapes:
    """Groups of shapes side by side from the origin to the right, ``gap`` dbu between their bounding boxes."""
    placed: Shapes = []
    x = 0
    for block in blocks:
        box = bounding_box([one for _, one in block])
        placed += [(layer, one.moved(x - box.left, -box.bottom)) for layer, one in block]
        x += box.width() + gap
    return placed
