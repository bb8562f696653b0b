"""Layouts to bytes and back.  Everything that is judged passes through here once."""

from __future__ import annotations

import klayout.db as db

_GDS_START = b"\x00\x06\x00\x02"
_OASIS_START = b"%SEMI-OASIS\r\n"

MAX_RECORD_POINTS = 4000
"""Points of one polygon in a written file; the writer splits larger ones.  A GDS record of more than 4095 points is
longer than 32767 bytes, which strict readers refuse, and one of more than 8191 does not fit its length field."""

MAX_LAYER_NUMBER = 65535


class LayoutFileError(ValueError):
    """Bytes that are no readable layout, or a layout that no file can hold; the message names the reason."""


def read_layout(data: bytes, origin: str = "layout") -> db.Layout:
    """Read GDS or OASIS, told apart by their first bytes.

    Raises LayoutFileError for anything else, for a file that is cut off as well.  KLayout would also
    read CIF, Magic and other texts, some of which fetch further files from the disk: an artifact must
    not do that.
    """
    if not data.startswith((_GDS_START, _OASIS_START)):
        raise _unreadable(origin, "it starts like neither")
    layout = db.Layout(True)
    try:
        layout.read_bytes(data)
    except RuntimeError as error:
        reason = str(error).replace(": data in Layout.read_bytes", "").removesuffix(" in Layout.read_bytes")
        raise _unreadable(origin, reason) from error
    _check_names(layout, origin)
    return layout


def write_layout(layout: db.Layout, file_format: str = "GDS2") -> bytes:
    """Write ``GDS2`` or ``OASIS`` bytes; equal layouts give equal bytes (no time stamps).

    Paths that the format cannot hold (GDS: of too many points; OASIS: of an odd width) are written as
    the polygons that they cover.  Raises LayoutFileError for what it cannot hold otherwise.
    """
    options = db.SaveLayoutOptions()
    options.format = file_format
    options.gds2_write_timestamps = False
    options.gds2_max_vertex_count = MAX_RECORD_POINTS
    unfit = _has_odd_width if file_format == "OASIS" else _has_too_many_points
    if any(unfit(path) for cell in layout.each_cell() for _, path in _paths(layout, cell)):
        layout = layout.dup()
        for cell in layout.each_cell():
            for shape, path in _paths(layout, cell):
                if unfit(path):
                    shape.polygon = path.polygon()
    try:
        data = layout.write_bytes(options)
    except RuntimeError as error:
        reason = str(error).removesuffix(" in Layout.write_bytes")
        raise LayoutFileError(f"the layout cannot be written as {file_format}: {reason}") from error
    return bytes(data)


def _paths(layout: db.Layout, cell: db.Cell) -> list[tuple[db.Shape, db.Path]]:
    return [
        (shape, shape.path) for index in layout.layer_indexes() for shape in cell.shapes(index).each(db.Shapes.SPaths)
    ]


def _has_odd_width(path: db.Path) -> bool:
    return bool(path.width % 2)


def _has_too_many_points(path: db.Path) -> bool:
    return bool(path.num_points() > MAX_RECORD_POINTS)


def _check_names(layout: db.Layout, origin: str) -> None:
    """Names and numbers that the rest could not even report."""
    for info in layout.layer_infos():
        if not (0 <= info.layer <= MAX_LAYER_NUMBER and 0 <= info.datatype <= MAX_LAYER_NUMBER):
            raise _unreadable(origin, f"layer {info} is beyond {MAX_LAYER_NUMBER}")
    try:
        for cell in layout.each_cell():
            _ = cell.name
            for index in layout.layer_indexes():
                for shape in cell.shapes(index).each(db.Shapes.STexts):
                    _ = shape.text_string
    except (RuntimeError, UnicodeDecodeError) as error:
        raise _unreadable(origin, "a cell name or a label is not UTF-8 text") from error


def _unreadable(origin: str, reason: str) -> LayoutFileError:
    return LayoutFileError(f"{origin}: not a readable layout ({reason}); a complete GDS or OASIS file is accepted")
