"""Probe points, and the conductors that they look at."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Point, Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

REACH = 100_000_000
"""dbu; the largest coordinate of a probe.  What the gate draws around it stays within the coordinate range."""

_TEXT_FORM = re.compile(r"([+-]?\d{1,10})/([+-]?\d{1,10})", re.ASCII)


def parse_point(text: str) -> Point:
    """Read the ``X/Y`` form, dbu. Raises ValueError that says what is accepted."""
    match = _TEXT_FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a point; write X/Y in whole dbu, for example 50/100")
    return _within_reach(Point(x=_coordinate(match[1], text), y=_coordinate(match[2], text)))


def _coordinate(digits: str, text: str) -> int:
    value = int(digits)
    if abs(value) > REACH:
        raise ValueError(f"{text!r} is out of reach; a coordinate is from -{REACH} to {REACH} dbu")
    return value


def _from_text(value: Any) -> Any:
    return parse_point(value) if isinstance(value, str) else value


def _within_reach(point: Point) -> Point:
    for value in (point.x, point.y):
        _coordinate(str(value), f"{point.x}/{point.y}")
    return point


PointRef = Annotated[Point, BeforeValidator(_from_text), AfterValidator(_within_reach)]
"""A point in a TOML file or a checker string: ``"50/100"``, or the table form ``{ x = 50, y = 100 }``."""


def probed_layers(technology: Technology, layer: Layer | None) -> tuple[Layer, ...]:
    """The conductors that a probe looks at: all of them, or the one that is given.

    Raises ValueError for a layer that is no conductor, and when the technology has none at all.
    """
    conductors = tuple(sorted({end for one in technology.connections for end in (one.bottom, one.top)}))
    if not conductors:
        raise ValueError(f"technology {technology.name} declares no connections, so it has no conductor to probe")
    if layer is None:
        return conductors
    if layer not in conductors:
        known = ", ".join(str(one) for one in conductors)
        raise ValueError(f"layer: {layer} is no conductor of technology {technology.name}; conductors are {known}")
    return (layer,)


def missed(view: LayoutView, rule: str, name: str, point: Point, layer: Layer | None) -> Finding:
    """The finding that a probe is on no shape of the layers that it looks at."""
    where = "a conductor" if layer is None else view.describe(layer)
    return Finding(
        rule=rule,
        message=f"{name} ({point.x}, {point.y}) is on no shape of {where}",
        layer=layer,
        place=place_of(point, point),
    )


def place_of(one: Point, other: Point) -> Rect:
    """The smallest rectangle with both points."""
    return Rect.of(min(one.x, other.x), min(one.y, other.y), max(one.x, other.x), max(one.y, other.y))
