"""Rules as TOML: several in a file, their layouts as short shape lists or from a declared structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_iclayout.rules.boundary import boundary_layouts
from pytest_iclayout.rules.rule import LabelledLayout, LayoutsOnDemand, Rule, RuleCategory, RuleError
from pytest_iclayout.rules.shape_list import ShapeList, ShapeListError
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology import toml
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import RuleKind, Technology, TechnologyError

_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""Of categories: KLayout quotes any other in a report."""
_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StructureSpec(_Frozen):
    """``value`` is in µm, in µm² for areas."""

    kind: RuleKind
    layer: LayerExpression
    other: LayerExpression | None = None
    value: float = Field(gt=0)
    overlap_is_error: bool = True
    outside_is_error: bool = True

    @property
    def layer_names(self) -> tuple[str, ...]:
        return self.layer.names + (self.other.names if self.other else ())

    def in_dbu(self, dbu_um: float) -> Structure:
        """Raises ValueError for a value off the grid."""
        unit = Decimal(str(dbu_um)) ** (2 if self.kind.is_area else 1)
        value = Decimal(str(self.value)) / unit
        if value != int(value):
            raise ValueError(f"value: {self.value} is not on the grid of {dbu_um} µm")
        return Structure(
            kind=self.kind,
            layer=self.layer,
            other=self.other,
            value_dbu=int(value),
            overlap_is_error=self.overlap_is_error,
            outside_is_error=self.outside_is_error,
        )


class _CategorySpec(_Frozen):
    name: str = Field(pattern=_NAME)
    text: str = Field(min_length=1)
    structure: StructureSpec | None = None


class _LayoutSpec(_Frozen):
    """One layout with all categories that it violates; none for one that must pass."""

    violates: tuple[str, ...]
    shapes: str


class RuleSpec(_Frozen):
    id: str = Field(pattern=_ID)
    title: str = ""
    text: str = Field(min_length=1)
    layers: dict[str, LayerRef]
    categories: tuple[_CategorySpec, ...] = ()
    structure: StructureSpec | None = None
    """Of a rule with one category, which then need not be listed: it is named by the id."""
    gold: str = Field(min_length=1)
    base: str = ""
    """Shapes that all layouts of ``passing``, ``failing`` and ``layouts`` have."""
    passing: tuple[str, ...] = Field(default=(), alias="pass")
    failing: dict[str, tuple[str, ...]] = Field(default_factory=dict, alias="fail")
    """By category: layouts that violate it and no other."""
    layouts: tuple[_LayoutSpec, ...] = Field(default=(), alias="layout")
    equivalent: tuple[str, ...] = ()
    """Keys of the gold deck's mutants that no layout can tell from it."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        filled = dict(value)
        name = re.sub(r"[^A-Za-z0-9_]", "_", str(filled.get("id", "")))
        if name[:1].isdigit():
            name = f"r{name}"
        if "categories" not in filled and "text" in filled:
            filled["categories"] = [
                {
                    "name": name,
                    "text": filled["text"],
                    **({"structure": filled.pop("structure")} if "structure" in filled else {}),
                }
            ]
        if isinstance(filled.get("fail"), list):
            categories = filled.get("categories")
            if not isinstance(categories, list) or len(categories) != 1:
                raise ValueError("fail: a list is for rules of one category; write fail.CATEGORY = [...]")
            filled["fail"] = {categories[0].get("name", name): filled["fail"]}
        return filled

    @model_validator(mode="after")
    def _names_known(self) -> RuleSpec:
        if self.structure is not None:
            raise ValueError("structure: is for rules without categories; give each category its own")
        names = [one.name for one in self.categories]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise ValueError(f"categories: {', '.join(double)} is declared twice")
        for name in [*self.failing, *(one for layout in self.layouts for one in layout.violates)]:
            if name not in names:
                raise ValueError(f"no category {name!r}; the rule has {', '.join(names)}")
        for category in self.categories:
            for name in category.structure.layer_names if category.structure else ():
                if name not in self.layers:
                    raise ValueError(f"structure: no layer {name!r}; the rule has {', '.join(self.layers)}")
        return self


class RuleFileSpec(_Frozen):
    """A file of rules. ``technology`` names layers, so that a rule's ``layers`` may be a list of names."""

    group: str = ""
    technology: str | None = None
    dbu_um: float = Field(default=0.001, gt=0)
    rules: tuple[RuleSpec, ...] = Field(alias="rule", min_length=1)


