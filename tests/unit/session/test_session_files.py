"""Files in and out of a session: layouts, pictures and snapshots of the session itself."""

import base64
import hashlib
import json

import klayout.db as db
import pytest
from command_forms import (
    FAR,
    MET2,
    add_rect,
    array,
    begun,
    box,
    label,
    path,
    place,
    polygon,
    refused,
    region,
    transform,
    value,
)
from session_strategies import elements

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import format_transcript, parse_transcript

RING = [
    add_rect(rect=(0, 0, 100, 100)), add_rect(rect=(20, 20, 40, 40)),
    {"op": "boolean_combine", "cell": "top", "bool_op": "difference", "ids": [1, 2], "layer": MET2},
]  # fmt: skip


def drawn():
    """A session with an element of each kind, ids that are not in a row, and a command that failed."""
    session = begun(
        *RING, add_rect("child", rect=(0, 0, 30, 10)), add_rect(rect=(5, 5, 9, 9)),
        polygon((200, 0), (300, 0), (200, 77)), path((0, 400), (90, 400), (90, 500), width=7, endcap="round"),
        path((0, 600), (90, 600), endcap="square"), label("VPWR"), place(dx=900, orientation="mirror_x90"),
        place(dx=900, dy=300, mag_num=3, mag_den=2), array(3, 2, 100, -70, dx=1200),
        transform(9, orientation="mirror_x90"),
        {"op": "delete_shapes", "ids": [5]},
    )  # fmt: skip
    assert not session.execute({"op": "fly"}).ok
    return session


def blob(session, **command):
    outcome = session.execute(command)
    assert outcome.ok, outcome.error_message
    assert (outcome.affected, outcome.value) == (None, None)
    assert (outcome.blob.count, outcome.blob.sha256) == (len(outcome.data), hashlib.sha256(outcome.data).hexdigest())
    return outcome.data


def imported(data):
    return {"op": "import_gds", "bytes": base64.b64encode(data).decode()}


def snapshot_of(session):
    return blob(session, op="save_session").decode("utf-8")


def load(text):
    return {"op": "load_session", "snapshot": text}


@pytest.mark.parametrize(("op", "start"), [("export_gds", b"\x00\x06\x00\x02"), ("export_oasis", b"%SEMI-OASIS")])
def test_exported_file_holds_the_document(op, start):
    session = drawn()
    before = session.revision
    data = blob(session, op=op)
    assert data.startswith(start)
    read, own = read_layout(data), read_layout(session.export())
    assert sorted(cell.name for cell in read.each_cell()) == ["child", "top"]
    for layout in (read, own):
        layout.flatten(layout.cell("top").cell_index(), -1, True)
    for layer, datatype in ((68, 20), (69, 20)):
        one, other = (db.Region(each.cell("top").shapes(each.layer(layer, datatype))) for each in (read, own))
        assert (one ^ other).is_empty()
    assert session.revision == before


def test_transcript_keeps_the_digest_of_a_file_and_not_its_bytes():
    session = begun(add_rect())
    data = blob(session, op="export_gds")
    entry = session.transcript[-1]
    assert entry.outcome.data is None
    assert entry.to_json()["outcome"] == {
        "ok": {
            "result": "blob", "revision": 3,
            "bytes": {"count": len(data), "sha256": hashlib.sha256(data).hexdigest()},
        }
    }  # fmt: skip
    text = format_transcript(session.transcript, session.document_hash())
    assert replay(parse_transcript(text, "run"), LayoutSession()).divergences == ()


def test_document_that_a_format_cannot_hold_is_an_engine_error(monkeypatch):
    session = begun()
    monkeypatch.setattr(session.document.layout, "write_bytes", lambda options: _raise(RuntimeError("too much")))
    code, message = refused(session, {"op": "export_oasis"})
    assert (code, message) == ("engine_error", "the layout cannot be written as OASIS: too much")


def _raise(error):
    raise error


def test_import_replaces_the_document_and_elements_get_new_ids():
    data = drawn().export()
    session = begun(add_rect(), add_rect(), {"op": "create_cell", "name": "other"})
    outcome = session.execute(imported(data))
    assert outcome.ok, outcome.error_message
    assert outcome.affected[:2] == (1, 2)
    assert sorted(session.document.elements) == list(outcome.affected[2:]) == list(range(3, 12))
    assert sorted(cell.name for cell in session.document.layout.each_cell()) == ["child", "top"]
    assert session.document_hash() == document_hash(read_layout(data))
    assert session.revision == outcome.revision == 6
    ids = sorted(session.document.elements)
    assert session.execute(add_rect()).affected == (12,)
    for number in ids:
        assert session.execute(transform(number, dx=10)).ok
    assert session.execute({"op": "delete_shapes", "ids": ids}).ok
    assert list(session.document.elements) == [12]
    assert region(session).bbox() == db.Box(0, 0, 100, 300)


