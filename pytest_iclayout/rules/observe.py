"""What a deck's run on a layout says where the layout's labels stand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.report import ReportError
from pytest_iclayout.drc.report_places import places_in_top
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules.label_book import read_layout_file
from pytest_iclayout.rules.markers import assign
from pytest_iclayout.rules.regression import Label, Observation
from pytest_iclayout.rules.rule import RuleError


class Observations(NamedTuple):
    by_label: dict[Label, Observation]
    without_place: dict[str, int]
    """Items of labelled rules that have no place, and so count for no box: by rule, where there are any."""


def observe(execution: Execution, report: Path, layout: Path, labels: Iterable[Label]) -> Observations:
    """``labels`` are all of one layout file.  A report that cannot be placed makes an execution in error."""
    wanted = list(labels)
    marked: dict[str, list[Label]] = {}
    for one in wanted:
        if one.region is not None:
            marked.setdefault(one.rule, []).append(one)
    false = [one for one in wanted if one.region is None and one.rule in execution.violated and not one.violated]
    places: dict[Label, tuple[Rect, ...]] = {}
    without_place: dict[str, int] = {}
    if execution.ok and (marked or false):
        try:
            drawn = read_layout_file(layout, wanted[0].layout)
            found = places_in_top(report, drawn, _top(drawn))
        except (RuleError, ReportError) as error:
            if marked:
                execution = execution.model_copy(update={"status": Status.ERROR, "reason": str(error), "items": {}})
        else:
            without_place = {rule: found.without_place[rule] for rule in marked if found.without_place.get(rule)}
            for rule, group in marked.items():
                boxes = [one.region.to_db() for one in group if one.region is not None]
                counting = assign(found.shapes.get(rule, ()), boxes)
                places |= {one: _rects(each) for one, each in zip(group, counting, strict=True)}
            places |= {one: _rects(shape.bbox() for shape in found.shapes.get(one.rule, ())) for one in false}
    return Observations(
        {
            one: Observation(
                execution=execution,
                reported=one.rule in execution.violated if one.region is None else bool(places.get(one)),
                places=places.get(one, ()),
            )
            for one in wanted
        },
        without_place,
    )


def _top(layout: db.Layout) -> db.Cell:
    tops = layout.top_cells()
    if len(tops) != 1:
        raise RuleError(f"has {len(tops)} top cells, so that places of markers are not known")
    return tops[0]


def _rects(boxes: Iterable[db.Box]) -> tuple[Rect, ...]:
    """Each once, in their order."""
    return tuple(dict.fromkeys(Rect.from_db(box) for box in boxes))
