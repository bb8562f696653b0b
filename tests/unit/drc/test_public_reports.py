"""Layouts of public bug reports of other checkers, with the verdict their rules' authors meant."""

from __future__ import annotations

from pathlib import Path

import klayout.db as db
import pytest

from pytest_iclayout.drc.engine import run_rules
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "public_reports_gds"


def check(name: str, kind: RuleKind, layer: str, value: int, other: str | None = None) -> tuple[Finding, ...]:
    path = FOLDER / f"{name}.gds"
    if not path.is_file():
        pytest.skip(f"{path.name} of the public reports is not beside the repository")
    layout = db.Layout()
    layout.read(str(path))

    def region_of(wanted: Layer) -> db.Region:
        index = layout.find_layer(wanted.layer, wanted.datatype)
        return db.Region() if index is None else db.Region(layout.top_cell().begin_shapes_rec(index)).merged()

    rule = Rule.model_validate({"id": "reported", "kind": kind, "layer": layer, "other_layer": other, "value": value})
    return run_rules(region_of, [rule])


@pytest.mark.parametrize(("kind", "value"), [(RuleKind.WIDTH, 160), (RuleKind.SPACE, 180)])
def test_corner_contact_breaks_width_and_space_at_the_corner(kind, value):
    findings = check("D_kissing_corner", kind, "8/0", value)
    assert {finding.measured for finding in findings} == {0}
    assert all(finding.place.to_db().contains(db.Point(1000, 1000)) for finding in findings if finding.place)
    assert findings


def test_overlapping_layers_break_separation_and_the_outside_pair_does_not():
    findings = check("E_sep_enc_overlap_straddle_inside_outside", RuleKind.SEPARATION, "1/0", 500, "2/0")
    assert [(finding.measured, str(finding.place)) for finding in findings] == [
        (0, "(500,200;1000,800)"),
        (0, "(5200,200;5800,800)"),
    ]


def test_straddling_thin_and_outside_pairs_all_break_enclosure():
    findings = check("E_sep_enc_overlap_straddle_inside_outside", RuleKind.ENCLOSURE, "2/0", 300, "1/0")
    uncovered = [str(f.place) for f in findings if f.measured is not None and f.measured < 0]
    assert uncovered == ["(1000,200;1500,800)", "(13000,0;14000,1000)"]
    thin = [f.place for f in findings if f.measured == 200]
    assert len([place for place in thin if place is not None and place.min.x >= 5000]) == 4


def test_notch_breaks_space():
    (finding,) = check("F_notch_0p1", RuleKind.SPACE, "66/20", 210)
    assert (finding.measured, str(finding.place)) == (100, "(300,200;400,1000)")
    assert check("F_notch_0p1", RuleKind.SPACE, "66/20", 100) == ()


def test_path_of_no_width_is_no_shape_and_the_narrow_one_is_found():
    (finding,) = check("H_zero_width_path", RuleKind.WIDTH, "1/0", 1000)
    assert (finding.measured, str(finding.place)) == (500, "(1750,0;2250,5000)")


def test_oblong_contact_breaks_its_exact_size_and_the_square_one_does_not():
    (finding,) = check("J_licon_exact_size", RuleKind.EXACT_SIZE, "66/44", 170)
    assert (finding.measured, str(finding.place)) == (180, "(1000,0;1180,170)")
