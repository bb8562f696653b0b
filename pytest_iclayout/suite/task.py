"""Layout tasks: the file's model and the loaded, bound task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerError, CheckerRegistry
from pytest_iclayout.checking.spec import CheckerSpec, parse_checker_string
from pytest_iclayout.defaults import RULE_SET
from pytest_iclayout.geometry.intent import Intent
from pytest_iclayout.geometry.view import UnjudgeableLayoutError
from pytest_iclayout.rules.sniff import is_rule_file
from pytest_iclayout.session.commands import Command, parse_command
from pytest_iclayout.session.errors import CommandError
from pytest_iclayout.session.sketch import Drawing, DrawingError, Sketch
from pytest_iclayout.suite.files import SuiteError, read_text, read_toml
from pytest_iclayout.suite.lock import task_digest
from pytest_iclayout.suite.manifest import Suite
from pytest_iclayout.suite.parameters import (
    KEY,
    Drawn,
    Parameters,
    Value,
    read_parameters,
    rendered,
    require_all_used,
)
from pytest_iclayout.suite.sniff import TASK_KEYS, looks_like_task
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import LayerRef
from pytest_iclayout.technology.load import builtin_names, builtin_technology, load_technology
from pytest_iclayout.technology.models import NO_RULES, Technology, TechnologyError
from pytest_iclayout.technology.text import parse_technology_text


def _intent_from_text(value: Any) -> Any:
    return Intent.model_validate_json(value) if isinstance(value, str) else value


def _checker_from_file(value: Any) -> Any:
    if isinstance(value, str):
        return parse_checker_string(value)
    if isinstance(value, dict):
        return {"name": value.get("name"), "params": {key: one for key, one in value.items() if key != "name"}}
    return value


def _follow_ups(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise ValueError("must be a text or a list of texts")
    if not texts or not all(text.strip() for text in texts):
        raise ValueError("a follow-up may not be empty; write a text or a list of texts, or leave the key out")
    return tuple(texts)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rectangle(_Frozen):
    """One rectangle of a two-way vector: ``rect`` is [x0, y0, x1, y1] in dbu."""

    layer: LayerRef
    rect: tuple[int, int, int, int]

    @field_validator("rect")
    @classmethod
    def _is_ordered(cls, rect: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
        if rect[0] >= rect[2] or rect[1] >= rect[3]:
            raise ValueError(f"{list(rect)} is no rectangle; write [x0, y0, x1, y1] with x0 < x1 and y0 < y1")
        return rect


def _drawing_from_file(value: Any) -> Any:
    """Commands as tables, or as text with one JSON command a line."""
    if isinstance(value, str):
        value = [_json_line(number, line) for number, line in enumerate(value.splitlines(), 1) if line.strip()]
    if not isinstance(value, list | tuple):
        raise ValueError("must be commands: an array of tables, or text with one JSON command a line")
    commands = []
    for number, one in enumerate(value):
        try:
            commands.append(parse_command(one))
        except CommandError as error:
            raise ValueError(f"command {number}: {error}") from error
    return tuple(commands)


def _json_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number}: not JSON: {error}") from error


Commands = Annotated[tuple[Command, ...], BeforeValidator(_drawing_from_file)]


class TwoWay(_Frozen):
    """Layouts (all rectangles of a list together) that the checker must accept and must reject."""

    good: tuple[Rectangle, ...] = ()
    bad: tuple[Rectangle, ...] = ()


class LayoutTaskFile(_Frozen):
    """A layout task as it stands in a TOML file.

    The first seven keys are the published suite's; ``checker`` is also read as a table
    (``{name = ..., key = value}``) and ``intent`` as a table of the same shape as its JSON.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9_.\-]+$", max_length=200)
    tier: int = Field(ge=1, le=9, strict=True)
    prompt: str = Field(min_length=1)
    technology: str = Field(min_length=1)
    checker: Annotated[CheckerSpec, BeforeValidator(_checker_from_file)]
    intent: Annotated[Intent, BeforeValidator(_intent_from_text)] | None = None
    refinement: Annotated[tuple[str, ...], BeforeValidator(_follow_ups)] = ()
    """Follow-ups: what the agent is told, one after each iteration, once it has begun; one text or a list."""
    cell: str | None = Field(default=None, min_length=1)
    """The judged cell; left out: the only top cell, or ``top`` among several."""
    rule_set: str | None = None
    """Left out: ``published`` where the technology has a set of that name, else no rules."""
    provenance: dict[str, Any] | None = None
    """Where a mined candidate came from; takes no part in judging."""
    two_way: TwoWay = TwoWay()
    start: Commands = ()
    """Commands that draw the layout which the agent is given; for checkers that compare with it."""
    solution: Commands = ()
    """Commands that lead from there to a layout which is right: the witness of such a checker."""
    parameters: Parameters | None = None
    """Values that the file's texts are rendered with, and the ranges that those of variants are drawn from."""


