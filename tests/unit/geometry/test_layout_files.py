"""Reading and writing layouts: nothing damaged is read, nothing is written that cannot be read."""

import gzip
import struct

import gdstk
import klayout.db as db
import pytest

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import MAX_RECORD_POINTS, LayoutFileError, read_layout, write_layout


def record(kind, data_type, body=b""):
    return struct.pack(">HBB", len(body) + 4, kind, data_type) + body


def gds_text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return data + b"\0" * (len(data) % 2)


def gds_file(*cells):
    """A GDS II file by hand, for what the writers refuse to write; 1 nm database unit."""
    dates = bytes(24)
    units = bytes.fromhex("3e4189374bc6a7ef3944b82fa09b5a51")
    parts = [record(0, 2, b"\x02\x58"), record(1, 2, dates), record(2, 6, b"LIB\0"), record(3, 5, units)]
    for name, content in cells:
        parts += [record(5, 2, dates), record(6, 6, gds_text(name)), content, record(7, 0)]
    return b"".join([*parts, record(4, 0)])


def reference(child):
    return record(0x0A, 0) + record(0x12, 6, gds_text(child)) + record(0x10, 3, bytes(8)) + record(0x11, 0)


def square(size=100):
    corners = struct.pack(">10i", 0, 0, size, 0, size, size, 0, size, 0, 0)
    return (
        record(8, 0)
        + record(0x0D, 2, b"\0\x44")
        + record(0x0E, 2, b"\0\x14")
        + record(0x10, 3, corners)
        + record(17, 0)
    )


def label(text):
    place = record(0x10, 3, bytes(8))
    return (
        record(12, 0)
        + record(0x0D, 2, b"\0\x44")
        + record(0x16, 2, b"\0\5")
        + place
        + record(0x19, 6, text)
        + record(17, 0)
    )


@pytest.fixture
def layout():
    result = db.Layout(True)
    top, child = result.create_cell("top"), result.create_cell("child")
    child.shapes(result.layer(68, 20)).insert(db.Box(0, 0, 140, 1000))
    child.shapes(result.layer(68, 5)).insert(db.Text("net", 10, 10))
    top.shapes(result.layer(69, 20)).insert(db.Polygon([db.Point(0, 0), db.Point(500, 0), db.Point(0, 700)]))
    top.shapes(result.layer(69, 20)).insert(db.Path([db.Point(0, 0), db.Point(900, 0)], 200, 100, 100, True))
    top.insert(
        db.CellInstArray(child.cell_index(), db.Trans(1, True, 5, 7), db.Vector(0, 300), db.Vector(400, 0), 3, 2)
    )
    return result


def test_hand_written_gds_is_the_file_that_the_damaged_ones_are_made_of():
    layout = read_layout(gds_file(("top", square() + label(b"ok"))))
    assert [cell.name for cell in layout.top_cells()] == ["top"]
    assert layout.dbu == pytest.approx(0.001)
    assert layout.top_cell().bbox() == db.Box(0, 0, 100, 100)


@pytest.mark.parametrize("file_format", ["GDS2", "OASIS"])
def test_file_that_is_cut_off_is_never_read_as_a_smaller_layout(layout, file_format):
    whole, expected = write_layout(layout, file_format), document_hash(read_layout(write_layout(layout, file_format)))
    cuts = [*range(0, len(whole), 7), len(whole) - 2, len(whole) - 1]
    refused = 0
    for length in cuts:
        try:
            read = read_layout(whole[:length], "cut.gds")
        except LayoutFileError:
            refused += 1
        else:
            # Only the padding after the end record may go.
            assert document_hash(read) == expected
            assert length > len(whole) - 4
    assert refused >= len(cuts) - 2


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\0\6\0\2", b"garbage " * 100, b"\0" * 4096, b"%SEMI-OASIS\r\n", bytes(range(256)) * 8],
    ids=["empty", "one byte", "header only", "text", "zeros", "oasis start only", "all bytes"],
)
def test_garbage_is_refused_with_what_is_accepted(data):
    with pytest.raises(
        LayoutFileError, match=r"^job7: not a readable layout \(.+\); a complete GDS or OASIS file is accepted$"
    ):
        read_layout(data, "job7")


@pytest.mark.parametrize(
    "text",
    [
        b"DS 1 1 1;\n9 top;\nL CM1;\nB 10 10 5,5;\nDF;\nE\n",
        b"magic\ntech scmos\ntimestamp 1\n<< metal1 >>\nrect 0 0 1 1\n<< end >>\n",
        b"HEADER 600\nBGNLIB 1/1/1 1:1:1 1/1/1 1:1:1\nLIBNAME LIB\nUNITS 0.001 1e-9\nENDLIB\n",
    ],
    ids=["CIF", "Magic", "GDS as text"],
)
def test_other_formats_that_klayout_knows_are_not_read_as_artifacts(text):
    with pytest.raises(LayoutFileError, match="it starts like neither"):
        read_layout(text)


