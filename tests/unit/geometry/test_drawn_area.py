"""What a view covers, held against gdstk, which has its own geometry."""

import math
from fractions import Fraction
from itertools import combinations, pairwise
from types import SimpleNamespace

import gdstk
import klayout.db as db
import pytest
from geometry_strategies import any_polygons, boxes, coordinates, fewer, layouts, paths, staircases
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.geometry.io import LayoutFileError, write_layout
from pytest_iclayout.geometry.view import LayoutView, UnjudgeableLayoutError, open_view
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.text import parse_technology_text

MET1 = Layer(layer=68, datatype=20)
MET2 = Layer(layer=69, datatype=20)
SKY130 = builtin_technology("sky130")


def layout_of(*shapes, layer=MET1):
    layout = db.Layout(True)
    cell = layout.create_cell("top")
    for shape in shapes:
        cell.shapes(layout.layer(layer.layer, layer.datatype)).insert(shape)
    return layout


def view_of(layout):
    return open_view(write_layout(layout), SKY130, "published")


@pytest.fixture(scope="module")
def in_gdstk(tmp_path_factory):
    """Polygons of a layer in dbu as gdstk reads them, all levels flat."""
    path = tmp_path_factory.mktemp("gdstk") / "layout.gds"

    def polygons(layout, layer):
        path.write_bytes(write_layout(layout))
        top = next(cell for cell in gdstk.read_gds(path, unit=1e-9).top_level() if cell.name == "top")
        return top.get_polygons(layer=layer.layer, datatype=layer.datatype)

    return polygons


def covered(polygons):
    return sum(polygon.area() for polygon in gdstk.boolean(polygons, [], "or", precision=1e-3))


manhattan = st.lists(st.one_of(boxes(), staircases(), paths()), min_size=1, max_size=6)


@given(shapes=manhattan)
def test_overlapping_shapes_count_once(in_gdstk, shapes):
    layout = layout_of(*shapes)
    assert view_of(layout).region(MET1).area() == pytest.approx(covered(in_gdstk(layout, MET1)), abs=0.5)


@given(first=manhattan, second=manhattan, operation=st.sampled_from(("and", "or", "xor", "not")))
def test_booleans_of_two_layers_are_those_of_gdstk(in_gdstk, first, second, operation):
    layout = layout_of(*first)
    for shape in second:
        layout.cell("top").shapes(layout.layer(69, 20)).insert(shape)
    view = view_of(layout)
    one, other = view.region(MET1), view.region(MET2)
    ours = {"and": one & other, "or": (one + other).merged(), "xor": one ^ other, "not": one - other}[operation]
    theirs = gdstk.boolean(in_gdstk(layout, MET1), in_gdstk(layout, MET2), operation, precision=1e-3)
    assert ours.area() == pytest.approx(sum(polygon.area() for polygon in theirs), abs=0.5)


triangles = any_polygons().filter(lambda polygon: polygon.num_points() == 3)


@given(polygons=st.lists(triangles, min_size=1, max_size=4))
def test_slanted_shapes_cover_what_gdstk_says(in_gdstk, polygons):
    layout = layout_of(*polygons)
    # Crossings are put on the grid: each point of the border may move by less than one dbu.
    border = sum(polygon.perimeter() for polygon in polygons)
    assert abs(view_of(layout).region(MET1).area() - covered(in_gdstk(layout, MET1))) <= border


