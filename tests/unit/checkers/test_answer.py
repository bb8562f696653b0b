"""answer: truths against other programs and plain counting, and which JSON is taken for an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import gdstk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from iclayout_checkers.answer_layouts import answered
from iclayout_checkers.given_layouts import Edit
from iclayout_checkers.questions import AmbiguousQuestionError, Question, truths_of
from judging import oracle_of
from pydantic import TypeAdapter

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch, draw
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology

MET1, VIA, MET2 = (Layer.parse(text) for text in ("68/20", "68/44", "69/20"))
MET1_LABEL = Layer.parse("68/5")
ANSWER = Layer.parse("76/5")
SIDE = 12
"""Of the grid on which layouts are counted square by square."""

Square = tuple[int, int]
Rects = list[tuple[int, int, int, int]]
rects: st.SearchStrategy[Rects] = st.lists(
    st.tuples(*[st.integers(0, SIDE - 1)] * 2, *[st.integers(1, 6)] * 2).map(
        lambda r: (r[0], r[1], min(SIDE, r[0] + r[2]), min(SIDE, r[1] + r[3]))
    ),
    min_size=1,
    max_size=6,
)
points = st.tuples(st.integers(0, SIDE), st.integers(0, SIDE))

QUESTION: TypeAdapter[Question] = TypeAdapter(Question)


def ask(drawing: Drawing, **question: Any) -> Any:
    bench = Bench(technology=builtin_technology("sky130"), rule_set="published", start=drawing)
    asked = QUESTION.validate_python({"key": "it", **question})
    return truths_of((asked,), Edit(bench, ()).view)["it"]


def answer_or_none(drawing: Drawing, **question: Any) -> Any:
    try:
        return ask(drawing, **question)
    except AmbiguousQuestionError:
        return None


def drawn(**layers: Rects) -> Drawing:
    names = {"met1": MET1, "via": VIA, "met2": MET2}
    sketch = Sketch()
    for name, boxes in layers.items():
        for box in boxes:
            sketch.rect(names[name], *box)
    return sketch.drawing


def squares(boxes: Rects) -> set[Square]:
    return {place for x0, y0, x1, y1 in boxes for place in product(range(x0, x1), range(y0, y1))}


def pieces(covered: Iterable[Square]) -> list[set[Square]]:
    """Squares that share edges, directly or through others."""
    left, found = set(covered), []
    while left:
        piece, waiting = set[Square](), [left.pop()]
        while waiting:
            x, y = here = waiting.pop()
            piece.add(here)
            near = {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)} & left
            left -= near
            waiting += near
        found.append(piece)
    return found


def around(point: Square) -> list[Square]:
    return list(product((point[0] - 1, point[0]), (point[1] - 1, point[1])))


def run(covered: set[Square], square: Square, along: int) -> int:
    """Length of the row (0) or column (1) of covered squares with the given one in it."""
    length = 0
    for step in (1, -1):
        here = list(square)
        while tuple(here) in covered:
            length += 1
            here[along] += step
    return length - 1


@given(rects)
def test_area_count_and_box_are_those_of_the_squares(boxes: Rects) -> None:
    layout, covered = drawn(met1=boxes), squares(boxes)
    assert ask(layout, ask="area", layer="68/20") == len(covered)
    assert ask(layout, ask="count", layer="68/20") == len(pieces(covered))
    xs, ys = zip(*covered, strict=True)
    assert ask(layout, ask="bounding_box", layer="68/20") == (min(xs), min(ys), max(xs) + 1, max(ys) + 1)


@given(rects, points)
def test_width_is_the_shorter_run_of_squares(boxes: Rects, point: Square) -> None:
    covered = squares(boxes)
    near = around(point)
    runs = [{run(covered, square, along) for square in near} for along in (0, 1)]
    told = set(near) <= covered and all(len(one) == 1 for one in runs)
    expected = min(*runs[0], *runs[1]) if told else None
    assert answer_or_none(drawn(met1=boxes), ask="width_at", layer="68/20", point="/".join(map(str, point))) == expected


@given(rects, points, points)
def test_spacing_is_the_smallest_distance_of_squares(boxes: Rects, a: Square, b: Square) -> None:
    found = pieces(squares(boxes))
    one, other = ([piece for piece in found if set(around(point)) <= piece] for point in (a, b))
    expected = None
    if one and other and one != other:
        gaps = (
            max(0, abs(x - u) - 1) ** 2 + max(0, abs(y - v) - 1) ** 2 for (x, y), (u, v) in product(one[0], other[0])
        )
        root = min(gaps) ** 0.5
        expected = int(root) if root.is_integer() else None
    texts = {name: f"{x}/{y}" for name, (x, y) in (("a", a), ("b", b))}
    assert answer_or_none(drawn(met1=boxes), ask="spacing", layer="68/20", **texts) == expected


@given(rects, rects, rects, points)
def test_layers_at_a_point_are_those_with_all_squares_around_it(m1: Rects, v: Rects, m2: Rects, point: Square) -> None:
    near, found, told = set(around(point)), [], True
    for layer, boxes in ((MET1, m1), (VIA, v), (MET2, m2)):
        shared = near & squares(boxes)
        told = told and shared in (set(), near)
        found += [str(layer)] if shared == near else []
    answer = answer_or_none(drawn(met1=m1, via=v, met2=m2), ask="layers_at", point="/".join(map(str, point)))
    assert answer == (tuple(found) if told else None)


def wired(layers: dict[str, list[set[Square]]]) -> list[set[tuple[str, int]]]:
    """Groups of pieces, by layer and number, that cuts join."""
    nodes = [(name, number) for name, found in layers.items() for number in range(len(found))]
    group = {node: {node} for node in nodes}
    for one, other in product(nodes, nodes):
        if "via" in (one[0], other[0]) and layers[one[0]][one[1]] & layers[other[0]][other[1]]:
            joined = group[one] | group[other]
            for node in joined:
                group[node] = joined
    return list({id(found): found for found in group.values()}.values())


@given(rects, rects, rects)
def test_nets_are_pieces_that_cuts_join(m1: Rects, v: Rects, m2: Rects) -> None:
    layers = {name: pieces(squares(boxes)) for name, boxes in (("met1", m1), ("via", v), ("met2", m2))}
    groups = wired(layers)
    expected = sum(any(name == "met1" for name, _ in group) for group in groups)
    answer = answer_or_none(drawn(met1=m1, via=v, met2=m2), ask="nets", layer="68/20")
    # None: the reading in which corners conduct has fewer of them.
    assert answer in (expected, None)
    (left, bottom, *_), (x, y, *_) = m1[0], m2[0]
    here = ("met1", next(n for n, piece in enumerate(layers["met1"]) if (left, bottom) in piece))
    there = ("met2", next(n for n, piece in enumerate(layers["met2"]) if (x, y) in piece))
    # Magnified, so that a square has a point inside of it.
    larger = {"met1": m1, "via": v, "met2": m2}
    layout = drawn(**{name: [tuple(2 * c for c in box) for box in boxes] for name, boxes in larger.items()})  # type: ignore[arg-type]
    points = {"a": f"{2 * left + 1}/{2 * bottom + 1}", "b": f"{2 * x + 1}/{2 * y + 1}"}
    joined = answer_or_none(layout, ask="connected", layer_a="68/20", layer_b="69/20", **points)
    assert joined in (any({here, there} <= group for group in groups), None)


def hierarchy() -> Drawing:
    leaf = Sketch("leaf").rect(MET1, 0, 0, 300, 200).rect(MET1, 100, 100, 150, 900)
    row = Sketch("row").include(leaf).array("leaf", 4, 2, 250, 700).place("leaf", -50, 40, Orientation.R270)
    lost = Sketch("lost").place("leaf").place("row")
    top = Sketch().include(row).include(lost)
    return top.place("row", 10, 20, Orientation.MIRROR_X90).array("row", 3, 1, 2000, 0).place("leaf").drawing


def test_hierarchy_is_counted_as_gdstk_counts_it(tmp_path: Path) -> None:
    path = tmp_path / "layout.gds"
    path.write_bytes(draw(hierarchy(), builtin_technology("sky130")).export())
    library = gdstk.read_gds(path)
    cells = {cell.name: cell for cell in library.cells}

    def placed(cell: gdstk.Cell, name: str) -> int:
        return sum(
            (max(1, one.repetition.size) if one.repetition.size else 1)
            * ((one.cell.name == name) + placed(one.cell, name))
            for one in cell.references
        )

    for name in ("leaf", "row", "lost"):
        assert ask(hierarchy(), ask="cells", cell=name) == placed(cells["top"], name)
    flat = gdstk.boolean(cells["top"].get_polygons(layer=68, datatype=20), [], "or", precision=1e-6)
    area = sum(polygon.area() for polygon in flat) * 1e6
    assert ask(hierarchy(), ask="area", layer="68/20") == round(area)


def test_name_of_a_net_comes_through_cuts_and_not_from_wires_that_cross() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 900, 200).rect(MET1, 0, 500, 900, 700).rect(MET2, 300, -100, 600, 900)
    sketch.label(MET1_LABEL, "A", 50, 50).label(MET1_LABEL, "B", 50, 600).rect(VIA, 400, 525, 550, 675)
    assert ask(sketch.drawing, ask="net_at", layer="69/20", point="450/850") == "B"
    with pytest.raises(AmbiguousQuestionError, match="does not have one name"):
        ask(sketch.rect(VIA, 400, 25, 550, 175).drawing, ask="net_at", layer="69/20", point="450/850")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"ask": "width_at", "layer": "68/20", "point": "50/5"}, "is not inside one rectilinear shape"),
        ({"ask": "spacing", "layer": "68/20", "a": "120/5", "b": "130/5"}, "a and b are in one shape"),
        ({"ask": "cells", "cell": "none"}, "there is no cell 'none'"),
        ({"ask": "bounding_box", "layer": "69/20"}, r"met2 \(69/20\) is empty"),
        ({"ask": "connected", "layer_a": "68/20", "a": "120/5", "layer_b": "68/20", "b": "150/25"}, "corner conducts"),
        ({"ask": "nets", "layer": "68/20"}, "a corner conducts"),
        ({"ask": "layers_at", "point": "140/5"}, "on an edge of met1"),
    ],
)  # fmt: skip
def test_question_that_has_no_one_answer_is_refused(question: dict[str, Any], said: str) -> None:
    # A triangle, a box, and another one that touches its corner.
    sketch = Sketch().polygon(MET1, [(0, 0), (90, 0), (0, 90)]).rect(MET1, 100, 0, 140, 20)
    with pytest.raises(AmbiguousQuestionError, match=said):
        ask(sketch.rect(MET1, 140, 20, 160, 30).drawing, **question)


START = Sketch().rect(MET1, 0, 0, 140, 900).rect(MET1, 0, 1200, 400, 1340).label(MET1_LABEL, "A", 10, 10).drawing
QUESTIONS = [
    {"key": "width", "ask": "width_at", "layer": "68/20", "point": "70/500"},
    {"key": "apart", "ask": "connected", "layer_a": "68/20", "a": "70/500", "layer_b": "68/20", "b": "70/1270"},
    {"key": "name", "ask": "net_at", "layer": "68/20", "point": "70/500"},
    {"key": "box", "ask": "bounding_box", "layer": "68/20"},
]
RIGHT = {"width": 140, "apart": False, "name": "A", "box": [0, 0, 400, 1340]}
ORACLE = oracle_of("answer", {"layer": "76/5", "questions": QUESTIONS}, start=START)


def judged(text: str, *more: cmd.Command) -> list[str]:
    label = Sketch(new=False).label(ANSWER, text, 7, 7).drawing
    return [one.message for one in ORACLE.judge(ORACLE.build((*label, *more))).findings]


@pytest.mark.parametrize("number", ["140", "140.0", "1.4e2", "14000E-2", " 140 "])
def test_number_may_be_written_in_any_way_that_json_has(number: str) -> None:
    assert judged(json.dumps(RIGHT).replace("140,", f"{number},", 1)) == []


def test_order_of_keys_and_place_of_the_label_are_free() -> None:
    assert judged(json.dumps(dict(reversed(RIGHT.items())), indent=None)) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("width", "140", "key width: must be a number"),
        ("width", True, "key width: must be a number"),
        ("width", 140.5, "key width: wrong"),
        ("width", None, "key width: must be a number"),
        ("apart", 0, "key apart: must be true or false"),
        ("apart", True, "key apart: wrong"),
        ("name", "a", "key name: wrong"),
        ("name", ["A"], "key name: must be a text"),
        ("box", [0, 0, 400], "key box: wrong"),
        ("box", [0, 0, 400, "1340"], "key box: wrong"),
        ("box", [False, 0, 400, 1340], "key box: wrong"),
        ("box", "0 0 400 1340", "key box: must be a list"),
    ],
)
def test_finding_names_the_key_and_not_what_would_be_right(key: str, value: Any, said: str) -> None:
    assert judged(json.dumps({**RIGHT, key: value})) == [said]


@pytest.mark.parametrize("value", ["1" * 5000, "1e99999999999999999999", "[" * 5000, "1" + "0" * 40, "1e4000"])
def test_value_that_no_program_should_stumble_over_is_wrong(value: str) -> None:
    """As an imported file may hold it: add_label takes no text as long."""
    right = json.dumps(RIGHT)
    view = ORACLE._open(ORACLE.build(answered(ANSWER, RIGHT)))
    for text in view.cell.shapes(view.layout.find_layer(76, 5)).each():  # type: ignore[union-attr]
        text.text_string = right.replace("140,", f"{value},", 1)
    assert not ORACLE.checker.check(view, ORACLE.params).ok  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"width": 140, "apart": false, "name": "A", "box": [0, 0, 400, 1340], "width": 140}', "a key stands twice"),
        ('{"width": NaN, "apart": false, "name": "A", "box": [0, 0, 400, 1340]}', "key width: must be a number"),
        ("[140]", "not an object"),
        ("140", "not an object"),
        ("{'width': 140}", "the label is no JSON object"),
        (json.dumps(RIGHT) * 2, "the label is no JSON object"),
    ],
)  # fmt: skip
def test_text_that_is_no_object_of_different_keys_is_refused(text: str, said: str) -> None:
    (message,) = judged(text)
    assert said in message


def test_missing_and_unknown_keys_are_named() -> None:
    assert judged(json.dumps({**RIGHT, "note": 1} | {}).replace('"width"', '"height"')) == [
        "key width is missing",
        "'height' is no key that is asked for",
        "'note' is no key that is asked for",
    ]


def test_exactly_one_label_stands_on_the_layer() -> None:
    again = Sketch(new=False).label(ANSWER, json.dumps(RIGHT), 0, 0).drawing
    assert judged(json.dumps(RIGHT), *again) == ["pad_label (76/5) has 2 label(s), exactly one required"]
    (finding,) = ORACLE.judge(ORACLE.build(())).findings
    assert finding.message == "pad_label (76/5) has 0 label(s), exactly one required"


@pytest.mark.parametrize(
    "change",
    [
        cmd.DeleteShapes(ids=(2,)),
        *Sketch(new=False).rect(MET1, 5000, 0, 5001, 1).drawing,
        *Sketch(new=False).rect(ANSWER, 0, 0, 9, 9).drawing,
        *Sketch(new=False).rect(MET2, 0, 0, 140, 140).drawing,
    ],
    ids=str,
)
def test_shapes_stay_as_they_were_given(change: cmd.Command) -> None:
    (message,) = judged(json.dumps(RIGHT), change)
    assert "changed where it must stay as it was given" in message


def test_given_shapes_may_be_drawn_in_other_pieces() -> None:
    pieces = Sketch(new=False).rect(MET1, 0, 0, 140, 500).rect(MET1, 0, 400, 140, 900).drawing
    assert judged(json.dumps(RIGHT), cmd.DeleteShapes(ids=(1,)), *pieces) == []


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ([], "questions: tuple should have at least 1 item"),
        ([QUESTIONS[0], QUESTIONS[0]], "a key is used twice"),
        ([{**QUESTIONS[0], "ask": "colour"}], "colour"),
        ([{**QUESTIONS[0], "key": "Width!"}], "key"),
        ([{**QUESTIONS[0], "layer": "1/1"}], "layer 1/1 is not in technology"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(questions: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of("answer", {"layer": "76/5", "questions": questions}, start=START)


def test_layer_of_the_answer_must_be_free_of_labels() -> None:
    oracle = oracle_of("answer", {"layer": "68/5", "questions": QUESTIONS}, start=START)
    with pytest.raises(ValueError, match="has labels already"):
        oracle.witness()
