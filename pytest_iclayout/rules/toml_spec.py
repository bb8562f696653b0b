"""What stands in a TOML file of rules, validated: each fault by the key that its author wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from pytest_iclayout.rules.rule import LONGEST_ID
from pytest_iclayout.rules.shape_list import STATEMENTS
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.models import RuleKind

_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""Of categories: KLayout quotes any other in a report."""
_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"
_LAYER = r"[A-Za-z_][A-Za-z0-9_.]*"
SOURCE = re.compile(r"^\s*source\b(?!\s*=)", re.MULTILINE)
"""In a deck that is whole."""
_KEYWORDS = re.compile(
    "BEGIN|END|__ENCODING__|__FILE__|__LINE__|alias|and|begin|break|case|class|def|do|else|elsif|end|ensure|false|for|"
    "if|in|module|next|nil|not|or|redo|rescue|retry|return|self|super|then|true|undef|unless|until|when|while|yield"
)
"""Of Ruby, in which decks are written."""
_NO_VARIABLE = re.compile(r".*\..*|source|_[1-9]")
"""Names of layers that a short gold deck cannot have: it would look like a whole one, or be no Ruby."""
_ONLY = ""
"""Stands for the category of a rule with one, in ``fail`` that is a list."""
_MOST_DBU = 5_000_000
"""Of a structure's value, squared for areas. Random layouts reach some 60 times as far, and KLayout 200 times."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StructureSpec(_Frozen):
    """``value`` is in µm, in µm² for areas."""

    kind: RuleKind
    layer: LayerExpression
    other: LayerExpression | None = None
    value: float = Field(gt=0, strict=True, allow_inf_nan=False)
    overlap_is_error: bool = True
    outside_is_error: bool = True

    @property
    def layer_names(self) -> tuple[str, ...]:
        return self.layer.names + (self.other.names if self.other else ())

    def in_dbu(self, dbu_um: float) -> Structure:
        """Raises ValueError for a value off the grid, or too large to be drawn."""
        unit = Decimal(str(dbu_um)) ** (2 if self.kind.is_area else 1)
        value = Decimal(str(self.value)) / unit
        most = _MOST_DBU ** (2 if self.kind.is_area else 1)
        if value > most:
            raise ValueError(f"value: {self.value} is too large to be drawn; at most {(most * unit).normalize():f}")
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


class CategorySpec(_Frozen):
    name: str = Field(pattern=_NAME)
    text: str = Field(min_length=1)
    structure: StructureSpec | None = None


class LayoutSpec(_Frozen):
    """One layout with all categories that it violates; none for one that must pass."""

    violates: tuple[str, ...]
    shapes: str


def _by_category(value: Any) -> Any:
    return {_ONLY: value} if isinstance(value, list) else value


class RuleSpec(_Frozen):
    id: str = Field(pattern=_ID, max_length=LONGEST_ID)
    title: str = ""
    text: str = Field(min_length=1)
    layers: dict[str, LayerRef]
    categories: tuple[CategorySpec, ...] = Field(default=(), min_length=1)
    structure: StructureSpec | None = None
    """Of a rule with one category, which then need not be listed: it is named by the id."""
    gold: str = Field(min_length=1)
    base: str = ""
    """Shapes that all layouts of ``passing``, ``failing`` and ``layouts`` have."""
    passing: tuple[str, ...] = Field(default=(), alias="pass")
    failing: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_by_category)] = Field(
        default_factory=dict, alias="fail"
    )
    """By category: layouts that violate it and no other."""
    layouts: tuple[LayoutSpec, ...] = Field(default=(), alias="layout")
    equivalent: tuple[str, ...] = ()
    """Keys of the gold deck's mutants that no layout can tell from it."""

    @field_validator("layers")
    @classmethod
    def _are_nameable(cls, layers: dict[str, Layer]) -> dict[str, Layer]:
        for name in layers:
            if not re.fullmatch(_LAYER, name):
                raise ValueError(f"{name!r} is no name of letters, digits, _ and . that begins with no digit")
            if _KEYWORDS.fullmatch(name):
                raise ValueError(f"{name!r} is a keyword of Ruby, in which decks are written; give it another name")
            if name in STATEMENTS:
                raise ValueError(f"{name!r} is a word of shape lists; give it another name")
        return layers

    @model_validator(mode="after")
    def _names_known(self) -> RuleSpec:
        if self.structure is not None and self.categories:
            raise ValueError("structure: is for rules without categories; give each category its own")
        names = [one.name for one in self.all_categories]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise ValueError(f"categories: {', '.join(double)} is declared twice")
        if _ONLY in self.failing and len(names) > 1:
            raise ValueError("fail: a list is for rules of one category; write fail.CATEGORY = [...]")
        named = [(f"fail.{name}", name) for name in self.failing if name != _ONLY]
        for number, layout in enumerate(self.layouts):
            named += [(f"layout[{number}].violates", name) for name in layout.violates]
        for key, name in named:
            if name not in names:
                raise ValueError(f"{key}: no category {name!r}; the rule has {', '.join(names)}")
        for key, _, structure in self.structures():
            for name in structure.layer_names:
                if name not in self.layers:
                    raise ValueError(f"{key}: no layer {name!r}; the rule has {', '.join(self.layers)}")
        if self.base and next(self.listed(), None) is None:
            raise ValueError("base: is for layouts in pass, fail or layout, and there are none")
        if not SOURCE.search(self.gold):
            for name in self.layers:
                if _NO_VARIABLE.fullmatch(name):
                    raise ValueError(
                        f"layers: {name!r} cannot be a variable of the gold deck; give it another name, or write the "
                        "whole deck, with source($input)"
                    )
        return self

    @property
    def all_categories(self) -> tuple[CategorySpec, ...]:
        """Those that are listed, or the one that stands for the rule."""
        if self.categories:
            return self.categories
        name = re.sub(r"[^A-Za-z0-9_]", "_", self.id)
        name = f"r{name}" if name[0].isdigit() else name
        return (CategorySpec(name=name, text=self.text, structure=self.structure),)

    def structures(self) -> Iterator[tuple[str, str, StructureSpec]]:
        """Each with its key in the file and its category."""
        for number, one in enumerate(self.all_categories):
            if one.structure is not None:
                yield f"categories[{number}].structure" if self.categories else "structure", one.name, one.structure

    def listed(self) -> Iterator[tuple[str, frozenset[str], str]]:
        """The layouts that are no structure's: each with its key in the file, what it violates, and its shapes."""
        for number, shapes in enumerate(self.passing):
            yield f"pass[{number}]", frozenset(), shapes
        for name, several in self.failing.items():
            violates = frozenset((self.all_categories[0].name if name == _ONLY else name,))
            for number, shapes in enumerate(several):
                yield f"fail{name and f'.{name}'}[{number}]", violates, shapes
        for number, one in enumerate(self.layouts):
            yield f"layout[{number}].shapes", frozenset(one.violates), one.shapes


class RuleFileSpec(_Frozen):
    """A file of rules. ``technology`` names layers, so that a rule's ``layers`` may be a list of names."""

    group: str = ""
    technology: str | None = None
    dbu_um: float = Field(default=0.001, ge=1e-6, le=1000, strict=True)
    rules: tuple[RuleSpec, ...] = Field(alias="rule", min_length=1)
