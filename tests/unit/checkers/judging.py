"""Judging a sketch as a task would, in SKY130."""

from __future__ import annotations

from typing import Any

from iclayout_checkers import CHECKERS

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.spec import CheckerSpec, parse_checker_string
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.load import builtin_technology

_REGISTRY = CheckerRegistry(CHECKERS)


def oracle_of(
    text: str,
    params: dict[str, Any] | None = None,
    rule_set: str = "published",
    start: Drawing = (),
    solution: Drawing = (),
) -> Oracle:
    """An oracle of ``name:key=value``, or of a name and a mapping of parameters."""
    spec = parse_checker_string(text) if params is None else CheckerSpec(name=text, params=params)
    bench = Bench(technology=builtin_technology("sky130"), rule_set=rule_set, start=start, solution=solution)
    checker, bound = _REGISTRY.bind(spec, bench)
    return Oracle(checker, bound, bench)


def judge(
    drawn: Sketch | Drawing, text: str, params: dict[str, Any] | None = None, rule_set: str = "published"
) -> Verdict:
    """The verdict of a checker on a sketch or a drawing."""
    oracle = oracle_of(text, params, rule_set)
    return oracle.judge(oracle.build(drawn.drawing if isinstance(drawn, Sketch) else drawn))
