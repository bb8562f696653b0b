"""Templates of task files: what they give, and that none of them can run for long, fill memory or reach Python."""

from __future__ import annotations

import re

import pytest

from pytest_iclayout.suite.templates import MOST_CHARACTERS, Renderer, RenderError

VALUES = {"w": 140, "layer": {"name": "met1", "gds": "68/20", "items": 3}, "word": "abc"}


def render(text: str) -> object:
    return Renderer(VALUES, 1000).render(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ w }}", 140),
        ("{{ w * 2 + 5 }}", 285),
        ("{{ w // 3 }}", 46),
        ("{{ w / 4 }}", 35.0),
        ("{{ -w }}", -140),
        ("{{- w -}}", 140),
        ("{{ w > 100 }}", True),
        ("{{ [w, 2 * w] }}", [140, 280]),
        ("{{ {'x': w, 'y': 0} }}", {"x": 140, "y": 0}),
        ("{{ layer }}", VALUES["layer"]),
        ("{{ layer.gds }}", "68/20"),
        ("{{ layer.items }}", 3),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ 'a' if w > 200 else 'b' }}", "b"),
        ("{{ [w, 7] | min }}", 7),
        ("{{ (w / 3) | round }}", 47),
    ],
)
def test_a_text_that_is_one_expression_gives_its_value(text: str, value: object) -> None:
    found = render(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ w }} ", "140 "),
        ("{{ w }}{{ w }}", "140140"),
        ("no template: { w } % #\r\n", "no template: { w } % #\r\n"),
        ("a line\nand {{ w }}\n", "a line\nand 140\n"),
        ("{{ w | um }} µm, {{ 83000 | um2 }} µm², {{ 1000 | um }}", "0.14 µm, 0.083 µm², 1"),
        ('{{ "%g" % (w / 1000) }} µm', "0.14 µm"),
        ('{{ "%d of %.2f" % (w, 1) }}', "140 of 1.00"),
        ("{% for i in range(3) %}{{ i * w }};{% endfor %}", "0;140;280;"),
        ("{% for x, y in [[1, 2], [3, 4]] %}{{ x + y }} {{ loop.index }},{% endfor %}", "3 1,7 2,"),
        ("{% set half = w // 2 %}{{ half }} {{ half }}", "70 70"),
        ("{{ 'li1' | capitalize }} shapes", "Li1 shapes"),
        ("{% if w is odd %}odd{% else %}even{% endif %}", "even"),
    ],
)
def test_other_texts_give_texts(text: str, value: str) -> None:
    assert render(text) == value


def test_microns_go_by_the_technology() -> None:
    assert Renderer({"w": 140}, 2000).render("{{ w | um }} µm") == "0.07 µm"
    with pytest.raises(RenderError, match="depend on the technology"):
        Renderer({"w": 140}).render("{{ w | um }} µm")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ v }}", "'v' is undefined; parameters are w, layer, word"),
        ("{{ v }} dbu", "'v' is undefined"),
        ("{{ v + 1 }}", "'v' is undefined"),
        ("{{ layer.space }}", "no attribute 'space'"),
        ("{{ w }", "unexpected '}'"),
        ("one\ntwo {% for i in range(3) %}", "endfor"),
        ("{{ w // 0 }}", "zero"),
        ("{{ w + word }}", "+ takes numbers (given 'abc')"),
        ("{{ w + true }}", "+ takes numbers (given True)"),
        ("{{ layer }} is", "a dict cannot stand in a text"),
        ("{{ w > 3 }} is", "True cannot stand in a text"),
        ("{{ none }}", "a NoneType is no number"),
        ("{{ w | nosuch }}", "'nosuch'"),
        ("{{ w is prime }}", "'prime'"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(RenderError, match=re.escape(message)):
        render(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ word.__class__.__mro__ }}",
        "{{ word['__class__'] }}",
        "{{ word.upper() }}",
        "{{ word.upper }} x",
        "{{ word.ljust(10 ** 12) }}",
        "{% set range = word.ljust %}{{ range(10 ** 12) }}",
        "{{ ''.join.__globals__ }}",
        "{{ self }} x",
        "{{ loop }} x",
        "{{ cycler }} x",
        "{{ lipsum(10 ** 9) }}",
        "{{ namespace(a=1) }}",
        "{{ w | attr('real') }}",
        "{{ word ~ word }} x",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set a %}block{% endset %}{{ a }}",
        "{% include 'other' %}",
        "{% import 'other' as o %}",
        "{% extends 'other' %}",
        "{% block b %}{% endblock %}",
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% filter upper %}a{% endfilter %}",
        "{% call range(3) %}{% endcall %}",
    ],
)
def test_nothing_but_values_arithmetic_and_loops_can_be_written(text: str) -> None:
    with pytest.raises(RenderError):
        render(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 'x' * 10 ** 12 }}", "takes numbers"),
        ("{{ [1] * 10 ** 12 }}", "takes numbers"),
        ("{{ 2 ** 10000000000 }}", "exponent"),
        ("{{ 9 ** 64 }}", "64 bits"),
        ("{{ 4e18 * 1e300 }}", "64 bits"),
        ("{{ '%999999999d' % 1 }}", "no format"),
        ("{{ '%*d' % (10 ** 9, 1) }}", "no format"),
        ("{{ '%s' % word }}", "takes numbers"),
        ("{{ range(10 ** 9) }}", "MAX_RANGE"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "passes"),
        ("{% for a in range(1000) %}{% for b in range(1000) if b > 2000 %}{% endfor %}{% endfor %}", "passes"),
        ("{% for a in [1, 2, 3, 4, 5, 6, 7, 8] %}" * 8 + "{% endfor %}" * 8, "passes"),
        ("{% set a = [1] %}" + "{% set a = [a, a] %}" * 60, "more than"),
        ("{% for a in [[1, 1]] %}" + "{% for a in [[a, a]] %}" * 18 + "{% endfor %}" * 19, "more than"),
        ("{% for a in range(90000) %}" + "0123456789ab" + "{% endfor %}", f"{MOST_CHARACTERS} characters"),
    ],
)
def test_what_would_not_end_or_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(RenderError, match=re.escape(message)):
        render(text)


@pytest.mark.parametrize("text", ["{{ " + "-" * 9999 + "1 }}", "{% for a in [1] %}" * 60 + "{% endfor %}" * 60])
def test_what_python_cannot_nest_is_refused(text: str) -> None:
    with pytest.raises(RenderError):
        render(text)


def test_the_bounds_hold_for_a_file_and_not_for_each_text() -> None:
    renderer = Renderer(VALUES)
    loop = "{% for a in range(60000) %}{% endfor %}"
    renderer.render(loop)
    with pytest.raises(RenderError, match="passes in all"):
        renderer.render(loop)


@pytest.mark.parametrize(("condition", "holds"), [("w > 100", True), ("w < 100 or layer.name == 'met2'", False)])
def test_conditions(condition: str, holds: bool) -> None:
    assert Renderer(VALUES).holds(condition) is holds


@pytest.mark.parametrize("condition", ["w", "w - 140", "'true'", "w > 1 }} {{ w > 2"])
def test_what_is_neither_true_nor_false_is_no_condition(condition: str) -> None:
    with pytest.raises(RenderError, match=r"true or false|stand in a text"):
        Renderer(VALUES).holds(condition)
