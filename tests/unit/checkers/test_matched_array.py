"""matched_array: where units of several devices stand, and what they are."""

from __future__ import annotations

from typing import Any

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

DIFF, POLY, LI1, MET1 = (Layer.parse(one) for one in ("65/20", "66/20", "67/20", "68/20"))
CELLS = {"A": "unit_a", "B": "unit_b"}
UNIT = [{"layer": "65/20", "rect": [0, 0, 1000, 800]}, {"layer": "66/20", "rect": [400, -100, 600, 900]}]
PATTERN = {"cells": CELLS, "unit": UNIT, "pattern": ["ABBA"], "column_pitch": 1500}
FREE = {"cells": CELLS, "unit": UNIT, "counts": {"A": 4, "B": 4}, "rows": 2, "column_pitch": 1500, "row_pitch": 1200}


def cell(name: str) -> Sketch:
    return Sketch(name).rect(DIFF, 0, 0, 1000, 800).rect(POLY, 400, -100, 600, 900)


def rows(*letters: str, names: dict[str, str] = CELLS, top: Sketch | None = None) -> Drawing:
    sketch = top or Sketch()
    for name in names.values():
        sketch.include(cell(name))
    for row, line in enumerate(letters):
        for column, letter in enumerate(line):
            sketch.place(names[letter], 1500 * column, -1200 * row)
    return sketch.drawing


def verdict(drawn: Drawing, params: dict[str, Any]) -> str:
    return judge(drawn, "matched_array", params).summary()


def test_pattern_is_read_from_left_to_right() -> None:
    assert verdict(rows("ABBA"), PATTERN) == "accepted"
    assert "rows are BAAB; the pattern is ABBA" in verdict(rows("BAAB"), PATTERN)


def test_pattern_is_read_from_the_top() -> None:
    params = {**FREE, "counts": None, "rows": None, "pattern": ["ABAB", "BABA"]}
    del params["counts"], params["rows"]
    assert verdict(rows("ABAB", "BABA"), params) == "accepted"
    assert "rows are BABA/ABAB" in verdict(rows("BABA", "ABAB"), params)


@pytest.mark.parametrize(
    ("letters", "ok"),
    [
        (("ABBA", "BAAB"), True),
        (("ABAB", "BABA"), True),
        (("AABB", "BBAA"), True),
        (("ABAB", "ABAB"), False),
        (("AAAA", "BBBB"), False),
        (("ABBA", "ABBA"), True),
        (("AABB", "AABB"), False),
    ],
)
def test_centroids_decide_where_no_pattern_is_given(letters: tuple[str, ...], ok: bool) -> None:
    assert (verdict(rows(*letters), FREE) == "accepted") == ok


def test_centroid_needs_no_symmetry() -> None:
    """A at columns 0, 4 and 5 and B at 1, 2 and 6 share the centroid 3."""
    params = {**FREE, "counts": {"A": 3, "B": 3, "C": 1}, "rows": 1, "cells": {**CELLS, "C": "unit_c"}}
    del params["row_pitch"]
    assert verdict(rows("ABBCAAB", names=params["cells"]), params) == "accepted"
    assert "A and B have different centroids" in verdict(rows("AABCBAB", names=params["cells"]), params)


@pytest.mark.parametrize(("most", "ok"), [(1, False), (2, True)])
def test_run_is_limited_within_rows_only(most: int, ok: bool) -> None:
    assert (verdict(rows("AABB", "BBAA"), {**FREE, "max_run": most}) == "accepted") == ok
    assert verdict(rows("ABAB", "BABA"), {**FREE, "max_run": most}) == "accepted"


def test_dummies_stand_at_both_ends_of_each_row() -> None:
    names = {**CELLS, "D": "dummy"}
    params = {**PATTERN, "cells": names, "dummy": "D"}
    assert verdict(rows("DABBAD", names=names), params) == "accepted"
    assert "each begins and ends with a dummy" in verdict(rows("ABBADD", names=names), params)
    assert "cell dummy is placed 0 time(s)" in verdict(rows("ABBA", names=names), params)


def test_unit_may_be_made_of_other_cells() -> None:
    sketch = Sketch().include(Sketch("gate").rect(POLY, 0, 0, 200, 1000))
    for name in CELLS.values():
        sketch.include(Sketch(name).rect(DIFF, 0, 0, 1000, 800).place("gate", 400, -100))
    for column, letter in enumerate("ABBA"):
        sketch.place(CELLS[letter], 1500 * column)
    assert verdict(sketch.drawing, PATTERN) == "accepted"
    assert "poly (66/20) has shapes outside the unit cells" in verdict(sketch.place("gate", -900).drawing, PATTERN)


def test_array_may_stand_within_another_cell() -> None:
    block = Sketch("block")
    for name in CELLS.values():
        block.include(cell(name))
    block.array("unit_a", 2, 1, 4500, 0)
    block.place("unit_b", 1500).place("unit_b", 3000)
    assert verdict(Sketch().include(block).place("block", 77, -33).drawing, PATTERN) == "accepted"


def test_wires_may_run_over_the_array() -> None:
    top = Sketch().rect(MET1, -5000, 0, 9000, 200)
    assert verdict(rows("ABBA", top=top), PATTERN) == "accepted"
    top = Sketch().rect(POLY, 400, 100, 600, 300)
    assert "poly (66/20) has shapes outside the unit cells" in verdict(rows("ABBA", top=top), PATTERN)


def test_unit_holds_nothing_else() -> None:
    sketch = Sketch().include(cell("unit_a")).include(cell("unit_b").rect(LI1, 0, 0, 10, 10))
    for column, letter in enumerate("ABBA"):
        sketch.place(CELLS[letter], 1500 * column)
    assert "cell unit_b differs from the unit on li1 (67/20)" in verdict(sketch.drawing, PATTERN)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"counts": {"A": 2, "B": 2}}, "pattern is required, or counts and rows"),
        ({"pattern": ["ABBA", "AB"]}, "rows of one length"),
        ({"pattern": ["ABBAC"]}, "letters of all devices"),
        ({"dummy": "D"}, "letters of all devices"),
        ({"row_pitch": 100}, "row_pitch is for several rows"),
        ({"pattern": ["AB", "BA"]}, "row_pitch is for several rows"),
        ({"cells": {"A": "one", "B": "one"}}, "cells are different ones"),
        ({"unit": [{"layer": "65/20", "rect": [0, 0, 0, 5]}]}, "is no rectangle"),
        ({"unit": []}, "at least 1"),
    ],
)
def test_parameters_that_make_no_sense_are_told(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(CheckerError, match=complaint):
        oracle_of("matched_array", {**PATTERN, **change})


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({**PATTERN, "pattern": ["AABB"]}, "has no common centroid"),
        ({**PATTERN, "max_run": 1}, "has a run longer than 1"),
        ({**FREE, "counts": {"A": 3, "B": 3}}, "no arrangement"),
    ],
)
def test_arrangement_that_cannot_be_is_told(params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        oracle_of("matched_array", params).witness()