def test_packed_file_is_refused_rather_than_unpacked_without_bound(layout):
    with pytest.raises(LayoutFileError, match="it starts like neither"):
        read_layout(gzip.compress(write_layout(layout)))


def test_cells_that_contain_each_other_are_refused(capfd):
    with pytest.raises(LayoutFileError):
        read_layout(gds_file(("a", reference("b") + square()), ("b", reference("a"))))
    with pytest.raises(LayoutFileError):
        read_layout(gds_file(("a", reference("a") + square())))
    capfd.readouterr()  # KLayout writes to the terminal, too


def test_doubled_cell_is_refused_rather_than_one_of_the_two_taken():
    with pytest.raises(LayoutFileError, match="already exists"):
        read_layout(gds_file(("a", square()), ("a", square(200))))


def test_cell_name_that_is_no_text_is_an_error_and_no_traceback():
    with pytest.raises(LayoutFileError, match="a cell name or a label is not UTF-8 text"):
        read_layout(gds_file((b"t\xffp", square())))


def test_label_that_is_no_text_is_an_error_and_no_traceback():
    with pytest.raises(LayoutFileError, match="a cell name or a label is not UTF-8 text"):
        read_layout(gds_file(("top", square() + label(b"V\xb5"))))


def test_oasis_layer_beyond_16_bits_is_refused(layout):
    layout.top_cell().shapes(layout.layer(70_000, 0)).insert(db.Box(0, 0, 10, 10))
    with pytest.raises(LayoutFileError, match="layer 70000/0 is beyond 65535"):
        read_layout(write_layout(layout, "OASIS"))
    with pytest.raises(LayoutFileError, match="cannot be written as GDS2"):
        write_layout(layout, "GDS2")


@pytest.mark.parametrize("file_format", ["GDS2", "OASIS"])
def test_equal_layouts_give_equal_bytes(layout, file_format):
    assert write_layout(layout, file_format) == write_layout(layout.dup(), file_format)


def test_content_survives_gds(layout):
    assert document_hash(read_layout(write_layout(layout))) == document_hash(layout)


@pytest.mark.parametrize(("file_format", "points"), [("GDS2", 9000), ("GDS2", 8190), ("GDS2", 4095), ("OASIS", 9000)])
def test_polygons_and_paths_of_many_points_are_written_readably(file_format, points, capfd):
    layout = db.Layout(True)
    top = layout.create_cell("top")
    zigzag = [db.Point(20 * i, 100 * (i % 2)) for i in range(points)]
    top.shapes(layout.layer(1, 0)).insert(db.Polygon([*zigzag, db.Point(0, 5000)]))
    top.shapes(layout.layer(2, 0)).insert(db.Path(zigzag, 10))
    read = read_layout(write_layout(layout, file_format))
    for layer in (1, 2):
        before, after = (db.Region(one.top_cell().begin_shapes_rec(one.layer(layer, 0))) for one in (layout, read))
        # The pieces of a polygon that was split meet on the grid: half a dbu of rounding at each cut.
        assert (before ^ after).sized(-1).is_empty()
        assert after.area() == pytest.approx(before.area(), rel=1e-4)
    assert capfd.readouterr().err == "", "a record longer than 32767 bytes, of which readers warn"


def test_writing_leaves_the_layout_as_it_was():
    layout = db.Layout(True)
    shapes = layout.create_cell("top").shapes(layout.layer(1, 0))
    handle = shapes.insert(db.Path([db.Point(0, 0), db.Point(100, 0)], 7))
    before = document_hash(layout)
    write_layout(layout, "OASIS")
    assert document_hash(layout) == before
    assert handle.is_path()


def test_path_of_odd_width_keeps_its_area_in_oasis():
    layout = db.Layout(True)
    shapes = layout.create_cell("top").shapes(layout.layer(1, 0))
    shapes.insert(db.Path([db.Point(0, 0), db.Point(100, 0), db.Point(100, 60)], 7))
    read = read_layout(write_layout(layout, "OASIS"))
    regions = [db.Region(one.top_cell().begin_shapes_rec(one.layer(1, 0))) for one in (layout, read)]
    assert (regions[0] ^ regions[1]).is_empty()
    assert not regions[0].is_empty()


def test_longest_record_is_one_that_strict_readers_take():
    # Header 4 bytes, 8 a point, and the first point again.
    assert 4 + 8 * (MAX_RECORD_POINTS + 1) <= 32_767


def test_klayout_file_reads_the_same_in_gdstk(layout, tmp_path):
    path = tmp_path / "one.gds"
    path.write_bytes(write_layout(layout))
    library = gdstk.read_gds(path)
    (top,) = (cell for cell in library.top_level() if cell.name == "top")
    low, high = top.bounding_box()
    box = layout.top_cell().dbbox()
    # Each program has its own polygon for a round end: up to 2 dbu apart.
    assert (*low, *high) == pytest.approx((box.left, box.bottom, box.right, box.top), abs=0.002)
