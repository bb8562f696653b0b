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
        return Verdict.of(
            *shape_findings(view, self.name, lambda _, changes: changes),
            *self._answered(view, params),
        )

    def _answered(self, view: LayoutView, params: AnswerParams) -> list[Finding]:
        texts = [text.string for text in view.texts(params.layer).each()]
        if len(texts) != 1:
            message = f"{view.describe(params.layer)} has {len(texts)} label(s), exactly one required"
            return [self._found(message, params)]
        try:
            answer = _parsed(texts[0])
        except (ValueError, ArithmeticError, RecursionError) as error:
            return [self._found(f"the label is no JSON object as required: {error}", params)]
        truths = truths_of(params.questions, start_of(view))
        wrong = [key for key in truths if key in answer and not _is_right(answer[key], truths[key])]
        return [
            *(self._found(f"key {key} is missing", params) for key in truths if key not in answer),
            *(self._found(f"{key[:40]!r} is no key that is asked for", params) for key in answer if key not in truths),
            *(self._found(f"key {key}: {_fault(answer[key], truths[key])}", params) for key in wrong),
        ]

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
    value = json.loads(text, parse_float=Decimal, object_pairs_hook=_unique)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _is_right(value: Any, truth: Truth) -> bool:
    if isinstance(truth, tuple):
        items: tuple[Truth, ...] = truth
        is_as_long = isinstance(value, list) and len(value) == len(items)
        return is_as_long and all(_is_right(one, right) for one, right in zip(value, items, strict=True))
    # To Python, true is the number 1.
    return isinstance(value, bool) == isinstance(truth, bool) and bool(value == truth)


def _fault(value: Any, truth: Truth) -> str:
    """What is wrong with a wrong value: the kind that was asked for, else only that it is wrong."""
    is_kind, kind = {
        bool: (isinstance(value, bool), "true or false"),
        int: (isinstance(value, int | Decimal) and not isinstance(value, bool), "a number"),
        str: (isinstance(value, str), "a text"),
        tuple: (isinstance(value, list), "a list"),
    }[type(truth)]
    return "wrong" if is_kind else f"must be {kind}"


CHECKER = Answer()
