"""Deliberate faults in the code of the checkers, each with parameters on which the gate must notice it."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from iclayout_checkers import CHECKERS
from pydantic import BaseModel, TypeAdapter

from pytest_iclayout.checking.checker import Bench, Checker
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.spec import CheckerSpec, parse_checker_string
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.suite.task import Commands
from pytest_iclayout.technology.load import builtin_technology

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Mutant:
    """``old`` is replaced by ``new`` in the source of ``module``, by default the checker's own.

    ``start`` and ``solution`` as in a task file, for the checkers that need them.
    """

    checker: str
    fault: str = "none"
    old: str = ""
    new: str = ""
    params: str | dict[str, Any] = ""
    rule_set: str = "published"
    module: str = ""
    start: str = ""
    solution: str = ""

    def __str__(self) -> str:
        return f"{self.checker}-{self.fault.replace(' ', '-')}"


class StaleMutantError(Exception):
    """The text that a mutant replaces is not in the source exactly once: the table must follow the code."""


def mutated_source(mutant: Mutant) -> str:
    """The source with the fault. Raises StaleMutantError."""
    name = mutant.module or f"iclayout_checkers.{mutant.checker}"
    source = inspect.getsource(import_module(name))
    if source.count(mutant.old) != 1:
        raise StaleMutantError(f"{mutant}: {mutant.old!r} occurs {source.count(mutant.old)} times in {name}, not once")
    return source.replace(mutant.old, mutant.new)


def load_mutant(mutant: Mutant) -> Checker:
    """The checker with the fault, in a module of its own: the installed one stays as it is."""
    home = f"iclayout_checkers.{mutant.checker}"
    faulty = _executed(mutant.module or home, mutated_source(mutant))
    if not mutant.module:
        return faulty.CHECKER
    module = _executed(home, inspect.getsource(import_module(home)))
    for name, value in list(vars(module).items()):
        # Models stay the installed ones, or pydantic would not take the instances that others make.
        is_model = isinstance(value, type) and issubclass(value, BaseModel)
        if getattr(value, "__module__", None) == mutant.module and not is_model:
            setattr(module, name, getattr(faulty, name))
    return module.CHECKER


_COMMANDS: TypeAdapter[Drawing] = TypeAdapter(Commands)


def oracle_of(mutant: Mutant, checker: Checker | None = None) -> Oracle:
    """The bundled checker, or the given one, with the parameters of the row."""
    registry = CheckerRegistry({} if checker else CHECKERS)
    registry.add([checker] if checker else [])
    if isinstance(mutant.params, str):
        spec = parse_checker_string(f"{mutant.checker}:{mutant.params}" if mutant.params else mutant.checker)
    else:
        spec = CheckerSpec(name=mutant.checker, params=mutant.params)
    bench = Bench(
        technology=builtin_technology("sky130"),
        rule_set=mutant.rule_set,
        start=_COMMANDS.validate_python(mutant.start),
        solution=_COMMANDS.validate_python(mutant.solution),
    )
    found, params = registry.bind(spec, bench)
    return Oracle(found, params, bench)


def _executed(name: str, source: str) -> ModuleType:
    module = ModuleType(name)
    # Dataclasses and pydantic look their module up by name while it is executed.
    installed = sys.modules[name]
    sys.modules[name] = module
    try:
        exec(compile(source, f"<mutant of {name}>", "exec"), vars(module))
    finally:
        sys.modules[name] = installed
    return module


def _terminal(name: str, layer: str, left: int, bottom: int) -> dict[str, Any]:
    corners = {"min": {"x": left, "y": bottom}, "max": {"x": left + 40, "y": bottom + 40}}
    return {"name": name, "layer": layer, "region": corners}


_INTENT = {
    "nets": [
        {"name": "up", "terminals": [_terminal("a", "68/20", 0, 0), _terminal("b", "69/20", 600, 0)]},
        {
            "name": "down",
            "terminals": [
                _terminal("c", "68/20", 0, 300),
                _terminal("d", "68/20", 300, 300),
                _terminal("e", "68/20", 600, 300),
            ],
        },
        {"name": "guard", "terminals": [_terminal("g", "68/20", 0, 900)]},
    ],
    "forbidden": [{"net_a": "up", "net_b": "down"}, {"net_a": "down", "net_b": "guard"}],
}
"""Of every kind one: a net on two layers, one with a terminal between its ends, and one with a single terminal."""


def _mutant(row: dict[str, Any]) -> Mutant:
    intent = {"intent": json.dumps(_INTENT)}
    return Mutant(**({"params": intent} if row["checker"] == "intent" else {}), **row)


def _completed(row: dict[str, Any], layouts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row with the parameters and layouts that it names by ``on``, which many rows share."""
    shared = layouts[row["on"]] if "on" in row else {}
    return {**shared, **{key: value for key, value in row.items() if key != "on"}}


def _load(path: Path, key: str) -> tuple[Mutant, ...]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_mutant(_completed(row, table.get("layouts", {}))) for row in table[key])


def load_subjects(path: Path) -> tuple[Mutant, ...]:
    """Parameters in the notation of the table of faults, each with a fault that is none."""
    return _load(path, "subjects")


MUTANTS = _load(Path(__file__).with_suffix(".toml"), "mutants")