@dataclass(frozen=True)
class Task:
    """A loaded task: its file, its suite, and the oracle that judges it.

    ``values`` are those that the file's texts were rendered with; ``drawn`` says which variant this is, None
    for the task as it is published.
    """

    spec: LayoutTaskFile
    suite: Suite
    path: Path
    oracle: Oracle
    digest: str
    """Of the file's content, see :func:`~pytest_iclayout.suite.lock.task_digest`; all variants have the file's."""
    values: dict[str, Value] | None = field(default=None, hash=False)
    drawn: Drawn | None = None

    @property
    def id(self) -> str:
        return self.spec.id if self.drawn is None else f"{self.spec.id}{self.drawn.suffix}"

    @property
    def technology(self) -> Technology:
        return self.oracle.bench.technology


def is_task_file(path: Path, suite: Suite | None) -> bool:
    """Whether a TOML file is meant to be a layout task.

    In a suite: every file but those that are whole and have none of a task's main keys (a technology,
    say), so that a damaged task is an error and not silence.  Elsewhere: those that look like one.
    """
    if is_rule_file(path):
        return False
    if suite is None:
        return looks_like_task(path)
    if path.stem in suite.tasks:
        return True
    try:
        return any(key in TASK_KEYS for key in read_toml(path))
    except SuiteError:
        return True


def load_task(path: Path, suite: Suite, registry: CheckerRegistry) -> Task:
    """Load and bind a task file, with the fixed values. Raises SuiteError that names the file and the key."""
    data = read_toml(path)
    parameters = read_parameters(path, data)
    if parameters is None:
        return _bound(path, data, task_digest(data), suite, registry)
    require_all_used(path, data, parameters)
    return _instance(path, data, parameters, parameters.fixed, suite, registry)


def load_variants(path: Path, suite: Suite, registry: CheckerRegistry, count: int, seed: int) -> tuple[Task, ...]:
    """``count`` variants of a task with parameters; of one without, the task alone.

    Raises SuiteError as :func:`load_task` does, and where the ranges hold fewer.
    """
    fixed = load_task(path, suite, registry)
    parameters = fixed.spec.parameters
    if parameters is None:
        return (fixed,)
    drawn = list(islice(parameters.drawn(fixed.id, seed), count))
    if len(drawn) < count:
        raise SuiteError(
            f"{path}: {KEY}: {count} variants are asked for, and the ranges hold {len(drawn)} besides the fixed values"
        )
    data = read_toml(path)
    return tuple(
        _instance(path, data, parameters, values, suite, registry, Drawn(seed=seed, number=number))
        for number, values in enumerate(drawn, 1)
    )


def variant_named(task_id: str, tasks: Mapping[str, Task], registry: CheckerRegistry) -> Task | None:
    """The variant that a run named so, of one of ``tasks`` (by id); None for what is no such name or has no ranges.

    Raises SuiteError where the task's parameters give no layout with its values.
    """
    name = _VARIANT.fullmatch(task_id)
    fixed = tasks.get(name["task"]) if name else None
    parameters = None if fixed is None else fixed.spec.parameters
    if name is None or fixed is None or parameters is None:
        return None
    drawn = Drawn(seed=int(name["seed"]), number=int(name["number"]))
    values = next(islice(parameters.drawn(fixed.id, drawn.seed), drawn.number - 1, None), None)
    if values is None:
        return None
    return _instance(fixed.path, read_toml(fixed.path), parameters, values, fixed.suite, registry, drawn)


_VARIANT = re.compile(r"(?P<task>.+)\.s(?P<seed>\d{1,20})v(?P<number>[1-9]\d{0,5})", re.ASCII)
"""See :attr:`~pytest_iclayout.suite.parameters.Drawn.suffix`."""


