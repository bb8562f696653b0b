"""Tables of labels and layouts with labels, read from folders."""

from __future__ import annotations

import gzip

import klayout.db as db
import pytest

from pytest_iclayout.rules.label_book import read_label_book, read_layout_file
from pytest_iclayout.rules.label_table import read_label_table
from pytest_iclayout.rules.markers import MarkerLayers
from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.technology.layers import Layer

LAYERS = MarkerLayers(fails=Layer(layer=100, datatype=2), names=Layer(layer=100, datatype=3))


@pytest.fixture
def folder(tmp_path):
    """With a layout that holds one box, ``a.gds``, and the same as ``b.oas`` and ``below/c.gds.gz``."""
    layout = db.Layout()
    top = layout.create_cell("top")
    top.shapes(layout.layer(100, 2)).insert(db.Box(0, 0, 1000, 2000))
    top.shapes(layout.layer(100, 3)).insert(db.Text("w", 10, 10))
    (tmp_path / "below").mkdir()
    for name in ("a.gds", "b.oas"):
        layout.write(str(tmp_path / name))
    (tmp_path / "below/c.gds.gz").write_bytes(gzip.compress((tmp_path / "a.gds").read_bytes()))
    return tmp_path


def read(folder, layers=None, tables=()):
    return read_label_book([folder], tables, layers, lambda path: str(path.relative_to(folder)))


def table(folder, text: str, name: str = "labels.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_labels_of_table_and_layouts_come_together(folder):
    table(folder, "filename,w,s\na.gds,1,0\nb.oas,,1\n")
    book = read(folder, LAYERS)
    assert [(one.layout, one.rule, one.violated, one.region is None) for one in book.labels] == [
        ("a.gds", "w", True, True),
        ("a.gds", "s", False, True),
        ("a.gds", "w", True, False),
        ("b.oas", "s", True, True),
        ("b.oas", "w", True, False),
        ("below/c.gds.gz", "w", True, False),
    ]
    assert book.rules == ("w", "s")
    assert (book.broken, book.warnings) == ({}, [])


def test_empty_cell_is_no_label_and_a_layout_without_any_is_told(folder):
    table(folder, "filename,w\na.gds,\nb.oas,0\n")
    book = read(folder)
    assert [one.layout for one in book.labels] == ["b.oas"]
    assert book.warnings == ["a.gds and 1 more: no label, so the deck is not run on it"]


def test_rows_made_elsewhere_find_their_files(folder):
    path = table(folder, "w,filename\n1,problems/one/below/c.gds.gz\n0,.\\a.gds\n")
    assert read_label_table(path) == {folder / "below/c.gds.gz": {"w": True}, folder / "a.gds": {"w": False}}


def test_named_table_outside_of_the_folders_counts(folder, tmp_path_factory):
    other = table(tmp_path_factory.mktemp("other"), f"filename,w\n{folder / 'a.gds'},1\n", "mine.csv")
    assert [one.layout for one in read(folder, tables=[other]).labels] == ["a.gds"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "labels.csv: empty; needs the header filename,RULE,..."),
        ("layout,w\n", "labels.csv:1: no column filename"),
        ("filename,w,w\n", "labels.csv:1: a column has no name, or that of another one"),
        ("filename,w\n\na.gds\n", "labels.csv:3: has 1 cells, the header has 2"),
        ("filename,w\nz.gds,1\n", "labels.csv:2: no such layout file below"),
        ("filename,w\n,1\n", "labels.csv:2: no such layout file below"),
        (f"filename,w\n{'a' * 5000}.gds,1\n", "labels.csv:2: no such layout file below"),
        ("filename,w\na.gds,1\n./a.gds,0\n", "labels.csv:3: "),
        ("filename,w\na.gds,yes\n", "labels.csv:2: column w: 'yes' is neither 0 (meets the rule), 1 (violates it) nor"),
    ],
)
def test_table_that_is_none_is_one_error(folder, text, message):
    path = table(folder, text)
    book = read(folder)
    assert list(book.broken) == [path]
    assert message in book.broken[path]


def test_layout_in_two_tables_is_an_error(folder):
    table(folder, "filename,w\na.gds,1\n")
    second = table(folder, "filename,w\na.gds,0\n", "second.csv")
    book = read(folder, tables=[second])
    assert "a.gds has a row in another table already" in book.broken[second]
    assert [one.violated for one in book.labels] == [True]


def test_broken_layout_does_not_keep_the_others_from_being_read(folder):
    (folder / "a.gds").write_bytes(b"no layout")
    book = read(folder, LAYERS)
    assert {one.layout for one in book.labels} == {"b.oas", "below/c.gds.gz"}
    assert book.broken[folder / "a.gds"].startswith("a.gds: not a readable layout")


@pytest.mark.parametrize("cut", [10, -4])
def test_cut_off_gzip_file_is_an_error(folder, cut):
    path = folder / "below/c.gds.gz"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(RuleError, match=r"^c: (not a complete gzip file|cannot be read)"):
        read_layout_file(path, "c")


def test_hidden_folders_are_left_out(folder):
    (folder / ".iclayout").mkdir()
    (folder / "a.gds").rename(folder / ".iclayout/a.gds")
    assert {one.layout for one in read(folder, LAYERS).labels} == {"b.oas", "below/c.gds.gz"}
