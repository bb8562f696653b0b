"""The judged layout: one top cell, seen as merged regions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from typing import Any, TypeVar

import klayout.db as db

from pytest_iclayout.geometry.hierarchy import deep_store, merged_by_cell
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, Technology

_Made = TypeVar("_Made")


class UnjudgeableLayoutError(ValueError):
    """A layout that has nothing a checker could look at: no such cell, another database unit."""


@dataclass(frozen=True)
class LayoutView:
    """A cell of a layout with the technology and the rule set that it is judged with.

    Regions are flat (all levels of hierarchy), merged, in dbu, and cached: a layer is read once
    however many checks look at it.  Treat them as read-only.
    """

    layout: db.Layout
    cell: db.Cell
    technology: Technology
    rule_set: str
    start: LayoutView | None = None
    """The layout that the task gave to begin with, seen in the same way; None where it gave none."""
    _regions: dict[Layer, db.Region] = field(default_factory=dict, repr=False, compare=False)
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.technology.rule_set(self.rule_set)

    def region(self, layer: Layer) -> db.Region:
        """The merged shapes of a layer; paths and boxes count as the area that they cover."""
        found = self._regions.get(layer)
        if found is None:
            index = self.layout.find_layer(layer.layer, layer.datatype)
            found = db.Region() if index is None else _merged(self.cell.begin_shapes_rec(index))
            self._regions[layer] = found
        return found

    def region_by_cell(self, layer: Layer) -> db.Region:
        """The same as :meth:`region` for counting, measuring and filtering: not flat where few cells are
        repeated many times, which spares the time and memory of flattening millions of shapes."""
        found = self.once(("region_by_cell", layer), lambda: self._by_cell(layer))
        return self.region(layer) if found is None else found

    def _by_cell(self, layer: Layer) -> db.Region | None:
        index = self.layout.find_layer(layer.layer, layer.datatype)
        # One store for the view, which must live as long as the regions in it.
        store = self.once("store", deep_store)
        return None if index is None else merged_by_cell(self.layout, self.cell, index, store)

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What ``make`` gives, made when it is first asked for and kept with the view under ``key``."""
        if key not in self._made:
            self._made[key] = make()
        made: _Made = self._made[key]
        return made

    def drawn(self, layer: Layer) -> db.Region:
        """The shapes of a layer as drawn, not merged, from all levels of hierarchy."""
        index = self.layout.find_layer(layer.layer, layer.datatype)
        return db.Region() if index is None else db.Region(self.cell.begin_shapes_rec(index))

    def drawn_near(self, layer: Layer, box: db.Box) -> db.Region:
        """Those of :meth:`drawn` that touch ``box`` (dbu), found without looking at the others."""
        index = self.layout.find_layer(layer.layer, layer.datatype)
        return db.Region() if index is None else db.Region(self.cell.begin_shapes_rec_touching(index, box))

    def texts(self, layer: Layer) -> db.Texts:
        """The labels on a layer, in top-cell coordinates."""
        index = self.layout.find_layer(layer.layer, layer.datatype)
        if index is None:
            return db.Texts()
        # Flat: what still looks into the layout is empty as soon as the layout is gone.
        texts = db.Texts(self.cell.begin_shapes_rec(index))
        texts.flatten()
        return texts

    @cached_property
    def drawn_layers(self) -> tuple[Layer, ...]:
        """Layers that hold at least one shape in the cell or below it, sorted."""
        return tuple(
            sorted(
                Layer(layer=info.layer, datatype=info.datatype)
                for index, info in zip(self.layout.layer_indexes(), self.layout.layer_infos(), strict=True)
                if not self.cell.bbox_per_layer(index).empty()
            )
        )

    def describe(self, layer: Layer) -> str:
        """``met1 (68/20)``, or ``1/0`` for a layer that the technology does not have."""
        entry = self.technology.entry(layer)
        return str(layer) if entry is None else f"{entry.name} ({layer})"


def _merged(shapes: db.RecursiveShapeIterator) -> db.Region:
    region = db.Region(shapes).merged()
    # klayout up to at least 0.30.9 hands a single polygon through unmerged, also one without area.
    return db.Region() if region.count() == 1 and region.area() == 0 else region


def open_view(
    artifact: bytes,
    technology: Technology,
    rule_set: str,
    cell_name: str | None = None,
    origin: str = "artifact",
    start: LayoutView | None = None,
) -> LayoutView:
    """Read an artifact and select the cell to judge.

    ``cell_name`` None means: the only top cell, or the one called ``top`` among several.  Raises
    LayoutFileError for unreadable bytes and UnjudgeableLayoutError when there is no such cell or
    when the database unit is not the technology's (coordinates would mean other lengths).
    """
    layout = read_layout(artifact, origin)
    return LayoutView(layout, _select_cell(layout, cell_name), _same_unit(layout, technology), rule_set, start)


def _same_unit(layout: db.Layout, technology: Technology) -> Technology:
    if not isclose(layout.dbu, technology.dbu_um, rel_tol=1e-6):
        raise UnjudgeableLayoutError(
            f"the layout's database unit is {layout.dbu:g} µm, the task's technology has {technology.dbu_um:g} µm"
        )
    return technology


def _select_cell(layout: db.Layout, cell_name: str | None) -> db.Cell:
    names = sorted(cell.name for cell in layout.each_cell())
    tops = layout.top_cells()
    if cell_name is None and len(tops) == 1:
        return tops[0]
    wanted = cell_name or "top"
    cell = layout.cell(wanted)
    if cell is None:
        have = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "") if names else "no cell at all"
        raise UnjudgeableLayoutError(f"the layout has no cell named {wanted!r}; it has {have}")
    return cell
