"""Parameters of a task file: their fixed values, and others drawn for variants of the task."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_iclayout.suite.files import SuiteError
from pytest_iclayout.technology.errors import explain

KEY = "parameters"
CONDITIONS = "require"
"""The key beside the parameters' names that holds conditions on their values."""
UNTEMPLATED = ("id", "tier", KEY)
"""Keys of a task file whose texts are no templates."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset(
    f"{CONDITIONS} range loop true false none and or not if elif else endif for endfor in is set".split()
)
_DRAWS = 100
"""Random draws for one variant before all values are gone through in order."""
_MOST_TRIED = 20_000
"""Combinations of values that are gone through for one variant."""

Value = Annotated[int, Field(strict=True)] | str | dict[str, Any]
"""What a parameter can be: a whole number, a text, or a table of a choice's fields."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Span(_Frozen):
    """A whole number: ``min``, ``min + step``, ... up to ``max``."""

    default: int = Field(strict=True)
    min: int = Field(strict=True)
    max: int = Field(strict=True)
    step: int = Field(default=1, ge=1, strict=True)

    @model_validator(mode="after")
    def _holds_its_default(self) -> Span:
        if not self.min < self.max:
            raise ValueError(f"min {self.min} is not less than max {self.max}")
        if not self.min <= self.default <= self.max or (self.default - self.min) % self.step:
            raise ValueError(f"default {self.default} is none of {self.min} to {self.max} in steps of {self.step}")
        return self

    @property
    def fixed(self) -> Value:
        return self.default

    @property
    def count(self) -> int:
        return (self.max - self.min) // self.step + 1

    def value(self, index: int) -> Value:
        return self.min + index * self.step


