"""What figures of each kind of rule are made of: families with one measure, and single cases.

A family draws a figure whose measure is given by its parameter, everything else being far from the rule's value; so
its label is known from the parameter alone.  Lengths are in dbu, areas in dbu².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pytest_iclayout.rules.figures import Figure, is_flat, slanted


class Family(NamedTuple):
    """``draw(parameter, value)`` gives the figure.

    Its measure breaks the rule where ``size(parameter)`` is below the limit: ``value`` squared for lengths, so that
    diagonal ones need no root, and ``value`` itself for areas.  ``least`` is the smallest parameter that it can draw.
    """

    name: str
    draw: Callable[[int, int], Figure]
    size: Callable[[int], int] = lambda parameter: parameter**2
    least: int = 1
    slack: int = 0
    """Parameters on both sides of the limit that are not drawn: KLayout finds the ends of slanted edges to a dbu."""

    @property
    def has_cells(self) -> bool:
        return not is_flat(self.draw(2 * self.least, 2 * self.least))

    def fails(self, parameter: int, limit: int) -> bool:
        return self.size(parameter) < limit

    def first_passing(self, limit: int) -> int:
        """The smallest parameter that keeps the rule; the one before it is the largest that breaks it."""
        low, high = 0, 1
        while self.size(high) < limit:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.size(middle) < limit else (low, middle)
        return high


class Case(NamedTuple):
    """A figure of one kind with its label."""

    name: str
    fails: bool
    figure: Figure


def diagonal(parameter: int) -> int:
    """The size of a way that goes as far in x as in y."""
    return 2 * parameter**2


def even(parameter: int) -> int:
    """The size of a length of twice the parameter, as of a path."""
    return 4 * parameter**2


def slanted_family(family: Family) -> Family:
    """Of a family in x and y: the same under 45°, where lengths are √2 times as long."""

    def draw(parameter: int, value: int) -> Figure:
        return slanted(family.draw(parameter, value))

    return Family("slanted", draw, diagonal, family.least, slack=1)
