"""Pictures of layouts with findings marked, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.extent import ExtentError, measure
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

if TYPE_CHECKING:
    import klayout.lay as lay

DEFAULT_WIDTH = 1000
DEFAULT_HEIGHT = 750
_MARKER_COLOR = 0xFFE01010
_TEXT_COLOR = 0xFF202020
_UNDECLARED_COLOR = 0x808080
_LIGHT = 0.75
"""Luminance, of 1, from which on an outline does not stand out from white paper."""

# KLayout's own font, the one that it has without a display, is of one size (pixels).
_CHAR = 8
_LINE = 16
_FOOT = 5
"""How far above its place a text begins."""
_PAD = 8
_SWATCH = 12
_FRAME_GAP = 4
_FRAME_HALF = 6
"""Half of what a frame measures at least: it has to be seen around a shape of less than a pixel."""
_FINDING_LINES = 6
_MOST_SHAPES = 500_000
"""Of a layout, once flat, that are still drawn."""
_MOST_LABELS = 2000
"""More cannot be read in one picture."""
_CAPTION_SHARE, _LEGEND_SHARE, _LABEL_SHARE, _SCALE_SHARE = 0.35, 0.4, 0.3, 0.25


def may_be_drawn(layout: db.Layout) -> bool:
    """Whether a layout is not too large: arrays of arrays would be drawn for ever."""
    try:
        return sum(measure(layout, cell).shapes for cell in layout.top_cells()) <= _MOST_SHAPES
    except ExtentError:
        return False


def render_png(
    layout: db.Layout,
    cell_name: str | None,
    technology: Technology,
    findings: Sequence[Finding] = (),
    *,
    width: int = DEFAULT_WIDTH,
    height: int = DEFAULT_HEIGHT,
    caption: Sequence[str] = (),
    more: int = 0,
    region: db.Box | None = None,
    name_empty: bool = False,
) -> bytes:
    """PNG bytes of a cell, ``width`` x ``height`` pixels, layers in the technology's colours, findings framed in red.

    On top the lines of ``caption`` and the first findings, with the numbers of their frames, each shortened to
    one line, and a count of the others with those (``more``) that ``findings`` leaves out; at the left the drawn
    layers, with ``name_empty`` also those of the technology on which nothing is; at the bottom a scale.
    ``cell_name`` None shows the first top cell.  A ``region`` (dbu) is shown in the middle, as large as it fits, with
    nothing written beside it; else the whole cell is.  Needs no display.
    """
    cell = _cell(layout, cell_name)
    if region is not None:
        window = _fitting(db.DBox(region) * layout.dbu, width / height)
        return bytes(
            _view(layout, cell, technology).get_pixels_with_options(width, height, 0, 0, 0, window).to_png_data()
        )
    layers = [] if cell is None else [_Drawn.of(info, technology) for info in _drawn(layout, cell)]
    if name_empty:
        layers += _empty(technology, layers)
    places = [_in_um(finding, layout.dbu) for finding in findings]
    box = db.DBox() if cell is None else db.DBox(cell.bbox()) * layout.dbu
    for place in places:
        box += place
    room = max(1, int(height * _CAPTION_SHARE) // _LINE)
    total = len(findings) + more
    written = _written(total, room - min(len(caption), room))
    heading = len(caption) + written + (written < total) if caption or findings else 0
    page = _Page.around(
        box,
        width,
        height,
        top=min(heading, room) * _LINE + _PAD,
        left=_legend_width(layers, width),
        right=0 if cell is None else min(_labels(cell).longest * _CHAR, int(width * _LABEL_SHARE)),
    )
    view = _view(layout, cell, technology)
    pen = _Pen(view, page)
    numbers = _frames(pen, places, written)
    lines = [*caption[:room], *_finding_lines(findings, numbers, written, total)][:room]
    for number, line in enumerate(lines):
        pen.write(_PAD, (number + 1) * _LINE, line, width - 2 * _PAD)
    _legend(pen, layers)
    _scale(pen)
    # Line width and oversampling as they are by default; the box is the page, to the pixel.
    return bytes(view.get_pixels_with_options(width, height, 0, 0, 0, page.window).to_png_data())


def _fitting(box: db.DBox, aspect: float) -> db.DBox:
    """The smallest box of that width to height around ``box``, which stays in its middle."""
    height = max(box.height(), box.width() / aspect)
    grow_x, grow_y = (height * aspect - box.width()) / 2, (height - box.height()) / 2
    return box.enlarged(grow_x, grow_y)


@dataclass(frozen=True)
class _Drawn:
    """A layer as it is drawn: colours are 0xAARRGGBB."""

    info: db.LayerInfo
    name: str
    fill: int
    outline: int
    is_empty: bool = False

    @classmethod
    def of(cls, info: db.LayerInfo, technology: Technology) -> _Drawn:
        layer = Layer(layer=info.layer, datatype=info.datatype)
        entry = technology.entry(layer)
        if entry is None:
            color = 0xFF000000 | _UNDECLARED_COLOR
            return cls(info, f"{layer} (not in {technology.name})", color, color)
        color = 0xFF000000 | int(entry.color[:6], 16)
        name = entry.name if entry.name == str(layer) else f"{entry.name} {layer}"
        return cls(info, name, color, _outline(color))


@dataclass(frozen=True)
class _Page:
    """Where pixels are in the layout.  ``scale`` is µm a pixel, ``left`` and ``top`` where pixel 0, 0 is, in µm."""

    width: int
    height: int
    plot: db.DBox
    """What the layout has of the page, in pixels from the top left corner, y downwards."""
    left: float
    top: float
    scale: float

    @classmethod
    def around(cls, box: db.DBox, width: int, height: int, *, top: int, left: int, right: int) -> _Page:
        """A page with ``box`` (µm) as large as it gets between a caption, a legend, labels (pixels) and a scale."""
        if box.empty():
            box = db.DBox(-1, -1, 1, 1)
        elif not box.width() and not box.height():
            box = box.enlarged(0.5, 0.5)
        plot = db.DBox(left, top, width, max(height - 2 * _LINE, top + 1))
        # Around the layout is the room for frames and their numbers.
        pad_x, pad_y = (min(2.0 * _LINE, size / 6) for size in (plot.width(), plot.height()))
        inner = db.DBox(plot.left + pad_x, plot.bottom + pad_y, plot.right - pad_x, plot.top - pad_y)
        inner.right -= min(right, inner.width() / 2)
        scale = max(box.width() / inner.width(), box.height() / inner.height())
        page_left = box.center().x - inner.center().x * scale
        return cls(width, height, plot, page_left, box.center().y + inner.center().y * scale, scale)

    @property
    def window(self) -> db.DBox:
        """The whole page, in µm."""
        return db.DBox(self.left, self.top - self.height * self.scale, self.left + self.width * self.scale, self.top)

    def um(self, x: float, y: float) -> db.DPoint:
        return db.DPoint(self.left + x * self.scale, self.top - y * self.scale)

    def pixels(self, box: db.DBox) -> db.DBox:
        """A box in µm as pixels, y downwards."""
        left, right = (box.left - self.left) / self.scale, (box.right - self.left) / self.scale
        return db.DBox(left, (self.top - box.top) / self.scale, right, (self.top - box.bottom) / self.scale)


class _Pen:
    """Draws on the page in pixels.

    With KLayout's markers: its rulers leave a dot where they begin, and compute what follows a dollar sign.
    """

    def __init__(self, view: lay.LayoutView, page: _Page) -> None:
        self.view = view
        self.page = page

    def box(self, box: db.DBox, color: int, *, filled: bool = False, line: int = 1) -> None:
        import klayout.lay as lay

        marker = lay.Marker()
        marker.set(db.DBox(self.page.um(box.left, box.top), self.page.um(box.right, box.bottom)))
        marker.color = color
        marker.dither_pattern = 0 if filled else 1  # hollow: what is framed stays visible
        marker.line_width, marker.vertex_size, marker.halo = line, 0, 0
        self.view.add_marker(marker)

    def write(self, x: float, y: float, text: str, room: float, color: int = _TEXT_COLOR, *, halo: int = 0) -> None:
        """One line with its foot at ``y``, shortened to ``room`` pixels; ``halo`` 1 sets it off from shapes below."""
        import klayout.lay as lay

        place = self.page.um(x, y + _FOOT)
        marker = lay.Marker()
        line = _shortened(text, int(room) // _CHAR)
        marker.set(db.DText(line, db.DTrans(place.x, place.y)))
        marker.color, marker.vertex_size, marker.halo = color, 0, halo
        marker.text_frame_enabled = False
        self.view.add_marker(marker)


def _view(layout: db.Layout, cell: db.Cell | None, technology: Technology) -> lay.LayoutView:
    import klayout.lay as lay

    view = lay.LayoutView()
    view.set_config("background-color", "#ffffff")
    view.set_config("grid-visible", "false")
    view.set_config("text-visible", "true")
    # Lazily drawn, labels of a cell too small to see are not: of one label, say.  Arrays of arrays must be drawn so.
    lazily = cell is not None and _labels(cell).total > _MOST_LABELS
    view.set_config("text-lazy-rendering", "true" if lazily else "false")
    view.set_config("text-color", f"#{_TEXT_COLOR & 0xFFFFFF:06x}")
    # A copy: the view takes what it shows into its possession, and destroys it in the end.
    view.show_layout(layout.dup(), False)
    view.max_hier()
    if cell is not None:
        view.active_cellview().cell = cell
    view.clear_layers()
    position = view.begin_layers()
    for info in _sorted_layers(layout):
        drawn = _Drawn.of(info, technology)
        properties = lay.LayerPropertiesNode()
        properties.source_layer, properties.source_datatype = info.layer, info.datatype
        properties.frame_color, properties.fill_color = drawn.outline, drawn.fill
        properties.dither_pattern = 5
        properties.width = 1
        view.insert_layer(position, properties)
        position.next_sibling(1)
    return view


def _frames(pen: _Pen, places: Sequence[db.DBox], numbered: int) -> list[int | None]:
    """Frame each place once, and number the frames of the first ``numbered`` findings; returns these numbers.

    Places which are the same to the eye share a frame.
    """
    seen: dict[tuple[int, ...], int] = {}
    taken: list[db.DBox] = []
    frames: list[db.DBox] = []
    numbers: list[int | None] = []
    for place in places:
        if place.empty():
            numbers.append(None)
            continue
        frame = _frame(pen.page.pixels(place))
        key = tuple(round(edge / _FRAME_GAP) for edge in (frame.left, frame.bottom, frame.right, frame.top))
        if key not in seen:
            seen[key] = len(seen) + 1
            frames.append(frame)
            pen.box(frame, _MARKER_COLOR, line=2)
        numbers.append(seen[key])
    for number in sorted({number for number in numbers[:numbered] if number is not None}):
        text = str(number)
        spot = _spot(frames[number - 1], len(text) * _CHAR, [*taken, *frames], pen.page)
        taken.append(spot)
        pen.write(spot.left, spot.top, text, spot.width(), _MARKER_COLOR, halo=1)
    return numbers


def _frame(place: db.DBox) -> db.DBox:
    """A frame which leaves free what it is around."""
    grow_x, grow_y = (max(_FRAME_GAP, _FRAME_HALF - size / 2) for size in (place.width(), place.height()))
    return place.enlarged(grow_x, grow_y)


def _spot(frame: db.DBox, width: float, taken: Sequence[db.DBox], page: _Page) -> db.DBox:
    """Where a number goes: at a corner of its frame, where no other number or frame is; in pixels."""
    height, gap = _LINE - 3, 3
    above, below = frame.bottom - gap - height, frame.top + gap
    corners = [
        db.DPoint(frame.left, above),
        db.DPoint(frame.right - width, above),
        db.DPoint(frame.left, below),
        db.DPoint(frame.right - width, below),
        db.DPoint(frame.left - gap - width, frame.bottom),
        db.DPoint(frame.right + gap, frame.bottom),
        db.DPoint(frame.right + gap, frame.top - height),
    ]
    spots = [db.DBox(at.x, at.y, at.x + width, at.y + height) for at in corners]
    inside = [spot for spot in spots if spot.inside(page.plot)]
    return min(inside or spots, key=lambda spot: sum(spot.overlaps(other) for other in taken))


def _written(findings: int, room: int) -> int:
    """How many findings have a line of their own; the rest is counted on one more."""
    room = min(room, _FINDING_LINES)
    return findings if findings <= room else max(0, room - 1)


def _finding_lines(findings: Sequence[Finding], numbers: Sequence[int | None], written: int, total: int) -> list[str]:
    columns = max((len(str(number)) for number in numbers[:written] if number is not None), default=0)
    lines = [
        f"{'' if number is None else number:>{columns}} {finding.rule}: {finding.message}".lstrip(" " * (not columns))
        for finding, number in zip(findings[:written], numbers, strict=False)
    ]
    rest = total - written
    return [*lines, f"... and {rest} more"] if rest else lines


def _legend(pen: _Pen, layers: Sequence[_Drawn]) -> None:
    """A swatch and the name of each drawn layer, down the left side."""
    plot = pen.page.plot
    room = int(plot.height()) // _LINE
    shown = layers if len(layers) <= room else layers[: max(0, room - 1)]
    beside = _PAD + _SWATCH + _PAD
    for number, layer in enumerate(shown):
        y = plot.bottom + (number + 1) * _LINE
        swatch = db.DBox(_PAD, y - _SWATCH + 2, _PAD + _SWATCH, y)
        pen.box(swatch, layer.outline, filled=not layer.is_empty)
        if not layer.is_empty:
            pen.box(swatch.enlarged(-1, -1), layer.fill, filled=True)
        pen.write(beside, y, layer.name, plot.left - beside)
    if len(shown) < len(layers):
        y = plot.bottom + (len(shown) + 1) * _LINE
        pen.write(_PAD, y, f"... and {len(layers) - len(shown)} more", plot.left - _PAD)


def _legend_width(layers: Sequence[_Drawn], width: int) -> int:
    longest = max((len(layer.name) for layer in layers), default=0)
    wanted = _PAD + _SWATCH + _PAD + longest * _CHAR + _PAD if layers else 0
    return min(wanted, int(width * _LEGEND_SHARE))


def _scale(pen: _Pen) -> None:
    """A bar of a round length, below the layout.  KLayout's own is not shown in small windows."""
    page = pen.page
    longest = page.plot.width() * _SCALE_SHARE * page.scale
    power = 10.0 ** math.floor(math.log10(longest))
    length = next(step * power for step in (5, 2, 1) if step * power <= longest * (1 + 1e-9))
    left, y = page.plot.left + _PAD, page.height - _LINE / 2
    right = left + length / page.scale
    pen.box(db.DBox(left, y - 1, right, y + 1), _TEXT_COLOR, filled=True)
    for x in (left, right):
        pen.box(db.DBox(x, y - 4, x, y + 4), _TEXT_COLOR, filled=True)
    text = f"{length:,.0f} µm" if length >= 1 else f"{length:g} µm"
    pen.write(right + _PAD, y + _FOOT, text, page.width - right - _PAD)


