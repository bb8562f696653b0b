"""Random layouts for property tests; coordinates in dbu."""

import klayout.db as db
from hypothesis import settings
from hypothesis import strategies as st

from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.technology.layers import Layer

LAYERS = (Layer(layer=68, datatype=20), Layer(layer=69, datatype=20), Layer(layer=1, datatype=0))

fewer = settings(max_examples=settings().max_examples * 2 // 5)
"""For whole layouts, of which one costs as much as many shapes."""

coordinates = st.integers(-2000, 2000)
points = st.tuples(coordinates, coordinates)
orientations = st.sampled_from(Orientation)


@st.composite
def boxes(draw):
    x, y = draw(points)
    return db.Box(x, y, x + draw(st.integers(1, 800)), y + draw(st.integers(1, 800)))


@st.composite
def staircases(draw):
    """Rectilinear polygons without crossings."""
    x, y = draw(points)
    widths = draw(st.lists(st.integers(1, 300), min_size=1, max_size=4))
    heights = draw(st.lists(st.integers(1, 300), min_size=len(widths), max_size=len(widths)))
    corners, left = [db.Point(x, y)], x
    for width, height in zip(widths, heights, strict=True):
        corners += [db.Point(left, y + height), db.Point(left + width, y + height)]
        left += width
    return db.Polygon([*corners, db.Point(left, y)])


def any_polygons():
    """Also slanted ones and ones that cross themselves."""
    corners = st.lists(points, min_size=3, max_size=6)
    return corners.map(lambda found: db.Polygon([db.Point(*one) for one in found])).filter(
        lambda polygon: polygon.num_points() > 2
    )


@st.composite
def paths(draw):
    """Manhattan centre lines, even widths: what every program draws alike."""
    x, y = draw(points)
    width = 2 * draw(st.integers(1, 60))
    spine, along_x = [db.Point(x, y)], draw(st.booleans())
    # Segments of at least the width: shorter ones meet their neighbour's bevel.
    for step in draw(st.lists(st.integers(width, 900), min_size=1, max_size=3)):
        step *= draw(st.sampled_from((-1, 1)))
        x, y = (x + step, y) if along_x else (x, y + step)
        along_x = not along_x
        spine.append(db.Point(x, y))
    end = draw(st.sampled_from((0, width // 2)))
    return db.Path(spine, width, end, end)


@st.composite
def transformations(draw, magnified=False):
    orientation = draw(orientations)
    mag = draw(st.sampled_from((1.0, 2.0, 0.5))) if magnified else 1.0
    x, y = draw(points)
    return db.ICplxTrans(mag, 90.0 * orientation.quarter_turns, orientation.mirrored, x, y)


@st.composite
def layouts(draw, slanted=True):
    """Three levels with arrays, turned instances and labels; the top cell is ``top``."""
    layout = db.Layout(True)
    cells = [layout.create_cell(name) for name in ("leaf", "middle", "top")]
    kinds = [boxes(), staircases(), paths()] + ([any_polygons()] if slanted else [])
    for cell in cells:
        for layer, shape in draw(st.lists(st.tuples(st.sampled_from(LAYERS), st.one_of(kinds)), max_size=4)):
            cell.shapes(layout.layer(layer.layer, layer.datatype)).insert(shape)
    for parent, child in ((cells[1], cells[0]), (cells[2], cells[1]), (cells[2], cells[0])):
        for trans in draw(st.lists(transformations(), max_size=2)):
            if draw(st.booleans()):
                pitch_a, pitch_b = (db.Vector(*draw(points)) for _ in range(2))
                counts = draw(st.integers(1, 3)), draw(st.integers(1, 3))
                parent.insert(db.CellInstArray(child.cell_index(), trans, pitch_a, pitch_b, *counts))
            else:
                parent.insert(db.CellInstArray(child.cell_index(), trans))
    cells[2].shapes(layout.layer(68, 5)).insert(db.Text("net", *draw(points)))
    return layout


def regions(layout, cell_name="top"):
    """The merged region of every layer, by layer and datatype."""
    cell = layout.cell(cell_name)
    found = {
        (info.layer, info.datatype): db.Region(cell.begin_shapes_rec(layout.layer(info))).merged()
        for info in layout.layer_infos()
    }
    return {layer: region for layer, region in found.items() if not region.is_empty()}


def differing_layers(one, other):
    """Layers whose covered areas are not the same."""
    empty = db.Region()
    first, second = regions(one), regions(other)
    return sorted(
        layer
        for layer in first.keys() | second.keys()
        if not (first.get(layer, empty) ^ second.get(layer, empty)).is_empty()
    )
