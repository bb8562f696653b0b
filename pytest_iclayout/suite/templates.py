"""Texts of a task file as templates: jinja2, less all that could run for long, fill memory or reach into Python.

What a suite brings is run by whoever measures with it, so a template can hold no more than values, arithmetic,
comparisons, ``if``, ``for`` and ``set``; passes of loops, the size of numbers and of what comes out are bounded.
The bounds count steps, never time: a file is refused on every machine or on none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, nodes, pass_context
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import SandboxedEnvironment

MOST_CHARACTERS = 1_000_000
"""Characters that the templates of one file may give in all."""
MOST_PASSES = 100_000
"""Passes of all loops of one file together."""
_MOST_VALUES = 10_000
"""Values in a list that is looped over, kept by ``set`` or given as a value, lists within it counted through."""
_LARGEST = 2**63
"""Magnitude of the numbers that are reckoned with: more than any coordinate."""

_RESULT = "_result"
"""Where the value of an expression is kept; no parameter begins so."""
_BUDGET = "(budget)"
_DBU_PER_MICRON = "(dbu per micron)"
_COUNTED = "(counted)"
_BOUNDED = "(bounded)"
"""Names within templates that no template can spell."""

_FORMAT = re.compile(r"%(?:%|[-+ #0]*\d{0,2}(?:\.\d{1,2})?[diouxXeEfFgGs])")
_FUNCTION = "range"
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict,
    nodes.Pair, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.For, nodes.If, nodes.Assign, nodes.CondExpr,
    nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Neg, nodes.Pos, nodes.Add, nodes.Sub,
    nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Filter, nodes.Test, nodes.Call,
)  # fmt: skip
_FAULTS = (
    TemplateError, ArithmeticError, LookupError, TypeError, ValueError,
    # Python's own bounds on the nesting of expressions and blocks.
    RecursionError, SyntaxError, MemoryError,
)  # fmt: skip


class RenderError(ValueError):
    """A template that cannot be used; the message says why."""


@dataclass
class _Budget:
    passes: int = MOST_PASSES
    characters: int = MOST_CHARACTERS

    def take_characters(self, count: int) -> None:
        self.characters -= count
        if self.characters < 0:
            raise RenderError(f"the templates of a file may give {MOST_CHARACTERS} characters, these give more")

    def take_pass(self) -> None:
        self.passes -= 1
        if self.passes < 0:
            raise RenderError(f"the loops of a file may make {MOST_PASSES} passes in all, these make more")


class Renderer:
    """Renders the texts of one file with one set of values; what they may cost is counted over all of them."""

    def __init__(self, values: Mapping[str, Any], dbu_per_micron: int | None = None) -> None:
        self._budget = _Budget()
        self._variables = {**values, _BUDGET: self._budget, _DBU_PER_MICRON: dbu_per_micron}
        self._names = ", ".join(values)

    def render(self, text: str) -> Any:
        """The text, or the value of one that is just ``{{ expression }}``. Raises RenderError."""
        if not _may_be_template(text):
            return text
        try:
            compiled = _compile(text)
            if compiled.is_expression:
                context = compiled.template.new_context(self._variables)
                for _ in compiled.template.root_render_func(context):
                    pass
                return self._plain(context.vars[_RESULT])
            parts = []
            for part in compiled.template.generate(self._variables):
                self._budget.take_characters(len(part))
                parts.append(part)
            return "".join(parts)
        except RenderError:
            raise
        except _FAULTS as error:
            raise RenderError(self._explained(error)) from error

    def holds(self, condition: str) -> bool:
        """Whether an expression is true. Raises RenderError, also for one that is neither true nor false."""
        value = self.render("{{ " + condition + " }}")
        if not isinstance(value, bool):
            raise RenderError(f"{condition!r} gives {_short(value)}; it must give true or false")
        return value

    def _plain(self, value: Any) -> Any:
        _require_bounded(value)
        plain = _as_data(value)
        self._budget.take_characters(len(repr(plain)))
        return plain

    def _explained(self, error: BaseException) -> str:
        text = getattr(error, "message", None) or str(error) or type(error).__name__
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line and line > 1 else ""
        known = f"; parameters are {self._names}" if text.endswith("is undefined") else ""
        return f"{text}{where}{known}"


@dataclass(frozen=True)
class _Compiled:
    template: Template
    is_expression: bool


def names_in(text: str) -> frozenset[str]:
    """The variables that a text asks for. Raises RenderError."""
    if not _may_be_template(text):
        return frozenset()
    try:
        return frozenset(one.name for one in _environment().parse(text).find_all(nodes.Name) if one.ctx == "load")
    except _FAULTS as error:
        raise RenderError(f"{error} (line {getattr(error, 'lineno', 1)})") from error


def _may_be_template(text: str) -> bool:
    return any(mark in text for mark in ("{{", "{%", "{#"))


@lru_cache(maxsize=2048)
def _compile(text: str) -> _Compiled:
    """Templates of a file are rendered once for each variant, so they are kept."""
    environment = _environment()
    tree = environment.parse(text)
    _require_allowed(tree)
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = _filtered(loop.iter, _COUNTED)
    for assignment in list(tree.find_all(nodes.Assign)):
        assignment.node = _filtered(assignment.node, _BOUNDED)
    expression = _only_expression(tree)
    if expression is not None:
        result = nodes.Name(_RESULT, "store", lineno=1)
        tree = nodes.Template([nodes.Assign(result, expression, lineno=1)], lineno=1)
    tree.set_environment(environment)
    return _Compiled(environment.from_string(tree), is_expression=expression is not None)


def _only_expression(tree: nodes.Template) -> nodes.Expr | None:
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output) or len(tree.body[0].nodes) != 1:
        return None
    (only,) = tree.body[0].nodes
    return None if isinstance(only, nodes.TemplateData) else only


def _filtered(expression: Any, name: str) -> nodes.Filter:
    return nodes.Filter(expression, name, [], [], None, None, lineno=expression.lineno)


def _require_allowed(tree: nodes.Template) -> None:
    known = _environment()
    for one in _all_nodes(tree):
        what = type(one).__name__
        if not isinstance(one, _NODES):
            raise RenderError(
                f"{what} (line {one.lineno}) is not among what a template may hold: values, arithmetic, comparisons, "
                "if, for, set, range()"
            )
        if isinstance(one, nodes.Call) and not (isinstance(one.node, nodes.Name) and one.node.name == _FUNCTION):
            raise RenderError(f"only {_FUNCTION}() can be called (line {one.lineno})")
        if isinstance(one, nodes.For) and one.recursive:
            raise RenderError(f"a recursive loop is not among what a template may hold (line {one.lineno})")
        if isinstance(one, nodes.Filter) and one.name not in known.filters:
            raise RenderError(f"{one.name!r} is no filter; filters are {', '.join(sorted(_filters()))}")
        if isinstance(one, nodes.Test) and one.name not in known.tests:
            raise RenderError(f"{one.name!r} is no test; tests are {', '.join(sorted(known.tests))}")


def _all_nodes(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _all_nodes(child)


class _Environment(SandboxedEnvironment):
    """jinja2's sandbox, of which only fields of tables and a loop's own can be reached, and numbers reckoned with."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            return _formatted(left, right)
        for one in (left, right):
            _require_number(one, operator)
        if operator == "**" and abs(right) > 64:
            raise RenderError(f"{left} ** {right}: the exponent is at most 64")
        return _bounded_number(super().call_binop(context, operator, left, right))


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    made = _Environment(undefined=StrictUndefined, keep_trailing_newline=True, optimized=False, finalize=_shown)
    made.globals = {_FUNCTION: made.globals[_FUNCTION]}
    made.filters = {**_filters(), _COUNTED: _counted, _BOUNDED: _bounded}
    made.tests = {name: made.tests[name] for name in ("odd", "even", "divisibleby")}
    return made


