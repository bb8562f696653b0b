"""Names of the DRC language by what a fault of a deck may do with them."""

from __future__ import annotations

import re

DISTANCE_CHECKS = frozenset(
    ["width", "space", "notch", "isolated", "iso", "separation", "sep", "enclosed", "enclosing", "enc", "overlap"]
)
METRICS = ("euclidian", "square", "projection")
CORNER_MODES = ("square_limit", "octagon_limit", "acute_limit")
OPTIONS = frozenset(
    [
        "angle_limit",
        "whole_edges",
        "projection_limits",
        "projecting",
        "shielded",
        "transparent",
        "not_opposite",
        "only_opposite",
        "one_side_allowed",
        "two_sides_allowed",
        "two_opposite_sides_allowed",
        "two_connected_sides_allowed",
        "three_sides_allowed",
        "four_sides_allowed",
    ]
)
ONE_SIDED_OPTIONS = OPTIONS - {"angle_limit", "whole_edges"}
"""What makes a separation or an overlap of two layers another one than that of the second and the first."""

OTHER_CHECKS: dict[str, tuple[str, ...]] = {
    "width": ("space",),
    "space": ("notch", "isolated", "width"),
    "notch": ("space",),
    "isolated": ("space",),
    "iso": ("space",),
    "separation": ("overlap",),
    "sep": ("overlap",),
    "overlap": ("separation",),
    "enclosed": ("enclosing",),
    "enclosing": ("enclosed",),
    "enc": ("enclosed",),
    "and": ("not",),
    "not": ("and",),
    "or": ("and",),
    "xor": ("or",),
    "inside": ("outside", "overlapping"),
    "outside": ("inside",),
    "not_inside": ("inside",),
    "not_outside": ("outside",),
    "interacting": ("not_interacting", "overlapping"),
    "not_interacting": ("interacting",),
    "overlapping": ("not_overlapping", "interacting"),
    "not_overlapping": ("overlapping",),
    "covering": ("not_covering", "interacting"),
    "not_covering": ("covering",),
    "in": ("not_in",),
    "not_in": ("in",),
    "inside_part": ("outside_part",),
    "outside_part": ("inside_part",),
    "holes": ("hulls",),
    "hulls": ("holes",),
    "rectangles": ("non_rectangles",),
    "non_rectangles": ("rectangles",),
    "squares": ("non_squares",),
    "non_squares": ("squares",),
    "rectilinear": ("non_rectilinear",),
    "non_rectilinear": ("rectilinear",),
    "extended_in": ("extended_out",),
    "extended_out": ("extended_in",),
    "start_segments": ("end_segments",),
    "end_segments": ("start_segments",),
    **{
        name: (other,)
        for what in [
            "angle",
            "area",
            "area_ratio",
            "bbox_aspect_ratio",
            "bbox_height",
            "bbox_max",
            "bbox_min",
            "bbox_width",
            "density",
            "distance",
            "holes",
            "length",
            "perimeter",
            "relative_height",
        ]
        for name, other in ((f"with_{what}", f"without_{what}"), (f"without_{what}", f"with_{what}"))
    },
}
OTHER_OPERATORS = {"&": ("-",), "-": ("&",), "|": ("&",), "+": ("&",), "^": ("|",)}
OTHER_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}

DROPPABLE = frozenset(
    [
        "and",
        "andnot",
        "not",
        "or",
        "xor",
        "join",
        "inside",
        "outside",
        "not_inside",
        "not_outside",
        "interacting",
        "not_interacting",
        "overlapping",
        "not_overlapping",
        "covering",
        "not_covering",
        "in",
        "not_in",
        "pull_inside",
        "pull_interacting",
        "pull_overlapping",
        "inside_part",
        "outside_part",
        "sized",
        "smoothed",
        "rounded_corners",
        "snapped",
        "holes",
        "hulls",
        "extents",
        "rectangles",
        "non_rectangles",
        "squares",
        "non_squares",
        "rectilinear",
        "non_rectilinear",
        "strict",
        "non_strict",
        "ongrid",
        "moved",
        "rotated",
        "scaled",
    ]
) | {name for name in OTHER_CHECKS if name.startswith(("with_", "without_"))}
"""Calls that give a layer of the kind that they are called on."""
SWAPPABLE = frozenset(
    [
        "not",
        "andnot",
        "inside",
        "outside",
        "not_inside",
        "not_outside",
        "interacting",
        "not_interacting",
        "overlapping",
        "not_overlapping",
        "covering",
        "not_covering",
        "in",
        "not_in",
        "pull_inside",
        "pull_interacting",
        "pull_overlapping",
        "enclosed",
        "enclosing",
        "enc",
    ]
)
SYMMETRIC_WHEN_OUTPUT = frozenset({"interacting", "overlapping", "pull_interacting", "pull_overlapping"})
"""Something is found with the operands swapped exactly when something is found without."""

PLAIN_CALLS = frozenset(
    [
        "source",
        "report",
        "report_netlist",
        "target",
        "target_netlist",
        "output",
        "output_cell",
        "log",
        "log_file",
        "info",
        "error",
        "warn",
        "puts",
        "print",
        "p",
        "pp",
        "raise",
        "abort",
        "exit",
        "require",
        "load",
        "threads",
        "tiles",
        "tile_borders",
        "no_borders",
        "verbose",
        "silent",
        "deep",
        "flat",
        "dbu",
        "max_vertex_count",
        "max_area_ratio",
        "input",
        "polygons",
        "labels",
        "edges",
        "edge_pairs",
        "layers",
        "layout",
        "make_layer",
        "cell",
        "select",
        "run_timed",
    ]
)
"""In their arguments nothing is measured (of ``input`` and ``output`` see below)."""
INPUTS = frozenset({"input", "polygons"})
RELATIVE = re.compile(r"(^|_)(ratio|density|relative|antenna|magnify|scaled?|tile)(_|$)")
ANGLE = re.compile(r"(^|_)(angle|rotated?)(_|$)|^corners$")
AREA = re.compile(r"(^|_)area(_|$)")
