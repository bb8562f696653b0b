"""Drawings as data: what a sketch says is what is drawn."""

import json

import klayout.db as db
import pytest

from pytest_iclayout.session.commands import parse_command
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.sketch import DrawingError, Sketch, draw, draw_on, format_drawing
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology

MET1, LABEL = Layer(layer=68, datatype=20), Layer(layer=68, datatype=5)
SKY130 = builtin_technology("sky130")


def sketch():
    pad = Sketch("pad").rect(MET1, 0, 0, 50, 50)
    top = Sketch().include(pad).polygon(MET1, [(0, 0), (100, 0), (0, 100)]).path(MET1, 10, [(0, 0), (500, 0)])
    return top.label(LABEL, "A", 5, 6).place("pad", 1000, 2000).place("pad")


def test_sketch_is_drawn_cell_by_cell():
    session = draw(sketch().drawing, SKY130)
    assert sorted(cell.name for cell in session.document.layout.each_cell()) == ["pad", "top"]
    assert session.document.layout.cell("top").bbox() == db.Box(0, -5, 1050, 2050)
    assert [element.layer for element in session.document.elements.values()] == [MET1, MET1, MET1, LABEL, None, None]


def test_drawing_that_the_session_refuses_is_an_error_that_shows_the_command():
    with pytest.raises(DrawingError, match=r"'op': 'place_instance'.*no such cell 'pad'"):
        draw(Sketch().place("pad").drawing, SKY130)


def test_formatted_drawing_gives_the_same_document():
    drawing = sketch().drawing
    commands = tuple(parse_command(json.loads(line)) for line in format_drawing(drawing).splitlines())
    assert draw(commands, SKY130).document_hash() == draw(drawing, SKY130).document_hash()


def test_drawing_is_not_changed_by_what_is_sketched_later():
    one = sketch()
    before = one.drawing
    one.rect(MET1, 0, 0, 9, 9)
    assert len(one.drawing) == len(before) + 1


def test_session_that_keeps_no_record_draws_the_same_and_counts_its_revisions():
    recorded, unrecorded = (
        draw_on(LayoutSession(technology=SKY130, records=records), sketch().drawing) for records in (True, False)
    )
    assert unrecorded.export() == recorded.export()
    assert unrecorded.revision == recorded.revision == len(sketch().drawing)
    assert (len(recorded.journal), len(recorded.transcript)) == (len(sketch().drawing),) * 2
    assert (unrecorded.journal, unrecorded.transcript) == ([], [])
    with pytest.raises(DrawingError, match="no such cell 'absent'"):
        draw_on(unrecorded, Sketch(new=False).place("absent").drawing)