def load_rule_file(path: Path, suite: str = "", suite_version: str = "") -> tuple[Rule, ...]:
    """The rules of a TOML file. Raises RuleError that names the file, the rule and the key."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = toml.loads(text)
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, toml.TOMLDecodeError, RecursionError) as error:
        raise RuleError(f"{path}: not TOML: {error}") from error
    try:
        technology = None if "technology" not in data else builtin_technology(str(data["technology"]))
        spec = RuleFileSpec.model_validate(_with_layers(data, technology))
    except (TechnologyError, _SpecError) as error:
        raise RuleError(f"{path}: {error}") from error
    except ValidationError as error:
        raise RuleError(f"{path}: {_with_ids(explain(error), data)}") from error
    ids = [one.id for one in spec.rules]
    double = sorted({one for one in ids if ids.count(one) > 1})
    if double:
        raise RuleError(f"{path}: rule: id {', '.join(double)} is given twice")
    return tuple(_rule(one, spec, path, suite, suite_version) for one in spec.rules)


class _SpecError(ValueError):
    """What is wrong, without the file."""


def _with_layers(data: dict[str, Any], technology: Technology | None) -> dict[str, Any]:
    """A list of layer names becomes a table, from the technology."""
    rules = data.get("rule")
    if not isinstance(rules, list):
        return data
    filled = []
    for rule in rules:
        names = rule.get("layers") if isinstance(rule, dict) else None
        if isinstance(names, list):
            if technology is None:
                raise _SpecError(f"{rule.get('id')}: layers: names need the file's technology; else write a table")
            try:
                rule = {**rule, "layers": {name: technology.layer_named(name) for name in names}}
            except TechnologyError as error:
                raise _SpecError(f"{rule.get('id')}: layers: {error}") from error
        filled.append(rule)
    return {**data, "rule": filled}


def _with_ids(message: str, data: dict[str, Any]) -> str:
    """Numbers of rules in an error become their ids."""

    def name(match: re.Match[str]) -> str:
        try:
            return f"rule {data['rule'][int(match[1])]['id']}"
        except (KeyError, IndexError, TypeError):
            return match[0]

    return re.sub(r"\brule\.(\d+)", name, message)


def _rule(spec: RuleSpec, file: RuleFileSpec, path: Path, suite: str, suite_version: str) -> Rule:
    structures: dict[str, Structure] = {}
    for category in spec.categories:
        if category.structure is not None:
            try:
                structures[category.name] = category.structure.in_dbu(file.dbu_um)
            except ValidationError as error:
                raise RuleError(f"{path}: rule {spec.id}: structure: {explain(error)}") from error
            except ValueError as error:
                raise RuleError(f"{path}: rule {spec.id}: structure: {error}") from error
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
        categories=tuple(RuleCategory(name=one.name, text=one.text) for one in spec.categories),
        layouts=_layouts(spec, file, structures, path),
        path=path,
        gold=gold,
        structures=structures,
        dbu_um=file.dbu_um,
        equivalent=spec.equivalent,
        group=file.group,
        suite=suite,
        suite_version=suite_version,
    )


def _layouts(
    spec: RuleSpec, file: RuleFileSpec, structures: Mapping[str, Structure], path: Path
) -> Sequence[LabelledLayout]:
    """The listed ones are drawn once, as their text may be wrong; those of a structure when they are needed."""
    listed = [
        *((frozenset[str](), shapes) for shapes in spec.passing),
        *((frozenset((name,)), shapes) for name, several in spec.failing.items() for shapes in several),
        *((frozenset(one.violates), one.shapes) for one in spec.layouts),
    ]
    found: list[LabelledLayout] = []
    for number, (violates, shapes) in enumerate(listed, 1):
        source = ShapeList(f"{spec.base}\n;{shapes}", spec.layers, file.dbu_um)
        name = f"{'fail' if violates else 'pass'}/{number:02}.gds"
        try:
            source.layout()
        except (ShapeListError, RuntimeError, TypeError, OverflowError) as error:  # KLayout's, of what no file holds
            raise RuleError(f"{path}: rule {spec.id}: layout {number}: {error}") from error
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


def _require_that_no_other_is_measured(category: str, spec: RuleSpec) -> None:
    """Layouts made from the structure of one category must not break another one."""
    drawn = {
        one.name: {spec.layers[name] for name in one.structure.layer_names} if one.structure else None
        for one in spec.categories
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
    if re.search(r"^\s*source\b(?!\s*=)", body, re.MULTILINE):
        return body
    inputs = "".join(f"{name} = input({pair.layer}, {pair.datatype})\n" for name, pair in layers.items())
    title = re.sub(r'(["\\#])', r"\\\1", title)
    return f'source($input)\nreport("{title}", $output)\n{inputs}{body.strip()}\n'
