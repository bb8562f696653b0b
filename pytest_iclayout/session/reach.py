"""What a command would draw must stay within the coordinate range: checked in floating point, before it is drawn."""

from __future__ import annotations

import klayout.db as db

from pytest_iclayout.geometry.extent import measure, placed_box, reaches_too_far
from pytest_iclayout.geometry.shapes import COORD_LIMIT
from pytest_iclayout.session.document import Document, Element
from pytest_iclayout.session.errors import CommandError, ErrorCode


def check_reach(box: db.DBox, argument: str, what: str) -> None:
    """Raises CommandError (invalid_argument) where a box in dbu leaves the range."""
    if reaches_too_far(box):
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"{argument}: {what} would reach beyond ±{COORD_LIMIT} dbu")


def members_reach(child: db.DBox, array: db.CellInstArray) -> db.DBox:
    """The members' shapes and their origins: those of an empty cell have to fit into a file, too."""
    return placed_box(child, array) + placed_box(db.DBox(0, 0, 0, 0), array)


def check_moved(document: Document, element: Element, motion: db.DCplxTrans, argument: str) -> None:
    """Raises CommandError (invalid_argument) where an element in motion leaves the range."""
    handle = element.handle
    if isinstance(handle, db.Instance):
        array = handle.cell_inst
        child = measure(document.layout, document.layout.cell(array.cell_index)).box
        drawn = members_reach(child, array)
    else:
        drawn = handle.path.to_dtype(1.0).bbox() if handle.is_path() else db.DBox(element.bbox)
    # KLayout's own product would wrap around: the box is moved instead.
    check_reach(motion * drawn, argument, f"element {element.id}")
