"""Layouts of public bug reports of other checkers, each shape or pair by itself, with the verdict of our rules.

Right is what the rule's author meant, as the reports have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import klayout.db as db
import pytest

from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "public_reports_gds"
EVERYTHING = db.Box(-100_000, -100_000, 100_000, 100_000)
LAYERS = {
    name: Layer.parse(pair)
    for name, pair in {"metal": "8/0", "one": "1/0", "two": "2/0", "m1": "66/20", "licon": "66/44"}.items()
}


@dataclass(frozen=True)
class Report:
    """What of a file lies in ``window`` (dbu), and whether it violates the structure."""

    name: str
    file: str
    structure: Structure
    violates: bool
    window: db.Box = EVERYTHING

    def gds(self) -> bytes:
        """Skips the test where the file is not beside the repository."""
        path = FOLDER / self.file
        if not path.is_file():
            pytest.skip(f"{path.name} of the public reports is not beside the repository")
        layout = db.Layout()
        layout.read(str(path))
        top = layout.top_cell()
        for index in layout.layer_indexes():
            for shape in [one for one in top.shapes(index).each() if not one.bbox().inside(self.window)]:
                shape.delete()
        return bytes(layout.write_bytes(db.SaveLayoutOptions()))

    def __str__(self) -> str:
        return self.name


def _structure(kind: RuleKind, layer: str, value: int, other: str | None = None, strict: bool = True) -> Structure:
    return Structure(
        kind=kind,
        layer=LayerExpression(every=(layer,)),
        other=None if other is None else LayerExpression(every=(other,)),
        value_dbu=value,
        overlap_is_error=strict,
        outside_is_error=strict,
    )


KISSING, PAIRS, NOTCH, PATHS, CONTACTS = (
    "D_kissing_corner.gds",
    "E_sep_enc_overlap_straddle_inside_outside.gds",
    "F_notch_0p1.gds",
    "H_zero_width_path.gds",
    "J_licon_exact_size.gds",
)
STRADDLING, INSIDE, APART = db.Box(0, 0, 1500, 1000), db.Box(5000, 0, 6000, 1000), db.Box(10000, 0, 14000, 1000)
ZERO_WIDE, HALF_WIDE = db.Box(0, 0, 1000, 5000), db.Box(1500, 0, 3000, 5000)
RIGHT_SIZE, TOO_WIDE = db.Box(0, 0, 170, 170), db.Box(1000, 0, 1180, 170)

_WIDTH, _SPACE = _structure(RuleKind.WIDTH, "metal", 160), _structure(RuleKind.SPACE, "metal", 180)
_APART = _structure(RuleKind.SEPARATION, "one", 500, "two")
_APART_OR_OVER = _structure(RuleKind.SEPARATION, "one", 500, "two", strict=False)
_COVERED = _structure(RuleKind.ENCLOSURE, "two", 300, "one")
_COVERED_OR_OUTSIDE = _structure(RuleKind.ENCLOSURE, "two", 300, "one", strict=False)
_NOTCH, _NARROWER = _structure(RuleKind.SPACE, "m1", 210), _structure(RuleKind.SPACE, "m1", 100)
_WIDE, _CONTACT = _structure(RuleKind.WIDTH, "one", 1000), _structure(RuleKind.EXACT_SIZE, "licon", 170)

REPORTS = [
    Report("corner_contact_width", KISSING, _WIDTH, True),
    Report("corner_contact_space", KISSING, _SPACE, True),
    Report("lower_square_alone_width", KISSING, _WIDTH, False, db.Box(0, 0, 1000, 1000)),
    Report("lower_square_alone_space", KISSING, _SPACE, False, db.Box(0, 0, 1000, 1000)),
    Report("straddling_separation", PAIRS, _APART, True, STRADDLING),
    Report("inside_separation", PAIRS, _APART, True, INSIDE),
    Report("apart_separation", PAIRS, _APART, False, APART),
    Report("straddling_separation_allowed", PAIRS, _APART_OR_OVER, False, STRADDLING),
    Report("inside_separation_allowed", PAIRS, _APART_OR_OVER, False, INSIDE),
    Report("straddling_enclosure", PAIRS, _COVERED, True, STRADDLING),
    Report("thin_enclosure", PAIRS, _COVERED, True, INSIDE),
    Report("outside_enclosure", PAIRS, _COVERED, True, APART),
    Report("thin_enclosure_outside_allowed", PAIRS, _COVERED_OR_OUTSIDE, True, INSIDE),
    Report("outside_enclosure_allowed", PAIRS, _COVERED_OR_OUTSIDE, False, APART),
    Report("notch", NOTCH, _NOTCH, True),
    Report("notch_as_wide_as_it_must_be", NOTCH, _NARROWER, False),
    Report("path_without_width_covers_nothing", PATHS, _WIDE, False, ZERO_WIDE),
    Report("narrow_path", PATHS, _WIDE, True, HALF_WIDE),
    Report("contact_of_the_right_size", CONTACTS, _CONTACT, False, RIGHT_SIZE),
    Report("contact_too_wide", CONTACTS, _CONTACT, True, TOO_WIDE),
]
