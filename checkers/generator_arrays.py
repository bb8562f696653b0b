"""Via farms and fill: equal squares in rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import sqrt

import klayout.db as db
from iclayout_checkers.generator_params import FillParams, ViaFarmParams
from iclayout_checkers.generator_shapes import (
    exchanged,
    finding,
    legal_shapes,
    level_of,
    named,
    polygons_of,
    size_of,
    space,
    without,
)
from iclayout_checkers.layouts import Shapes, bounding_box
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.models import RuleKind


class ViaFarm:
    """Equal cuts in rows and columns of one pitch each, all of them covered by one plate below and one above."""

    def check(self, view: LayoutView, params: ViaFarmParams) -> list[Finding]:
        level = level_of(view.technology, named(view.technology, params.cut))
        cuts = view.region(level.cut)
        found = self._grid(view, params)
        for layer in (level.bottom, level.top):
            if not any((cuts - db.Region(plate)).is_empty() for plate in polygons_of(view, layer)):
                message = f"no shape on {view.describe(layer)} covers all cuts on {view.describe(level.cut)}"
                found.append(finding(message, layer, cuts.bbox()))
        return found

    def _grid(self, view: LayoutView, params: ViaFarmParams) -> list[Finding]:
        layer = named(view.technology, params.cut)
        polygons = polygons_of(view, layer)
        boxes = [polygon.bbox() for polygon in polygons]
        place, where = view.region(layer).bbox(), view.describe(layer)
        if len(polygons) != params.rows * params.cols:
            message = f"{where}: {len(polygons)} cut(s), exactly {params.rows} x {params.cols} required"
            return [finding(message, layer, place)]
        if not all(polygon.is_box() for polygon in polygons) or len({size_of(box) for box in boxes}) > 1:
            return [finding(f"{where}: the cuts are not equal rectangles", layer, place)]
        xs, ys = sorted({box.left for box in boxes}), sorted({box.bottom for box in boxes})
        if (len(ys), len(xs)) != (params.rows, params.cols):
            message = f"{where}: the cuts do not stand in {params.rows} row(s) and {params.cols} column(s)"
            return [finding(message, layer, place)]
        if len(_steps(xs)) > 1 or len(_steps(ys)) > 1:
            return [finding(f"{where}: the rows or the columns are not evenly spaced", layer, place)]
        return []

    def witness(self, params: ViaFarmParams, bench: Bench) -> Shapes:
        return self._drawn(params, bench, _grid_of(params, bench))

    def _drawn(self, params: ViaFarmParams, bench: Bench, cuts: list[db.Box]) -> Shapes:
        legal = LegalShapes(bench)
        level = level_of(bench.technology, named(bench.technology, params.cut))
        shapes: Shapes = [(level.cut, cut) for cut in cuts]
        for layer in (level.bottom, level.top):
            margin = legal.limit(RuleKind.ENCLOSURE, level.cut, layer)
            shapes.append((layer, legal.grown(layer, bounding_box(cuts).enlarged(margin, margin))))
        return shapes

    def broken(self, params: ViaFarmParams, bench: Bench) -> Mapping[str, list[Shapes]]:
        level = level_of(bench.technology, named(bench.technology, params.cut))
        cuts, shapes = _grid_of(params, bench), self.witness(params, bench)
        last, first = cuts[-1], cuts[0]
        pitch = _pitch(params, bench)
        others = [named(bench.technology, name) for name in ("mcon", "via", "via2") if name != params.cut]
        found = {
            "cut_too_many": [
                self._drawn(params, bench, [*cuts, last.moved(pitch, 0)]),
                self._drawn(params, bench, [*cuts, last.moved(0, pitch)]),
            ],
            "unequal_cut": [
                self._drawn(
                    params, bench, [*cuts[1:], db.Box(first.left, first.bottom, first.right + dx, first.top + dy)]
                )
                for dx, dy in ((1, 0), (0, 1), (1, 1))
                if len(cuts) > 1
            ],
            "on_another_cut_layer": [exchanged(shapes, level.cut, other) for other in others],
            "plate_missing": [without(shapes, layer) for layer in (level.bottom, level.top)],
            "plate_short": [
                [*without(shapes, layer), (layer, db.Box(box.left, box.bottom, last.right - 1, box.top))]
                for layer, box in shapes
                if layer != level.cut
            ],
            "cut_missing": [self._drawn(params, bench, cuts[:at] + cuts[at + 1 :]) for at in {0, len(cuts) // 2}]
            if len(cuts) > 1
            else [without(shapes, level.cut)],
        }
        if len(cuts) > 1:
            aside = (0, 1) if params.cols > 1 else (1, 0)
            found["cut_off_by_one_dbu"] = [self._drawn(params, bench, [*cuts[:-1], last.moved(*aside)])]
            middle = (first.left + last.right) // 2 if params.cols > 1 else (first.bottom + last.top) // 2
            found["plate_in_two_parts"] = [
                [
                    *without(shapes, layer),
                    *(
                        (layer, part)
                        for part in _parted(box, middle, params.cols > 1, space(LegalShapes(bench), layer))
                    ),
                ]
                for layer, box in shapes
                if layer != level.cut
            ]
        if params.rows != params.cols:
            exchange = params.model_copy(update={"rows": params.cols, "cols": params.rows})
            found["rows_and_columns_exchanged"] = [self.witness(exchange, bench)]
        for name, count, step in (("columns", params.cols, (1, 0)), ("rows", params.rows, (0, 1))):
            if count > 2:
                edge = last.left if name == "columns" else last.bottom
                moved = [
                    cut.moved(*step) if (cut.left if name == "columns" else cut.bottom) == edge else cut for cut in cuts
                ]
                found[f"{name}_unevenly_spaced"] = [self._drawn(params, bench, moved)]
        return {name: layouts for name, layouts in found.items() if layouts}

    def may_turn(self, params: ViaFarmParams) -> bool:
        return params.rows == params.cols


def _steps(places: list[int]) -> set[int]:
    return {after - before for before, after in pairwise(places)}


def _pitch(params: ViaFarmParams, bench: Bench) -> int:
    """One dbu more than the least, so that a cut that is off by one breaks no rule."""
    legal, cut = LegalShapes(bench), named(bench.technology, params.cut)
    return legal.side(cut) + space(legal, cut) + 1


def _grid_of(params: ViaFarmParams, bench: Bench) -> list[db.Box]:
    side, pitch = LegalShapes(bench).side(named(bench.technology, params.cut)), _pitch(params, bench)
    return [
        db.Box(0, 0, side, side).moved(column * pitch, row * pitch)
        for row in range(params.rows)
        for column in range(params.cols)
    ]


def _parted(box: db.Box, at: int, across: bool, gap: int) -> list[db.Box]:
    low, high = at - gap // 2, at - gap // 2 + gap
    if across:
        return [db.Box(box.left, box.bottom, low, box.top), db.Box(high, box.bottom, box.right, box.top)]
    return [db.Box(box.left, box.bottom, box.right, low), db.Box(box.left, high, box.right, box.top)]


class Fill:
    """Whole tiles within the region, as many as a grid of the pitch that the density asks for has."""

    def check(self, view: LayoutView, params: FillParams) -> list[Finding]:
        layer = named(view.technology, params.layer)
        polygons, place = polygons_of(view, layer), view.region(layer).bbox()
        where = view.describe(layer)
        side = params.tile
        found = [
            finding(f"{where}: a shape that is no tile of {side} x {side} dbu", layer, one.bbox())
            for one in polygons
            if not one.is_box() or size_of(one.bbox()) != (side, side)
        ]
        if place.width() > params.region_width or place.height() > params.region_height:
            message = f"{where}: the tiles do not fit into {params.region_width} x {params.region_height} dbu"
            found.append(finding(message, layer, place))
        columns, rows = _tiles(params, legal_shapes(view))
        if len(polygons) < columns * rows:
            message = f"{where}: {len(polygons)} tile(s), at least {columns * rows} required for the density"
            found.append(finding(message, layer, place))
        return found

    def witness(self, params: FillParams, bench: Bench) -> Shapes:
        legal, layer = LegalShapes(bench), named(bench.technology, params.layer)
        columns, rows = _tiles(params, legal)
        pitch = _tile_pitch(params, legal)
        tile = db.Box(0, 0, params.tile, params.tile)
        return [(layer, tile.moved(column * pitch, row * pitch)) for row in range(rows) for column in range(columns)]

    def broken(self, params: FillParams, bench: Bench) -> Mapping[str, list[Shapes]]:
        layer, legal = named(bench.technology, params.layer), LegalShapes(bench)
        tiles = self.witness(params, bench)
        (_, first), (_, last) = tiles[0], tiles[-1]
        right = [(layer, box.moved(first.left + params.region_width + 1 - last.right, 0)) for layer, box in tiles]
        up = [(layer, box.moved(0, first.bottom + params.region_height + 1 - last.top)) for layer, box in tiles]
        others = [named(bench.technology, name) for name in ("li1", "met1", "met2", "met3") if name != params.layer]
        found = {
            "one_tile_short": [tiles[:at] + tiles[at + 1 :] for at in {0, len(tiles) // 2}],
            "one_tile_narrow": [[*tiles[1:], (layer, db.Box(0, 0, params.tile - 1, params.tile))]],
            "one_tile_low": [[*tiles[1:], (layer, db.Box(0, 0, params.tile, params.tile - 1))]],
            "one_tile_large": [[*tiles[1:], (layer, db.Box(-1, -1, params.tile, params.tile))]],
            "one_tile_drawn_twice": [[*tiles[1:-1], tiles[0], tiles[0]]] if len(tiles) > 1 else [],
            "one_more_that_is_no_tile": [
                [*tiles, (layer, legal.box(layer).moved(last.right + space(legal, layer), last.bottom))]
            ]
            if size_of(legal.box(layer)) != (params.tile, params.tile)
            else [],
            "on_another_layer": [exchanged(tiles, layer, other) for other in others],
            "out_of_the_region_along_x": [[tiles[0], *right[1:]]] if last.left > first.left else [],
            "out_of_the_region_along_y": [[tiles[0], *up[1:]]] if last.bottom > first.bottom else [],
            "one_tile_out_of_the_region": [
                [*tiles, (layer, first.moved(0, first.bottom + params.region_height + params.tile))]
            ],
        }
        return {name: layouts for name, layouts in found.items() if layouts}

    def may_turn(self, params: FillParams) -> bool:
        return params.region_width == params.region_height


def _tile_pitch(params: FillParams, legal: LegalShapes) -> int:
    """The tile divided by the root of the density, rounded; never nearer than the space that rules ask for."""
    layer = legal.technology.layer_named(params.layer)
    wanted = round(params.tile / sqrt(params.target_density_permille / 1000))
    return max(wanted, params.tile + space(legal, layer))


def _tiles(params: FillParams, legal: LegalShapes) -> tuple[int, int]:
    """Columns and rows of whole pitches in the region, one at least."""
    pitch = _tile_pitch(params, legal)
    return max(1, params.region_width // pitch), max(1, params.region_height // pitch)