def test_import_reads_oasis_and_lists_of_numbers():
    one, other = begun(add_rect()), begun(add_rect(rect=(0, 0, 7, 7)), polygon((0, 0), (9, 0), (0, 9)))
    assert one.execute(imported(blob(other, op="export_oasis"))).ok
    assert one.document_hash() == other.document_hash()
    assert one.execute({"op": "import_gds", "bytes": list(other.export())}).ok
    assert one.document_hash() == other.document_hash()


def test_imported_document_replays_from_the_transcript():
    session = begun(add_rect())
    assert session.execute(imported(drawn().export())).ok
    assert session.execute(add_rect(rect=(0, 0, 3, 3))).ok
    transcript = parse_transcript(format_transcript(session.transcript, session.document_hash()), "run")
    done = replay(transcript, LayoutSession())
    assert done.divergences == ()
    assert elements(done.session) == elements(session)


def test_import_forgets_the_violations_of_the_document_before():
    session = begun(add_rect(rect=(0, 0, 100, 5000)), {"op": "run_drc", "cell": "top"})
    assert session.execute(imported(begun().export())).ok
    assert refused(session, {"op": "get_violations"})[0] == "invalid_argument"


def _of_unit(dbu):
    layout = db.Layout(True)
    layout.dbu = dbu
    layout.create_cell("top")
    return bytes(layout.write_bytes(_gds()))


def _gds():
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    options.gds2_write_timestamps = False
    return options


BROKEN = [
    ("~", "bytes: not base64 text ("),
    ("", "bytes: not a readable layout ("),
    (base64.b64encode(b"nothing of the kind").decode(), "bytes: not a readable layout ("),
    (base64.b64encode(begun(add_rect()).export()[:-30]).decode(), "bytes: not a readable layout ("),
    (base64.b64encode(_of_unit(0.005)).decode(), "bytes: its database unit is 0.005 µm, that of technology"),
    ([1, 256], "import_gds.bytes: "),
    (7, "import_gds.bytes: "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"), BROKEN, ids=["text", "empty", "other", "cut off", "unit", "no byte", "number"]
)
def test_broken_bytes_are_an_invalid_argument_and_change_nothing(given, message):
    code, told = refused(drawn(), {"op": "import_gds", "bytes": given})
    assert code == "invalid_argument"
    assert told.startswith(message)


def test_file_beyond_the_coordinate_range_is_refused():
    layout = db.Layout(True)
    layout.create_cell("top").shapes(layout.layer(68, 20)).insert(db.Box(0, 0, FAR + 9, 9))
    assert refused(drawn(), imported(bytes(layout.write_bytes(_gds()))))[0] == "budget_exhausted"


def picture(session, region, width=64, height=48, **more):
    return blob(session, op="render_png", region=region, width=width, height=height, **more)


def test_picture_has_the_asked_size_and_shows_the_region():
    session = begun(add_rect(rect=(0, 0, 1000, 1000)), add_rect("child", rect=(5000, 0, 9000, 900)))
    data = picture(session, box(0, 0, 1000, 1000), 64, 48)
    assert (data[:8], data[16:24]) == (b"\x89PNG\r\n\x1a\n", (64).to_bytes(4, "big") + (48).to_bytes(4, "big"))
    empty = picture(session, box(20_000, 0, 21_000, 1000))
    assert data != empty
    assert picture(session, box(0, 0, 1000, 1000), cell="child") == empty
    assert picture(session, box(5000, 0, 6000, 900), cell="child") != empty


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"width": 15}, "invalid_argument", "render_png.width: input should be greater than or equal to 16"),
        ({"height": 4097}, "invalid_argument", "render_png.height: input should be less than or equal to 4096"),
        ({"region": box(0, 0, 0, 100)}, "invalid_argument", "region: (0,0;0,100) has no area"),
        ({"cell": "absent"}, "no_such_cell", "no such cell 'absent'"),
    ],
)
def test_picture_that_cannot_be_is_refused(changed, code, message):
    command = {"op": "render_png", "region": box(0, 0, 9, 9), "width": 64, "height": 64, **changed}
    given = refused(begun(), command)
    assert (given[0], given[1][: len(message)]) == (code, message)


def test_snapshot_holds_document_ids_revision_technology_and_transcript():
    session = drawn()
    text = "technology sky130\nlayer 68 20 met1 11223344\nlayer 69 20 met2 11223344"
    assert session.execute({"op": "set_technology", "source": text}).ok
    saved = snapshot_of(session)
    entries = [one for one in session.transcript if one.command["op"] != "save_session"]
    other = begun(add_rect(), {"op": "create_cell", "name": "gone"})
    outcome = other.execute(load(saved))
    assert outcome.ok, outcome.error_message
    assert elements(other) == elements(session)
    assert other.document_hash() == session.document_hash()
    assert outcome.affected == tuple(session.document.elements)
    assert (other.revision, outcome.revision) == (session.revision, session.revision)
    assert other.technology == session.technology
    assert other.transcript == entries
    assert [one.command["op"] for one in other.journal] == [
        "create_cell",
        "create_cell",
        "add_rect",
        "create_cell",
        "load_session",
    ]
    for both in (session, other):
        assert both.execute(add_rect()).affected == (13,)
        assert both.execute(transform(3, 6, 7, 8, 10, 12, dx=5)).ok
        assert both.execute({"op": "offset_shapes", "ids": [3], "delta": 4}).ok
    assert elements(other) == elements(session)
    assert [one.seq for one in other.transcript] == list(range(len(other.transcript)))