def area_by_slabs(polygons):
    """Area where any of the polygons winds around, exactly; gdstk takes lobes that turn the other way from others."""
    edges = [
        (number, edge.p1, edge.p2) if edge.x1 < edge.x2 else (number, edge.p2, edge.p1)
        for number, polygon in enumerate(polygons)
        for edge in polygon.each_edge()
        if edge.x1 != edge.x2
    ]
    turns = [
        1 if edge.x1 < edge.x2 else -1 for polygon in polygons for edge in polygon.each_edge() if edge.x1 != edge.x2
    ]

    def height(edge, x):
        _, left, right = edge
        return left.y + Fraction(right.y - left.y, right.x - left.x) * (x - left.x)

    stops = {Fraction(point.x) for _, *ends in edges for point in ends}
    for one, other in combinations(edges, 2):
        left, right = max(one[1].x, other[1].x), min(one[2].x, other[2].x)
        if left < right:
            first, last = (height(one, x) - height(other, x) for x in (left, right))
            if first * last < 0:
                stops.add(left + (right - left) * first / (first - last))
    total, ordered = Fraction(0), sorted(stops)
    for left, right in pairwise(ordered):
        middle, winding, opened = (left + right) / 2, [0] * len(polygons), Fraction(0)
        crossed = [
            (height(edge, middle), edge[0], turn)
            for edge, turn in zip(edges, turns, strict=True)
            if edge[1].x <= left and right <= edge[2].x
        ]
        for y, number, turn in sorted(crossed):
            was_inside = any(winding)
            winding[number] += turn
            if not was_inside:
                opened = y
            elif not any(winding):
                total += (y - opened) * (right - left)
    return float(total)


@given(polygons=st.lists(any_polygons(), min_size=1, max_size=3))
def test_crossing_polygons_cover_all_of_their_lobes(polygons):
    border = sum(polygon.perimeter() for polygon in polygons)
    assert abs(view_of(layout_of(*polygons)).region(MET1).area() - area_by_slabs(polygons)) <= border


@fewer
@given(layout=layouts(slanted=False))
def test_hierarchy_with_turned_arrays_covers_what_gdstk_says(in_gdstk, layout):
    for layer in (MET1, MET2):
        assert open_view(write_layout(layout), SKY130, "published", "top").region(layer).area() == pytest.approx(
            covered(in_gdstk(layout, layer)), abs=0.5
        )


def test_polygon_around_a_hole_does_not_cover_the_hole():
    corners = [
        (0, 0),
        (100, 0),
        (100, 100),
        (0, 100),
        (0, 50),
        (20, 50),
        (20, 80),
        (80, 80),
        (80, 20),
        (20, 20),
        (20, 50),
        (0, 50),
    ]
    region = view_of(layout_of(db.Polygon([db.Point(*one) for one in corners]))).region(MET1)
    assert region.area() == 100 * 100 - 60 * 60
    assert [polygon.holes() for polygon in region.each()] == [1]


def test_polygon_that_crosses_itself_covers_both_lobes():
    corners = [(0, 0), (100, 100), (100, 0), (0, 100)]
    assert view_of(layout_of(db.Polygon([db.Point(*one) for one in corners]))).region(MET1).area() == 5000


def test_polygon_wound_twice_counts_once():
    corners = [(0, 0), (100, 0), (100, 100), (0, 100), (0, 0), (50, 0), (50, 50), (0, 50)]
    assert view_of(layout_of(db.Polygon([db.Point(*one) for one in corners]))).region(MET1).area() == 10_000


@pytest.mark.parametrize(
    ("extension", "is_round", "area"),
    [(0, False, 100 * 1000), (50, False, 100 * 1100), (50, True, 100 * 1000 + math.pi * 50 * 50)],
    ids=["flat", "square", "round"],
)
def test_path_covers_its_ends(extension, is_round, area):
    path = db.Path([db.Point(0, 0), db.Point(1000, 0)], 100, extension, extension, is_round)
    # A round end is a polygon within the circle.
    assert view_of(layout_of(path)).region(MET1).area() == pytest.approx(area, rel=0.01 if is_round else 0)


def test_zero_width_and_zero_size_shapes_cover_nothing_and_break_nothing():
    line = db.Path([db.Point(0, 0), db.Point(100, 0)], 0)
    view = view_of(layout_of(line, db.Box(0, 0, 0, 50), db.Box(7, 7, 7, 7)))
    assert view.region(MET1).area() == 0


def test_layer_is_read_once_and_absent_layers_are_empty():
    view = view_of(layout_of(db.Box(0, 0, 10, 10)))
    assert view.region(MET1) is view.region(MET1)
    assert view.region(MET2).is_empty()
    assert view.texts(MET2).is_empty()


