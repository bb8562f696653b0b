"""Layouts for comparing ways of running decks: layers 1/0 to 4/0 and labels on 10/0, dbu 1 nm, top cell TOP."""

from __future__ import annotations

import random
from collections.abc import Callable

import klayout.db as db

LAYERS = 4


class _Canvas:
    def __init__(self) -> None:
        self.layout = db.Layout()
        self.top = self.layout.create_cell("TOP")
        self.layers = [self.layout.layer(number, 0) for number in range(1, LAYERS + 1)]

    def box(self, layer: int, x: int, y: int, width: int, height: int) -> None:
        self.draw(layer, db.Polygon(db.Box(x, y, x + width, y + height)))

    def draw(self, layer: int, polygon: db.Polygon) -> None:
        self.top.shapes(self.layers[layer - 1]).insert(polygon)

    def label(self, text: str, x: int, y: int) -> None:
        self.top.shapes(self.layout.layer(10, 0)).insert(db.Text(text, x, y))

    def written(self) -> bytes:
        options = db.SaveLayoutOptions()
        options.format = "GDS2"
        options.gds2_write_timestamps = False
        return bytes(self.layout.write_bytes(options))


def thresholds() -> bytes:
    """Widths, spaces, enclosures and overlaps one dbu below, at and one above what decks ask for."""
    canvas = _Canvas()
    for row, value in enumerate((199, 200, 201, 249, 250, 251, 299, 300, 301, 400)):
        y = row * 3000
        canvas.box(1, 0, y, value, 1500)
        canvas.box(1, value + value, y, 700, 1500)
        canvas.box(2, value + value + 150, y + 150, 700 - 300 + (row % 3 - 1), 1200)
        canvas.box(2, 2500, y, 800, 800)
        canvas.box(3, 2500 + 800 - value, y + 100, 900, 500)
        canvas.box(4, 5000, y, value, value)
        canvas.label(f"N{row}", value // 2, y + 700)
    return canvas.written()


def hierarchy() -> bytes:
    """A cell placed turned, mirrored, magnified and as arrays whose members meet."""
    canvas = _Canvas()
    below = canvas.layout.create_cell("SUB")
    for number, index in enumerate(canvas.layers):
        below.shapes(index).insert(db.Box(40 * number, 30 * number, 600 - 60 * number, 450 - 20 * number))
    below.shapes(canvas.layers[0]).insert(db.Box(0, 400, 220, 1200))
    below.shapes(canvas.layout.layer(10, 0)).insert(db.Text("NSUB", 100, 100))
    places = [
        db.CellInstArray(below.cell_index(), db.Trans(db.Trans.R0, 0, 0)),
        db.CellInstArray(below.cell_index(), db.Trans(db.Trans.R90, 2500, 0)),
        db.CellInstArray(below.cell_index(), db.Trans(db.Trans.M45, 4000, 0)),
        db.CellInstArray(below.cell_index(), db.DCplxTrans(1.5, 0, True, 0, 4).to_itrans(0.001)),
        db.CellInstArray(below.cell_index(), db.Trans(0, 3000), db.Vector(600, 0), db.Vector(0, 1500), 3, 2),
    ]
    for place in places:
        canvas.top.insert(place)
    canvas.box(1, -500, -500, 300, 8000)
    return canvas.written()


def slanted() -> bytes:
    """Edges of 45° and of other angles, wires with round and flat ends."""
    canvas = _Canvas()
    for number in range(6):
        x = number * 2200
        corners = [(x, 0), (x + 900, 300 * (number % 3)), (x + 700, 1400), (x + 100 * number, 900)]
        canvas.draw(1 + number % 3, db.Polygon([db.Point(*corner) for corner in corners]))
        canvas.draw(1, db.Polygon([db.Point(x, 2000), db.Point(x + 600, 2600), db.Point(x, 3200)]))
        canvas.draw(2, db.Path([db.Point(x, 4000), db.Point(x + 700, 4700), db.Point(x + 1500, 4700)], 240).polygon())
        canvas.draw(3, db.Path([db.Point(x, 4100), db.Point(x + 900, 4900)], 180, 90, 90, True).polygon())
    canvas.label("Nslanted", 300, 300)
    return canvas.written()


def rings() -> bytes:
    """Holes, shapes that meet in a corner or along an edge, coverage twice."""
    canvas = _Canvas()
    for number in range(3):
        x = number * 4000
        ring = db.Polygon(db.Box(x, 0, x + 3000, 3000))
        ring.insert_hole(db.Box(x + 200 + 60 * number, 240, x + 2700, 2600))
        canvas.draw(1, ring)
        canvas.box(2, x + 400, 400, 500 + 10 * number, 500)
        canvas.box(2, x + 900 + 10 * number, 900, 300, 300)
        canvas.box(3, x + 1500, 500, 400, 400)
        canvas.box(3, x + 1900, 500, 400, 200)
        canvas.box(4, x, 3000, 600, 600)
        canvas.box(4, x + 300, 3200, 600, 600)
    return canvas.written()


def crowded(seed: int = 7, shapes: int = 60) -> bytes:
    """Boxes and triangles at random on a grid of 10 nm, many of which touch."""
    dice = random.Random(seed)
    canvas = _Canvas()
    for _ in range(shapes):
        layer, x, y = dice.randint(1, LAYERS), dice.randrange(0, 600) * 10, dice.randrange(0, 600) * 10
        if dice.random() < 0.8:
            canvas.box(layer, x, y, dice.randrange(10, 120) * 10, dice.randrange(10, 120) * 10)
        else:
            points = [db.Point(x + dice.randrange(0, 90) * 10, y + dice.randrange(0, 90) * 10) for _ in range(3)]
            canvas.draw(layer, db.Polygon(points))
    for number in range(3):
        canvas.label(f"N{number}", dice.randrange(0, 6000), dice.randrange(0, 6000))
    return canvas.written()


def sparse() -> bytes:
    """One shape on one layer; all others empty."""
    canvas = _Canvas()
    canvas.box(4, 0, 0, 500, 500)
    return canvas.written()


LAYOUTS: dict[str, Callable[[], bytes]] = {
    made.__name__: made for made in (thresholds, hierarchy, slanted, rings, crowded, sparse)
}
