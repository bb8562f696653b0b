"""Commands as agents write them, and sessions that carried some out."""

from pytest_iclayout.geometry.shapes import COORD_LIMIT
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.technology.layers import Layer

MET1, MET2, LABEL = {"layer": 68, "datatype": 20}, {"layer": 69, "datatype": 20}, {"layer": 68, "datatype": 5}
FAR = COORD_LIMIT


def at(x, y):
    return {"x": x, "y": y}


def points(*places):
    return [at(*place) for place in places]


def box(left, bottom, right, top):
    return {"min": at(left, bottom), "max": at(right, top)}


def add_rect(cell="top", layer=MET1, rect=(0, 0, 100, 300)):
    return {"op": "add_rect", "cell": cell, "layer": layer, "rect": box(*rect)}


def path(*places, width=10, endcap="flat", cell="top"):
    return {"op": "add_path", "cell": cell, "layer": MET1, "width": width, "points": points(*places), "endcap": endcap}


def array(columns, rows, column_pitch, row_pitch, **transform):
    counts = {"columns": columns, "rows": rows, "column_pitch": column_pitch, "row_pitch": row_pitch}
    return {"op": "place_array", "cell": "top", "child": "child", "transform": transform, **counts}


def place(**transform):
    return {"op": "place_instance", "cell": "top", "child": "child", "transform": transform}


def transform(*ids, **arguments):
    return {"op": "transform_shapes", "ids": list(ids), "transform": arguments}


def polygon(*places):
    return {"op": "add_polygon", "cell": "top", "layer": MET1, "points": points(*places)}


def label(text):
    return {"op": "add_label", "cell": "top", "layer": LABEL, "text": text, "position": at(3, 4)}


def route(*places):
    return {"op": "route_net", "cell": "top", "net": "n", "layer": MET1, "terminals": points(*places)}


def begun(*commands):
    """A session with the cells top and child, after commands that all apply."""
    session = LayoutSession()
    for one in ({"op": "create_cell", "name": "top"}, {"op": "create_cell", "name": "child"}, *commands):
        outcome = session.execute(one)
        assert outcome.ok, outcome.error_message
    return session


def value(session, **command):
    outcome = session.execute(command)
    assert outcome.ok, outcome.error_message
    assert outcome.affected is None
    return outcome.value


def region(session, cell="top", layer=MET1):
    layout = session.document.layout
    return LayoutView(layout, layout.cell(cell), session.technology, "published").region(Layer(**layer))


def refused(session, command):
    before = session.document_hash(), sorted(session.document.elements), session.revision
    outcome = session.execute(command)
    assert not outcome.ok
    assert (session.document_hash(), sorted(session.document.elements), session.revision) == before
    assert outcome.revision == session.revision
    return outcome.error_code.value, outcome.error_message
