"""Pictures for people: of the asked size, findings visible, the layout left alone."""

import functools
import itertools
import struct
import time
import zlib

import klayout.db as db
import pytest

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.render import DEFAULT_HEIGHT, DEFAULT_WIDTH, render_png
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Rect
from pytest_iclayout.technology.load import builtin_technology

pytestmark = pytest.mark.one_python

SKY130 = builtin_technology("sky130")
MARKER, MET1 = (0xE0, 0x10, 0x10), (0x3C, 0x78, 0xC8)
TEXT, PAPER = (0x20, 0x20, 0x20), (0xFF, 0xFF, 0xFF)
SMALL = {"width": 400, "height": 300}


@functools.lru_cache(maxsize=8)
def pixels(png):
    """Width, height and rows of (red, green, blue), by the PNG specification; 8 bit RGB or RGBA, not interlaced."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    position, packed, header = 8, b"", b""
    while position < len(png):
        (length,), kind = struct.unpack(">I", png[position : position + 4]), png[position + 4 : position + 8]
        body = png[position + 8 : position + 8 + length]
        header, packed = (body if kind == b"IHDR" else header), packed + (body if kind == b"IDAT" else b"")
        position += 12 + length
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    assert (depth, interlaced) == (8, 0)
    size = {2: 3, 6: 4}[color]
    data, rows, above = zlib.decompress(packed), [], bytes(width * size)
    for number in range(height):
        start = number * (width * size + 1)
        above = _unfiltered(data[start], data[start + 1 : start + 1 + width * size], above, size)
        rows.append(list(zip(*(above[part::size] for part in range(3)), strict=True)))
    return width, height, rows


# Most rows are as the row above or as in another picture: paper, or the next row of a hatching.
@functools.lru_cache(maxsize=4096)
def _unfiltered(kind, filtered, above, size):
    line = bytearray(filtered)
    for at in range(len(line)):
        left, up = (line[at - size] if at >= size else 0), above[at]
        corner = above[at - size] if at >= size else 0
        guess = left + up - corner
        nearest = min((left, up, corner), key=lambda one: abs(guess - one))
        line[at] = (line[at] + (0, left, up, (left + up) // 2, nearest)[kind]) & 0xFF
    return bytes(line)


def count(png, color):
    return sum(row.count(color) for row in pixels(png)[2])


def at(png, color):
    """Columns and rows of the pixels of a colour."""
    return [(x, y) for y, row in enumerate(pixels(png)[2]) for x, one in enumerate(row) if one == color]


def extent(png, color):
    """Left, top, right and bottom pixel of a colour."""
    columns, rows = zip(*at(png, color), strict=True)
    return min(columns), min(rows), max(columns), max(rows)


def found(rule="m1.1", place=(0, 0, 500, 500), message=""):
    return Finding(rule=rule, message=message, place=None if place is None else Rect.of(*place))


def part(png, left, top, right, bottom):
    return [row[left:right] for row in pixels(png)[2][top:bottom]]


def ink(png, left, top, right, bottom):
    """Pixels of a region which are not paper."""
    return sum(one != PAPER for row in part(png, left, top, right, bottom) for one in row)


def layout_of(*boxes, layer=(68, 20)):
    layout = db.Layout(True)
    shapes = layout.create_cell("top").shapes(layout.layer(*layer))
    for box in boxes:
        shapes.insert(db.Box(*box))
    return layout


SQUARE = layout_of((0, 0, 1000, 1000))


@pytest.mark.parametrize("size", [(200, 150), (150, 200), (301, 77)])
def test_picture_has_the_asked_size(size):
    width, height, _ = pixels(render_png(SQUARE, "top", SKY130, width=size[0], height=size[1]))
    assert (width, height) == size


def test_picture_without_a_size_has_the_default_one():
    assert struct.unpack(">II", render_png(SQUARE, "top", SKY130)[16:24]) == (DEFAULT_WIDTH, DEFAULT_HEIGHT)


def test_shapes_have_the_colour_of_their_layer():
    assert count(render_png(SQUARE, "top", SKY130, width=200, height=150), MET1) > 200
    other = layout_of((0, 0, 1000, 1000), layer=(69, 20))
    assert count(render_png(other, "top", SKY130, width=200, height=150), MET1) == 0


def test_findings_are_framed_in_red_and_only_they():
    place = Rect.of(200, 200, 800, 800)
    plain = render_png(SQUARE, "top", SKY130, width=200, height=150)
    marked = render_png(SQUARE, "top", SKY130, [Finding(rule="m1.1", message="", place=place)], width=200, height=150)
    unplaced = render_png(SQUARE, "top", SKY130, [Finding(rule="m1.1", message="")], width=200, height=150)
    assert count(plain, MARKER) == count(unplaced, MARKER) == 0
    assert count(marked, MARKER) > 100


def test_finding_beside_the_layout_is_in_the_picture():
    far = Finding(rule="missing", message="", place=Rect.of(9000, 9000, 9500, 9500))
    assert count(render_png(SQUARE, "top", SKY130, [far], width=200, height=150), MARKER) > 10


def test_finding_without_area_is_still_visible():
    dot = Finding(rule="off", message="", place=Rect.of(500, 500, 500, 500))
    assert count(render_png(SQUARE, "top", SKY130, [dot], width=200, height=150), MARKER) > 0


def test_rule_id_is_written_and_not_evaluated():
    # KLayout's notes compute $(...) and put coordinates for $X.
    def picture(rule):
        return render_png(SQUARE, "top", SKY130, [Finding(rule=rule, message="", place=Rect.of(0, 0, 500, 500))])

    assert picture("$(1+1)") != picture("2")
    assert picture("a$$b") != picture("a$b")


def test_picture_leaves_the_layout_alive_and_unchanged():
    layout = layout_of((0, 0, 1000, 1000))
    before = document_hash(layout)
    first = render_png(layout, "top", SKY130, width=100, height=100)
    assert render_png(layout, "top", SKY130, width=100, height=100) == first
    assert document_hash(layout) == before
    assert layout.cell("top").bbox() == db.Box(0, 0, 1000, 1000)


@pytest.mark.parametrize(
    ("layout", "cell"),
    [(db.Layout(True), None), (db.Layout(True), "top"), (layout_of(), "top"), (SQUARE, None), (SQUARE, "absent")],
    ids=["no cell", "no such cell in an empty layout", "empty cell", "first top cell", "no such cell"],
)
def test_nothing_to_show_is_still_a_picture(layout, cell):
    assert pixels(render_png(layout, cell, SKY130, width=80, height=60))[:2] == (80, 60)


def test_named_cell_is_shown_and_not_the_top_one():
    layout = layout_of((0, 0, 1000, 1000))
    child = layout.create_cell("child")
    child.shapes(layout.layer(69, 20)).insert(db.Box(0, 0, 1000, 1000))
    layout.cell("top").insert(db.CellInstArray(child.cell_index(), db.Trans()))
    assert count(render_png(layout, "child", SKY130, width=100, height=100), MET1) == 0
    assert count(render_png(layout, "top", SKY130, width=100, height=100), MET1) > 0


def test_coordinates_at_the_border_of_the_range_are_shown():
    layout = layout_of((-COORD_LIMIT, -COORD_LIMIT, COORD_LIMIT, COORD_LIMIT))
    place = Rect.of(-COORD_LIMIT, -COORD_LIMIT, 0, COORD_LIMIT)
    png = render_png(layout, "top", SKY130, [Finding(rule="big", message="", place=place)], width=200, height=150)
    assert count(png, MET1) > 100
    assert count(png, MARKER) > 50


def test_undeclared_layers_are_shown_in_grey():
    png = render_png(layout_of((0, 0, 1000, 1000), layer=(200, 3)), "top", SKY130, width=200, height=150)
    assert count(png, (0x80, 0x80, 0x80)) > 100


def test_layout_of_endless_arrays_is_drawn_in_bounded_time():
    layout = layout_of((0, 0, 10, 10))
    cell = layout.cell("top")
    for number in range(6):
        parent = layout.create_cell(f"c{number}")
        pitch = 20 * 30**number
        step = db.Vector(pitch, 0), db.Vector(0, pitch)
        parent.insert(db.CellInstArray(cell.cell_index(), db.Trans(), *step, 30, 30))
        cell = parent
    begun = time.perf_counter()
    assert render_png(layout, cell.name, SKY130, width=200, height=150)
    assert time.perf_counter() - begun < 10


def test_layout_of_labels_only_is_not_a_white_picture():
    def picture(text):
        layout = layout_of(layer=(68, 5))
        layout.cell("top").shapes(layout.layer(68, 5)).insert(db.Text(text, db.Trans(0, 0)))
        return render_png(layout, "top", SKY130, **SMALL)

    # Beside the legend and above the scale.
    area = (170, 0, 400, 260)
    assert sum(row.count(TEXT) for row in part(picture("VDD"), *area)) > 20
    assert part(picture("VDD"), *area) != part(picture("VSS"), *area)


def test_text_of_the_rightmost_label_is_not_cut_off():
    layout = layout_of((0, 0, 10000, 1000))
    layout.cell("top").shapes(layout.layer(68, 5)).insert(db.Text("OUTPUT", db.Trans(10000, 500)))
    png = render_png(layout, "top", SKY130, **SMALL)
    border = extent(png, MET1)[2]
    dark = [x for x, y in at(png, TEXT) if x > border and y < 260]
    assert max(dark) - min(dark) > 5 * 8 - 4
    assert max(dark) < 400 - 4


@pytest.mark.parametrize("labels", ["top", "in every cell"])
def test_labels_in_endless_arrays_are_drawn_in_bounded_time(labels):
    layout = layout_of((0, 0, 10, 10))
    cell = layout.cell("top")
    for number in range(6):
        if labels == "in every cell":
            cell.shapes(layout.layer(68, 5)).insert(db.Text("A", db.Trans()))
        parent = layout.create_cell(f"c{number}")
        pitch = 20 * 30**number
        step = db.Vector(pitch, 0), db.Vector(0, pitch)
        parent.insert(db.CellInstArray(cell.cell_index(), db.Trans(), *step, 30, 30))
        cell = parent
    cell.shapes(layout.layer(68, 5)).insert(db.Text("A", db.Trans()))
    begun = time.perf_counter()
    assert render_png(layout, cell.name, SKY130, width=200, height=150)
    assert time.perf_counter() - begun < 10


def test_outlines_of_light_layers_are_darkened():
    light = layout_of((0, 0, 1000, 1000), layer=(68, 5))
    assert count(render_png(light, "top", SKY130, **SMALL), (0x78, 0x78, 0x78)) > 200
    # Others stay as the technology has them.
    assert count(render_png(SQUARE, "top", SKY130, **SMALL), (0x3C // 2, 0x78 // 2, 0xC8 // 2)) == 0


def test_legend_says_that_a_layer_is_not_in_the_technology():
    def width(layer):
        png = render_png(layout_of((0, 0, 10, 10000), layer=layer), "top", SKY130)
        return max(x for x, y in at(png, TEXT) if y < 40)

    characters = len("10/0 (not in sky130)")
    assert width((10, 0)) == pytest.approx(28 + characters * 8, abs=6)
    assert width((68, 20)) == pytest.approx(28 + len("met1 68/20") * 8, abs=6)


def test_legend_takes_no_more_room_than_its_names():
    left, _, _, _ = extent(render_png(layout_of((0, 0, 3000, 100), layer=(10, 0)), "top", SKY130), (0x80,) * 3)
    assert left < 20  # the swatch
    rows = part(render_png(layout_of((0, 0, 3000, 100)), "top", SKY130), 130, 60, 1000, 700)
    assert min(row.index(MET1) for row in rows if MET1 in row) < 50


def test_legend_leaves_no_dots_below_its_entries():
    png = render_png(layout_of((0, 0, 3000, 100)), "top", SKY130)
    # A line of text has 16 pixels; the swatch and the name of the one layer end within the second.
    assert ink(png, 0, 8, 120, 24) > 100
    assert ink(png, 0, 28, 120, 300) == 0


def test_more_layers_than_the_legend_holds_are_counted():
    def picture(layers):
        layout = layout_of()
        for number in range(layers):
            layout.cell("top").shapes(layout.layer(200, number)).insert(db.Box(0, 0, 100, 100))
        return render_png(layout, "top", SKY130, **SMALL)

    assert part(picture(40), 0, 0, 150, 300) != part(picture(41), 0, 0, 150, 300)
    assert ink(picture(41), 0, 270, 100, 300) == 0


@pytest.mark.parametrize("size", [1, 37, 1000, 123456, 90000000])
def test_scale_has_a_round_length_in_layouts_of_any_size(size):
    png = render_png(layout_of((0, 0, 2 * size, size)), "top", SKY130, **SMALL)
    runs = (itertools.groupby(row) for row in part(png, 0, 280, 400, 300))
    bar = max(len(list(same)) for row in runs for color, same in row if color == TEXT) - 1
    drawn = [x for x, y in at(png, MET1) if y > 40]
    length = 2 * size * bar / (max(drawn) - min(drawn))
    assert bar > 20
    # The bar and the shape are measured to a pixel or two.
    assert min(abs(length / (step * 10**power) - 1) for step in (1, 2, 5) for power in range(-3, 9)) < 0.08


def test_caption_is_written_above_everything_else():
    plain = render_png(SQUARE, "top", SKY130)
    first, other = (render_png(SQUARE, "top", SKY130, caption=[text]) for text in ("wire: nop", "wire: oracle"))
    assert part(first, 0, 0, 200, 20) != part(other, 0, 0, 200, 20)
    assert part(first, 0, 20, 1000, 750) == part(other, 0, 20, 1000, 750)
    assert extent(first, MET1)[1] > extent(plain, MET1)[1] + 10


def test_caption_is_shortened_to_fit():
    # What is cut off makes no difference, and what is left does not touch the border.
    texts = ("x" * 300, "x" * 299 + "y")
    first, other = (render_png(SQUARE, "top", SKY130, **SMALL, caption=[text]) for text in texts)
    assert first == other
    assert ink(first, 394, 0, 400, 20) == 0
    assert ink(first, 350, 0, 394, 20) > 0


@pytest.mark.parametrize("place", [None, (200, 200, 800, 800)])
def test_message_of_a_finding_is_in_the_caption(place):
    short, other = (render_png(SQUARE, "top", SKY130, [found(place=place, message=text)]) for text in ("on", "off"))
    assert part(short, 0, 0, 400, 20) != part(other, 0, 0, 400, 20)
    assert part(short, 0, 20, 1000, 750) == part(other, 0, 20, 1000, 750)


def test_findings_beyond_the_caption_are_counted():
    findings = [found(place=None, message=str(number)) for number in range(40)]
    first, other = (render_png(SQUARE, "top", SKY130, findings[:many]) for many in (39, 40))
    assert first != other
    changed = [*findings[:-1], found(place=None, message="other")]
    assert render_png(SQUARE, "top", SKY130, changed) == other
    assert extent(other, MET1)[1] < 750 * 0.35 + 60


def test_findings_at_one_place_share_a_frame_and_its_number():
    rules = ["li.1", "li.6", "li.5"]
    one = render_png(SQUARE, "top", SKY130, [found("li.1"), found("x", None), found("x", None)])
    three = render_png(SQUARE, "top", SKY130, [found(rule) for rule in rules])
    # The caption is as high in both: the layout, the frame and the one number are the same.
    assert at(one, MARKER) == at(three, MARKER)
    apart = render_png(SQUARE, "top", SKY130, [found("li.1"), found("li.6", (600, 600, 900, 900)), found("x", None)])
    assert count(apart, MARKER) > count(one, MARKER)


def test_numbers_of_frames_close_to_each_other_do_not_overprint():
    def numbers(*places):
        """Red pixels beside the frames: findings which the caption has no line for are framed without a number."""
        placed, others = [found(place=place) for place in places], [found(place=None)] * 8
        numbered, framed = (render_png(SQUARE, "top", SKY130, both) for both in (placed + others, others + placed))
        return count(numbered, MARKER) - count(framed, MARKER)

    apart = numbers((100, 500, 160, 560), (700, 500, 760, 560))
    assert apart > 20
    # The frames have their top left corner in common.
    assert numbers((100, 500, 160, 560), (100, 400, 300, 560)) == pytest.approx(apart, abs=4)


@pytest.mark.parametrize("size", [1, 40, 400])
def test_small_shape_is_visible_within_its_frame(size):
    layout = layout_of((0, 0, size, size), (5000, 0, 9000, 3000))
    png = render_png(layout, "top", SKY130, [found(place=(0, 0, size, size))])
    framed = [(x, y) for x, y in at(png, MARKER) if y > 100]
    left, right = min(x for x, _ in framed), max(x for x, _ in framed)
    bottom = max(y for _, y in framed)
    assert right - left >= 10
    inside = part(png, left + 2, bottom - (right - left) + 2, right - 1, bottom - 1)
    assert any(one not in (PAPER, MARKER) for row in inside for one in row)
    # A ring of paper parts the frame from the shape.
    assert set(inside[1]) == {PAPER}


def test_frames_are_thin():
    png = render_png(SQUARE, "top", SKY130, [found(place=(0, 0, 1000, 1000))])
    row = pixels(png)[2][400]
    assert 2 <= row.count(MARKER) <= 4
