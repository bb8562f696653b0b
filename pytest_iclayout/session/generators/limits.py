"""What a technology asks of the shapes of its layers, for generators that must keep every rule by construction."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind, Technology, TechnologyError


@dataclass(frozen=True)
class Cut:
    """A cut layer with the conductors that it joins. ``size`` is the side of a cut, ``pitch`` the least one, in dbu."""

    layer: Layer
    bottom: Layer
    top: Layer
    size: int
    pitch: int
    in_bottom: int
    in_top: int
    """Least enclosures in the two conductors, in dbu."""

    @property
    def enclosure(self) -> int:
        return max(self.in_bottom, self.in_top)


@dataclass(frozen=True)
class Limits:
    """The strictest value of each kind of rule over all rule sets of a technology.

    A rule set may leave out what another one has: what keeps the strictest rules is clean in each, and
    does not depend on the set in force.
    """

    technology: Technology

    def layer(self, name: str) -> Layer:
        """Raises CommandError (no_such_layer)."""
        try:
            return self.technology.layer_named(name)
        except TechnologyError as error:
            raise CommandError(ErrorCode.NO_SUCH_LAYER, str(error)) from error

    def space(self, layer: Layer) -> int:
        return self._strictest(RuleKind.SPACE, layer)

    def width(self, layer: Layer) -> int:
        return self._strictest(RuleKind.WIDTH, layer)

    def enclosure(self, cut: Layer, conductor: Layer) -> int:
        return self._strictest(RuleKind.ENCLOSURE, cut, conductor)

    def area(self, layer: Layer) -> int:
        """In dbu²."""
        return self._strictest(RuleKind.AREA, layer)

    def size(self, cut: Layer) -> int:
        """The side of a square cut. Raises CommandError (engine_error) where no rule tells it."""
        size = self._strictest(RuleKind.EXACT_SIZE, cut) or self.width(cut)
        if size == 0:
            name = self.technology.name_of(cut)
            raise CommandError(
                ErrorCode.ENGINE_ERROR, f"technology {self.technology.name} has no rule for the size of {name}"
            )
        return size

    def cut(self, name: str) -> Cut:
        """A cut layer by its name. Raises CommandError where the technology has none, or no rule for its size."""
        layer = self.layer(name)
        for one in self.technology.connections:
            if one.cut == layer:
                return self._cut(one.bottom, layer, one.top)
        raise CommandError(ErrorCode.ENGINE_ERROR, f"technology {self.technology.name} joins nothing by {name}")

    def _cut(self, bottom: Layer, cut: Layer, top: Layer) -> Cut:
        size = self.size(cut)
        in_bottom, in_top = self.enclosure(cut, bottom), self.enclosure(cut, top)
        return Cut(cut, bottom, top, size, size + self.space(cut), in_bottom, in_top)

    def grown(self, layer: Layer, width: int, height: int) -> tuple[int, int]:
        """The sides of a rectangle, at least as given, that keeps the layer's width and area rules."""
        least, area = self.width(layer), self.area(layer)
        width, height = max(width, least), max(height, least)
        if width * height < area:
            side = isqrt(area - 1) + 1
            # A square if both are shorter than its side, else the shorter one grows.
            width, height = (max(width, min(side, -(-area // height))), height)
            height = max(height, -(-area // width))
        return width, height

    def _strictest(self, kind: RuleKind, layer: Layer, other: Layer | None = None) -> int:
        return max(
            (
                rule.value
                for rules in self.technology.rule_sets.values()
                for rule in rules
                if rule.kind is kind and rule.layer == layer and rule.other_layer == other
            ),
            default=0,
        )
