"""Wrong layouts that go on from a given layout and its solution, for the negatives of checkers that need these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import extent
from iclayout_checkers.layouts import other_layers
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.shapes import Point, Rect, Transform
from pytest_iclayout.geometry.view import LayoutView, open_view
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.document import Element
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.sketch import Drawing, draw_on
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

Negatives = Mapping[str, SearchStrategy[Drawing]]

STEPS = (Transform(dx=1), Transform(dx=-1), Transform(dy=1), Transform(dy=-1))
"""One dbu to every side."""


class Edit:
    """A session that holds the given layout and a drawing after it, and records what is done then.

    Elements look into the session's layout: what they refer to is gone when nobody holds the edit any more.
    """

    def __init__(self, bench: Bench, drawing: Drawing) -> None:
        self._bench = bench
        self._session = LayoutSession(technology=bench.technology, rule_set=bench.rule_set)
        draw_on(self._session, (*bench.start, *drawing))
        self.drawing = drawing

    def do(self, *commands: cmd.Command) -> Edit:
        draw_on(self._session, commands)
        self.drawing += commands
        return self

    @property
    def view(self) -> LayoutView:
        return open_view(self._session.export(), self._bench.technology, self._bench.rule_set)

    @property
    def elements(self) -> tuple[Element, ...]:
        return tuple(self._session.document.elements.values())

    def cell_of(self, element: Element) -> str:
        return str(self._session.document.layout.cell(element.cell_index).name)

    @property
    def labels(self) -> list[Element]:
        return [one for one in self.elements if isinstance(one.handle, db.Shape) and one.handle.is_text()]

    @property
    def instances(self) -> list[Element]:
        return [one for one in self.elements if isinstance(one.handle, db.Instance)]

    def shapes(self, layers: Iterable[Layer] | None = None) -> list[Element]:
        """Those that are no labels, on some layers or on any."""
        wanted = None if layers is None else set(layers)
        return [
            one
            for one in self.elements
            if isinstance(one.handle, db.Shape) and not one.handle.is_text() and (wanted is None or one.layer in wanted)
        ]

    def cut(self, layer: Layer, box: db.Box) -> Edit:
        """Take a box away from the rectangles and polygons that are drawn on the layer in ``top``."""
        for element in self.shapes([layer]):
            assert isinstance(element.handle, db.Shape)
            if element.handle.is_path() or self.cell_of(element) != "top" or not element.bbox.overlaps(box):
                continue
            self.do(cmd.AddRect(cell="top", layer=layer, rect=Rect.from_db(box)))
            ids = (element.id, self.elements[-1].id)
            self.do(cmd.BooleanCombine(cell="top", bool_op="difference", ids=ids, layer=layer))
        return self


def chosen(candidates: Mapping[str, Iterable[Drawing]]) -> dict[str, SearchStrategy[Drawing]]:
    """A strategy for each name that has a candidate at all."""
    lists = {name: list(drawings) for name, drawings in candidates.items()}
    return {name: st.sampled_from(drawings) for name, drawings in lists.items() if drawings}


def rect(layer: Layer, box: db.Box, cell: str = "top") -> cmd.AddRect:
    return cmd.AddRect(cell=cell, layer=layer, rect=Rect.from_db(box))


def without_solution(bench: Bench, is_wrong: Callable[[Edit], bool]) -> dict[str, SearchStrategy[Drawing]]:
    """The layout as it was given, and with each beginning of the solution that ``is_wrong``."""
    starts = (bench.solution[:count] for count in range(1, len(bench.solution)))
    unfinished = [drawing for drawing in starts if is_wrong(Edit(bench, drawing))]
    return {"as_given": st.just(()), **chosen({"solution_unfinished": unfinished})}


def changed_labels(bench: Bench, stays: Callable[[Element], bool] = lambda _: True) -> Negatives:
    """A label of the solved layout removed, moved by one dbu (one that ``stays``), with another text, and one more."""
    solved = Edit(bench, bench.solution)
    labels = solved.labels
    found = {
        "label_removed": [(*bench.solution, cmd.DeleteShapes(ids=(one.id,))) for one in labels],
        "label_moved_by_one_dbu": [
            (*bench.solution, cmd.TransformShapes(ids=(one.id,), transform=step))
            for one in labels
            if stays(one)
            for step in STEPS
        ],
        "label_renamed": [
            (*bench.solution, cmd.DeleteShapes(ids=(one.id,)), _copy(solved, one, suffix="x")) for one in labels
        ],
        "label_twice": [(*bench.solution, _copy(solved, one)) for one in labels],
    }
    at = Point(x=extent(solved.view).left, y=extent(solved.view).bottom)
    more = other_layers(bench.technology).map(lambda one: cmd.AddLabel(cell="top", layer=one, text="more", position=at))
    return {**chosen(found), "one_label_more": more.map(lambda one: (*bench.solution, one))}


def changed_shapes(bench: Bench, layers: Iterable[Layer]) -> Negatives:
    """On layers that must stay as they are: a shape of the solved layout moved, deleted, grown; a new one.

    ``layers`` are those that may change.
    """
    free = set(layers)
    solved = Edit(bench, bench.solution)
    drawn = set(solved.view.drawn_layers) | set(Edit(bench, ()).view.drawn_layers)
    frozen = [one for one in solved.shapes() if one.layer not in free]
    return {
        **chosen(
            {
                "frozen_shape_deleted": _differing(bench, frozen, lambda one: [cmd.DeleteShapes(ids=(one.id,))]),
                "frozen_shape_moved_by_one_dbu": _differing(
                    bench, frozen, lambda one: [cmd.TransformShapes(ids=(one.id,), transform=step) for step in STEPS]
                ),
                "frozen_shape_grown_by_one_dbu": _grown(bench, solved, sorted(drawn - free)),
                "frozen_shape_cut_by_one_dbu": _shrunk(bench, solved, sorted(drawn - free)),
            }
        ),
        "shape_on_a_layer_that_was_empty": st.builds(
            lambda layer, box: (*bench.solution, rect(layer, box)),
            other_layers(bench.technology, *free, *drawn),
            boxes_within(extent(solved.view)),
        ),
    }


def spurs(bench: Bench, layers: Iterable[Layer]) -> Iterator[Drawing]:
    """A sliver at an edge of a layer whose width rule it breaks."""
    wanted = set(layers)
    view, legal = Edit(bench, bench.solution).view, LegalShapes(bench)
    for rule in bench.rules:
        # With a space rule beside it, nothing is so near that the sliver could become a part of it.
        spaced = any(one.kind is RuleKind.SPACE and one.layer == rule.layer and one.value > 2 for one in bench.rules)
        if rule.kind is RuleKind.WIDTH and rule.value > 1 and spaced and rule.layer in wanted:
            for edge in outer_edges(view.region(rule.layer)):
                spur = beside(edge, edge.length() // 2, 1, legal.side(rule.layer))
                if edge.length() > 2 and spur.inside(extent(view)):
                    yield (*bench.solution, rect(rule.layer, spur))


def boxes_within(area: db.Box) -> SearchStrategy[db.Box]:
    """Boxes of one dbu or more a side, none of them outside ``area``, which is no smaller."""
    xs, ys = st.integers(area.left, area.right - 1), st.integers(area.bottom, area.top - 1)
    more = st.integers(1, 400)
    return st.builds(
        lambda x, y, width, height: db.Box(x, y, min(x + width, area.right), min(y + height, area.top)),
        xs,
        ys,
        more,
        more,
    )


def differs(one: LayoutView, other: LayoutView, layer: Layer) -> bool:
    """Whether the layer covers another area in the one than in the other."""
    return bool((one.region(layer) ^ other.region(layer)).area() > 0)


def outer_edges(region: db.Region) -> list[db.Edge]:
    """The axis-parallel edges of a merged region; the outside lies to the left of each."""
    edges = region.edges()
    return [one for one in edges.each() if one.dx() == 0 or one.dy() == 0]


def beside(edge: db.Edge, start: int, width: int, depth: int) -> db.Box:
    """A box outside of an axis-parallel edge: ``width`` dbu along it from ``start`` dbu behind its first end,
    ``depth`` dbu away from it."""
    along = db.Vector((edge.dx() > 0) - (edge.dx() < 0), (edge.dy() > 0) - (edge.dy() < 0))
    out = db.Vector(-along.y, along.x)
    corner = edge.p1 + along * start
    return db.Box(corner, corner + along * width + out * depth)


def _differing(
    bench: Bench, elements: Iterable[Element], changes: Callable[[Element], Iterable[cmd.Command]]
) -> Iterator[Drawing]:
    """The solution with each change to an element after it that alters what its layer covers."""
    solved = Edit(bench, bench.solution).view
    for element in elements:
        for change in changes(element):
            edit = Edit(bench, bench.solution).do(change)
            if element.layer is not None and differs(edit.view, solved, element.layer):
                yield edit.drawing


def _grown(bench: Bench, solved: Edit, layers: Iterable[Layer]) -> Iterator[Drawing]:
    for layer in layers:
        for edge in outer_edges(solved.view.region(layer)):
            yield (*bench.solution, rect(layer, beside(edge, 0, edge.length(), 1)))


def _shrunk(bench: Bench, solved: Edit, layers: Iterable[Layer]) -> Iterator[Drawing]:
    """A strip along an edge cut off: of the first polygon of each layer, where it is drawn so that it can be cut."""
    before = solved.view
    for layer in layers:
        for polygon in list(before.region(layer).each())[:1]:
            for edge in outer_edges(db.Region(polygon)):
                edit = Edit(bench, bench.solution).cut(layer, beside(edge, 0, edge.length(), -1))
                if differs(edit.view, before, layer):
                    yield edit.drawing


def _copy(edit: Edit, label: Element, suffix: str = "") -> cmd.AddLabel:
    assert isinstance(label.handle, db.Shape)
    assert label.layer is not None
    text = label.handle.text
    at = Point(x=text.x, y=text.y)
    return cmd.AddLabel(cell=edit.cell_of(label), layer=label.layer, text=text.string + suffix, position=at)
