"""Layouts that draw the right geometry by the wrong hierarchy, and the wrong one by a right hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given_layouts import STEPS, Edit, chosen, differs, rect

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.shapes import Orientation, Point, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Element
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer

_SPARE = "spare_cell"


class Demands(NamedTuple):
    """The checker's parameters of these names."""

    max_shapes: int | None
    max_instances: int | None
    cell: str | None
    min_depth: int
    max_depth: int | None
    not_in_top: tuple[Layer, ...]


def changed_hierarchy(bench: Bench, demands: Demands) -> dict[str, SearchStrategy[Drawing]]:
    """By what is wrong; each of them is wrong whatever else is demanded."""
    solved, solution = Edit(bench, bench.solution), bench.solution
    piece = next(_pieces(solved), None)
    found: dict[str, Iterable[Drawing]] = {
        "empty_cell_left_over": [(*solution, cmd.CreateCell(name=_SPARE))],
        "empty_cell_placed": [(*solution, cmd.CreateCell(name=_SPARE), cmd.PlaceInstance(cell="top", child=_SPARE))],
        "instance_deleted": _differing(bench, [cmd.DeleteShapes(ids=(one.id,)) for one in solved.instances]),
        "instance_moved_by_one_dbu": _differing(
            bench,
            [cmd.TransformShapes(ids=(one.id,), transform=step) for one in solved.instances for step in STEPS],
        ),
        "instance_mirrored": _differing(bench, [_mirrored(one) for one in solved.instances]),
    }
    if piece is not None:
        layer, box = piece
        found["cell_not_placed"] = [(*solution, cmd.CreateCell(name=_SPARE), rect(layer, box, _SPARE))]
        if demands.max_shapes is not None:
            more = demands.max_shapes - len(solved.shapes()) + 1
            found["one_shape_too_many"] = [(*solution, *[rect(layer, box)] * more)]
            if more > 1 and box.width() > 2:
                found["one_shape_too_many_of_parts_joined_by_a_line"] = [
                    (*solution, *[_two_parts(layer, box)] * (more // 2), *[rect(layer, box)] * (more % 2))
                ]
        if demands.max_depth is not None:
            found["one_level_too_many"] = [(*solution, *_nested(layer, box, demands.max_depth + 1))]
    if demands.max_instances is not None and solved.instances:
        more = demands.max_instances - len(solved.instances) + 1
        found["one_instance_too_many"] = [(*solution, *[_again(solved, solved.instances[0])] * more)]
    if demands.cell is not None:
        named = [one for one in solved.instances if _child(one) == demands.cell]
        found["copy_twice"] = [(*solution, _again(solved, one)) for one in named]
        found["copies_over_what_is_drawn"] = [(*solution, *_flat(solved))]
        found["one_copy_drawn_flat"] = [(*solution, *_one_flat(solved, one)) for one in named]
        found["two_copies_on_one_place"] = _on_one_place(bench, named)
        found["cell_of_another_name"] = _renamed(solution, demands.cell)
    if (demands.cell is not None or demands.min_depth > 0) and not _has_labels_below(solved):
        found["drawn_flat"] = [(*solution, *_flattened(solved))]
    found["shape_in_top"] = [
        (*solution, rect(layer, box)) for layer, box in _pieces(solved) if layer in demands.not_in_top
    ]
    return chosen(found)


def _pieces(edit: Edit) -> Iterator[tuple[Layer, db.Box]]:
    """Boxes that a layer covers already: one of each polygon."""
    view = edit.view
    for layer in view.drawn_layers:
        for polygon in view.region(layer).each():
            for part in polygon.decompose_trapezoids():
                if part.is_box():
                    yield layer, part.bbox()
                    break


def _differing(bench: Bench, changes: Iterable[cmd.Command]) -> Iterator[Drawing]:
    before = Edit(bench, bench.solution).view
    for change in changes:
        edit = Edit(bench, bench.solution).do(change)
        if any(differs(edit.view, before, layer) for layer in before.drawn_layers):
            yield edit.drawing


def _mirrored(element: Element) -> cmd.TransformShapes:
    """About the line along x through where it stands."""
    assert isinstance(element.handle, db.Instance)
    shift = 2 * element.handle.cplx_trans.disp.y
    return cmd.TransformShapes(ids=(element.id,), transform=Transform(orientation=Orientation.MIRROR_X, dy=shift))


def _child(element: Element) -> str:
    assert isinstance(element.handle, db.Instance)
    return str(element.handle.cell.name)


def _again(edit: Edit, element: Element) -> cmd.PlaceInstance:
    """The same cell once more, where the instance, or the first member of the array, stands."""
    return _placed(edit, element, _members(element)[0])


def _members(element: Element) -> list[db.Trans]:
    """Where an instance, or each member of an array, stands."""
    instance = element.handle
    assert isinstance(instance, db.Instance)
    return [
        db.Trans(instance.a * column + instance.b * row) * instance.trans
        for row in range(max(1, instance.nb))
        for column in range(max(1, instance.na))
    ]


def _placed(edit: Edit, element: Element, trans: db.Trans) -> cmd.PlaceInstance:
    """The cell of an instance at another place."""
    turn = list(Orientation)[trans.angle + 4 * trans.is_mirror()]
    transform = Transform(orientation=turn, dx=trans.disp.x, dy=trans.disp.y)
    return cmd.PlaceInstance(cell=edit.cell_of(element), child=_child(element), transform=transform)


def _on_one_place(bench: Bench, named: list[Element]) -> Iterator[Drawing]:
    """As many copies as there are, of which one, turned upside down, lies on another where that changes nothing, and
    the place of one is drawn flat."""
    solved = Edit(bench, bench.solution)
    before = solved.view
    for element in named:
        assert isinstance(element.handle, db.Instance)
        others = _members(element)[1:]
        turned = db.Trans(db.Trans.R180, db.Vector(*_twice_the_middle(element.handle.cell.bbox())))
        for other in others[:1] or [_members(one)[0] for one in named if one.id != element.id][:1]:
            edit = Edit(bench, bench.solution).do(*_one_flat(solved, element), _placed(solved, element, other * turned))
            if not any(differs(edit.view, before, layer) for layer in before.drawn_layers):
                yield edit.drawing


def _twice_the_middle(box: db.Box) -> tuple[int, int]:
    return box.left + box.right, box.bottom + box.top


def _two_parts(layer: Layer, box: db.Box) -> cmd.AddPolygon:
    """One polygon of two parts, at the sides of a box, that a line along its bottom holds together."""
    part = box.width() // 3
    corners = [
        (box.left, box.bottom),
        (box.right, box.bottom),
        (box.right, box.top),
        (box.right - part, box.top),
        (box.right - part, box.bottom),
        (box.left + part, box.bottom),
        (box.left + part, box.top),
        (box.left, box.top),
    ]
    return cmd.AddPolygon(cell="top", layer=layer, points=tuple(Point(x=x, y=y) for x, y in corners))


def _one_flat(edit: Edit, element: Element) -> Iterator[cmd.Command]:
    """The members of an instance or array one by one, the first of them by its shapes."""
    instance = element.handle
    assert isinstance(instance, db.Instance)
    yield cmd.DeleteShapes(ids=(element.id,))
    for member in _members(element)[1:]:
        yield _placed(edit, element, member)
    layout, view = instance.cell.layout(), edit.view
    for layer in view.drawn_layers:
        index = layout.find_layer(layer.layer, layer.datatype)
        shapes = db.Region() if index is None else db.Region(instance.cell.begin_shapes_rec(index)).merged()
        yield from _polygons(layer, shapes.transformed(instance.cplx_trans), edit.cell_of(element))


def _flat(edit: Edit) -> Iterator[cmd.Command]:
    view = edit.view
    for layer in view.drawn_layers:
        yield from _polygons(layer, view.region(layer), "top")


def _flattened(edit: Edit) -> Iterator[cmd.Command]:
    drawn = list(_flat(edit))
    ids = tuple(one.id for one in (*edit.shapes(), *edit.instances))
    yield cmd.DeleteShapes(ids=ids)
    cells = {edit.cell_of(one) for one in edit.shapes()} | {_child(one) for one in edit.instances}
    yield from (cmd.DeleteCell(name=name) for name in sorted(cells - {"top"}))
    yield from drawn


def _polygons(layer: Layer, region: db.Region, cell: str) -> Iterator[cmd.Command]:
    for polygon in region.each():
        points = tuple(Point(x=one.x, y=one.y) for one in polygon.resolved_holes().each_point_hull())
        yield cmd.AddPolygon(cell=cell, layer=layer, points=points)


def _nested(layer: Layer, box: db.Box, levels: int) -> Iterator[cmd.Command]:
    """A box in a cell that stands so many levels below ``top``."""
    names = ["top", *(f"{_SPARE}_{number}" for number in range(levels))]
    for name in names[1:]:
        yield cmd.CreateCell(name=name)
    yield rect(layer, box, names[-1])
    for parent, child in pairwise(names):
        yield cmd.PlaceInstance(cell=parent, child=child)


def _renamed(drawing: Drawing, name: str) -> list[Drawing]:
    """With another name for a cell that the drawing itself creates."""
    if not any(isinstance(one, cmd.CreateCell) and one.name == name for one in drawing):
        return []
    renamed = []
    for command in drawing:
        keys = [key for key in ("name", "cell", "child") if getattr(command, key, None) == name]
        renamed.append(command.model_copy(update=dict.fromkeys(keys, name + "x")))
    return [tuple(renamed)]


def _has_labels_below(edit: Edit) -> bool:
    return any(edit.cell_of(one) != "top" for one in edit.labels)
