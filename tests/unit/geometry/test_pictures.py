"""Pictures for people: of the asked size, findings visible, the layout left alone."""

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

SKY130 = builtin_technology("sky130")
MARKER, MET1 = (0xE0, 0x10, 0x10), (0x3C, 0x78, 0xC8)


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
    data, rows, above = zlib.decompress(packed), [], bytearray(width * size)
    for number in range(height):
        start = number * (width * size + 1)
        above = _unfiltered(data[start], bytearray(data[start + 1 : start + 1 + width * size]), above, size)
        rows.append([tuple(above[at : at + 3]) for at in range(0, width * size, size)])
    return width, height, rows


def _unfiltered(kind, line, above, size):
    for at in range(len(line)):
        left, up = (line[at - size] if at >= size else 0), above[at]
        corner = above[at - size] if at >= size else 0
        guess = left + up - corner
        nearest = min((left, up, corner), key=lambda one: abs(guess - one))
        line[at] = (line[at] + (0, left, up, (left + up) // 2, nearest)[kind]) & 0xFF
    return line


def count(png, color):
    return sum(row.count(color) for row in pixels(png)[2])


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
