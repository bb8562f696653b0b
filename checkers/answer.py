"""answer: questions about a given layout, answered in one label."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from hypothesis.strategies import SearchStrategy
from iclayout_checkers.answer_layouts import LONGEST, answer_negatives, answered
from iclayout_checkers.given import shape_findings, start_of
from iclayout_checkers.given_layouts import Edit
from iclayout_checkers.questions import Question, Truth, truths_of
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import LayerRef


class AnswerParams(Params):
    """``layer`` is where the label with the answer stands, ``questions`` what it answers, key by key."""

    layer: LayerRef
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_consistent(self) -> AnswerParams:
        keys = [one.key for one in self.questions]
        if len(set(keys)) < len(keys):
            raise ValueError("questions: a key is used twice")
        return self


class Answer:
    """One label on the layer holds a JSON object with the right value for every key, and no shape has changed.

    Findings name the key that is wrong and never what would be right.
    """

    name = "answer"
    params_model = AnswerParams
    needs_start = True

    def check(self, view: LayoutView, params: AnswerParams) -> Verdict:
        unlike = shape_findings(view, self.name, lambda _, changes: changes)
        texts = [text.string for text in view.texts(params.layer).each()]
        if len(texts) != 1:
            message = f"{view.describe(params.layer)} has {len(texts)} label(s), exactly one required"
            return Verdict.of(*unlike, self._found(message, params))
        try:
            answer = _parsed(texts[0])
        except (ValueError, ArithmeticError, RecursionError) as error:
            message = f"the label is no JSON object as required: {error}"
            return Verdict.of(*unlike, self._found(message, params))
        return Verdict.of(*unlike, *self._wrong(view, params, answer))

    def _wrong(self, view: LayoutView, params: AnswerParams, answer: dict[str, Any]) -> list[Finding]:
        truths = truths_of(params.questions, start_of(view))
        missing = [f"key {key} is missing" for key in truths if key not in answer]
        unknown = [f"{key[:40]!r} is no key that is asked for" for key in answer if key not in truths]
        wrong = [f"key {key}: {why}" for key in truths if key in answer and (why := _fault(answer[key], truths[key]))]
        return [self._found(message, params) for message in (*missing, *unknown, *wrong)]

    def _found(self, message: str, params: AnswerParams) -> Finding:
        return Finding(rule=self.name, message=message, layer=params.layer)

    def witness(self, params: AnswerParams, bench: Bench) -> Drawing:
        start = Edit(bench, ()).view
        if not start.texts(params.layer).is_empty():
            raise ValueError(f"answer: layer {params.layer} of the given layout has labels already")
        truths = truths_of(params.questions, start)
        if len(json.dumps(truths)) > LONGEST:
            raise ValueError(
                f"answer: the questions are too many for one label: the answer has {LONGEST} characters at most"
            )
        return answered(params.layer, truths)

    def negatives(self, params: AnswerParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return answer_negatives(params.layer, truths_of(params.questions, Edit(bench, ()).view), bench)

    def variants(self, params: AnswerParams) -> frozenset[str]:
        # The shapes are where the task gave them.
        return REDRAWN


def _parsed(text: str) -> dict[str, Any]:
    """Raises ValueError, ArithmeticError or RecursionError for what is no JSON object of different keys."""
    value = json.loads(text, parse_float=Decimal, parse_constant=_refused, object_pairs_hook=_unique)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _fault(value: Any, truth: Truth) -> str | None:
    """What is wrong with a value, None when nothing is: the kind that was asked for, else only that it is wrong."""
    if isinstance(truth, bool):
        return _wrong_unless(value is truth) if isinstance(value, bool) else "must be true or false"
    if isinstance(truth, int):
        return _wrong_unless(value == truth) if _is_number(value) else "must be a number"
    if isinstance(truth, str):
        return _wrong_unless(value == truth) if isinstance(value, str) else "must be a text"
    if not isinstance(value, list):
        return "must be a list"
    items: tuple[Truth, ...] = truth
    same = len(value) == len(items) and not any(_fault(one, right) for one, right in zip(value, items, strict=True))
    return _wrong_unless(same)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _wrong_unless(right: bool) -> str | None:
    return None if right else "wrong"


CHECKER = Answer()
