"""What those checkers share that compare a layout with the one that the task gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer

_GONE = "is gone from its place"
_NEW = "was not given there"


class Label(NamedTuple):
    """A text at a place (dbu, seen from the judged cell)."""

    layer: Layer
    text: str
    x: int
    y: int

    @property
    def place(self) -> Rect:
        return Rect.of(self.x, self.y, self.x, self.y)


def start_of(view: LayoutView) -> LayoutView:
    """The given layout; a task of a checker with ``needs_start`` always has one."""
    assert view.start is not None
    return view.start


def drawn_layers(view: LayoutView) -> tuple[Layer, ...]:
    """Layers that hold something now, or did in the given layout, sorted."""
    return tuple(sorted({*view.drawn_layers, *start_of(view).drawn_layers}))


def changed(view: LayoutView, layer: Layer) -> db.Region:
    """Where the layer covers something and did not in the given layout, or the other way round.

    Told from the shapes as drawn: merging would move crossings of slanted edges to the grid, for each of
    the two layouts by itself.
    """
    return start_of(view).drawn(layer) ^ view.drawn(layer)


def labels_of(view: LayoutView) -> Counter[Label]:
    """All labels, on any layer, with how often each of them is there."""
    return Counter(
        Label(layer, text.string, text.trans.disp.x, text.trans.disp.y)
        for layer in view.drawn_layers
        for text in view.texts(layer).each()
    )


def shape_findings(view: LayoutView, rule: str, frozen: Callable[[Layer, db.Region], db.Region]) -> list[Finding]:
    """A finding for each layer whose shapes changed where ``frozen(layer, changes)`` keeps a part of the changes."""
    findings = []
    for layer in drawn_layers(view):
        wrong = frozen(layer, changed(view, layer))
        # What has no area covers nothing, and a file may hold it.
        if wrong.area() > 0:
            message = f"{view.describe(layer)}: changed where it must stay as it was given"
            findings.append(Finding(rule=rule, message=message, layer=layer, place=Rect.from_db(wrong.bbox())))
    return findings


def label_findings(view: LayoutView, rule: str) -> list[Finding]:
    """A finding for each label that is gone or new."""
    before, after = labels_of(start_of(view)), labels_of(view)
    return [
        Finding(
            rule=rule,
            message=f"{view.describe(label.layer)}: label {label.text!r} {what}",
            layer=label.layer,
            place=label.place,
        )
        for what, labels in ((_GONE, before - after), (_NEW, after - before))
        for label in sorted(labels)
    ]


def extent(view: LayoutView) -> db.Box:
    """The bounding box of all that covers an area, labels left out; empty for an empty layout."""
    box = db.Box()
    for layer in view.drawn_layers:
        box += view.region(layer).bbox()
    return box