class Choice(_Frozen):
    """One of several texts, whole numbers, or tables; a table is named by its field ``name``."""

    default: Annotated[int, Field(strict=True)] | str
    choices: tuple[Value, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _holds_its_default(self) -> Choice:
        names = [self._name(one) for one in self.choices]
        if None in names:
            raise ValueError("choices: a table needs a field name, a text")
        double = [name for name in names if names.count(name) > 1]
        if double:
            raise ValueError(f"choices: {double[0]!r} is there twice")
        if self.default not in names:
            raise ValueError(f"default {self.default!r} is none of the choices {', '.join(map(str, names))}")
        return self

    @staticmethod
    def _name(choice: Value) -> int | str | None:
        if not isinstance(choice, dict):
            return choice
        name = choice.get("name")
        return name if isinstance(name, str) else None

    @property
    def fixed(self) -> Value:
        return next(one for one in self.choices if self._name(one) == self.default)

    @property
    def count(self) -> int:
        return len(self.choices)

    def value(self, index: int) -> Value:
        return self.choices[index]


class Parameters(_Frozen):
    """What a task file declares: parameters by name, and conditions that their values fulfil."""

    declared: dict[str, Span | Choice]
    require: tuple[str, ...] = ()

    @property
    def fixed(self) -> dict[str, Value]:
        return {name: one.fixed for name, one in self.declared.items()}

    def drawn(self, task_id: str, seed: int) -> Iterator[dict[str, Value]]:
        """Values for variant 1, 2, 3 and so on, each different from the fixed ones and from all before.

        The same on every platform: ``random.Random`` promises the same ``random()`` for the same seed, and a text's
        seed does not depend on the process.  Ends when the ranges hold no more (or none is found in 20,000 tries).
        """
        total = math.prod(one.count for one in self.declared.values())
        used = {self._index(self.fixed)}
        number = 0
        while True:
            number += 1
            found = self._unused(random.Random(f"{seed} {task_id} {number}"), total, used)
            if found is None:
                return
            used.add(found)
            yield self._values(found)

    def _unused(self, source: random.Random, total: int, used: set[int]) -> int | None:
        candidate = 0
        for _ in range(_DRAWS):
            candidate = 0
            for one in self.declared.values():
                candidate = candidate * one.count + int(source.random() * one.count)
            if candidate not in used and self._fulfilled(self._values(candidate)):
                return candidate
        for offset in range(min(total, _MOST_TRIED)):
            following = (candidate + offset) % total
            if following not in used and self._fulfilled(self._values(following)):
                return following
        return None

    def _values(self, index: int) -> dict[str, Value]:
        """Each combination of values has a number, in which the last parameter counts fastest."""
        found: dict[str, Value] = {}
        for name, one in reversed(self.declared.items()):
            index, digit = divmod(index, one.count)
            found[name] = one.value(digit)
        return {name: found[name] for name in self.declared}

    def _index(self, values: Mapping[str, Value]) -> int:
        index = 0
        for name, one in self.declared.items():
            digit = next(number for number in _digits(one) if one.value(number) == values[name])
            index = index * one.count + digit
        return index

    def _fulfilled(self, values: Mapping[str, Value]) -> bool:
        return self.broken_by(values) is None

    def broken_by(self, values: Mapping[str, Value]) -> str | None:
        """The first condition that the values break. Raises RenderError for one that is no condition."""
        if not self.require:
            return None
        from pytest_iclayout.suite.templates import Renderer

        renderer = Renderer(values)
        return next((one for one in self.require if not renderer.holds(one)), None)


def _digits(one: Span | Choice) -> range:
    return range((one.default - one.min) // one.step, one.count) if isinstance(one, Span) else range(one.count)


def read_parameters(path: Path, data: Mapping[str, Any]) -> Parameters | None:
    """The parameters that a task file declares, if it does. Raises SuiteError that names the file and the key."""
    if KEY not in data:
        return None
    table = data[KEY]
    where = f"{path}: {KEY}"
    if not isinstance(table, dict) or not set(table) - {CONDITIONS}:
        raise SuiteError(f"{where}: needs a table of parameters, NAME = {{ default = ..., min = ..., max = ... }}")
    declared = {name: _parameter(f"{where}.{name}", name, one) for name, one in table.items() if name != CONDITIONS}
    require = table.get(CONDITIONS, [])
    if not isinstance(require, list) or not all(isinstance(one, str) for one in require):
        raise SuiteError(f'{where}.{CONDITIONS}: needs a list of conditions, ["a < b", ...]')
    found = Parameters(declared=declared, require=tuple(require))
    from pytest_iclayout.suite.templates import RenderError

    try:
        broken = found.broken_by(found.fixed)
    except RenderError as error:
        raise SuiteError(f"{where}.{CONDITIONS}: {error}") from error
    if broken is not None:
        raise SuiteError(f"{where}.{CONDITIONS}: {broken!r} does not hold for the defaults")
    return found


def _parameter(where: str, name: str, table: Any) -> Span | Choice:
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise SuiteError(
            f"{where}: no name for a parameter; small letters, digits and _ are, less {', '.join(sorted(_RESERVED))}"
        )
    model: type[Span] | type[Choice] = Choice if isinstance(table, dict) and "choices" in table else Span
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise SuiteError(f"{where}: {explain(error)}; keys are default, min, max, step, or default, choices") from error


class Drawn(_Frozen):
    """Which variant of a task: ``--variant-seed`` and its number, from 1."""

    seed: int
    number: int

    @property
    def suffix(self) -> str:
        """What the variant's id has after the task's."""
        return f".s{self.seed}v{self.number}"


def rendered(
    path: Path, data: Mapping[str, Any], values: Mapping[str, Value], dbu_per_micron: int | None
) -> dict[str, Any]:
    """A task file's data with every text rendered, less those of :data:`UNTEMPLATED`.

    ``dbu_per_micron`` is what the filters ``um`` and ``um2`` go by. Raises SuiteError that names the file and the key.
    """
    from pytest_iclayout.suite.templates import Renderer

    renderer = Renderer(values, dbu_per_micron)
    return {
        key: value if key in UNTEMPLATED else _rendered(path, key, value, renderer.render)
        for key, value in data.items()
    }


def require_all_used(path: Path, data: Mapping[str, Any], parameters: Parameters) -> None:
    """Raises SuiteError for a parameter that no text asks for: variants would differ in nothing."""
    from pytest_iclayout.suite.templates import names_in

    used: set[str] = set()
    for key, value in data.items():
        if key not in UNTEMPLATED:
            _rendered(path, key, value, lambda text: used.update(names_in(text)))
    unused = sorted(set(parameters.declared) - used)
    if unused:
        raise SuiteError(
            f"{path}: {KEY}.{unused[0]}: no text of the file uses it; write {{{{ {unused[0]} }}}} where it belongs"
        )


def _rendered(path: Path, where: str, value: Any, render: Callable[[str], Any]) -> Any:
    from pytest_iclayout.suite.templates import RenderError

    if isinstance(value, str):
        try:
            return render(value)
        except RenderError as error:
            raise SuiteError(f"{path}: {where}: template: {error}") from error
    if isinstance(value, dict):
        return {key: _rendered(path, f"{where}.{key}", one, render) for key, one in value.items()}
    if isinstance(value, list):
        return [_rendered(path, f"{where}.{number}", one, render) for number, one in enumerate(value)]
    return value
