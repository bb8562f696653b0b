"""Rules as TOML: several in a file, their layouts as short shape lists or from a declared structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_iclayout.rules.boundary import boundary_layouts
from pytest_iclayout.rules.rule import (
    LONGEST_ID,
    LabelledLayout,
    LayoutsOnDemand,
    Rule,
    RuleCategory,
    RuleError,
    label_warnings,
)
from pytest_iclayout.rules.shape_list import ShapeList, ShapeListError
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.rules.toml_spec import SOURCE, CategorySpec, LayoutSpec, RuleFileSpec, RuleSpec, StructureSpec
from pytest_iclayout.technology import toml
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import Technology, TechnologyError


def load_rule_file(path: Path, suite: str = "", suite_version: str = "") -> tuple[Rule, ...]:
    """The rules of a TOML file. Raises RuleError that names the file, the rule and the key."""
    try:
        data = toml.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, toml.TOMLError) as error:
        raise RuleError(f"{path}: not TOML: {error}") from error
    try:
        spec = RuleFileSpec.model_validate(_with_layers(data))
    except _SpecError as error:
        raise RuleError(f"{path}: {_with_ids(str(error), data)}") from error
    except ValidationError as error:
        raise RuleError(f"{path}: {_with_ids(explain(error), data)}{_accepted_keys(error)}") from error
    ids = [one.id for one in spec.rules]
    double = sorted({one for one in ids if ids.count(one) > 1})
    if double:
        raise RuleError(f"{path}: rule: id {', '.join(double)} is given twice")
    return tuple(_rule(one, spec, path, suite, suite_version) for one in spec.rules)


class _SpecError(ValueError):
    """What is wrong, without the file."""


def _with_layers(data: dict[str, Any]) -> dict[str, Any]:
    """A list of layer names becomes a table, from the technology."""
    technology: Technology | None = None
    if "technology" in data:
        try:
            technology = builtin_technology(str(data["technology"]))
        except TechnologyError as error:
            raise _SpecError(f"technology: {error}") from error
    rules = data.get("rule")
    if isinstance(rules, dict):
        raise _SpecError("rule: is one table; a file has a list of them, so write [[rule]]")
    if not isinstance(rules, list):
        return data
    filled = []
    for number, rule in enumerate(rules):
        names = rule.get("layers") if isinstance(rule, dict) else None
        if isinstance(names, list):
            where = f"rule[{number}].layers"
            if technology is None:
                raise _SpecError(f"{where}: names need the file's technology; else write a table")
            if double := [name for name in names if names.count(name) > 1]:
                raise _SpecError(f"{where}: {double[0]} is listed twice")
            try:
                rule = {**rule, "layers": {name: technology.layer_named(name) for name in names}}
            except TechnologyError as error:
                raise _SpecError(f"{where}: {error}") from error
        filled.append(rule)
    return {**data, "rule": filled}


def _with_ids(message: str, data: dict[str, Any]) -> str:
    """Numbers of rules in an error become their ids."""

    def name(match: re.Match[str]) -> str:
        try:
            given = data["rule"][int(match[1])]["id"]
        except (KeyError, IndexError, TypeError):
            return match[0]
        return f"rule {given}: " if isinstance(given, str) and 0 < len(given) <= LONGEST_ID else match[0]

    return re.sub(r"\brule\[(\d+)\](?:\.|: )", name, message)


_TABLES: Mapping[str, type[BaseModel]] = {
    "the file": RuleFileSpec,
    "rule": RuleSpec,
    "categories": CategorySpec,
    "structure": StructureSpec,
    "layout": LayoutSpec,
}


def _accepted_keys(error: ValidationError) -> str:
    """Of the tables in which there was an unknown key."""
    found = {}
    for fault in error.errors(include_url=False):
        if fault["type"] == "extra_forbidden":
            table = next((part for part in reversed(fault["loc"][:-1]) if isinstance(part, str)), "the file")
            model = _TABLES.get(table)
            if model is not None:
                found[table] = ", ".join(one.alias or name for name, one in model.model_fields.items())
    return "".join(f"; keys of {table} are {keys}" for table, keys in found.items())


def _rule(spec: RuleSpec, file: RuleFileSpec, path: Path, suite: str, suite_version: str) -> Rule:
    structures: dict[str, Structure] = {}
    for key, category, structure in spec.structures():
        try:
            structures[category] = structure.in_dbu(file.dbu_um)
        except ValueError as error:
            why = explain(error) if isinstance(error, ValidationError) else str(error)
            raise RuleError(f"{path}: rule {spec.id}: {key}: {why}") from error
    gold = gold_text(spec.gold, spec.title or spec.id, spec.layers)
    if spec.equivalent:
        from pytest_iclayout.rules.mutants import MutantKeyError, check_keys, mutants_of  # few files need the parser

        try:
            check_keys(spec.equivalent, mutants_of(gold, file.dbu_um))
        except MutantKeyError as error:
            raise RuleError(f"{path}: rule {spec.id}: equivalent: {error}") from error
    return Rule(
        id=spec.id,
        title=spec.title or spec.id,
        text=spec.text.strip(),
        layers=spec.layers,
        categories=tuple(RuleCategory(name=one.name, text=one.text) for one in spec.all_categories),
        layouts=_layouts(spec, file, structures, path),
        path=path,
        gold=gold,
        structures=structures,
        dbu_um=file.dbu_um,
        equivalent=spec.equivalent,
        group=file.group,
        suite=suite,
        suite_version=suite_version,
        warnings=tuple(_warnings(spec, structures)),
    )


def _warnings(spec: RuleSpec, structures: Mapping[str, Structure]) -> Iterator[str]:
    """Of the categories without a structure; for one with it, layouts of both labels are made."""
    labels = [*(violates for _, violates, _ in spec.listed()), *(frozenset((name,)) for name in structures)]
    for category in spec.all_categories:
        if category.name not in structures:
            yield from label_warnings(category.name, labels)


def _layouts(
    spec: RuleSpec, file: RuleFileSpec, structures: Mapping[str, Structure], path: Path
) -> Sequence[LabelledLayout]:
    """The listed ones are drawn once, as their text may be wrong; those of a structure when they are needed."""
    found: list[LabelledLayout] = []
    for number, (key, violates, shapes) in enumerate(spec.listed(), 1):
        source = ShapeList(f"{spec.base}\n;{shapes}", spec.layers, file.dbu_um)
        name = f"{'fail' if violates else 'pass'}/{number:02}.gds"
        try:
            source.layout()
        except ShapeListError as error:
            key = "base" if str(error) == _fault_of_base(spec, file) else key
            raise RuleError(f"{path}: rule {spec.id}: {key}: {error}") from error
        found.append(LabelledLayout(name, violates, source))

    if not found and not structures:
        raise RuleError(f"{path}: rule {spec.id}: no layouts; give a structure, or pass, fail or layout")

    def made() -> Iterator[LabelledLayout]:
        for category, structure in structures.items():
            try:
                yield from boundary_layouts(category, structure, spec.layers, file.dbu_um)
            except RuleError as error:
                raise RuleError(f"{path}: rule {spec.id}: structure: {error}") from error

    try:
        for category in structures:
            _require_that_no_other_is_measured(category, spec)
    except RuleError as error:
        raise RuleError(f"{path}: rule {spec.id}: structure: {error}") from error
    return LayoutsOnDemand(found, made) if structures else tuple(found)


def _fault_of_base(spec: RuleSpec, file: RuleFileSpec) -> str | None:
    try:
        ShapeList(spec.base, spec.layers, file.dbu_um).layout()
    except ShapeListError as error:
        return str(error)
    return None


def _require_that_no_other_is_measured(category: str, spec: RuleSpec) -> None:
    """Layouts made from the structure of one category must not break another one."""
    drawn = {
        one.name: {spec.layers[name] for name in one.structure.layer_names} if one.structure else None
        for one in spec.all_categories
    }
    own = drawn.pop(category) or set()
    for name, theirs in drawn.items():
        if theirs is None or not own.isdisjoint(theirs):
            why = "declares no structure" if theirs is None else "measures some of the same layers"
            raise RuleError(
                f"the layouts made for category {category} may break {name}, which {why}; leave the structure of "
                f"{category} out and list layouts in pass, fail.{category} or layout"
            )


def gold_text(body: str, title: str, layers: Mapping[str, Layer]) -> str:
    """A whole deck; one that does not name its source gets the lines that all decks begin with."""
    if SOURCE.search(body):
        return body
    inputs = "".join(f"{name} = input({pair.layer}, {pair.datatype})\n" for name, pair in layers.items())
    title = re.sub(r'(["\\#])', r"\\\1", title)
    return f'source($input)\nreport("{title}", $output)\n{inputs}{body.strip()}\n'
