"""Commands that draw by generators and PCells. Each function checks first and changes afterwards."""

from __future__ import annotations

from itertools import count

import klayout.db as db

from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Document
from pytest_iclayout.session.drawing import refuse_recursion
from pytest_iclayout.session.generators.registry import generate
from pytest_iclayout.session.generators.shapes import Shapes
from pytest_iclayout.session.pcells import Variant, variant
from pytest_iclayout.session.reach import check_reach, members_reach
from pytest_iclayout.technology.models import Technology


def run_generator(document: Document, command: cmd.RunGenerator, technology: Technology) -> list[int]:
    cell = document.cell(command.cell)
    return _draw(document, cell, generate(command.generator_id, command.params, technology))


def place_pcell(document: Document, command: cmd.PlacePcell) -> list[int]:
    """The shapes of the child, where it had to be drawn, and the instance."""
    parent = document.cell(command.cell)
    wanted = variant(command.pcell, command.params)
    name, child = _cell_for(document, wanted)
    trans = command.transform.to_db()
    if child is not None:
        refuse_recursion(parent, child)
    reach = members_reach(db.DBox(wanted.box), db.CellInstArray(0, trans))
    check_reach(reach, "transform", f"{name!r}")
    drawn = []
    if child is None:
        child = document.layout.create_cell(name)
        drawn = _draw(document, child, wanted.shapes)
    return [*drawn, document.place(parent, db.CellInstArray(child.cell_index(), trans))]


def _cell_for(document: Document, wanted: Variant) -> tuple[str, db.Cell | None]:
    """The cell that holds the variant, or the first free name: a cell that was edited since is another one."""
    for number in count(1):
        name = wanted.name if number == 1 else f"{wanted.name}${number}"
        cell = document.layout.cell(name)
        if cell is None or wanted.is_drawn_in(document.layout, cell):
            return name, cell
    raise AssertionError("names do not end")


def _draw(document: Document, cell: db.Cell, shapes: Shapes) -> list[int]:
    return [document.draw(cell, shape.layer, shape.box) for shape in shapes]
