"""A document hash that depends on what was drawn, not on when or in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import klayout.db as db


def document_hash(layout: db.Layout) -> int:
    """64-bit hash of a layout's content.

    Covered: the database unit, every cell's name, its shapes (layer, datatype, kind, points, path
    width and ends), its labels (layer, text, position) and its instances (child, transformation,
    array), each sorted within the cell and the cells by name.  Not covered: element ids, order of
    drawing, times, empty layers, how labels are turned, and what a GDS file does not keep: whether a
    rectangle was drawn as a box or as a polygon of the same four corners, at which corner an array
    starts, which of its directions is the column, and the pitch of a direction with one member.  The
    value is the first 8 bytes, big-endian, of a SHA-256 over UTF-8 lines, so it is the same on every
    platform and Python, and the same after a document was written as GDS and read back.
    """
    digest = hashlib.sha256()
    digest.update(f"dbu {layout.dbu:.9g}\n".encode())
    layers = sorted(
        (info.layer, info.datatype, index)
        for index, info in zip(layout.layer_indexes(), layout.layer_infos(), strict=True)
    )
    for cell in sorted(layout.each_cell(), key=lambda one: str(one.name)):
        digest.update(f"cell {cell.name}\n".encode())
        for line in sorted(_cell_lines(layout, cell, layers)):
            digest.update(f"{line}\n".encode())
    return int.from_bytes(digest.digest()[:8], "big")


def _cell_lines(layout: db.Layout, cell: db.Cell, layers: list[tuple[int, int, int]]) -> Iterator[str]:
    for layer, datatype, index in layers:
        for shape in cell.shapes(index).each():
            yield f"{layer}/{datatype} {_shape_line(shape)}"
    for instance in cell.each_inst():
        yield _instance_line(layout.cell(instance.cell_index).name, instance)


def _instance_line(child: str, instance: db.Instance) -> str:
    trans = instance.cplx_trans
    # A turn made up of others, or read from a file, may come out as 359.9999999.
    angle = round(trans.angle, 6) % 360.0
    x, y = int(trans.disp.x), int(trans.disp.y)
    steps = []
    for count, step in ((instance.na, instance.a), (instance.nb, instance.b)):
        if count > 1:
            dx, dy = step.x, step.y
            if (dx, dy) < (0, 0):
                x, y, dx, dy = x + (count - 1) * dx, y + (count - 1) * dy, -dx, -dy
            steps.append(f"{count}*{dx},{dy}")
    place = f"mirror={int(trans.is_mirror())} angle={angle:.6f} mag={trans.mag:.9g} at={x},{y}"
    return " ".join(["instance", child, place, *sorted(steps)])


def _shape_line(shape: db.Shape) -> str:
    if shape.is_text():
        text = shape.text
        return f"text {text.x},{text.y} {text.string!a}"
    if shape.is_path():
        path = shape.path
        points = ";".join(f"{point.x},{point.y}" for point in path.each_point())
        return f"path {points} w={path.width} bgn={path.bgn_ext} end={path.end_ext} round={int(path.round)}"
    # Boxes and polygons share a form; klayout.db normalises the start point and the direction.
    return f"polygon {shape.polygon}"
