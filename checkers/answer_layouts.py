"""Labels that answer questions, rightly and in the ways that are wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given_layouts import changed_shapes
from iclayout_checkers.layouts import other_layers
from iclayout_checkers.questions import Truth

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

LONGEST = 400
"""Characters of an answer: a label takes 512, and what is wrong may be longer."""

_FACTORS = (2, 10, 1000)
"""By which numbers in the wrong unit are off, or counted from both sides."""


_ZEROS = ("0" * 20, "0" * 40)
"""Behind the point: so near to a whole number, a float is one."""

_PLACE = "$"


def answered(layer: Layer, values: Mapping[str, Any]) -> Drawing:
    """The given layout with a label that holds ``values`` as JSON."""
    return _labelled(layer, json.dumps(values))


def answer_negatives(layer: Layer, truths: Mapping[str, Truth], bench: Bench) -> dict[str, SearchStrategy[Drawing]]:
    right = json.dumps(truths)
    drawn = answered(layer, truths)
    first = next(iter(truths))
    keys = st.sampled_from(sorted(truths))
    others = other_layers(bench.technology, layer)
    places = st.tuples(st.integers(1, 500), st.integers(0, 500))

    def with_value(key: str, value: Any) -> Drawing:
        return answered(layer, {**truths, key: value})

    def with_number(key: str, number: str) -> Drawing:
        """``number`` as it stands: one of more digits than a float holds."""
        return _labelled(layer, json.dumps({**truths, key: _PLACE}).replace(json.dumps(_PLACE), number))

    found: dict[str, SearchStrategy[Drawing]] = {
        "no_answer": st.just(()),
        "key_missing": keys.map(lambda key: answered(layer, {one: truths[one] for one in truths if one != key})),
        "unknown_key": st.sampled_from([one for one in ("unit", "note", first.upper()) if one not in truths]).map(
            lambda key: answered(layer, {**truths, key: truths[first]})
        ),
        "key_renamed": keys.map(lambda key: answered(layer, _renamed(truths, key))),
        "key_twice": keys.map(lambda key: _labelled(layer, f'{right[:-1]}, "{key}": {json.dumps(truths[key])}}}')),
        "without_a_value": keys.map(lambda key: with_value(key, None)),
        "not_a_number_of_json": keys.flatmap(
            lambda key: st.sampled_from([float("nan"), float("inf")]).map(lambda value: with_value(key, value))
        ),
        "in_a_list": keys.map(lambda key: with_value(key, [truths[key]])),
        "in_an_object": st.just(answered(layer, {"answer": truths})),
        "cut_off": st.integers(1, len(right) - 1).map(lambda length: _labelled(layer, right[:length])),
        "more_than_json": st.sampled_from(["ok", ".", "{}", "}"]).map(lambda more: _labelled(layer, right + more)),
        "other_quotes": st.just(_labelled(layer, right.replace('"', "'"))),
        "a_list_of_values": st.just(_labelled(layer, json.dumps(list(truths.values())))),
        "two_labels": places.map(lambda place: (*drawn, *Sketch(new=False).label(layer, right, *place).drawing)),
        "wrong_layer": others.map(lambda other: answered(other, truths)),
        "only_in_a_cell_that_is_not_placed": st.just(Sketch("lost").label(layer, right, 0, 0).drawing),
        **changed_shapes(bench.model_copy(update={"solution": drawn}), ()),
    }
    for key, truth in truths.items():
        for what, values in {**_near(truth), **_other_kinds(truth)}.items():
            found[f"{key}_{what}"] = st.sampled_from([with_value(key, value) for value in values])
        if isinstance(truth, int) and not isinstance(truth, bool):
            found[f"{key}_a_trifle_off"] = st.sampled_from([with_number(key, f"{truth}.{zeros}1") for zeros in _ZEROS])
    return found


def _labelled(layer: Layer, text: str) -> Drawing:
    return Sketch(new=False).label(layer, text, 0, 0).drawing


def _renamed(truths: Mapping[str, Truth], key: str) -> dict[str, Truth]:
    return {f"{one}_" if one == key else one: value for one, value in truths.items()}


def _near(truth: Truth) -> dict[str, list[Any]]:
    """Values of the same kind that are not the answer, by what is wrong with them."""
    if isinstance(truth, bool):
        return {"negated": [not truth]}
    if isinstance(truth, int):
        found: dict[str, list[Any]] = {"one_more": [truth + 1], "one_less": [truth - 1], "half_more": [truth + 0.5]}
        scaled = [truth * factor for factor in _FACTORS] + [truth / factor for factor in _FACTORS]
        return {**found, "of_another_unit": scaled, "negative": [-truth]} if truth else found
    if isinstance(truth, str):
        other = [truth.swapcase()] if truth.swapcase() != truth else []
        changed = {"longer": [f"{truth}x", f"{truth}1"], "shorter": [truth[:-1]], "spaced": [f" {truth}", f"{truth} "]}
        return {**changed, "in_other_letters": other} if other else changed
    return _lists_near(list(truth))


def _lists_near(right: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"with_one_more": [[*right, *(right[-1:] or ["68/20"])]]}
    if right:
        found["with_one_less"] = [right[:-1], right[1:]]
        found["with_one_wrong"] = [
            [*right[:place], value, *right[place + 1 :]]
            for place, one in enumerate(right)
            for values in _near(one).values()
            for value in values
        ]
    if right != right[::-1]:
        found["reversed"] = [right[::-1]]
    return found


def _other_kinds(truth: Truth) -> dict[str, list[Any]]:
    if isinstance(truth, bool):
        return {"as_a_number": [int(truth)], "as_a_text": [str(truth).lower(), "yes" if truth else "no"]}
    if isinstance(truth, int):
        # Python takes true for 1 and false for 0.
        return {"as_a_text": [str(truth), f"{truth} dbu"], "as_a_boolean": [bool(truth)]}
    if isinstance(truth, str):
        return {"as_a_boolean": [True, False], "as_a_number": [0, 1]}
    joined = ", ".join(map(str, truth))
    return {
        "as_a_text": [joined, f"[{joined}]"],
        "as_an_object": [{str(number): one for number, one in enumerate(truth)}],
    }
