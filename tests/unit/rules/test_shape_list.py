"""Shape lists: what each statement draws, and what a wrong one says."""

from __future__ import annotations

import klayout.db as db
import pytest

from pytest_iclayout.rules.shape_list import ShapeList, ShapeListError
from pytest_iclayout.technology.layers import Layer

LAYERS = {"met1": Layer(layer=68, datatype=20), "via": Layer(layer=68, datatype=44), "x.y": Layer(layer=9, datatype=0)}


def layout(text: str, dbu_um: float = 0.001) -> db.Layout:
    found = db.Layout()
    found.read_bytes(ShapeList(text, LAYERS, dbu_um).gds())
    return found


def region(text: str, layer: str = "met1", dbu_um: float = 0.001) -> db.Region:
    drawn = layout(text, dbu_um)
    index = drawn.find_layer(LAYERS[layer].layer, LAYERS[layer].datatype)
    return db.Region() if index is None else db.Region(drawn.top_cell().begin_shapes_rec(index)).merged()


@pytest.mark.parametrize(
    ("text", "polygons"),
    [
        ("met1 0 0 1 0.14", "(0,0;0,140;1000,140;1000,0)"),
        ("met1 -1.5 0.001 1e0 2", "(-1500,1;-1500,2000;1000,2000;1000,1)"),
        ("met1 poly 0,0 1,0 1,1", "(0,0;1000,1000;1000,0)"),
        (
            "met1 poly 0,0 3,0 3,3 0,3 hole 1,1 2,1 2,2 1,2",
            "(0,0;0,3000;3000,3000;3000,0/1000,1000;2000,1000;2000,2000;1000,2000)",
        ),
        ("met1 path 0.2 0,0 1,0", "(0,-100;0,100;1000,100;1000,-100)"),
        ("met1 path 0.2 0,0 1,0 flush", "(0,-100;0,100;1000,100;1000,-100)"),
        ("met1 path 0.2 0,0 1,0 square", "(-100,-100;-100,100;1100,100;1100,-100)"),
        ("met1 0 0 1 1; met1 1 0 2 1", "(0,0;0,1000;2000,1000;2000,0)"),
        ("met1 0 0 1 1\nmet1 1 0 2 1\n\n", "(0,0;0,1000;2000,1000;2000,0)"),
        ("cell A {\n  met1 0 0 2 1\n}\nput A 10 0 r90", "(9000,0;9000,2000;10000,2000;10000,0)"),
        ("# nothing\nmet1 0 0 1 1 # a box", "(0,0;0,1000;1000,1000;1000,0)"),
        ("cell A { met1 0 0 2 1 } put A 10 0 r90", "(9000,0;9000,2000;10000,2000;10000,0)"),
        ("cell A { met1 0 0 2 1 } put A 0 0 m45", "(0,0;0,2000;1000,2000;1000,0)"),
        ("cell A { met1 0 0 2 1 } put A 1 1 x0.5", "(1000,1000;1000,1500;2000,1500;2000,1000)"),
        ("cell A { met1 0 0 1 1 } put A 0 0 array 2 1 1 5", "(0,0;0,1000;2000,1000;2000,0)"),
        ("cell A { met1 0 0 1 1 } cell B { put A 1 0 } put B 0 2", "(1000,2000;1000,3000;2000,3000;2000,2000)"),
    ],
)
def test_statement_that_draws_something_else(text, polygons):
    assert str(region(text)) == polygons


def test_round_path_ends_before_the_corners_of_a_square_one():
    rounded, square = (region(f"met1 path 2 0,0 5,0 {ends}") for ends in ("round", "square"))
    assert rounded.bbox() == square.bbox()
    assert rounded.area() < square.area()


def test_array_of_cells_is_as_many_as_said():
    assert region("cell A { met1 0 0 1 1 } put A 0 0 array 3 2 2 4").count() == 6


def test_text_is_on_its_layer_at_its_place():
    drawn = layout('met1 text "A b;c" 1,2')
    (text,) = drawn.top_cell().shapes(drawn.layer(68, 20)).each()
    assert (text.text_string, text.text_trans.disp.x, text.text_trans.disp.y) == ("A b;c", 1000, 2000)


def test_sign_of_a_comment_within_a_text_does_not_cut_it_off():
    drawn = layout('met1 text "A#1" 1,2 # a comment')
    (text,) = drawn.top_cell().shapes(drawn.layer(68, 20)).each()
    assert text.text_string == "A#1"


def test_unit_of_the_layout_is_the_lists():
    assert str(region("x.y 0 0 1 0.01", "x.y", 0.005)) == "(0,0;0,2;200,2;200,0)"
    assert layout("", 0.005).dbu == pytest.approx(0.005)


