"""Faults of a suite that no single trial shows: what ``iclayout suite check`` looks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path

from pytest_iclayout.checking.gate import GateFailure, quick_check
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry, layers_of
from pytest_iclayout.session.sketch import DrawingError, draw_on
from pytest_iclayout.suite.files import SuiteError
from pytest_iclayout.suite.folder import bundled_folder, load_tasks
from pytest_iclayout.suite.lock import LOCK_NAME, in_words, read_lock
from pytest_iclayout.suite.manifest import MANIFEST_NAME, Suite, load_suite
from pytest_iclayout.suite.task import Task, load_variants

SAME_AS = "same_as"
"""The key of ``provenance`` with the ids of tasks that are judged alike on purpose."""
_SAMPLES = 5
"""Variants of a task with parameters that are tried."""

_UNIT = re.compile(r"\b(dbu|[µμu]m|microns?|micrometres?)(?![a-z0-9_])", re.IGNORECASE)
_PREFIX = re.compile(r"t(\d+)_")
_RULES = re.compile(r"design rule", re.IGNORECASE)
_RULES_DO_NOT_COUNT = re.compile(r"design\s+rules?\s+(do|does|need|needs|are|is)\s+not\b", re.IGNORECASE)
_LONGEST_LIST = 5


class Weight(str, Enum):
    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Complaint:
    """``text`` is one line: file, key, what is wrong, what is accepted."""

    text: str
    weight: Weight = Weight.PROBLEM

    def __str__(self) -> str:
        return self.text if self.weight is Weight.PROBLEM else f"{self.weight.value}: {self.text}"


@dataclass(frozen=True)
class Checked:
    tasks: int
    complaints: tuple[Complaint, ...]

    def count(self, weight: Weight) -> int:
        return sum(one.weight is weight for one in self.complaints)


def check_suite(folder: Path, registry: CheckerRegistry) -> Checked:
    """All faults of the tasks below a folder. Raises SuiteError for a folder that is none."""
    tasks, problems = load_tasks(folder, registry)
    if not tasks and not problems:
        raise SuiteError(f"{folder}: no task below this folder")
    bundled = folder.resolve() == bundled_folder().resolve()
    complaints = [Complaint(text) for text in problems]
    complaints += _of_manifest(folder, tasks, bundled, broken=bool(problems))
    for task in tasks.values():
        complaints += _of_task(task, bundled, registry)
    complaints += _alike(tasks)
    # A broken manifest is the error of each of its files.
    return Checked(len(tasks), tuple(dict.fromkeys(complaints)))


def _of_manifest(folder: Path, tasks: Mapping[str, Task], bundled: bool, *, broken: bool) -> Iterator[Complaint]:
    path = folder / MANIFEST_NAME
    if not path.is_file():
        yield Complaint(f"{path}: not there; a suite with a name and a version has one", Weight.NOTE)
        return
    try:
        suite = load_suite(path)
    except SuiteError as error:
        text = str(error)
        yield Complaint(text)
        return
    # A file that cannot be loaded is a complaint already, and its task is not missing.
    for task_id in () if broken else suite.tasks:
        if task_id not in tasks:
            yield Complaint(f"{path}: tasks: no file for {task_id}; each needs a TOML file below this folder")
    for task_id, task in tasks.items():
        if task_id not in suite.tasks:
            yield Complaint(f"{task.path}: id: {task_id!r} is not among tasks of {path}; every task of a suite is")
    if not broken:
        yield from _of_lock(folder, suite, tasks, bundled)


def _of_lock(folder: Path, suite: Suite, tasks: Mapping[str, Task], bundled: bool) -> Iterator[Complaint]:
    path = folder / LOCK_NAME
    try:
        lock = read_lock(folder)
    except SuiteError as error:
        text = str(error)
        yield Complaint(text)
        return
    if lock is None:
        weight = Weight.PROBLEM if bundled else Weight.NOTE
        yield Complaint(f"{path}: not there, so nobody sees when tasks change; iclayout suite lock writes it", weight)
        return
    changes = lock.changes_to({task_id: task.digest for task_id, task in tasks.items()})
    if lock.version != suite.version:
        yield Complaint(
            f"{path}: version: {lock.version!r} is locked and the manifest has {suite.version!r}; "
            "iclayout suite lock writes it anew"
        )
    elif changes:
        yield Complaint(
            f"{path}: tasks: not as locked under version {suite.version}: {in_words(changes)}; raise version in the "
            "manifest, then iclayout suite lock"
        )


def _of_task(task: Task, bundled: bool, registry: CheckerRegistry) -> Iterator[Complaint]:
    yield from _of_id(task, bundled)
    yield from _of_prompt(task)
    yield from _of_oracle(task)
    yield from _of_variants(task, registry)


def _of_id(task: Task, bundled: bool) -> Iterator[Complaint]:
    prefix = _PREFIX.match(task.id)
    if (prefix is None and bundled) or (prefix is not None and int(prefix[1]) != task.spec.tier):
        weight = Weight.PROBLEM if bundled else Weight.WARNING
        yield Complaint(
            f"{task.path}: id: {task.id!r} does not begin with the tier; t{task.spec.tier}_ is accepted", weight
        )


def _of_prompt(task: Task) -> Iterator[Complaint]:
    prompt, technology = task.spec.prompt, task.technology
    if not _UNIT.search(prompt):
        yield Complaint(f"{task.path}: prompt: names no unit; write dbu or µm with its numbers{_variant_of(task)}")
    for key, layer in dict.fromkeys(layers_of(task.oracle.params)):
        name = technology.name_of(layer)
        named = re.search(rf"(?<![\w/])({re.escape(name)}|{re.escape(str(layer))})(?![\w/])", prompt, re.IGNORECASE)
        if not named:
            yield Complaint(
                f"{task.path}: prompt: does not name {name} ({layer}), which the checker's {key} does; "
                f"write the name or the number{_variant_of(task)}"
            )


def _of_oracle(task: Task) -> Iterator[Complaint]:
    name, oracle = task.oracle.checker.name, task.oracle
    if not oracle.checker.variants(oracle.params):
        yield Complaint(f"{task.path}: checker: {name} declares no variants; one legal change at least is needed")
    try:
        quick_check(oracle)
    except GateFailure as error:
        yield Complaint(f"{task.path}: checker: {_one_line(error.message)}; its gate must pass")
        return
    if not _asks_for_rules(task):
        return
    violations = oracle.judge_with_violations(oracle.build(oracle.witness())).violations
    broken = sorted({one.rule for one in violations})
    if broken:
        yield Complaint(
            f"{task.path}: prompt: asks for the design rules, and the checker's witness breaks {_some(broken)} of rule "
            f"set {oracle.bench.rule_set!r}; a witness that keeps them, or a prompt that says they do not decide"
        )


def _asks_for_rules(task: Task) -> bool:
    """The checker judges by the rules, or the prompt speaks of them without a word that they do not decide."""
    if getattr(task.oracle.checker, "needs_rules", False):
        return True
    return _RULES.search(task.spec.prompt) is not None and not _RULES_DO_NOT_COUNT.search(task.spec.prompt)


def _of_variants(task: Task, registry: CheckerRegistry) -> Iterator[Complaint]:
    if task.spec.parameters is None:
        return
    count = sum(1 for _ in islice(task.spec.parameters.drawn(task.id, 0), _SAMPLES))
    if not count:
        yield Complaint(f"{task.path}: parameters: the ranges hold nothing but the fixed values; widen one")
        return
    try:
        variants = load_variants(task.path, task.suite, registry, count, 0)
    except SuiteError as error:
        text = str(error)
        yield Complaint(text)
        return
    if any(_of_prompt(task)):
        return
    # One variant shows what is wrong with the template; the others would say the same.
    yield from next(filter(None, (list(_of_prompt(variant)) for variant in variants)), [])


def _alike(tasks: Mapping[str, Task]) -> Iterator[Complaint]:
    """Tasks that differ in nothing that is asked or judged: one of them measures nothing new."""
    ids = list(tasks)
    for task in tasks.values():
        for named in _declared_alike(task):
            if named not in tasks:
                yield Complaint(f"{task.path}: provenance.{SAME_AS}: {named!r} is no task of this suite")
    for task, other in _pairs(tasks.values(), lambda one: " ".join(one.spec.prompt.split())):
        yield Complaint(f"{task.path}: prompt: is that of {other.id} too; each task needs its own")
    seen: set[tuple[str, str]] = set()
    for what, key in (
        ("its checker, parameters, start and intent are those", _judged_by),
        ("its checker and witness are those", _witnessed_by),
    ):
        for task, other in _pairs(tasks.values(), key):
            known = {task.id, other.id}
            declared = other.id in _declared_alike(task) or task.id in _declared_alike(other)
            pair = min(known, key=ids.index), max(known, key=ids.index)
            if not declared and pair not in seen:
                seen.add(pair)
                yield Complaint(
                    f"{task.path}: checker: {what} of {other.id}; make them differ, or say that it is meant: "
                    f'provenance = {{ {SAME_AS} = "{other.id}" }}'
                )


def _declared_alike(task: Task) -> tuple[str, ...]:
    named = (task.spec.provenance or {}).get(SAME_AS, ())
    return (named,) if isinstance(named, str) else tuple(map(str, named))


def _pairs(tasks: Iterable[Task], key: Callable[[Task], Hashable]) -> Iterator[tuple[Task, Task]]:
    """Each task whose key is an earlier one's too, with that one; None is nobody's key."""
    groups: dict[Hashable, list[Task]] = defaultdict(list)
    for task in tasks:
        found = key(task)
        if found is not None:
            yield from ((task, other) for other in groups[found])
            groups[found].append(task)


def _judged_by(task: Task) -> Hashable:
    oracle = task.oracle
    start = "\n".join(one.model_dump_json() for one in oracle.bench.start)
    cell = oracle.cell_name or "top"
    bench = (oracle.bench.technology.name, oracle.bench.rule_set)
    return (oracle.checker.name, oracle.params.model_dump_json(), start, cell, *bench)


def _witnessed_by(task: Task) -> Hashable:
    try:
        return (task.oracle.checker.name, _witness_hash(task.oracle))
    except (ValueError, DrawingError):  # no witness, which the gate tells
        return None


def _witness_hash(oracle: Oracle) -> int:
    return draw_on(oracle.session(), oracle.witness()).document_hash()


def _variant_of(task: Task) -> str:
    return "" if task.drawn is None else f" (variant {task.drawn.number} of seed {task.drawn.seed})"


def _some(names: list[str]) -> str:
    more = len(names) - _LONGEST_LIST
    return ", ".join(names[:_LONGEST_LIST]) + (f" and {more} more" if more > 0 else "")


def _one_line(text: str) -> str:
    return " ".join(text.split())
