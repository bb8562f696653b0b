"""Random decks of a small grammar of the DRC language: layers, regions of them, checks and selections.

Every deck that it makes runs on KLayout 0.28.5.  Values lie where the layouts of ``deck_layouts`` have their sizes.
"""

from __future__ import annotations

import random

from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind

_LAYERS = "abcd"
_METRICS = ("", "", ", projection", ", square", ", euclidian", ", whole_edges", ", transparent")
_VALUES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6)


class DeckGrammar:
    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def deck(self, lines: int = 6) -> str:
        """A deck with as many categories as lines."""
        return "".join(f'{self._output()}.output("c{number}")\n' for number in range(lines))

    def _output(self) -> str:
        makers = (self._check, self._check, self._check, self._region, self._selected, self._edges, self._universal)
        return self._dice.choice(makers)()

    def _region(self, depth: int = 2) -> str:
        """An expression of polygons."""
        if depth == 0 or self._dice.random() < 0.3:
            return self._dice.choice(_LAYERS)
        inner = self._region(depth - 1)
        match self._dice.randrange(6):
            case 0 | 1:
                return f"({inner} {self._dice.choice('&|-^')} {self._region(depth - 1)})"
            case 2:
                return f"{inner}.sized({self._dice.choice((-0.06, -0.02, 0.03, 0.1))})"
            case 3:
                return f"{inner}.{self._dice.choice(('holes', 'hulls', 'rectangles', 'extents', 'merged'))}"
            case 4:
                return self._selected(inner)
            case _:
                return f"{inner}.with_area({self._range(0.0, 2.0)})"

    def _selected(self, inner: str | None = None) -> str:
        inner = inner or self._region(1)
        how = self._dice.choice(("interacting", "overlapping", "inside", "outside", "covering"))
        negated = self._dice.choice(("", "not_"))
        return f"{inner}.{negated}{how}({self._region(1)})"

    def _check(self) -> str:
        value, metric = self._dice.choice(_VALUES), self._dice.choice(_METRICS)
        match self._dice.randrange(7):
            case 0 | 1:
                return f"{self._region(1)}.width({value}{metric})"
            case 2 | 3:
                return f"{self._region(1)}.{self._dice.choice(('space', 'notch', 'isolated'))}({value}{metric})"
            case number:
                name = ("separation", "enclosing", "overlap")[number - 4]
                return f"{self._region(1)}.{name}({self._region(1)}, {value}{metric})"

    def _edges(self) -> str:
        edges = f"{self._region(1)}.edges"
        match self._dice.randrange(4):
            case 0:
                return f"{edges}.with_length({self._range(0.0, 1.2)})"
            case 1:
                return f"({edges} {self._dice.choice('&-')} {self._region(1)})"
            case 2:
                return f"{edges}.{self._dice.choice(('inside_part', 'outside_part'))}({self._region(1)})"
            case _:
                return f"{edges}.with_angle({self._dice.choice((0, 45, 90))})"

    def _universal(self) -> str:
        value = self._dice.choice(_VALUES)
        inner = self._dice.choice(
            (
                f"width < {value}",
                f"space(projection) < {value}",
                f"notch < {value}",
                f"enclosing({self._dice.choice(_LAYERS)}) < {value}",
                f"separation({self._dice.choice(_LAYERS)}) < {value}",
                f"area < {value}",
                f"bbox_min < {value}",
                f"(primary - {self._dice.choice(_LAYERS)}).area < {value}",
            )
        )
        return f"{self._region(1)}.drc({inner})"

    def _range(self, low: float, high: float) -> str:
        first, second = sorted(round(self._dice.uniform(low, high), 2) for _ in range(2))
        return f"{first}..{second + 0.1:.2f}"

    def primitive(self, count: int = 8) -> tuple[str, list[Rule]]:
        """A deck of single checks and the rules that say the same to the embedded engine."""
        lines, rules = [], []
        for number in range(count):
            kind = self._dice.choice(list(_PRIMITIVE))
            value = round(self._dice.choice(_VALUES) * 1000) + self._dice.choice((-1, 0, 1))
            first, second = self._dice.sample(range(1, len(_LAYERS) + 1), 2)
            code = _PRIMITIVE[kind].format(a=_LAYERS[first - 1], b=_LAYERS[second - 1], um=value / 1000, dbu=value)
            lines.append(f'{code}.output("r{number}")\n')
            rules.append(
                Rule(
                    id=f"r{number}",
                    kind=kind,
                    layer=Layer(layer=first, datatype=0),
                    other_layer=Layer(layer=second, datatype=0) if kind.takes_two_layers else None,
                    value=value * value if kind.is_area else value,
                    overlap_is_error=False,
                    outside_is_error=False,
                )
            )
        return "".join(lines), rules


_PRIMITIVE = {
    RuleKind.WIDTH: "{a}.merged.width({um})",
    RuleKind.SPACE: "{a}.merged.space({um})",
    RuleKind.SEPARATION: "{a}.merged.separation({b}, {um})",
    RuleKind.ENCLOSURE: "{a}.merged.enclosed({b}, {um})",
    RuleKind.AREA: "{a}.merged.with_area(0, {dbu} * {dbu})",
    RuleKind.HOLE_AREA: "{a}.holes.with_area(0, {dbu} * {dbu})",
}
"""Integers are database units in this language; with_area leaves out what has the upper bound itself.  Merged, for
0.28.5 finds spaces along the edge of a triangle that is thinner than the grid where it is not."""