def test_drawn_layers_are_those_with_content_sorted():
    layout = layout_of(db.Box(0, 0, 10, 10))
    layout.layer(3, 0)
    child = layout.create_cell("child")
    child.shapes(layout.layer(2, 5)).insert(db.Text("a", 0, 0))
    layout.cell("top").insert(db.CellInstArray(child.cell_index(), db.Trans()))
    unused = layout.create_cell("unused")
    unused.shapes(layout.layer(1, 0)).insert(db.Box(0, 0, 1, 1))
    view = LayoutView(layout, layout.cell("top"), SKY130, "published")
    assert view.drawn_layers == (Layer(layer=2, datatype=5), MET1)


def test_labels_are_in_coordinates_of_the_judged_cell():
    layout = layout_of(db.Box(0, 0, 10, 10))
    child = layout.create_cell("child")
    child.shapes(layout.layer(68, 5)).insert(db.Text("a", 3, 4))
    layout.cell("top").insert(db.CellInstArray(child.cell_index(), db.Trans(1, False, 100, 200)))
    # The view is gone before its labels are looked at.
    (text,) = view_of(layout).texts(Layer(layer=68, datatype=5)).each()
    assert (text.string, text.x, text.y) == ("a", 96, 203)


def test_another_database_unit_is_refused_as_its_lengths_would_be_others():
    layout = layout_of(db.Box(0, 0, 10, 10))
    layout.dbu = 0.0005
    with pytest.raises(
        UnjudgeableLayoutError, match=r"database unit is 0\.0005 µm, the task's technology has 0\.001 µm"
    ):
        view_of(layout)


def test_small_database_units_are_told_apart_too():
    source = "technology fine\ndbu_per_micron {}\nlayer 68 20 m FFFFFFFF"
    technology = parse_technology_text(source.format(4_000_000_000))
    layout = layout_of(db.Box(0, 0, 10, 10))
    layout.dbu = 5e-10
    with pytest.raises(UnjudgeableLayoutError, match="database unit"):
        open_view(write_layout(layout), technology, "none")
    layout.dbu = technology.dbu_um
    assert open_view(write_layout(layout), technology, "none").region(MET1).area() == 100


def cells(*names, inside=()):
    layout = db.Layout(True)
    for name in names:
        layout.create_cell(name)
    for parent, child in inside:
        layout.cell(parent).insert(db.CellInstArray(layout.cell(child).cell_index(), db.Trans()))
    return SimpleNamespace(data=write_layout(layout))


@pytest.mark.parametrize(
    ("names", "inside", "wanted", "selected"),
    [
        (("only",), (), None, "only"),
        (("a", "b"), (("a", "b"),), None, "a"),
        (("other", "top"), (), None, "top"),
        (("a", "b"), (("a", "b"),), "b", "b"),
    ],
)
def test_judged_cell_is_the_named_one_or_the_only_top_cell(names, inside, wanted, selected):
    assert open_view(cells(*names, inside=inside).data, SKY130, "published", wanted).cell.name == selected


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        (("a", "b"), None, "no cell named 'top'; it has a, b"),
        (("a",), "b", "no cell named 'b'; it has a"),
        ((), None, "no cell named 'top'; it has no cell at all"),
        (tuple(f"c{n:02}" for n in range(12)), None, r"it has c00, .*c09, \.\.\."),
    ],
)
def test_missing_cell_is_named_with_those_that_are_there(names, wanted, message):
    with pytest.raises(UnjudgeableLayoutError, match=message):
        open_view(cells(*names).data, SKY130, "published", wanted)


def test_unreadable_artifact_names_its_origin():
    with pytest.raises(LayoutFileError, match=r"^trial 3: "):
        open_view(b"nothing", SKY130, "published", origin="trial 3")


@given(coordinates)
def test_describe_names_known_layers_and_numbers_others(number):
    view = LayoutView(db.Layout(), None, SKY130, "published")
    assert view.describe(MET1) == "met1 (68/20)"
    assert view.describe(Layer(layer=abs(number), datatype=3)) == f"{abs(number)}/3"
