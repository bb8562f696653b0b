"""Layouts to bytes and back.  Everything that is judged passes through here once."""

from __future__ import annotations

import klayout.db as db


class LayoutFileError(ValueError):
    """Bytes that are no readable layout; the message names the origin and KLayout's reason."""


def read_layout(data: bytes, origin: str = "layout") -> db.Layout:
    """Read GDS, OASIS or another format that KLayout recognises from its content.

    Raises LayoutFileError for anything else, for a file that is cut off as well.
    """
    layout = db.Layout(True)
    try:
        layout.read_bytes(data)
    except RuntimeError as error:
        reason = str(error).replace(": data in Layout.read_bytes", "").removesuffix(" in Layout.read_bytes")
        raise LayoutFileError(
            f"{origin}: not a readable layout ({reason}); a complete GDS or OASIS file is accepted"
        ) from error
    return layout


def write_layout(layout: db.Layout, file_format: str = "GDS2") -> bytes:
    """Write ``GDS2`` or ``OASIS`` bytes; equal layouts give equal bytes (no time stamps)."""
    options = db.SaveLayoutOptions()
    options.format = file_format
    options.gds2_write_timestamps = False
    # 8191 points: the most that a GDS II record holds; larger polygons are split by the writer.
    options.gds2_max_vertex_count = 8191
    data = layout.write_bytes(options)
    return bytes(data)