def _instance(
    path: Path,
    data: dict[str, Any],
    parameters: Parameters,
    values: dict[str, Value],
    suite: Suite,
    registry: CheckerRegistry,
    drawn: Drawn | None = None,
) -> Task:
    try:
        name = rendered(path, {"technology": data.get("technology")}, values, None)["technology"]
        dbu_per_micron = _technology_of(path, name).dbu_per_micron if isinstance(name, str) else None
        whole = {**rendered(path, data, values, dbu_per_micron), KEY: parameters}
        bound = _bound(path, whole, task_digest(data), suite, registry)
    except TechnologyError as error:
        raise SuiteError(f"{path}: technology: {error}") from error
    except SuiteError as error:
        if drawn is None:
            raise
        raise SuiteError(f"{error} (variant {drawn.number} of seed {drawn.seed}: {KEY} {values})") from error
    return replace(bound, values=values, drawn=drawn)


def _bound(path: Path, data: dict[str, Any], digest: str, suite: Suite, registry: CheckerRegistry) -> Task:
    try:
        spec = LayoutTaskFile.model_validate(data)
    except ValidationError as error:
        keys = ", ".join(LayoutTaskFile.model_fields)
        raise SuiteError(f"{path}: {explain(error)}; keys are {keys}") from error
    try:
        technology = _technology_of(path, spec.technology)
        bench = Bench(
            technology=technology,
            rule_set=spec.rule_set or _usual_rule_set(technology),
            start=spec.start,
            solution=spec.solution,
        )
    except TechnologyError as error:
        raise SuiteError(f"{path}: technology: {error}") from error
    try:
        rules = bench.rules
    except TechnologyError as error:
        raise SuiteError(f"{path}: rule_set: {error}") from error
    try:
        checker, params = registry.bind(_with_intent(spec, registry), bench)
    except CheckerError as error:
        raise SuiteError(f"{path}: {error}") from error
    if not rules and getattr(checker, "needs_rules", False):
        have = ", ".join(sorted(technology.rule_sets)) or "no rule set"
        raise SuiteError(
            f"{path}: rule_set: checker {checker.name} needs rules and there are none in force; "
            f"technology {technology.name} has {have}"
        )
    for key in ("start", "solution"):
        given, needed = getattr(spec, key), getattr(checker, f"needs_{key}", False)
        if bool(given) != needed:
            what = "needs it, and it is not given" if needed else "does not take one"
            raise SuiteError(f"{path}: {key}: checker {checker.name} {what}")
    oracle = Oracle(
        checker,
        params,
        bench,
        spec.cell,
        good=_vector(spec.two_way.good, spec),
        bad=_vector(spec.two_way.bad, spec),
    )
    _try_start(path, oracle)
    return Task(spec=spec, suite=suite, path=path, oracle=oracle, digest=digest)


def _try_start(path: Path, oracle: Oracle) -> None:
    """The given layout is drawn once at load: a mistake in it is the file's, not a trial's."""
    key = "start"
    try:
        if oracle.start_view is not None:
            key = "solution"
            oracle.build(oracle.bench.solution)
    except (DrawingError, UnjudgeableLayoutError) as error:
        raise SuiteError(f"{path}: {key}: {error}") from error


def _with_intent(spec: LayoutTaskFile, registry: CheckerRegistry) -> CheckerSpec:
    takes_intent = "intent" in registry.get(spec.checker.name).params_model.model_fields
    if spec.intent is None and not takes_intent:
        return spec.checker
    if spec.intent is None:
        raise CheckerError(f"intent: checker {spec.checker.name} needs it, and it is not given")
    if not takes_intent:
        raise CheckerError(f"intent: checker {spec.checker.name} does not take one")
    return CheckerSpec(name=spec.checker.name, params={**spec.checker.params, "intent": spec.intent})


def _vector(rectangles: tuple[Rectangle, ...], spec: LayoutTaskFile) -> tuple[Drawing, ...]:
    if not rectangles:
        return ()
    sketch = Sketch(spec.cell or "top", new=not spec.start)
    for one in rectangles:
        sketch.rect(one.layer, *one.rect)
    return (sketch.drawing,)


def _usual_rule_set(technology: Technology) -> str:
    return RULE_SET if RULE_SET in technology.rule_sets else NO_RULES


def _technology_of(task_path: Path, name: str) -> Technology:
    beside = task_path.parent / name
    if beside.is_file():
        return _technology_file(beside.resolve(), beside.stat().st_mtime_ns)
    if name in builtin_names():
        return builtin_technology(name)
    raise TechnologyError(
        f"{name!r} is no file beside the task and no built-in technology; built in are {', '.join(builtin_names())}"
    )


@lru_cache(maxsize=64)
def _technology_file(path: Path, modified_ns: int) -> Technology:
    if path.suffix == ".toml":
        return load_technology(path)
    return parse_technology_text(read_text(path), str(path))
