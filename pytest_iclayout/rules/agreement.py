"""Three answers to one question: a layout's label, the embedded engine, and the gold deck in the application."""

from __future__ import annotations

from pytest_iclayout.drc.decks.execution import Execution
from pytest_iclayout.geometry.extent import ExtentError, measure
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.io import LayoutFileError, read_layout
from pytest_iclayout.geometry.render import render_png
from pytest_iclayout.rules.embedded import embedded_findings, embedded_verdict
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleError
from pytest_iclayout.technology.models import Technology, TechnologyLayer

_COLORS = ("3C78C8A0", "C83C3CA0", "2E8B57A0", "B8479EA0", "D08A1EA0", "23487AA0", "7A5230A0", "5F9EA0A0")
_MOST_SHAPES = 500_000
"""Once flat; a picture of more takes too long."""


def disagreement(rule: Rule, category: str, layout: LabelledLayout, execution: Execution) -> str | None:
    """What each of the three says where they are not one, else None.

    ``execution`` is of the rule's gold deck on the layout.  A category without a structure is not known to the
    embedded engine, and two are compared.  A run that did not come to its end agrees with nothing.
    """
    answers = {"the label": category in layout.violates}
    structure = rule.structures.get(category)
    if structure is not None:
        try:
            answers["the embedded engine"] = embedded_verdict(structure, rule.layers, layout.gds())
        except LayoutFileError as error:
            return f"{layout.name}: {error}"
    if execution.ok:
        answers["the gold deck"] = category in execution.violated
        if len(set(answers.values())) == 1:
            return None
    told = [f"{who}: {'violated' if violated else 'kept'}" for who, violated in answers.items()]
    if not execution.ok:
        told.append(f"the gold deck did not run to its end: {execution.reason}")
    return f"{layout.name}: {category}: {'; '.join(told)}"


def picture_of_layout(rule: Rule, layout: LabelledLayout) -> bytes | None:
    """PNG bytes, with what the embedded engine finds framed; None where there is nothing, or too much, to draw."""
    try:
        drawn = read_layout(layout.gds())
        shapes = sum(measure(drawn, cell).shapes for cell in drawn.top_cells())
    except (RuleError, LayoutFileError, ExtentError):
        return None
    if not 0 < shapes <= _MOST_SHAPES:
        return None
    if not rule.layers or not all(rule.layers):
        return None  # nothing has a name to be shown by
    findings: list[Finding] = []
    for category, structure in rule.structures.items():
        findings += embedded_findings(category, structure, rule.layers, drawn)
    label = ", ".join(sorted(layout.violates)) or "nothing"
    caption = [f"{rule.id}: {layout.name}", f"labelled to violate {label}"]
    return render_png(drawn, None, _technology(rule), findings, caption=caption)


def _technology(rule: Rule) -> Technology:
    names: dict[str, TechnologyLayer] = {}
    for number, (name, layer) in enumerate(rule.layers.items()):
        # Two names for one layer are no fault of a rule; the first is shown.
        names.setdefault(str(layer), TechnologyLayer(name=name, layer=layer, color=_COLORS[number % len(_COLORS)]))
    return Technology(name=rule.id, dbu_per_micron=max(1, round(1 / rule.dbu_um)), layers=tuple(names.values()))
