"""Commands that combine, arrange and resize elements. Each function checks first and changes afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_, xor

import klayout.db as db

from pytest_iclayout.geometry.extent import measure
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Document, Element
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.reach import check_moved, check_reach
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind, Technology

_CORNERS_SQUARE = 2
"""KLayout's mode in which corners of up to 90 degrees stay sharp, so that a rectangle grows to a rectangle."""


def boolean_combine(document: Document, command: cmd.BooleanCombine) -> list[int]:
    """Returns the ids that went, then those that came.

    A polygon with holes is drawn with a slit from each hole to its hull, which is how a GDS file holds it.
    """
    cell = document.cell(command.cell)
    elements = _different(document.elements_of(command.ids), 2)
    for element in elements:
        if element.cell_index != cell.cell_index():
            other = document.layout.cell(element.cell_index).name
            raise _invalid(f"ids: element {element.id} is in cell {other!r}, not in {command.cell!r}")
    used = _polygons_of(elements, "combined")
    result = _combined([_region(element) for element in used], command.bool_op)
    drawn = list(_drawable(result))
    for element in used:
        document.erase(element)
    return [*(element.id for element in used), *(document.draw(cell, command.layer, shape) for shape in drawn)]


def align_shapes(document: Document, command: cmd.AlignShapes) -> list[int]:
    """A middle between two grid lines is taken at the lower one."""
    elements = _different(document.elements_of(command.ids), 2)
    boxes = _boxes(document, elements)
    around = sum(boxes, db.Box())
    moves = []
    for box in boxes:
        dx, dy = {
            "left": (around.left - box.left, 0),
            "right": (around.right - box.right, 0),
            "center_x": ((around.left + around.right - box.left - box.right) // 2, 0),
            "top": (0, around.top - box.top),
            "bottom": (0, around.bottom - box.bottom),
            "center_y": (0, (around.bottom + around.top - box.bottom - box.top) // 2),
        }[command.align]
        moves.append((dx, dy))
    return _move(document, elements, moves, "align")


def distribute_shapes(document: Document, command: cmd.DistributeShapes) -> list[int]:
    """In the order of the lower edges; a remainder of the division makes the first gaps 1 dbu wider.

    Where there is no room for gaps, neighbours overlap by the same amount.
    """
    elements = _different(document.elements_of(command.ids), 3)
    boxes = _boxes(document, elements)
    across = command.axis == "horizontal"
    spans = [(box.left, box.right) if across else (box.bottom, box.top) for box in boxes]
    order = sorted(range(len(spans)), key=lambda number: spans[number])
    first, *inner, last = order
    sizes = [spans[number][1] - spans[number][0] for number in inner]
    gap, wider = divmod(spans[last][0] - spans[first][1] - sum(sizes), len(order) - 1)
    shifts = [0] * len(order)
    position = spans[first][1]
    for place, (number, size) in enumerate(zip(inner, sizes, strict=True)):
        position += gap + (place < wider)
        shifts[number] = position - spans[number][0]
        position += size
    moves = [(shift, 0) if across else (0, shift) for shift in shifts]
    return _move(document, elements, moves, "axis")


def offset_shapes(document: Document, command: cmd.OffsetShapes) -> list[int]:
    elements = document.elements_of(command.ids)
    used = _polygons_of(elements, "resized")
    resized = [_resized(element, command.delta) for element in used]
    for element, shape in zip(used, resized, strict=True):
        assert isinstance(element.handle, db.Shape)
        if isinstance(shape, db.Box):
            element.handle.box = shape
        else:
            element.handle.polygon = shape
    return [element.id for element in used]


def build_via_stack(document: Document, command: cmd.BuildViaStack, technology: Technology, rule_set: str) -> list[int]:
    """The cut, the lower and the upper square, in this order. An odd size reaches further up and right by 1 dbu."""
    cell = document.cell(command.cell)
    for layer in (command.lower_layer, command.upper_layer, command.cut_layer):
        if layer not in technology:
            raise CommandError(ErrorCode.NO_SUCH_LAYER, f"technology {technology.name} has no layer {layer}")
    half, rest = command.cut_size // 2, command.cut_size % 2
    x, y = command.center.x, command.center.y
    cut = db.DBox(x - half, y - half, x + half + rest, y + half + rest)
    squares = [(command.cut_layer, cut)]
    for layer in (command.lower_layer, command.upper_layer):
        margin = _enclosure(technology, rule_set, command.cut_layer, layer)
        margin = command.default_enclosure if margin is None else margin
        squares.append((layer, cut.enlarged(margin, margin)))
    for layer, square in squares:
        check_reach(square, "center", f"the square on {layer}")
    return [document.draw(cell, layer, square.to_itype(1.0)) for layer, square in squares]


def _enclosure(technology: Technology, rule_set: str, cut: Layer, conductor: Layer) -> int | None:
    rules = technology.rule_sets.get(rule_set, ())
    return max(
        (
            rule.value
            for rule in rules
            if rule.kind is RuleKind.ENCLOSURE and (rule.layer, rule.other_layer) == (cut, conductor)
        ),
        default=None,
    )


def _different(elements: list[Element], least: int) -> list[Element]:
    if len(elements) < least:
        raise _invalid(f"ids: {least} different elements or more are needed (given {len(elements)})")
    return elements


def _polygons_of(elements: Iterable[Element], what: str) -> list[Element]:
    """Those that are no paths. Raises CommandError for labels and instances, or where nothing is left."""
    used = []
    for element in elements:
        handle = element.handle
        if isinstance(handle, db.Instance) or handle.is_text():
            kind = "an instance" if isinstance(handle, db.Instance) else "a label"
            raise _invalid(f"ids: element {element.id} is {kind}; rectangles and polygons are {what}")
        if not handle.is_path():
            used.append(element)
    if not used:
        raise _invalid(f"ids: all of them are paths; rectangles and polygons are {what}")
    return used


def _region(element: Element) -> db.Region:
    assert isinstance(element.handle, db.Shape)
    return db.Region(element.handle.polygon).merged()


def _combined(regions: Sequence[db.Region], operation: str) -> db.Region:
    first, *others = regions
    if operation == "union":
        result = sum(others, first)
    elif operation == "intersection":
        result = reduce(and_, others, first)
    elif operation == "xor":
        result = reduce(xor, others, first)
    else:
        result = first - sum(others, db.Region())
    # Polygons that meet in a corner stay two: a polygon that touches itself is hard to read and to edit.
    result.min_coherence = True
    return result.merged()


def _drawable(region: db.Region) -> Iterator[db.Box | db.Polygon]:
    """The polygons of a merged region, without holes and with no more points than a file's record holds."""
    for polygon in region.each():
        whole = polygon.resolved_holes()
        if whole.num_points() <= cmd.MAX_POINTS:
            yield polygon.bbox() if polygon.is_box() else whole
        else:
            yield from db.Region(polygon).decompose_trapezoids_to_region().each()


def _resized(element: Element, delta: int) -> db.Box | db.Polygon:
    assert isinstance(element.handle, db.Shape)
    check_reach(db.DBox(element.bbox).enlarged(max(delta, 0), max(delta, 0)), "delta", f"element {element.id}")
    if element.handle.is_box():
        box = element.handle.box
        if min(box.width(), box.height()) + 2 * delta <= 0 and delta < 0:
            raise _invalid(f"delta: element {element.id} would vanish")
        resized: db.Box = box.enlarged(delta, delta)
        return resized
    found = list(_region(element).sized(delta, _CORNERS_SQUARE).merged().each())
    if len(found) != 1:
        what = "vanish" if not found else f"fall into {len(found)} pieces"
        raise _invalid(f"delta: element {element.id} would {what}")
    polygon: db.Polygon = found[0].resolved_holes()
    check_reach(db.DBox(polygon.bbox()), "delta", f"element {element.id}")
    if polygon.num_points() > cmd.MAX_POINTS:
        raise _invalid(f"delta: element {element.id} would have more than {cmd.MAX_POINTS} points")
    return polygon


def _boxes(document: Document, elements: Sequence[Element]) -> list[db.Box]:
    """Raises CommandError where elements have no common frame or no extent, ExtentError as query_shapes does."""
    cells = {element.cell_index for element in elements}
    if len(cells) > 1:
        names = ", ".join(sorted(document.layout.cell(index).name for index in cells))
        raise _invalid(f"ids: the elements are in several cells: {names}")
    measure(document.layout, document.layout.cell(elements[0].cell_index))
    for element in elements:
        if element.bbox.empty():
            raise _invalid(f"ids: element {element.id} is an instance of an empty cell")
    return [element.bbox for element in elements]


def _move(
    document: Document, elements: Sequence[Element], moves: Sequence[tuple[int, int]], argument: str
) -> list[int]:
    for element, (dx, dy) in zip(elements, moves, strict=True):
        check_moved(document, element, db.DCplxTrans(1.0, 0.0, False, dx, dy), argument)
    for element, (dx, dy) in zip(elements, moves, strict=True):
        document.transform(element, db.ICplxTrans(1.0, 0.0, False, dx, dy))
    return [element.id for element in elements]


def _invalid(message: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT, message)