def test_same_text_gives_the_same_bytes():
    assert ShapeList("met1 0 0 1 1", LAYERS).gds() == ShapeList("met1 0 0 1 1", LAYERS).gds()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "met2 0 0 1 1",
            "met2 0 0 1 1: no layer 'met2'; the rule has met1, via, x.y; other statements are put and cell NAME {...}",
        ),
        ("met1 0 0 1", "met1 0 0 1: a box needs 4 numbers, LEFT BOTTOM RIGHT TOP, and has 3"),
        ("met1", "met1: a box needs 4 numbers, LEFT BOTTOM RIGHT TOP, and has 0"),
        ("met1 0 0 0 1", "met1 0 0 0 1: a box is LEFT BOTTOM RIGHT TOP, with left < right and bottom < top"),
        ("met1 0 0 1 0.0005", "met1 0 0 1 0.0005: 0.0005 µm is not on the grid of 0.001 µm"),
        ("met1 0 0 one 1", "met1 0 0 one 1: 'one' is no number"),
        ("met1 0 0 1_0 1", "met1 0 0 1_0 1: '1_0' is no number"),
        ("met1 0 0 nan 1", "met1 0 0 nan 1: 'nan' is no number"),
        ("met1 0 0 1e999999999 1", "met1 0 0 1e999999999 1: '1e999999999' is no number"),
        ("met1 0 0 1073741.824 1", "met1 0 0 1073741.824 1: 1073741.824 µm is beyond ±1073741.823 µm"),
        ("met1 poli 0,0 1,0 1,1", "met1 poli 0,0 1,0 1,1: 'poli' is neither a number nor one of poly, path, text"),
        ("met1 poly 0,0 1,1", "met1 poly 0,0 1,1: needs at least 3 points as X,Y"),
        ("met1 poly 0,0 1,1 2", "met1 poly 0,0 1,1 2: '2' is no point X,Y and none of hole"),
        ("met1 poly 0,0 1,0 2,0", "met1 poly 0,0 1,0 2,0: the points of this polygon lie on a line"),
        ("met1 poly " + "0,0 " * 99, "met1 poly " + ("0,0 " * 99)[:89] + "…: the points of this polygon"),
        ("met1 path 1", "met1 path 1: needs at least 2 points as X,Y"),
        ("met1 path", "met1 path: a path is path WIDTH X,Y X,Y ..., with two or more points"),
        ("met1 path 0 0,0 1,0", "met1 path 0 0,0 1,0: the width of a path is above 0, not 0"),
        (
            "met1 path 1 0,0 5,0 sqare",
            "met1 path 1 0,0 5,0 sqare: 'sqare' is no point X,Y and none of square, round, flush",
        ),
        ("met1 path 999999 0,0 1000000,1000000", "cell TOP reaches beyond ±1073741823 dbu"),
        ("met1 text A", 'met1 text A: a text is text "TEXT" X,Y'),
        ('met1 text "A" 0,0 1,1', 'met1 text "A" 0,0 1,1: a text is text "TEXT" X,Y'),
        ('met1 text "A" 0', "met1 text \"A\" 0: '0' is no point X,Y"),
        ('met1 text "' + "A" * 1001 + '" 0,0', 'met1 text "' + "A" * 88 + "…: a text has at most 1000 letters"),
        ('met1 text "A 0,0; via 0 0 1 1', 'met1 text "A 0,0; via 0 0 1 1: the " that ends the text is missing'),
        ('met1 text A" 0,0', 'met1 text A " 0,0: the " that ends the text is missing'),
        ("put A 0 0", "put A 0 0: no cell 'A' before this; there are none"),
        ("cell A { put A 0 0 }", "put A 0 0: no cell 'A' before this; there are none"),
        ("cell A { } put A 0 0 r45", "put A 0 0 r45: 'r45' is none of r0, r90, r180, r270, m0, m45, m90, m135"),
        (
            "cell A { } put A 0 0 x1.2.3",
            "put A 0 0 x1.2.3: 'x1.2.3' is none of r0, r90, r180, r270, m0, m45, m90, m135",
        ),
        ("cell A { } put A 0 0 x0", "put A 0 0 x0: a factor is above 0 and at most 1073741823, not 0"),
        (
            "cell A { } put A 0 0 array 0 1 5 5",
            "put A 0 0 array 0 1 5 5: an array has 1 to 32767 columns and rows, not 0",
        ),
        (
            "cell A { } put A 0 0 array 1 32768 5 5",
            "put A 0 0 array 1 32768 5 5: an array has 1 to 32767 columns and rows, not 32768",
        ),
        ("cell A { met1 0 0 1 1 } put A 0 0 array 32767 32767 1 1", "cell TOP has more than 50000000 shapes once flat"),
        ("cell A { met1 0 0 1 1 } put A 0 0 x2000000", "cell TOP reaches beyond ±1073741823 dbu"),
        ("cell A { } put A 0", "put A 0: needs a cell and its place as X Y"),
        ("cell A { } cell A { }", "cell A: there is one of that name already"),
        ("cell A { met1 0 0 1 1", "cell A: the } is missing"),
        ("cell A met1 0 0 1 1", "cell A met1 0 0 1 1: a cell is written cell NAME { ... }"),
        ('cell "A B" { }', 'cell "A B": a cell\'s name is of letters, digits, _ and $, at most 1000 of them'),
        (
            "cell A { met1 0 0 1 1 } met1 0 0 1 1",
            "cell A: is never put anywhere; write put A X Y, or leave the cell out",
        ),
        ("met1 0 0 1 1 }", "a } without a cell NAME {"),
        ("cell A { cell B { } }", "cell B {: only cell NAME {...} has braces, and not in another cell"),
    ],
)
def test_wrong_statement_is_quoted_with_what_is_accepted(text, message):
    with pytest.raises(ShapeListError) as raised:
        ShapeList(text, LAYERS).layout()
    assert str(raised.value).startswith(message)
