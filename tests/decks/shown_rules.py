"""Rules of several shapes that tests of prompts share."""

from __future__ import annotations

from pathlib import Path

from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleCategory
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer

MET1 = {"met1": Layer(layer=68, datatype=20)}
GATE = {"poly": Layer(layer=66, datatype=20), "diff": Layer(layer=65, datatype=20)}


def width_rule(text: str = "met1 is at least 0.14 µm wide.") -> Rule:
    """One category that says what the rule says, with all that no prompt may show."""
    layout = LabelledLayout("fail/secret_label.gds", frozenset({"m1_1"}), ShapeList("met1 0 0 1 0.1", MET1))
    return Rule(
        id="m1.1",
        title="Width of met1",
        text=text,
        layers=MET1,
        categories=(RuleCategory(name="m1_1", text=text),),
        layouts=(layout,),
        path=Path("secret_folder/secret_file.toml"),
        gold='source($input)\nreport("secret_gold", $output)',
        structures={"m1_1": Structure.model_validate({"kind": "width", "layer": "met1", "value_dbu": 140})},
        equivalent=("secret_mutant",),
        group="secret_group",
        suite="secret_suite",
    )


def gate_rule() -> Rule:
    """Two categories with sentences of their own, another database unit, no title."""
    return Rule(
        id="gates",
        title="",
        text="Gates are where poly crosses diff.\nThey keep both limits.",
        layers=GATE,
        categories=(
            RuleCategory(name="GATE_W", text="A gate is at least 0.15 µm\nwide."),
            RuleCategory(name="GATE_A", text="A gate covers at least 0.09 µm²."),
        ),
        layouts=(),
        path=Path("x.toml"),
        dbu_um=0.005,
    )
