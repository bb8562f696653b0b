"""Commands that answer with data and change nothing."""

from __future__ import annotations

from typing import Any

import klayout.db as db

from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.extent import measure
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import Intent, IntentResult, compare_with_intent
from pytest_iclayout.geometry.netlist import Netlist, compare_with_netlist
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Document, Element
from pytest_iclayout.technology.models import Technology


def query_shapes(document: Document, command: cmd.QueryShapes) -> dict[str, Any]:
    """Raises ExtentError where boxes would be wrong: a child may have grown since it was placed."""
    cell = document.cell(command.cell)
    measure(document.layout, cell)
    window = None if command.region is None else command.region.to_db()
    found = [
        describe_element(document, element)
        for element in document.in_cell(cell)
        if (command.layer is None or element.layer == command.layer)
        and (window is None or window.touches(element.bbox))
    ]
    return {"count": len(found), "shapes": found}


def get_cell_info(document: Document, command: cmd.GetCellInfo) -> dict[str, Any]:
    """Raises ExtentError as query_shapes does."""
    cell = document.cell(command.cell)
    measure(document.layout, cell)
    elements = list(document.in_cell(cell))
    instances = sum(isinstance(element.handle, db.Instance) for element in elements)
    labels = sum(isinstance(element.handle, db.Shape) and element.handle.is_text() for element in elements)
    per_layer: dict[str, int] = {}
    for element in elements:
        if element.layer is not None:
            per_layer[str(element.layer)] = per_layer.get(str(element.layer), 0) + 1
    return {
        "name": cell.name,
        "shapes": len(elements) - instances - labels,
        "labels": labels,
        "instances": instances,
        "layers": dict(sorted(per_layer.items())),
        "children": sorted(document.layout.cell(index).name for index in cell.each_child_cell()),
        "bbox": _rect_or_none(cell.bbox()),
    }


def list_layers(technology: Technology) -> dict[str, Any]:
    return {
        "technology": technology.name,
        "dbu_per_micron": technology.dbu_per_micron,
        "layers": [
            {"name": entry.name, "layer": entry.layer.model_dump(), "color": entry.color} for entry in technology.layers
        ],
    }


def violations_value(findings: tuple[Finding, ...]) -> dict[str, Any]:
    """The answer of run_drc: rule id, layer, measured, required (dbu or dbu²) and region of each violation."""
    return {
        "count": len(findings),
        "violations": [
            {
                "rule": one.rule,
                "message": one.message,
                "layer": None if one.layer is None else one.layer.model_dump(),
                "measured": one.measured,
                "required": one.required,
                "region": None if one.place is None else one.place.model_dump(),
            }
            for one in findings
        ],
    }


def extract(view: LayoutView) -> dict[str, Any]:
    """The answer of run_extract: every net with its name and its area and bounding box a layer."""
    nets = Connectivity(view).joined
    return {
        "count": len(nets.names),
        "nets": [
            {
                "name": name,
                "layers": [
                    {"layer": layer.model_dump(), "area": region.area(), "bbox": _rect_or_none(region.bbox())}
                    for layer, region in sorted(by_layer.items())
                ],
            }
            for name, by_layer in zip(nets.names, nets.shapes, strict=True)
        ],
    }


def check_intent(view: LayoutView, intent: Intent) -> dict[str, Any]:
    return intent_value(compare_with_intent(Connectivity(view), intent))


def intent_value(result: IntentResult) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "opens": [
            {"net": one.net.name, "unreached": [terminal.name for terminal in one.unreached]} for one in result.opens
        ],
        "shorts": [
            {"net_a": one.pair.net_a, "net_b": one.pair.net_b, "at": one.terminal.name} for one in result.shorts
        ],
    }


def netlist_compare(view: LayoutView, expected: Netlist) -> dict[str, Any]:
    differences = compare_with_netlist(Connectivity(view), expected)
    return {
        "ok": not differences,
        "differences": [{"kind": one.kind, "nets": list(one.nets), "pins": list(one.pins)} for one in differences],
    }


def describe_element(document: Document, element: Element) -> dict[str, Any]:
    """One element as query_shapes answers it."""
    common: dict[str, Any] = {
        "id": element.id,
        "layer": None if element.layer is None else element.layer.model_dump(),
        "bbox": _rect_or_none(element.bbox),
    }
    handle = element.handle
    if isinstance(handle, db.Instance):
        child = document.layout.cell(handle.cell_index).name
        kind = "array" if handle.is_regular_array() else "instance"
        members = {"columns": max(1, handle.na), "rows": max(1, handle.nb)} if kind == "array" else {}
        return {**common, "kind": kind, "child": child, "transform": str(handle.cplx_trans), **members}
    if handle.is_text():
        return {**common, "kind": "label", "text": handle.text.string}
    if handle.is_path():
        points = [{"x": point.x, "y": point.y} for point in handle.path.each_point()]
        return {**common, "kind": "path", "width": handle.path.width, "points": points}
    if handle.is_box():
        return {**common, "kind": "rect"}
    points = [{"x": point.x, "y": point.y} for point in handle.polygon.each_point_hull()]
    return {**common, "kind": "polygon", "points": points}


def _rect_or_none(box: db.Box) -> dict[str, Any] | None:
    return None if box.empty() else Rect.from_db(box).model_dump()
