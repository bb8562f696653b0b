"""Drawings as data: a sequence of commands, and a short way to write one."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_iclayout.geometry.shapes import Orientation, Point, Rect, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

Drawing = tuple[cmd.Command, ...]
"""A layout as the commands that draw it: what witnesses and negatives are made of."""


class DrawingError(ValueError):
    """A drawing with a command that the session refuses."""


class Sketch:
    """Collects the commands of a drawing; coordinates in dbu.

    Begins by creating ``cell``, unless it is there already (``new=False``): in a given layout, say.
    """

    def __init__(self, cell: str = "top", *, new: bool = True) -> None:
        self._cell = cell
        self._commands: list[cmd.Command] = [cmd.CreateCell(name=cell)] if new else []

    @property
    def drawing(self) -> Drawing:
        return tuple(self._commands)

    def rect(self, layer: Layer, left: int, bottom: int, right: int, top: int) -> Sketch:
        rect = Rect.of(left, bottom, right, top)
        self._commands.append(cmd.AddRect(cell=self._cell, layer=layer, rect=rect))
        return self

    def polygon(self, layer: Layer, points: Iterable[tuple[int, int]]) -> Sketch:
        corners = tuple(Point(x=x, y=y) for x, y in points)
        self._commands.append(cmd.AddPolygon(cell=self._cell, layer=layer, points=corners))
        return self

    def path(self, layer: Layer, width: int, points: Iterable[tuple[int, int]]) -> Sketch:
        spine = tuple(Point(x=x, y=y) for x, y in points)
        self._commands.append(cmd.AddPath(cell=self._cell, layer=layer, width=width, points=spine))
        return self

    def label(self, layer: Layer, text: str, x: int, y: int) -> Sketch:
        position = Point(x=x, y=y)
        self._commands.append(cmd.AddLabel(cell=self._cell, layer=layer, text=text, position=position))
        return self

    def place(self, child: str, x: int = 0, y: int = 0, orientation: Orientation = Orientation.R0) -> Sketch:
        """Place a cell that another sketch drew (see :meth:`include`)."""
        trans = Transform(orientation=orientation, dx=x, dy=y)
        self._commands.append(cmd.PlaceInstance(cell=self._cell, child=child, transform=trans))
        return self

    def array(
        self,
        child: str,
        columns: int,
        rows: int,
        column_pitch: int,
        row_pitch: int,
        orientation: Orientation = Orientation.R0,
    ) -> Sketch:
        """Place a regular array of such a cell, its first member at the origin; the orientation turns all of it."""
        self._commands.append(
            cmd.PlaceArray(
                cell=self._cell,
                child=child,
                transform=Transform(orientation=orientation),
                columns=columns,
                rows=rows,
                column_pitch=column_pitch,
                row_pitch=row_pitch,
            )
        )
        return self

    def include(self, other: Sketch) -> Sketch:
        """Draw another cell too, before what follows."""
        self._commands.extend(other.drawing)
        return self


def draw(drawing: Drawing, technology: Technology) -> LayoutSession:
    """A new session with a drawing. Raises as :func:`draw_on`."""
    return draw_on(LayoutSession(technology=technology), drawing)


def draw_on(session: LayoutSession, drawing: Drawing) -> LayoutSession:
    """Execute a drawing. Raises DrawingError for a command that fails: a drawing is meant to be whole."""
    for number, command in enumerate(drawing):
        outcome = session.execute(command)
        if not outcome.ok:
            raise DrawingError(f"command {number}, {cmd.dump_command(command)}: {outcome.error_message}")
    return session


def format_drawing(drawing: Drawing) -> str:
    """One JSON command a line, for people and for a transcript."""
    return "\n".join(command.model_dump_json(exclude_defaults=False) for command in drawing)
