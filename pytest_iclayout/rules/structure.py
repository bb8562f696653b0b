"""What a rule's category measures, declared: the kind of check, its layers and its value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import klayout.db as db
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_iclayout.technology.models import RuleKind

_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_EXPRESSION = re.compile(rf"{_NAME}(?:\s*[&-]\s*{_NAME})*")
_TERM = re.compile(rf"([&-]?)\s*({_NAME})")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LayerExpression(_Frozen):
    """A drawn layer, or one derived from drawn ones: where all of ``every`` are, and none of ``without``.

    Written ``poly & diff - nwell``.
    """

    every: tuple[str, ...] = Field(min_length=1)
    without: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if _EXPRESSION.fullmatch(value.strip()) is None:
            raise ValueError(
                f"{value!r} is no layer; write a name, or names joined with & and -, as poly & diff - nwell"
            )
        terms = _TERM.findall(value)
        return {
            "every": tuple(name for sign, name in terms if sign != "-"),
            "without": tuple(name for sign, name in terms if sign == "-"),
        }

    @property
    def names(self) -> tuple[str, ...]:
        return self.every + self.without

    def __str__(self) -> str:
        return " & ".join(self.every) + "".join(f" - {name}" for name in self.without)

    def region(self, region_of: Callable[[str], db.Region]) -> db.Region:
        """The derived region (dbu), from those of the drawn layers."""
        found = region_of(self.every[0])
        for name in self.every[1:]:
            found = found & region_of(name)
        for name in self.without:
            found = found - region_of(name)
        return found.merged()


class Structure(_Frozen):
    """``value_dbu`` is in dbu, in dbu² for areas.

    ``layer`` and ``other`` are as in :class:`~pytest_iclayout.technology.models.Rule`, which also says what
    ``overlap_is_error`` and ``outside_is_error`` mean.
    """

    kind: RuleKind
    layer: LayerExpression
    other: LayerExpression | None = None
    value_dbu: int = Field(gt=0)
    overlap_is_error: bool = True
    outside_is_error: bool = True

    @model_validator(mode="after")
    def _layers_fit_kind(self) -> Structure:
        if self.kind.takes_two_layers != (self.other is not None):
            raise ValueError(f"kind {self.kind.value} {'needs' if self.other is None else 'does not take'} other")
        return self

    @property
    def layer_names(self) -> tuple[str, ...]:
        """The drawn layers, each once."""
        return tuple(dict.fromkeys(self.layer.names + (self.other.names if self.other else ())))