def test_id_of_an_element_that_was_deleted_before_is_not_used_again_after_loading():
    session, other = begun(add_rect(), {"op": "delete_shapes", "ids": [1]}), LayoutSession()
    assert other.execute(load(snapshot_of(session))).ok
    assert other.execute(add_rect()).affected == (2,)


def test_transcript_of_a_loaded_session_replays_to_its_document():
    session = begun(add_rect("child"))
    assert session.execute(load(snapshot_of(drawn()))).ok
    assert session.execute(add_rect()).ok
    for entries in (session.transcript, session.journal):
        numbered = [entry.model_copy(update={"seq": number}) for number, entry in enumerate(entries)]
        done = replay(parse_transcript(format_transcript(numbered, 0), "run"), LayoutSession())
        assert done.divergences == ()
        assert done.session.document_hash() == session.document_hash()


def test_commands_before_a_snapshot_was_loaded_still_count_for_the_budget():
    saved = snapshot_of(begun())
    session = LayoutSession(max_commands=2)
    assert session.execute(load(saved)).ok
    assert session.execute(load(saved)).ok
    assert session.execute(load(saved)).error_code.value == "budget_exhausted"


def test_snapshot_is_the_same_after_it_was_loaded():
    saved = snapshot_of(drawn())
    session = LayoutSession()
    assert session.execute(load(saved)).ok
    assert snapshot_of(session) == saved


def damaged(change):
    data = json.loads(snapshot_of(drawn()))
    change(data)
    return json.dumps(data)


def of_kind(data, kind):
    return next(one for one in data["elements"] if one["drawn"]["kind"] == kind)


DAMAGES = {
    "other format": (lambda data: data.update(format="other"), "format: "),
    "no elements": (lambda data: data.pop("elements"), "elements: required"),
    "unknown key": (lambda data: data.update(more=1), "more: unknown key"),
    "id twice": (lambda data: data["elements"].append(data["elements"][0]), "is there twice"),
    "id to come": (lambda data: data.update(next_id=3), "next_id is 3, but there is an element 12"),
    "cell twice": (lambda data: data["cells"].append("top"), "cell 'top' is there twice"),
    "no such cell": (lambda data: data["elements"][0].update(cell="x"), "is in cell 'x', which is not there"),
    "no such child": (lambda data: of_kind(data, "instance")["drawn"].update(child="x"), "an instance of 'x'"),
    "own child": (lambda data: of_kind(data, "instance")["drawn"].update(child="top"), "cell 'top' contains itself"),
    "no layer": (lambda data: of_kind(data, "rect").update(layer=None), "has no layer"),
    "out of range": (lambda data: of_kind(data, "rect")["drawn"].update(box=[0, 0, FAR + 1, 1]), "less than or equal"),
    "moved out of range": (lambda data: of_kind(data, "instance")["drawn"].update(at=[FAR, 0]), "reaches beyond"),
    "bad revision": (lambda data: data.update(revision=-1), "revision: "),
    "bad transcript": (lambda data: data.update(transcript=[{"seq": 0}]), "transcript[0]"),
    "bad technology": (lambda data: data["technology"].update(layers=[]), "technology.layers"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_snapshot_changes_nothing(damage):
    change, message = DAMAGES[damage]
    session = begun(add_rect())
    before, technology = len(session.transcript), session.technology
    code, given = refused(session, load(damaged(change)))
    assert code == "invalid_argument"
    assert given.startswith("snapshot: ")
    assert message in given
    assert (len(session.transcript), session.technology) == (before + 1, technology)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7"])
def test_text_that_is_no_snapshot_changes_nothing(text):
    assert refused(begun(add_rect()), load(text))[0] == "invalid_argument"


def test_netlist_comparison_answers_differences():
    session = begun(add_rect(), label("A"))
    assert value(session, op="netlist_compare", cell="top", expected='{"nets": [{"name": "A"}]}') == {
        "ok": True, "differences": [],
    }  # fmt: skip
    assert value(session, op="netlist_compare", cell="top", expected='{"nets": [{"name": "B"}]}') == {
        "ok": False,
        "differences": [
            {"kind": "missing", "nets": ["B"], "pins": ["B"]}, {"kind": "unexpected", "nets": [], "pins": ["A"]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"expected": '{"nets": ['}, "invalid_argument", "expected: invalid JSON"),
        ({"expected": '{"nets": []}'}, "invalid_argument", "expected: nets: "),
        ({"expected": "7"}, "invalid_argument", "expected: "),
        ({"cell": "absent"}, "no_such_cell", "no such cell 'absent'"),
    ],
)
def test_netlist_that_cannot_be_read_is_refused(changed, code, message):
    command = {"op": "netlist_compare", "cell": "top", "expected": '{"nets": [{"name": "A"}]}', **changed}
    given = refused(begun(), command)
    assert (given[0], given[1][: len(message)]) == (code, message)
