"""same_geometry: another hierarchy for what the given layout draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import label_findings, shape_findings
from iclayout_checkers.given_layouts import Edit, changed_labels, changed_shapes, differs, without_solution
from iclayout_checkers.hierarchy_layouts import Demands, changed_hierarchy
from iclayout_checkers.layouts import LayerRefs, separate_polygons
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.placements import PER_DBU, Placement, Placements
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.commands import CellName
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer

Count = Annotated[int, Field(ge=1, le=1000, strict=True)]
Depth = Annotated[int, Field(ge=0, le=100, strict=True)]


class SameGeometryParams(Params):
    """``cell`` and ``count`` come together, and one demand at least is made."""

    max_shapes: Annotated[int, Field(ge=1, le=100_000, strict=True)] | None = None
    """Shapes drawn in all cells together, whatever the number of placements."""
    max_instances: Annotated[int, Field(ge=1, le=100_000, strict=True)] | None = None
    """Instances and arrays in all cells together; an array is one."""
    cell: CellName | None = None
    count: Count | None = None
    """Exactly so many placements of ``cell``, members of arrays and all levels multiplied out."""
    min_depth: Depth = 0
    """Levels of cells below the judged one."""
    max_depth: Depth | None = None
    not_in_top: LayerRefs = ()
    """Layers on which the judged cell draws nothing itself."""

    @model_validator(mode="after")
    def _is_consistent(self) -> SameGeometryParams:
        if (self.cell is None) != (self.count is None):
            raise ValueError("cell and count are given together or not at all")
        least = max(self.min_depth, 1 if self.cell is not None or self.not_in_top else 0)
        if self.max_depth is not None and self.max_depth < least:
            raise ValueError(f"max_depth {self.max_depth} is less than the {least} that is asked for otherwise")
        if self.max_shapes is None and self.max_instances is None and self.max_depth is None and least == 0:
            raise ValueError("nothing is asked for; give max_shapes, max_instances, cell, min_depth or the like")
        return self


class SameGeometry:
    """Every layer covers exactly what it covered, labels are where they were, and the hierarchy is as asked for.

    No cell is empty and none is left out of the judged one.  Each placement of ``cell`` draws something that
    nothing else draws: a cell that is placed over what is there already is no part of the hierarchy.
    """

    name = "same_geometry"
    needs_start = needs_solution = True
    params_model = SameGeometryParams

    def check(self, view: LayoutView, params: SameGeometryParams) -> Verdict:
        return Verdict.of(
            *shape_findings(view, self.name, lambda layer, changes: changes),
            *label_findings(view, self.name),
            *self._hierarchy(view, params),
        )

    def _hierarchy(self, view: LayoutView, params: SameGeometryParams) -> Iterator[Finding]:
        placed = [view.cell, *(view.layout.cell(index) for index in view.cell.called_cells())]
        depth = view.cell.hierarchy_levels()
        shapes = sum(_shapes_of(view.layout, cell) for cell in placed)
        instances = sum(1 for cell in placed for _ in cell.each_inst())
        yield from self._useless_cells(view)
        if params.max_shapes is not None and shapes > params.max_shapes:
            yield self._too_many("shape(s) drawn", shapes, params.max_shapes)
        if params.max_instances is not None and instances > params.max_instances:
            yield self._too_many("instance(s) and array(s)", instances, params.max_instances)
        if params.max_depth is not None and depth > params.max_depth:
            yield self._too_many("level(s) of cells below", depth, params.max_depth)
        if depth < params.min_depth:
            yield self._wrong(f"{depth} level(s) of cells below", params.min_depth)
        yield from self._placements(view, params)
        for layer in params.not_in_top:
            yield from self._in_top(view, layer)

    def _too_many(self, what: str, found: int, most: int) -> Finding:
        message = f"{found} {what}, at most {most} allowed"
        return Finding(rule=self.name, message=message, measured=found, required=most)

    def _wrong(self, what: str, required: int) -> Finding:
        return Finding(rule=self.name, message=f"{what}, at least {required} required", required=required)

    def _useless_cells(self, view: LayoutView) -> list[Finding]:
        called = {view.cell.cell_index(), *view.cell.called_cells()}
        findings = []
        for cell in view.layout.each_cell():
            if cell.cell_index() not in called:
                message = f"cell {cell.name} is not placed in {view.cell.name}"
            elif cell.is_empty():
                message = f"cell {cell.name} is empty"
            else:
                continue
            findings.append(Finding(rule=self.name, message=message))
        return findings

    def _placements(self, view: LayoutView, params: SameGeometryParams) -> Iterator[Finding]:
        if params.cell is None:
            return
        placements = Placements(view.layout, view.cell)
        named = [index for index in placements.counts if view.layout.cell(index).name == params.cell]
        count = sum(placements.counts[index] for index in named)
        required = f"exactly {params.count} required"
        if count != params.count:
            message = f"cell {params.cell} is placed {count} time(s), {required}"
            yield Finding(rule=self.name, message=message, measured=count, required=params.count)
            return
        distinct = placements.distinct(count)
        alone = sum(_drawing_alone(view, view.layout.cell(index), distinct[index]) for index in named)
        if alone < count:
            message = f"{alone} placement(s) of cell {params.cell} draw what nothing else draws, {required}"
            yield Finding(rule=self.name, message=message, measured=alone, required=params.count)

    def _in_top(self, view: LayoutView, layer: Layer) -> Iterator[Finding]:
        index = view.layout.find_layer(layer.layer, layer.datatype)
        if index is not None and any(not shape.is_text() for shape in view.cell.shapes(index).each()):
            message = f"{view.describe(layer)}: cell {view.cell.name} draws on it itself"
            yield Finding(rule=self.name, message=message, layer=layer)

    def witness(self, params: SameGeometryParams, bench: Bench) -> Drawing:
        """Raises ValueError for a given layout that is as asked for."""
        if not any(self._hierarchy(Edit(bench, ()).view, params)):
            raise ValueError("the hierarchy of the given layout is what is asked for")
        return bench.solution

    def negatives(self, params: SameGeometryParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        given = Edit(bench, ()).view
        demands = Demands(
            params.max_shapes,
            params.max_instances,
            params.cell,
            params.min_depth,
            params.max_depth,
            params.not_in_top,
        )
        return {
            **without_solution(bench, lambda edit: any(differs(edit.view, given, one) for one in given.drawn_layers)),
            **changed_labels(bench),
            **changed_shapes(bench, ()),
            **changed_hierarchy(bench, demands),
        }

    def variants(self, params: SameGeometryParams) -> frozenset[str]:
        names = REDRAWN | {"as_arrays"}
        if params.max_shapes is not None:
            names -= {"split", "overlap"}
        if params.max_instances is not None or params.max_depth is not None:
            names -= {"wrap"}
        return names if params.max_instances is not None else names | {"as_instances"}


def _shapes_of(layout: db.Layout, cell: db.Cell) -> int:
    """Shapes that a cell draws itself. A polygon of parts that only a line of no width holds together is as many."""
    count = 0
    for index in layout.layer_indexes():
        for shape in cell.shapes(index).each():
            if shape.is_polygon():
                count += max(1, len(separate_polygons(db.Region(shape.polygon))))
            elif not shape.is_text():
                count += 1
    return count


def _drawing_alone(view: LayoutView, cell: db.Cell, places: frozenset[Placement]) -> int:
    """How many of the placements of a cell cover something, on any layer, that nothing else covers."""
    alone: set[Placement] = set()
    rest = view.layout.dup()
    emptied = rest.cell(cell.name)
    emptied.clear()
    for layer in view.drawn_layers:
        index = view.layout.layer(layer.layer, layer.datatype)
        own = db.Region(cell.begin_shapes_rec(index)).merged()
        copies = {place: own.transformed(_trans(place)) for place in places}
        together = db.Region()
        for copy in copies.values():
            together += copy
        others = together.merged(2) + db.Region(rest.cell(view.cell.name).begin_shapes_rec(index))
        alone |= {place for place, copy in copies.items() if (copy - others).area()}
    return len(alone)


def _trans(place: Placement) -> db.ICplxTrans:
    at = (place.x / PER_DBU, place.y / PER_DBU)
    return db.ICplxTrans(place.magnification, place.angle / 1000, place.mirrored, *(round(value) for value in at))


CHECKER = SameGeometry()
