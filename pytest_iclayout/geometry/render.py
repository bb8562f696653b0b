"""Pictures of layouts with findings marked, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import klayout.db as db

from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

if TYPE_CHECKING:
    import klayout.lay as lay

DEFAULT_WIDTH = 1000
DEFAULT_HEIGHT = 750
_MARKER_COLOR = 0xFFE01010
_UNDECLARED_COLOR = 0x808080
_LEGEND_LINES = 25
_LEGEND_SHARE = 0.22


def render_png(
    layout: db.Layout,
    cell_name: str | None,
    technology: Technology,
    findings: Sequence[Finding] = (),
    *,
    width: int = DEFAULT_WIDTH,
    height: int = DEFAULT_HEIGHT,
    region: db.Box | None = None,
) -> bytes:
    """PNG bytes of a cell, ``width`` x ``height`` pixels, layers in the technology's colours, findings framed in red.

    ``cell_name`` None shows the first top cell.  A ``region`` (dbu) is shown in the middle, as large as it
    fits, without a legend; else the whole cell is, with one.  Needs no display.
    """
    import klayout.lay as lay

    view = lay.LayoutView()
    view.set_config("background-color", "#ffffff")
    view.set_config("grid-visible", "true")
    view.set_config("grid-show-ruler", "true")
    view.set_config("grid-style0", "invisible")
    view.set_config("grid-style1", "invisible")
    view.set_config("grid-style2", "invisible")
    view.set_config("text-visible", "true")
    view.set_config("default-text-size", "0.05")
    # A copy: the view takes what it shows into its possession, and destroys it in the end.
    view.show_layout(layout.dup(), False)
    view.max_hier()
    cell = layout.cell(cell_name) if cell_name is not None else None
    tops = layout.top_cells()
    if cell is None and tops:
        cell = tops[0]
    if cell is not None:
        view.active_cellview().cell = cell
    _color_layers(view, layout, technology)
    box = db.DBox() if cell is None else db.DBox(cell.bbox()) * layout.dbu
    for finding in findings:
        if finding.place is not None:
            place = db.DBox(finding.place.to_db()) * layout.dbu
            box += place
            _mark(view, place, finding.rule)
    window = _window(box, width / height) if region is None else db.DBox(region) * layout.dbu
    view.zoom_box(window)
    if cell is not None and region is None:
        _legend(view, window, layout, cell, technology)
    return bytes(view.get_pixels_with_options(width, height).to_png_data())


def _color_layers(view: lay.LayoutView, layout: db.Layout, technology: Technology) -> None:
    import klayout.lay as lay

    view.clear_layers()
    position = view.begin_layers()
    for info in _sorted_layers(layout):
        properties = lay.LayerPropertiesNode()
        properties.source_layer, properties.source_datatype = info.layer, info.datatype
        properties.frame_color = properties.fill_color = _color(info, technology)
        properties.dither_pattern = 5
        properties.width = 1
        view.insert_layer(position, properties)
        position.next_sibling(1)


def _legend(view: lay.LayoutView, window: db.DBox, layout: db.Layout, cell: db.Cell, technology: Technology) -> None:
    """A swatch and the name of each drawn layer, down the left side."""
    import klayout.lay as lay

    line, left, top = window.height() * 0.035, window.left + window.width() * 0.015, window.top
    drawn = [info for info in _sorted_layers(layout) if not cell.bbox_per_layer(layout.layer(info)).empty()]
    for number, info in enumerate(drawn[:_LEGEND_LINES], 1):
        swatch = lay.Marker()
        y = top - number * line
        swatch.set(db.DBox(left, y, left + line, y + line * 0.6))
        swatch.color, swatch.dither_pattern, swatch.vertex_size = _color(info, technology), 0, 0
        view.add_marker(swatch)
        layer = Layer(layer=info.layer, datatype=info.datatype)
        _write(view, db.DPoint(left + line * 1.3, y), f"{technology.name_of(layer)} {layer}")


def _sorted_layers(layout: db.Layout) -> list[db.LayerInfo]:
    return sorted(layout.layer_infos(), key=lambda one: (one.layer, one.datatype))


def _color(info: db.LayerInfo, technology: Technology) -> int:
    entry = technology.entry(Layer(layer=info.layer, datatype=info.datatype))
    return 0xFF000000 | (_UNDECLARED_COLOR if entry is None else int(entry.color[:6], 16))


def _mark(view: lay.LayoutView, place: db.DBox, label: str) -> None:
    import klayout.lay as lay

    marker = lay.Marker()
    marker.set(place)
    marker.color = _MARKER_COLOR
    marker.line_width = 3
    marker.dither_pattern = 1  # hollow: what is wrong stays visible
    marker.vertex_size = 0
    view.add_marker(marker)
    _write(view, db.DPoint(place.left, place.top), label)


def _write(view: lay.LayoutView, place: db.DPoint, text: str) -> None:
    import klayout.lay as lay

    note = lay.Annotation()
    note.p1 = note.p2 = place
    # KLayout evaluates what follows a dollar sign in a note: a rule id must not compute anything.
    note.fmt, note.fmt_x, note.fmt_y = text.replace("$", "$$"), "", ""
    note.style = lay.Annotation.StyleLine
    view.insert_annotation(note)


def _window(box: db.DBox, aspect: float) -> db.DBox:
    """What the picture shows, in µm: the box with a margin, and room for the legend at its left."""
    if box.empty():
        box = db.DBox(-1, -1, 1, 1)
    margin = 0.08 * max(box.width(), box.height(), 0.01)
    shown = box.enlarged(margin, margin)
    height = max(shown.height(), shown.width() / (1 - _LEGEND_SHARE) / aspect)
    width = height * aspect
    left = shown.center().x - (1 + _LEGEND_SHARE) * width / 2
    return db.DBox(left, shown.center().y - height / 2, left + width, shown.center().y + height / 2)
