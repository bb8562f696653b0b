"""Three answers to one question: a layout's label, the embedded engine, and the gold deck in the application."""

from __future__ import annotations

from pytest_iclayout.drc.decks.execution import Execution
from pytest_iclayout.geometry.io import LayoutFileError
from pytest_iclayout.rules.embedded import embedded_verdict
from pytest_iclayout.rules.rule import LabelledLayout, Rule


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
