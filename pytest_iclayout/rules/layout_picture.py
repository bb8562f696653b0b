"""A picture of a rule's layout: what it is labelled, and what a deck or the embedded engine finds there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import klayout.db as db

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Status
from pytest_iclayout.drc.decks.execution_pool import ExecutionPool
from pytest_iclayout.drc.report import ReportError
from pytest_iclayout.drc.report_places import MarkerShape, places_in_top
from pytest_iclayout.geometry.findings import MAX_FINDINGS, Finding
from pytest_iclayout.geometry.io import LayoutFileError, read_layout
from pytest_iclayout.geometry.render import may_be_drawn, render_png
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules.embedded import embedded_findings
from pytest_iclayout.rules.evaluate import LayoutResult, Reading, evaluate
from pytest_iclayout.rules.palette import layers_of, palette
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleError


def picture_of_layout(rule: Rule, layout: LabelledLayout) -> bytes | None:
    """PNG bytes, with what the embedded engine finds framed; None where there is nothing, or too much, to draw."""
    drawn = _read(layout)
    if drawn is None:
        return None
    return _picture(rule, drawn, [_heading(rule, layout)], list(_found_by_engine(rule, drawn, rule.structures, "")))


def picture_of_result(
    rule: Rule, result: LayoutResult, who: str, deck: Deck, pool: ExecutionPool, reading: Reading = Reading.STRICT
) -> bytes | None:
    """As :func:`picture_of_layout`, of the layout on which the deck of ``who`` had this result.

    The caption says which categories were missed, and which were reported though the layout does not violate them.
    What the deck reports is framed, for which it is run once more, and of missed categories what the embedded engine
    finds.
    """
    layout = next(one for one in rule.layouts if one.name == result.layout)
    drawn = _read(layout)
    if drawn is None:
        return None
    caption = [_heading(rule, layout, f"{who} on "), *_wrong(result)]
    findings = list(_found_by_engine(rule, drawn, result.missed, "missed; the embedded engine finds: "))
    if result.status is Status.OK:
        try:
            markers = _markers(rule, layout, drawn, result, deck, pool, reading)
        except (_NoMarkers, OSError) as error:  # no room for the report: the rest can be shown
            caption.append(str(error))
        else:
            # What is wrong first: not all of them may be framed.
            for category in sorted(markers, key=lambda one: (one not in result.false, one in layout.violates, one)):
                message = _meaning(result, layout, category)
                places = dict.fromkeys(Rect.from_db(shape.bbox()) for shape in markers[category])
                findings += [Finding(rule=category, message=message, place=place) for place in places]
    return _picture(rule, drawn, caption, findings)


class _NoMarkers(Exception):
    """What a deck reports cannot be shown; the message is for the caption."""


def _read(layout: LabelledLayout) -> db.Layout | None:
    """None for what is no layout, and for one that is too large."""
    try:
        drawn = read_layout(layout.gds())
    except (RuleError, LayoutFileError):
        return None
    return drawn if may_be_drawn(drawn) else None


def _picture(rule: Rule, drawn: db.Layout, caption: Sequence[str], findings: Sequence[Finding]) -> bytes | None:
    if all(cell.bbox().empty() for cell in drawn.top_cells()) and not any(one.place for one in findings):
        return None
    return render_png(
        drawn,
        None,
        palette(rule.id, rule.layers or layers_of(drawn)),
        findings[:MAX_FINDINGS],
        caption=caption,
        more=len(findings[MAX_FINDINGS:]),
        name_empty=True,
    )


def _heading(rule: Rule, layout: LabelledLayout, who: str = "") -> str:
    label = f"to violate {', '.join(sorted(layout.violates))}" if layout.violates else "clean"
    return f"{rule.id}: {who}{layout.name}, labelled {label}"


def _wrong(result: LayoutResult) -> Iterator[str]:
    for what, names, why in (
        ("missed", result.missed, "labelled violated, the deck reports nothing"),
        ("false", result.false, "labelled clean, the deck reports it"),
        ("no category of the rule", result.unexpected, "the deck reports it"),
    ):
        if names:
            yield f"{what}: {', '.join(names)} ({why})"
    if result.status is not Status.OK:
        yield f"the deck did not run to its end here: {result.reason}"


def _found_by_engine(rule: Rule, drawn: db.Layout, categories: Iterable[str], before: str) -> Iterator[Finding]:
    for category in categories:
        if category in rule.structures:
            for one in embedded_findings(category, rule.structures[category], rule.layers, drawn):
                yield one.model_copy(update={"message": f"{before}{one.message}"})


def _markers(
    rule: Rule,
    layout: LabelledLayout,
    drawn: db.Layout,
    result: LayoutResult,
    deck: Deck,
    pool: ExecutionPool,
    reading: Reading,
) -> dict[str, list[MarkerShape]]:
    """Of the deck, in the top cell, by category. Raises _NoMarkers."""
    with TemporaryDirectory(prefix="iclayout-") as folder:
        report = Path(folder, "report.lyrdb")
        (future,) = pool.run(deck, [layout.gds()], reports=[report])
        again = future.result()
        if evaluate(replace(rule, layouts=[layout]), [again], reading).layouts != (result,):
            raise _NoMarkers("run once more for this picture, the deck did not say the same")
        # The places get layers of their own in the layout, which are not to be drawn.
        copy = drawn.dup()
        try:
            found = places_in_top(report, copy, copy.top_cells()[0]).shapes
        except ReportError:
            found = {}  # a Python checker's JSON
    found = {name: found[name] for name in again.violated if found.get(name)}
    if again.violated and not found:
        raise _NoMarkers("the deck's report has no places")
    return found


def _meaning(result: LayoutResult, layout: LabelledLayout, category: str) -> str:
    if category in result.false:
        return "false; labelled clean, the deck reports this"
    if category in layout.violates and category not in result.missed:
        return "as labelled, the deck reports this"
    return "no category of the rule; the deck reports this"
