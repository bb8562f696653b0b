"""Commands that draw, delete and transform. Each function checks first and changes afterwards."""

from __future__ import annotations

import klayout.db as db

from pytest_iclayout.geometry.extent import MAX_FLAT_SHAPES, measure
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Point, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Document, Element
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.reach import check_moved, check_reach, members_reach


def create_cell(document: Document, command: cmd.CreateCell) -> list[int]:
    if document.layout.cell(command.name) is not None:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"name: cell {command.name!r} exists already")
    document.layout.create_cell(command.name)
    return []


def delete_cell(document: Document, command: cmd.DeleteCell) -> list[int]:
    return document.delete_cell(document.cell(command.name))


def add_rect(document: Document, command: cmd.AddRect) -> list[int]:
    return [document.draw(document.cell(command.cell), command.layer, command.rect.to_db())]


def add_polygon(document: Document, command: cmd.AddPolygon) -> list[int]:
    cell = document.cell(command.cell)
    polygon = db.Polygon([point.to_db() for point in command.points])
    # The signed area of a polygon that crosses itself may be 0 although it covers some.
    if polygon.area() == 0 and db.Region(polygon).merged().area() == 0:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, "points: the polygon has no area")
    return [document.draw(cell, command.layer, polygon)]


def add_path(document: Document, command: cmd.AddPath) -> list[int]:
    """The ends of odd widths reach half the width, rounded down; the edges lie on the next grid line outward."""
    cell = document.cell(command.cell)
    path = db.Path([point.to_db() for point in command.points], command.width)
    if command.endcap != "flat":
        path.bgn_ext = path.end_ext = command.width // 2
        path.round = command.endcap == "round"
    check_reach(path.to_dtype(1.0).bbox(), "points", "the path")
    return [document.draw(cell, command.layer, path)]


def add_label(document: Document, command: cmd.AddLabel) -> list[int]:
    cell = document.cell(command.cell)
    if not (command.text.isascii() and command.text.isprintable()):
        raise CommandError(ErrorCode.INVALID_ARGUMENT, "text: GDS labels hold printable ASCII only")
    text = db.Text(command.text, command.position.x, command.position.y)
    return [document.draw(cell, command.layer, text)]


def place_instance(document: Document, command: cmd.PlaceInstance) -> list[int]:
    parent, child = _parent_and_child(document, command.cell, command.child)
    return [_place(document, parent, child, db.CellInstArray(child.cell_index(), command.transform.to_db()))]


def place_array(document: Document, command: cmd.PlaceArray) -> list[int]:
    parent, child = _parent_and_child(document, command.cell, command.child)
    for axis, count, pitch in (
        ("column", command.columns, command.column_pitch),
        ("row", command.rows, command.row_pitch),
    ):
        if count > 1 and pitch == 0:
            raise CommandError(ErrorCode.INVALID_ARGUMENT, f"{axis}_pitch: 0 stacks {count} members on one place")
        if abs(pitch) * (count - 1) > COORD_LIMIT:
            raise CommandError(ErrorCode.INVALID_ARGUMENT, f"{axis}_pitch: the array reaches beyond ±{COORD_LIMIT} dbu")
    trans = command.transform.to_db()
    turn = db.Trans(command.transform.orientation.quarter_turns, command.transform.orientation.mirrored, 0, 0)
    array = db.CellInstArray(
        child.cell_index(),
        trans,
        turn * db.Vector(command.column_pitch, 0),
        turn * db.Vector(0, command.row_pitch),
        command.columns,
        command.rows,
    )
    return [_place(document, parent, child, array)]


def transform_shapes(document: Document, command: cmd.TransformShapes) -> list[int]:
    elements = document.elements_of(command.ids)
    for element in elements:
        _check_transform(document, element, command.transform)
    trans = command.transform.to_db()
    for element in elements:
        document.transform(element, trans)
    return [element.id for element in elements]


def delete_shapes(document: Document, command: cmd.DeleteShapes) -> list[int]:
    elements = document.elements_of(command.ids)
    for element in elements:
        document.erase(element)
    return [element.id for element in elements]


def draw_route(document: Document, cell: db.Cell, command: cmd.RouteNet, width: int) -> tuple[list[int], int]:
    """Rectangles through the terminals in turn, first along x, then along y; returns ids and length in dbu."""
    wires: list[db.Box] = []
    length = 0
    for start, end in zip(command.terminals, command.terminals[1:], strict=False):
        corner = Point(x=end.x, y=start.y)
        for one, other in ((start, corner), (corner, end)):
            if one != other:
                wires.append(_wire(one, other, width))
                length += abs(one.x - other.x) + abs(one.y - other.y)
    for wire in wires:
        check_reach(db.DBox(wire), "terminals", "a wire")
    return [document.draw(cell, command.layer, wire) for wire in wires], length


def _wire(one: Point, other: Point, width: int) -> db.Box:
    low, high = width // 2, width - width // 2
    return db.Box(
        min(one.x, other.x) - low,
        min(one.y, other.y) - low,
        max(one.x, other.x) + high,
        max(one.y, other.y) + high,
    )


def refuse_recursion(parent: db.Cell, child: db.Cell) -> None:
    """Raises CommandError (invalid_argument) where the child is the parent or contains it."""
    if parent.cell_index() in (child.cell_index(), *child.called_cells()):
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT,
            f"child: cell {child.name!r} contains {parent.name!r}; a cell cannot contain itself",
        )


def _parent_and_child(document: Document, parent_name: str, child_name: str) -> tuple[db.Cell, db.Cell]:
    parent, child = document.cell(parent_name), document.cell(child_name)
    refuse_recursion(parent, child)
    return parent, child


def _place(document: Document, parent: db.Cell, child: db.Cell, array: db.CellInstArray) -> int:
    extent = measure(document.layout, child)
    members = array.size()
    if extent.shapes * members > MAX_FLAT_SHAPES:
        raise CommandError(
            ErrorCode.BUDGET_EXHAUSTED,
            f"{members} members of {extent.shapes} shapes are more than {MAX_FLAT_SHAPES} once flat",
        )
    check_reach(members_reach(extent.box, array), "transform", f"{child.name!r}")
    return document.place(parent, array)


def _check_transform(document: Document, element: Element, transform: Transform) -> None:
    """A transformation must leave every coordinate an integer, and inside the coordinate range."""
    handle = element.handle
    if isinstance(handle, db.Instance):
        if transform.is_magnifying:
            raise CommandError(
                ErrorCode.INVALID_ARGUMENT,
                f"transform: element {element.id} is an instance and is not magnified in place",
            )
        check_moved(document, element, _floating(transform), "transform")
        return
    if any(number * transform.mag_num % transform.mag_den for number in _coordinates(handle)):
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT,
            f"transform: {transform.mag_num}/{transform.mag_den} takes element {element.id} off the dbu grid",
        )
    check_moved(document, element, _floating(transform), "transform")


def _floating(transform: Transform) -> db.DCplxTrans:
    turn, mirrored = 90.0 * transform.orientation.quarter_turns, transform.orientation.mirrored
    return db.DCplxTrans(transform.mag_num / transform.mag_den, turn, mirrored, transform.dx, transform.dy)


def _coordinates(shape: db.Shape) -> list[int]:
    if shape.is_text():
        return [shape.text.x, shape.text.y]
    if shape.is_path():
        path = shape.path
        return [path.width, *(value for point in path.each_point() for value in (point.x, point.y))]
    return [value for point in shape.polygon.each_point_hull() for value in (point.x, point.y)]
