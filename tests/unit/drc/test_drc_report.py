from __future__ import annotations

from pathlib import Path

import klayout.rdb as rdb
import pytest

from pytest_iclayout.drc.report import ReportError, read_report, write_report
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind

MET1 = Layer(layer=68, datatype=20)
ODD_NAMES = ["m1.1", "a.b.c", "n/ psd.1", "li.6.-", 'it\'s "so"', "Maß µ", "<&>", "a\\b"]


def rule(rule_id: str, description: str = "") -> Rule:
    return Rule(id=rule_id, kind=RuleKind.WIDTH, layer=MET1, value=140, description=description)


def finding(rule_id: str, place: Rect | None = None) -> Finding:
    return Finding(rule=rule_id, message="width 138 dbu, 83000 dbu² <&>", place=place)


def test_categories_places_and_messages_survive_a_round_trip(tmp_path):
    path = tmp_path / "report.lyrdb"
    findings = [
        finding("m1.1", Rect.of(-5, 0, 138, 1000)),
        finding("m1.2"),
        finding("m1.1", Rect.of(7, 8, 7, 8)),
    ]
    rules = [rule("m1.1", "wide µm"), rule("m1.9")]
    write_report(path, findings, rules, "Zelle µ", 0.001, origin="my layout.gds")
    report = read_report(path)
    assert (report.origin, report.cell, report.generator) == ("my layout.gds", "Zelle µ", "pytest-iclayout")
    assert report.counts == {"m1.1": 2, "m1.9": 0, "m1.2": 1}
    first, second = report.categories[0].items
    assert report.categories[0].description == "wide µm"
    assert first.place_um == pytest.approx((-0.005, 0, 0.138, 1.0))
    assert second.place_um == pytest.approx((0.007, 0.008, 0.007, 0.008))
    assert (first.cell, first.text) == ("Zelle µ", "width 138 dbu, 83000 dbu² <&>")
    assert report.categories[2].items[0].place_um is None


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_category_name_keeps_its_items(tmp_path, name):
    path = tmp_path / "report.lyrdb"
    write_report(path, [finding("other"), finding(name), finding(name)], [], "TOP", 0.001, origin="x")
    assert read_report(path).counts == {"other": 1, name: 2}


def test_two_rules_of_one_id_share_a_category(tmp_path):
    path = tmp_path / "report.lyrdb"
    write_report(path, [finding("npsd.1")], [rule("npsd.1"), rule("npsd.1")], "TOP", 0.001, origin="x")
    assert read_report(path).counts == {"npsd.1": 1}


def test_category_within_a_category_and_every_kind_of_shape_is_read(tmp_path):
    import klayout.db as db

    path = tmp_path / "deck.lyrdb"
    database = rdb.ReportDatabase("deck")
    cell = database.create_cell("TOP")
    inner = database.create_category(database.create_category("metal"), "m1")
    shapes = [
        db.DBox(0, 0, 1, 2),
        db.DPolygon(db.DBox(0, 0, 1, 2)),
        db.DEdge(0, 0, 1, 2),
        db.DEdgePair(db.DEdge(0, 0, 0, 2), db.DEdge(1, 2, 1, 0)),
        db.DPath([db.DPoint(0, 1), db.DPoint(1, 1)], 2),
    ]
    for shape in shapes:
        database.create_item(cell.rdb_id(), inner.rdb_id()).add_value(rdb.RdbItemValue(shape))
    database.save(str(path))
    report = read_report(path)
    assert report.counts == {"metal": 0, "metal.m1": 5}
    assert [item.place_um for item in report.categories[1].items] == [(0, 0, 1, 2)] * 5


@pytest.mark.parametrize("keep", [0, 100, -20])
def test_report_that_is_cut_off_is_an_error_and_not_a_clean_one(tmp_path, keep):
    whole, cut = tmp_path / "whole.lyrdb", tmp_path / "cut.lyrdb"
    write_report(whole, [], [rule("m1.1")], "TOP", 0.001, origin="x")
    cut.write_bytes(whole.read_bytes()[:keep])
    with pytest.raises(ReportError, match=r"cut\.lyrdb: not a complete report database"):
        read_report(cut)


@pytest.mark.parametrize("content", [b"", b"no report", b"<?xml version='1.0'?><other/>", b"\x00\x06\x00\x02"])
def test_other_file_is_no_report(tmp_path, content):
    path = tmp_path / "other.lyrdb"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=r"other\.lyrdb: not a complete report database"):
        read_report(path)


def test_missing_report_is_an_error(tmp_path):
    with pytest.raises(ReportError, match=r"absent\.lyrdb"):
        read_report(tmp_path / "absent.lyrdb")


def test_write_that_fails_leaves_the_old_report_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "report.lyrdb"
    write_report(path, [], [rule("m1.1")], "TOP", 0.001, origin="x")
    before = path.read_bytes()

    def broken(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_report(path, [finding("m1.1")], [rule("m1.1")], "TOP", 0.001, origin="x")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
