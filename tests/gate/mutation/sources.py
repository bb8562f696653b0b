"""What of a checker's source is mutated: the functions that judge, less the texts of their findings."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterable, Iterator, Set
from typing import NamedTuple, TypeVar

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)


class Function(NamedTuple):
    """A function of a module, or a method; functions within it belong to it.  Lines count from 1."""

    name: str
    node: _Function
    first_line: int
    """With the decorators."""
    last_line: int

    @property
    def is_decorated(self) -> bool:
        """mutmut leaves these alone, but for static and class methods."""
        names = [one.id for one in self.node.decorator_list if isinstance(one, ast.Name)]
        return bool(self.node.decorator_list) and names not in (["staticmethod"], ["classmethod"])


def functions(module: ast.Module) -> Iterator[Function]:
    for statement in module.body:
        if isinstance(statement, _Function):
            yield _function(statement.name, statement)
        elif isinstance(statement, ast.ClassDef):
            for method in statement.body:
                if isinstance(method, _Function):
                    yield _function(f"{statement.name}.{method.name}", method)


def _function(name: str, node: _Function) -> Function:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return Function(name, node, first, node.end_lineno or node.lineno)


def called(source: str, lines: Iterable[int]) -> frozenset[str]:
    """Names of the functions that begin on these lines, or hold a function that does."""
    lines = frozenset(lines)
    return frozenset(
        one.name
        for one in functions(ast.parse(source))
        if any(one.first_line <= line <= one.last_line for line in lines)
    )


def with_pragmas(source: str, judging: Set[str], makers: Set[str]) -> str:
    """The source with pragmas for mutmut on every function but those named, and on what only makes findings."""
    lines = source.splitlines()
    for one in functions(ast.parse(source)):
        if one.name not in judging or one.node.name in makers:
            header = one.node.body[0].lineno - 2
            while not lines[header].split("#")[0].strip():
                header -= 1
            lines[header] += "  # pragma: no mutate block"
        else:
            for number in _message_lines(one.node, makers):
                lines[number - 1] += "  # pragma: no mutate"
    return "\n".join(lines) + "\n"


def _message_lines(function: _Function, makers: Set[str]) -> Iterator[int]:
    """Lines of statements that hold nothing but the making of findings; ``Comparison`` finds the rest."""
    stripper = _MessageStripper(makers, _names_for_messages(function, makers))
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.Raise):
            rest = stripper.visit(_copy(statement))
            nodes = list(ast.walk(rest))
            if isinstance(rest, ast.Pass | ast.Raise) or (
                any(isinstance(node, ast.Constant) and node.value == _FINDING for node in nodes)
                and all(isinstance(node, _PLAIN) for node in nodes)
            ):
                yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


_FINDING = "a finding"
_PLAIN = (
    *(ast.Return, ast.Expr, ast.Yield, ast.YieldFrom, ast.Call),
    *(ast.Name, ast.Attribute, ast.Constant, ast.List, ast.expr_context),
)
"""Nodes around the making of a finding that leave mutmut nothing to change but that finding."""


def message_makers(modules: Collection[ast.Module]) -> frozenset[str]:
    """``Finding`` and ``Flaw``, the functions that return a finding or explain one, and those that nothing else calls.

    What they are given, and what they do, makes no difference to a verdict.
    """
    found = [one.node for module in modules for one in functions(module)]
    reads = [_read(one) for one in found]
    called = frozenset[str]().union(*reads)
    outside = frozenset[str]().union(*(_read(_WithoutFunctions().visit(_copy(one))) for one in modules))
    returning = (one.name for one in found if isinstance(one.returns, ast.Name) and one.returns.id == "Finding")
    makers = _FINDINGS.union(returning, _explaining(found, modules))
    judgements = [_read(_judgement(one, makers)) for one in found]
    while True:
        judging = outside.union(*(read for one, read in zip(found, judgements, strict=True) if one.name not in makers))
        more = frozenset(one.name for one in found if one.name in called - judging) - makers
        if not more:
            return makers
        makers |= more
        judgements = [
            _read(_judgement(one, makers)) if more & read else judgement
            for one, read, judgement in zip(found, reads, judgements, strict=True)
        ]


_FINDINGS = frozenset({"Finding", "Flaw"})
"""What says that a layout is wrong; a flaw is what the extraction of devices finds."""


def _explaining(found: Iterable[_Function], modules: Collection[ast.Module]) -> Iterator[str]:
    """Generators that yield a finding whatever they are given, where all that they yield is passed on.

    How many findings there are makes no difference as long as there is one.
    """
    nodes = [node for module in modules for node in ast.walk(module)]
    passed_on = {id(one.value) for one in nodes if isinstance(one, ast.YieldFrom | ast.Starred)}
    for one in found:
        if _always_yields_a_finding(one):
            calls = [node for node in nodes if isinstance(node, ast.Call) and _callee(node) == one.name]
            reads = [node for node in nodes if one.name in _own_names(node)]
            if len(calls) == len(reads) and all(id(call) in passed_on for call in calls):
                yield one.name


def _always_yields_a_finding(function: _Function) -> bool:
    """By a statement that is no part of another, in a function that does not return before its end."""
    yields = [one.value for one in function.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Yield)]
    return any(isinstance(one.value, ast.Call) and _callee(one.value) in _FINDINGS for one in yields) and not any(
        isinstance(node, ast.Return) for node in ast.walk(function)
    )


def _own_names(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    return (node.attr,) if isinstance(node, ast.Attribute) else ()


class Comparison:
    """Tells whether a mutant differs from its original in nothing that can make a difference to a verdict.

    That is, in the contents of findings or exceptions, or in ``strict`` of zip, which only raises.
    """

    def __init__(self, original: _Function, makers: Set[str]) -> None:
        self._makers = makers
        self._names = _names_for_messages(original, makers)
        self._is_maker = original.name in makers
        self._judgement = self._without_messages(original)

    def is_no_different(self, mutant: _Function) -> bool:
        return self._is_maker or self._without_messages(mutant) == self._judgement

    def _without_messages(self, function: _Function) -> list[str]:
        stripped = _MessageStripper(self._makers, self._names).visit(_copy(function))
        return [ast.dump(stripped.args), *(ast.dump(statement) for statement in stripped.body)]


class _MessageStripper(ast.NodeTransformer):
    def __init__(self, makers: Set[str], names: Set[str]) -> None:
        self._makers = makers
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _callee(node) in self._makers:
            return ast.Constant(_FINDING)
        if _callee(node) == "zip":
            node.keywords = [one for one in node.keywords if one.arg != "strict"]
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise()

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        targets = _targets(node)
        return ast.Pass() if targets and targets <= self._names else self.generic_visit(node)


class _WithoutFunctions(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        return None


def _judgement(function: _Function, makers: Set[str]) -> ast.AST:
    """What of a function is not for messages."""
    rest: ast.AST = _MessageStripper(makers, _names_for_messages(function, makers)).visit(_copy(function))
    return rest


def _names_read(node: ast.AST) -> frozenset[str]:
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))


def _read(node: ast.AST) -> frozenset[str]:
    """The names that are read in it, and those of attributes."""
    return _names_read(node) | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _copy(node: _Node) -> _Node:
    """Transformers alter what they are given."""
    return copy.deepcopy(node)


def _names_for_messages(function: _Function, makers: Set[str]) -> frozenset[str]:
    """Local names that are read in the making of findings only, directly or through other such names."""
    names = frozenset[str]().union(*(_targets(one) for one in ast.walk(function) if isinstance(one, ast.Assign)))
    while True:
        unread = names - _names_read(_MessageStripper(makers, names).visit(_copy(function)))
        if unread == names:
            return names
        names = unread


def _targets(node: ast.Assign) -> frozenset[str]:
    """The names that are assigned; none when anything but names is."""
    leaves = [leaf for target in node.targets for leaf in (target.elts if isinstance(target, ast.Tuple) else [target])]
    if all(isinstance(leaf, ast.Name) for leaf in leaves):
        return frozenset(leaf.id for leaf in leaves if isinstance(leaf, ast.Name))
    return frozenset()


def _callee(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""
