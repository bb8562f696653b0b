"""A picture of a region of a layout with what a deck reported there, or did not."""

from __future__ import annotations

from collections.abc import Sequence

import klayout.db as db

from pytest_iclayout.geometry.findings import MAX_FINDINGS, Finding
from pytest_iclayout.geometry.render import may_be_drawn, render_png
from pytest_iclayout.rules.markers import MarkerLayers
from pytest_iclayout.rules.palette import layers_of, palette
from pytest_iclayout.rules.regression import Label, LabelResult, RuleStatus

_MARGIN = 0.04
"""Of a region's longer side, shown around it."""


def region_picture(
    layout: db.Layout, result: LabelResult, deck: str, layers: MarkerLayers | None = None
) -> bytes | None:
    """PNG bytes of the region of a label, or of the whole layout where it has none.

    A false violation has the markers framed, a missed one its region.  All else on layers of labels is left out.
    None where there is nothing to draw, or too much.
    """
    tops = layout.top_cells()
    if len(tops) != 1 or tops[0].bbox().empty():
        return None
    label = result.label
    shown = layout
    if label.region is not None:
        box = label.region.to_db()
        margin = max(1, round(max(box.width(), box.height()) * _MARGIN))
        shown = _clipped(layout, tops[0], box.enlarged(margin, margin))
    for layer in layers.all if layers is not None else ():
        index = shown.find_layer(layer.layer, layer.datatype)
        if index is not None:
            shown.clear_layer(index)
    if label.region is not None:
        # As edges, which are not filled: what the picture shows is as large as the box, however little is in it.
        outline = shown.layer(_box_layer(label, layers))
        for cell in shown.top_cells():
            for edge in db.Polygon(label.region.to_db()).each_edge():
                cell.shapes(outline).insert(edge)
    if not may_be_drawn(shown):
        return None
    findings = list(_findings(result))
    caption = [f"{deck}: {label.rule}: {result.status.value}", label.where]
    technology = palette("layout", layers_of(shown))
    return render_png(
        shown, None, technology, findings[:MAX_FINDINGS], caption=caption, more=len(findings[MAX_FINDINGS:])
    )


def _box_layer(label: Label, layers: MarkerLayers | None) -> db.LayerInfo:
    given = layers or MarkerLayers()
    layer = (given.fails if label.violated else given.passes) or given.boxes
    return db.LayerInfo(0, 0) if layer is None else db.LayerInfo(layer.layer, layer.datatype)


def _findings(result: LabelResult) -> Sequence[Finding]:
    label = result.label
    if result.status is RuleStatus.MISSED:
        message = "labelled fail, the deck reports nothing here"
        return [] if label.region is None else [Finding(rule=label.rule, message=message, place=label.region)]
    message = "labelled pass, the deck reports this"
    return [Finding(rule=label.rule, message=message, place=place) for place in result.places]


def _clipped(layout: db.Layout, top: db.Cell, box: db.Box) -> db.Layout:
    part = db.Layout()
    part.dbu = layout.dbu
    for info in layout.layer_infos():
        part.layer(info)
    layout.clip_into(top.cell_index(), part, box)
    return part
