"""The drawn document: a klayout layout and the elements that commands refer to by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import klayout.db as db

from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.technology.layers import Layer


@dataclass
class Element:
    """One drawn shape, label, instance or array. klayout keeps ``handle`` valid while others come and go."""

    id: int
    cell_index: int
    handle: db.Shape | db.Instance
    layer: Layer | None
    """None for instances and arrays."""

    @property
    def bbox(self) -> db.Box:
        """In dbu, of the cell that the element is drawn in."""
        return self.handle.bbox()


@dataclass
class Document:
    """Cells and elements.  Ids count 1, 2, 3, ... and are never used again."""

    layout: db.Layout = field(default_factory=lambda: db.Layout(True))
    elements: dict[int, Element] = field(default_factory=dict)
    _next_id: int = 1

    @classmethod
    def of_layout(cls, layout: db.Layout, first_id: int) -> Document:
        """A layout that was read: every shape, label and instance is an element, cell by cell in their names' order."""
        document = cls(layout, _next_id=first_id)
        infos = sorted(
            (info.layer, info.datatype, index)
            for index, info in zip(layout.layer_indexes(), layout.layer_infos(), strict=True)
        )
        for cell in sorted(layout.each_cell(), key=lambda one: str(one.name)):
            for layer, datatype, index in infos:
                for shape in list(cell.shapes(index).each()):
                    if shape.is_simple_polygon():
                        shape.polygon = shape.polygon
                    document._register(cell, shape, Layer(layer=layer, datatype=datatype))
            for instance in list(cell.each_inst()):
                document._register(cell, instance, None)
        return document

    @property
    def next_id(self) -> int:
        return self._next_id

    def count_from(self, number: int) -> None:
        """The next element gets this id, which must be above all others."""
        self._next_id = number

    def cell(self, name: str) -> db.Cell:
        """Raises CommandError no_such_cell."""
        cell = self.layout.cell(name)
        if cell is None:
            raise CommandError(ErrorCode.NO_SUCH_CELL, f"no such cell {name!r}")
        return cell

    def elements_of(self, ids: Iterable[int]) -> list[Element]:
        """Elements in the order of first mention. Raises CommandError no_such_element before anything changes."""
        found = []
        for number in dict.fromkeys(ids):
            element = self.elements.get(number)
            if element is None:
                raise CommandError(ErrorCode.NO_SUCH_ELEMENT, f"no such element {number}")
            found.append(element)
        return found

    def in_cell(self, cell: db.Cell) -> Iterator[Element]:
        index = cell.cell_index()
        return (element for element in self.elements.values() if element.cell_index == index)

    def draw(self, cell: db.Cell, layer: Layer, shape: db.Box | db.Polygon | db.Path | db.Text) -> int:
        """Insert a shape or label; returns its id."""
        handle = cell.shapes(self.layout.layer(layer.layer, layer.datatype)).insert(shape)
        return self._register(cell, handle, layer)

    def place(self, cell: db.Cell, instance: db.CellInstArray) -> int:
        """Insert an instance or array; returns its id."""
        return self._register(cell, cell.insert(instance), None)

    def erase(self, element: Element) -> None:
        if isinstance(element.handle, db.Shape):
            element.handle.delete()
        else:
            self.layout.cell(element.cell_index).erase(element.handle)
        del self.elements[element.id]

    def transform(self, element: Element, trans: db.ICplxTrans) -> None:
        cell = self.layout.cell(element.cell_index)
        if isinstance(element.handle, db.Shape):
            assert element.layer is not None
            if element.handle.is_path():
                element.handle.path = _transformed_path(element.handle.path, trans)
                return
            shapes = cell.shapes(self.layout.layer(element.layer.layer, element.layer.datatype))
            element.handle = shapes.transform(element.handle, trans)
        else:
            element.handle = cell.transform(element.handle, trans)

    def delete_cell(self, cell: db.Cell) -> list[int]:
        """Remove a cell with its elements and the instances of it; returns the ids that went."""
        index = cell.cell_index()
        gone = [
            element
            for element in self.elements.values()
            if element.cell_index == index
            or (isinstance(element.handle, db.Instance) and element.handle.cell_index == index)
        ]
        # One by one: where klayout removes the instances of a deleted cell, the handles of others beside them
        # go stale.
        for element in gone:
            self.erase(element)
        self.layout.delete_cell(index)
        return [element.id for element in gone]

    def _register(self, cell: db.Cell, handle: db.Shape | db.Instance, layer: Layer | None) -> int:
        number = self._next_id
        self._next_id += 1
        self.elements[number] = Element(number, cell.cell_index(), handle, layer)
        return number


def _transformed_path(path: db.Path, trans: db.ICplxTrans) -> db.Path:
    result = path.transformed(trans)
    if path.round or path.bgn_ext:
        # Half of an odd width was rounded down; magnifying that loss would leave an end that is no longer
        # half the width, and a GDS file has no round ends of another length.
        result.bgn_ext = result.end_ext = result.width // 2
    return result
