"""The checkers that come with pytest-iclayout: one module a family, each an example to copy."""

CHECKERS = {
    "rect_present": "iclayout_checkers.rect_present:CHECKER",
    "shape_count": "iclayout_checkers.shape_count:CHECKER",
    "layer_area": "iclayout_checkers.layer_area:CHECKER",
    "drc_clean": "iclayout_checkers.drc_clean:CHECKER",
    "intent": "iclayout_checkers.intent:CHECKER",
    "contact_stack": "iclayout_checkers.contact_stack:CHECKER",
    "boolean_result": "iclayout_checkers.boolean_result:CHECKER",
    "via_chain": "iclayout_checkers.via_chain:CHECKER",
    "comb": "iclayout_checkers.comb:CHECKER",
    "guard_ring": "iclayout_checkers.guard_ring:CHECKER",
    "array_pitch": "iclayout_checkers.array_pitch:CHECKER",
    "compound_cell": "iclayout_checkers.compound_cell:CHECKER",
    "net_trace_connected": "iclayout_checkers.net_trace_connected:CHECKER",
    "net_trace_extent": "iclayout_checkers.net_trace_extent:CHECKER",
    "net_trace_isolated": "iclayout_checkers.net_trace_isolated:CHECKER",
    "generator": "iclayout_checkers.generator:CHECKER",
    "density": "iclayout_checkers.density:CHECKER",
    "answer": "iclayout_checkers.answer:CHECKER",
    "pcell_box": "iclayout_checkers.pcell_box:CHECKER",
    "drc_repair": "iclayout_checkers.drc_repair:CHECKER",
    "device_netlist": "iclayout_checkers.device_netlist:CHECKER",
    "same_geometry": "iclayout_checkers.same_geometry:CHECKER",
    "labels": "iclayout_checkers.labels:CHECKER",
    "frozen_edit": "iclayout_checkers.frozen_edit:CHECKER",
}
"""Checker name to ``module:attribute``; a module is imported when a task first names its checker."""