def _filters() -> dict[str, Callable[..., Any]]:
    return {
        "abs": lambda value: abs(_require_number(value, "abs")),
        "int": lambda value: int(_require_number(value, "int")),
        "round": lambda value: round(_require_number(value, "round")),
        "min": min,
        "max": max,
        "length": len,
        "upper": lambda value: str(value).upper(),
        "lower": lambda value: str(value).lower(),
        "capitalize": lambda value: str(value)[:1].upper() + str(value)[1:],
        "um": _in_microns(1),
        "um2": _in_microns(2),
    }


def _in_microns(power: int) -> Callable[[Context, Any], str]:
    """A filter that writes a length (1) or an area (2) of dbu in µm or µm², in full and without trailing zeros."""

    @pass_context
    def filter_of(context: Context, value: Any) -> str:
        dbu_per_micron = context[_DBU_PER_MICRON]
        if dbu_per_micron is None:
            raise RenderError("µm are not known here: they depend on the technology")
        microns = Decimal(str(_require_number(value, "um"))) / Decimal(dbu_per_micron) ** power
        return format(microns.normalize(), "f")

    return filter_of


@pass_context
def _counted(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        context[_BUDGET].take_pass()
        _require_bounded(value)
        yield value


@pass_context
def _bounded(context: Context, value: Any) -> Any:
    _require_bounded(value)
    return value


@pass_context
def _shown(context: Context, value: Any) -> Any:
    """What stands for a value within a text."""
    if isinstance(value, Undefined):
        return str(value)  # which says what is undefined
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RenderError(f"{_short(value)} cannot stand in a text; numbers and texts can")
    return value


def _require_bounded(value: Any) -> None:
    """Lists within lists can share what they hold, so that a few bytes stand for more values than memory has."""
    waiting, count = [value], 0
    while waiting:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | range):
            waiting += one
        if count + len(waiting) > _MOST_VALUES and not isinstance(value, range):
            raise RenderError(f"a list holds more than {_MOST_VALUES} values")


def _as_data(value: Any) -> Any:
    """A value as TOML could have held it."""
    if isinstance(value, Undefined):
        return str(value)  # which says what is undefined
    if isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list | tuple | range):
        return [_as_data(one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _as_data(one) for key, one in value.items()}
    raise RenderError(f"{_short(value)} is no number, text, boolean, list or table of these")


def _formatted(text: str, values: Any) -> str:
    """``"%g" % x``, for numbers and short widths: anything else could be made to grow without end."""
    if "%" in _FORMAT.sub("", text):
        raise RenderError(f"{text!r} is no format; write %d, %g, %.3f and the like")
    given = values if isinstance(values, tuple) else (values,)
    for one in given:
        _require_number(one, "%")
    return text % given


def _require_number(value: Any, what: str) -> Any:
    if isinstance(value, Undefined):
        str(value)  # which says what is undefined
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RenderError(f"{what} takes numbers (given {_short(value)})")
    return _bounded_number(value)


def _bounded_number(value: Any) -> Any:
    if isinstance(value, int | float) and abs(value) >= _LARGEST:
        raise RenderError("a number is beyond 64 bits")
    return value


def _short(value: Any) -> str:
    if isinstance(value, str | int | float):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:59]}…"
    return f"a {type(value).__name__}"