def _cell(layout: db.Layout, name: str | None) -> db.Cell | None:
    cell = layout.cell(name) if name is not None else None
    return cell if cell is not None else next(iter(layout.top_cells()), None)


def _in_um(finding: Finding, dbu: float) -> db.DBox:
    """An empty box where the finding has no place."""
    return db.DBox() if finding.place is None else db.DBox(finding.place.to_db()) * dbu


def _sorted_layers(layout: db.Layout) -> list[db.LayerInfo]:
    return sorted(layout.layer_infos(), key=lambda one: (one.layer, one.datatype))


def _drawn(layout: db.Layout, cell: db.Cell) -> list[db.LayerInfo]:
    return [info for info in _sorted_layers(layout) if not cell.bbox_per_layer(layout.layer(info)).empty()]


def _empty(technology: Technology, drawn: Sequence[_Drawn]) -> list[_Drawn]:
    known = {(one.info.layer, one.info.datatype) for one in drawn}
    infos = [db.LayerInfo(one.layer.layer, one.layer.datatype) for one in technology.layers]
    absent = [_Drawn.of(info, technology) for info in infos if (info.layer, info.datatype) not in known]
    return [replace(one, name=f"{one.name} (empty)", is_empty=True) for one in absent]


class _Labels(NamedTuple):
    total: int
    longest: int
    """Characters.  A text begins at its place, and may be the rightmost thing."""


def _labels(cell: db.Cell) -> _Labels:
    """The texts of a cell with all below it, counted by cells and not by instances: an array of arrays has no end."""
    layout = cell.layout()
    of: dict[int, _Labels] = {}
    for index in layout.each_cell_bottom_up():
        one = layout.cell(index)
        texts = [
            len(shape.text_string)
            for layer in layout.layer_indexes()
            for shape in one.each_shape(layer, db.Shapes.STexts)
        ]
        below = [(inst.size(), of[inst.cell_index]) for inst in one.each_inst()]
        total = len(texts) + sum(times * child.total for times, child in below)
        of[index] = _Labels(total, max([*texts, *(child.longest for _, child in below)], default=0))
        if index == cell.cell_index():
            break
    return of[cell.cell_index()]


def _outline(color: int) -> int:
    red, green, blue = color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF
    # Rec. 709 luma.
    if (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255 < _LIGHT:
        return color
    return 0xFF000000 | red // 2 << 16 | green // 2 << 8 | blue // 2


def _shortened(text: str, limit: int) -> str:
    line = " ".join(text.split()) if "\n" in text or "\t" in text else text
    return line if len(line) <= limit else line[: max(0, limit - 3)] + "..."[:limit]
