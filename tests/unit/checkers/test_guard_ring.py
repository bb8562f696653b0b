"""guard_ring: closed by its topology, not by its parts."""

from __future__ import annotations

import random

import klayout.db as db
import pytest
from judging import judge

from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

LI1, MET1 = Layer(layer=67, datatype=20), Layer(layer=68, datatype=20)
RING = "guard_ring:layer=67/20"


def bars(right: int = 1000) -> Sketch:
    """A ring of four bars that abut; ``right`` is where the lower one ends."""
    sketch = Sketch().rect(LI1, 0, 0, right, 100).rect(LI1, 0, 900, 1000, 1000)
    return sketch.rect(LI1, 0, 100, 100, 900).rect(LI1, 900, 100, 1000, 900)


@pytest.mark.parametrize(("right", "ok"), [(899, False), (900, False), (901, True), (1000, True)])
def test_bar_must_share_a_stretch_with_the_next_one(right: int, ok: bool) -> None:
    """At 900 the lower bar meets the right one in a corner only."""
    assert judge(bars(right), RING).ok == ok


@pytest.mark.parametrize("bar", [(100, 100, 500, 200), (300, 300, 600, 600)])
def test_what_stands_inside_a_ring_does_not_matter(bar: tuple[int, int, int, int]) -> None:
    assert judge(bars().rect(LI1, *bar), RING).ok


def test_filled_ring_is_a_plate() -> None:
    (finding,) = judge(bars().rect(LI1, 50, 50, 950, 950), RING).findings
    assert finding.message == "li1 (67/20) has 1 shape(s), none of them a closed ring"
    assert str(finding.place) == "(0,0;1000,1000)"


def test_ring_drawn_as_one_path_is_closed() -> None:
    corners = [(0, 0), (1000, 0), (1000, 1000), (0, 1000), (0, 0)]
    assert judge(Sketch().path(LI1, 200, corners), RING).ok
    assert not judge(Sketch().path(LI1, 200, [*corners[:-1], (0, 101)]), RING).ok


def test_slanted_ring_is_closed() -> None:
    corners = [(750, 250), (1000, 500), (500, 1000), (0, 500), (500, 0)]
    assert judge(Sketch().path(LI1, 100, [*corners, (760, 260)]), RING).ok
    assert not judge(Sketch().path(LI1, 100, [*corners, (740, 240)]), RING).ok


def test_halves_that_meet_in_two_corners_are_open() -> None:
    sketch = Sketch().rect(LI1, 0, 0, 1000, 100).rect(LI1, 0, 100, 100, 900)
    sketch.rect(LI1, 100, 900, 1100, 1000).rect(LI1, 1000, 100, 1100, 900)
    assert not judge(sketch, RING).ok
    assert judge(sketch.rect(LI1, 99, 899, 101, 901).rect(LI1, 999, 99, 1001, 101), RING).ok


def test_layers_do_not_close_each_others_rings() -> None:
    sketch = Sketch().rect(LI1, 0, 0, 1000, 100).rect(LI1, 0, 900, 1000, 1000)
    sketch.rect(LI1, 0, 100, 100, 900).rect(MET1, 900, 0, 1000, 1000)
    assert not judge(sketch, RING).ok


@pytest.mark.parametrize("orientation", Orientation)
def test_ring_may_be_closed_by_an_instance(orientation: Orientation) -> None:
    open_ring = Sketch().rect(LI1, 0, 0, 1000, 100).rect(LI1, 0, 900, 1000, 1000).rect(LI1, 0, 100, 100, 900)
    part = Sketch("part").rect(LI1, -400, -400, 400, -300)
    sketch = Sketch().include(part)
    placed = (*sketch.drawing, *open_ring.drawing[1:], *Sketch().place("part", 600, 500, orientation).drawing[1:])
    assert judge(placed, RING).ok == (orientation.quarter_turns % 2 == 1)


def test_nothing_drawn_is_no_ring() -> None:
    (finding,) = judge(Sketch().rect(MET1, 0, 0, 9, 9), RING).findings
    assert finding.message == "li1 (67/20) has no shape"


def test_closed_means_that_a_polygon_parts_its_surroundings() -> None:
    """Against another definition: what is left of the plane around one polygon falls apart, joined at corners."""
    chance, closed = random.Random(20), 0
    for _ in range(300):
        boxes = []
        for _ in range(chance.randint(4, 8)):
            x, y = chance.randint(0, 6), chance.randint(0, 6)
            flat = chance.random() < 0.5
            boxes.append((x, y, x + (chance.randint(3, 6) if flat else 1), y + (1 if flat else chance.randint(3, 6))))
        sketch, region = Sketch(), db.Region()
        for box in boxes:
            sketch.rect(LI1, *box)
            region.insert(db.Box(*box))
        parted = False
        for polygon in region.merged(True, 0).each():
            around = db.Region(polygon.bbox().enlarged(1, 1)) - db.Region(polygon)
            parted = parted or around.merged(False, 0).count() > 1
        assert judge(sketch, RING).ok == parted, boxes
        closed += parted
    assert 10 < closed < 290
