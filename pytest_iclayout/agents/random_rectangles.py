"""random: clutter on every layer, wherever chance puts it; a deck that reports everything. Neither may solve any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from pytest_iclayout.agents.protocol import DeckProposal, DeckTurn, LayoutTools, Proposal, Turn
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules.prompt import RuleContext
from pytest_iclayout.session.commands import AddRect, CreateCell, dump_command
from pytest_iclayout.suite.context import TaskContext
from pytest_iclayout.technology.layers import Layer

_REACH = 100
"""Half the side of the window that holds all shapes, dbu; no side of a rectangle is longer."""
_SHORTEST = 10
"""Shortest side of a rectangle, dbu."""
_FURTHEST = 10_000
"""Most that the middle of the window is off the origin, along x and along y, dbu."""
_RECTANGLES = 8
"""On each layer. A single rectangle would be what some tasks ask for."""
_CELL = re.compile(r"\bcell (?:named|called) `?([A-Za-z0-9_$]{1,200})")


class RandomAgent:
    """Draws once, the same for the same task's id, and hears what follow-ups there are."""

    name = "random"
    backend = "random"

    def start(self, context: TaskContext) -> _RandomSession:
        named = _CELL.search(context.prompt)
        cell = named[1] if named else "top"
        begun = any(command["op"] == "create_cell" and command["name"] == cell for command in context.start)
        layers = [entry.layer for entry in context.technology.layers]
        return _RandomSession(context.task_id, cell, begun, layers)

    def start_rule(self, context: RuleContext) -> _EverythingWrong:
        return _EverythingWrong(context)


class _EverythingWrong:
    """Whatever is drawn is a violation of every category: a deck of chance might be right once in a while."""

    def __init__(self, context: RuleContext) -> None:
        inputs = (f"input({layer.layer}, {layer.datatype})" for layer in context.layers.values())
        outputs = [f'{one}.output("{category.name}")\n' for one in inputs for category in context.categories]
        self._deck = "".join(['source($input)\nreport("random", $output)\n', *outputs])

    def propose(self, turn: DeckTurn) -> DeckProposal:
        return DeckProposal(text=self._deck, note="reported every shape")


class _RandomSession:
    def __init__(self, seed: str, cell: str, begun: bool, layers: list[Layer]) -> None:
        self._cell = cell
        self._begun = begun
        self._layers = layers
        self._random = Random(seed)

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        note = "drew random rectangles"
        if turn.feedback is not None:
            # To give up before the last follow-up would fail whatever was drawn, and measure nothing.
            return Proposal(gives_up=turn.feedback.follow_up is None, note=note)
        if not self._begun:
            layout.execute(dump_command(CreateCell(name=self._cell)))
        x, y = (self._random.randint(-_FURTHEST, _FURTHEST) for _ in range(2))
        for layer in self._layers:
            for rect in self._clutter(x, y):
                layout.execute(dump_command(AddRect(cell=self._cell, layer=layer, rect=rect)))
        return Proposal(note=note)

    def _clutter(self, x: int, y: int) -> Iterator[Rect]:
        """Rectangles with the point (x, y) inside: each overlaps the others, and merged they have no hole."""
        for _ in range(_RECTANGLES):
            left, right = self._side(x)
            bottom, top = self._side(y)
            yield Rect.of(left, bottom, right, top)

    def _side(self, middle: int) -> tuple[int, int]:
        length = self._random.randint(_SHORTEST, _REACH)
        low = middle - self._random.randint(1, length - 1)
        return low, low + length
