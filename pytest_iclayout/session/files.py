"""Commands that answer with a file, or read one."""

from __future__ import annotations

import base64
import binascii
from math import isclose

import klayout.db as db

from pytest_iclayout.geometry.extent import measure
from pytest_iclayout.geometry.io import LayoutFileError, read_layout, write_layout
from pytest_iclayout.geometry.render import render_png
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Document
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.technology.models import Technology


def export(document: Document, file_format: str) -> bytes:
    """``GDS2`` or ``OASIS`` bytes."""
    try:
        return write_layout(document.layout, file_format)
    except LayoutFileError as error:
        raise CommandError(ErrorCode.ENGINE_ERROR, str(error)) from error


def import_gds(command: cmd.ImportGds, technology: Technology, first_id: int) -> Document:
    """The document of the file; OASIS is read as well."""
    try:
        layout = read_layout(base64.b64decode(command.bytes, validate=True), "bytes")
    except (binascii.Error, ValueError) as error:
        reason = str(error) if isinstance(error, LayoutFileError) else f"bytes: not base64 text ({error})"
        raise CommandError(ErrorCode.INVALID_ARGUMENT, reason) from error
    if not isclose(layout.dbu, technology.dbu_um, rel_tol=1e-6):
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT,
            f"bytes: its database unit is {layout.dbu:g} µm, that of technology {technology.name} is "
            f"{technology.dbu_um:g} µm",
        )
    layout.dbu = technology.dbu_um
    check_extents(layout)
    return Document.of_layout(layout, first_id)


def check_extents(layout: db.Layout) -> None:
    """Raises ExtentError for a layout that is too large or leaves the coordinate range."""
    for cell in layout.top_cells():
        measure(layout, cell)


def render(document: Document, command: cmd.RenderPng, technology: Technology) -> bytes:
    region = command.region.to_db()
    if region.width() == 0 or region.height() == 0:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"region: {command.region} has no area")
    if command.cell is not None:
        document.cell(command.cell)
    check_extents(document.layout)
    return render_png(
        document.layout, command.cell, technology, width=command.width, height=command.height, region=region
    )
