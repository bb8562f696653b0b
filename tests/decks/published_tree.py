"""A small published tree to load, change and damage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import klayout.db as db

GOLD = 'source($input)\nreport("M1_W", $output)\ninput(68, 20).width(0.14).output("M1_W")\n'


def bar(width_dbu: int) -> bytes:
    """One on 68/20."""
    return bars(width_dbu)


def bars(*widths_dbu: int, space_dbu: int = 140) -> bytes:
    """Side by side on 68/20."""
    layout = db.Layout()
    shapes = layout.create_cell("TOP").shapes(layout.layer(68, 20))
    left = 0
    for width in widths_dbu:
        shapes.insert(db.Box(left, 0, left + width, 1000))
        left += width + space_dbu
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    options.gds2_write_timestamps = False
    return bytes(layout.write_bytes(options))


def spec_text(**changed: str | None) -> str:
    """A key given as None is left out."""
    lines = {
        "id": "0001_physical",
        "title": "Width of met1",
        "categories": "[M1_W]",
        "deck": "problems/0001_physical/gold/0001_physical.drc",
        "data_dir": "problems/0001_physical/data/gds",
        "nl_description": "met1 is at least 0.14 um wide",
        "layers": "{met1: [68, 20]}",
        "rules": "[{text: at least 0.14 um wide, category: M1_W}]",
        **changed,
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None)


LABELS = (
    "filename,M1_W\n"
    "problems/0001_physical/data/gds/pass/wide.gds,0\n"
    "problems/0001_physical/data/gds/fail/narrow.gds,1\n"
)  # fmt: skip


def make_tree(
    folder: Path,
    spec: str | None = None,
    labels: str = LABELS,
    gold: str | None = GOLD,
    layouts: Mapping[str, bytes] | None = None,
) -> Path:
    """The spec.yaml of the one rule below ``folder/problems``."""
    rule = folder / "problems" / "0001_physical"
    gds = rule / "data" / "gds"
    for name, data in (layouts or {"pass/wide.gds": bar(140), "fail/narrow.gds": bar(139)}).items():
        (gds / name).parent.mkdir(parents=True, exist_ok=True)
        (gds / name).write_bytes(data)
    (gds / "labels.csv").write_bytes(labels.encode())
    if gold is not None:
        (rule / "gold").mkdir()
        (rule / "gold" / "0001_physical.drc").write_text(gold)
    (rule / "spec.yaml").write_bytes((spec if spec is not None else spec_text()).encode())
    return rule / "spec.yaml"
