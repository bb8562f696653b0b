"""The description of a published rule, a ``spec.yaml``, and what becomes of it with its labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, ValidationError

from pytest_iclayout.drc.category_names import written_name
from pytest_iclayout.rules.labels import Labels
from pytest_iclayout.rules.rule import LONGEST_ID, LabelledLayout, Rule, RuleCategory, RuleError, label_warnings
from pytest_iclayout.rules.yaml_data import load_yaml
from pytest_iclayout.technology.errors import explain, short
from pytest_iclayout.technology.layers import Layer

MOST_BYTES = 1 << 20
"""Of a spec.yaml, which has one or two thousand: what is larger is something else."""

ID_PATTERN = r"^[^\s./\\\x00-\x1f\x7f][^\s/\\\x00-\x1f\x7f]*$"
"""It is the name of the rule's folder, and is shown on terminals."""
_MOST_NAMED = 5
"""Categories that a message lists."""


def _layer(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2:
        return {"layer": value[0], "datatype": value[1]}
    raise ValueError(f"needs [layer, datatype] (given {short(value)})")


def _given(value: Any) -> Any:
    """YAML reads a key without a value as null."""
    return {} if value is None else value


class _Frozen(BaseModel):
    # Upstream's readers take what they know out of the mapping, so any other key may be there.
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Sentence(_Frozen):
    text: StrictStr
    category: StrictStr


class PublishedSpec(_Frozen):
    """The keys of a ``spec.yaml`` that mean something."""

    id: StrictStr = Field(pattern=ID_PATTERN, max_length=LONGEST_ID)
    title: StrictStr | None = None
    categories: list[Annotated[StrictStr, Field(min_length=1)]] = Field(min_length=1)
    data_dir: StrictStr = Field(min_length=1)
    deck: StrictStr | None = None
    nl_description: StrictStr | None = None
    layers: Annotated[dict[StrictStr, Annotated[Layer, BeforeValidator(_layer)]], BeforeValidator(_given)] = {}
    rules: list[_Sentence] | None = None
    group: Any = None
    """Ours; where it is no text it is somebody else's."""

    def rule_categories(self) -> tuple[RuleCategory, ...]:
        """In the order of ``categories``; the sentences of one are joined, the name stands in for none."""
        texts: dict[str, list[str]] = {}
        for one in self.rules or ():
            texts.setdefault(one.category, []).append(one.text)
        return tuple(RuleCategory(name=name, text="; ".join(texts.get(name, (name,)))) for name in self.categories)


def parse_spec(data: bytes, place: str, defaults: Mapping[str, Any] | None = None) -> PublishedSpec:
    """``defaults`` are values for keys that the text does not have.

    Raises RuleError that names ``place`` and the key or line.
    """
    if len(data) > MOST_BYTES:
        raise RuleError(f"{place}: {len(data)} bytes are too many for the description of a rule")
    values = load_yaml(data, place)
    if not isinstance(values, dict):
        raise RuleError(f"{place}: needs a mapping of keys, such as id, categories and data_dir")
    try:
        spec = PublishedSpec.model_validate({**(defaults or {}), **values})
    except ValidationError as error:
        raise RuleError(f"{place}: {explain(error)}") from error
    double = sorted({name for name in spec.categories if spec.categories.count(name) > 1})
    if double:
        raise RuleError(f"{place}: categories: {double[0]} is listed twice")
    return spec


def published_rule(
    spec: PublishedSpec,
    labels: Labels,
    sources: Mapping[str, Path | bytes],
    *,
    place: str,
    table: str,
    path: Path,
    gold: str | Path | None,
    suite: str,
    suite_version: str,
    group: str = "",
    warnings: Sequence[str] = (),
) -> Rule:
    """``sources`` has the layouts of ``labels`` by name; ``place`` names the description and ``table`` the labels.

    Raises RuleError when the categories are not those of the labels.
    """
    _require_same_categories(spec, labels, place, table)
    return Rule(
        id=spec.id,
        title=spec.title or spec.id,
        text=(spec.nl_description or "").strip(),
        layers=spec.layers,
        categories=spec.rule_categories(),
        layouts=tuple(LabelledLayout(name, ones, sources[name]) for name, ones in labels.violates.items()),
        path=path,
        gold=gold,
        group=group or (spec.group if isinstance(spec.group, str) else ""),
        suite=suite,
        suite_version=suite_version,
        warnings=(*_label_warnings(spec.categories, labels), *_spec_warnings(spec), *warnings),
    )


def _require_same_categories(spec: PublishedSpec, labels: Labels, place: str, table: str) -> None:
    """Raises RuleError."""
    for names, others, what in (
        (spec.categories, labels.categories, f"{table} has no column"),
        (labels.categories, spec.categories, f"not in the list, but a column of {table}"),
    ):
        missing = sorted(set(names) - set(others))
        if missing:
            more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
            raise RuleError(f"{place}: categories: {', '.join(missing[:_MOST_NAMED])}{more}: {what}")


def _label_warnings(categories: Sequence[str], labels: Labels) -> Iterator[str]:
    """What is odd about labels, and can be worked with."""
    for name in categories:
        yield from label_warnings(name, labels.violates.values())
        if (written := written_name(name)) != name:
            yield (
                f"category {name}: is {written} in KLayout's reports, for which the published evaluator counts no deck "
                "as right; names of letters, digits and _ that begin with no digit are written as they are"
            )
    for name, ones in labels.violates.items():
        top = name.partition("/")[0] if "/" in name else ""
        if top not in ("pass", "fail"):
            yield f"layout {name}: neither in pass/ nor in fail/, where the published evaluator looks"
        elif (top == "fail") != bool(ones):
            yield f"layout {name}: in {top}/, but labelled {'with' if ones else 'without'} a violation"


def _spec_warnings(spec: PublishedSpec) -> Iterator[str]:
    for one in spec.rules or ():
        if one.category not in spec.categories:
            yield f"rules: category {one.category} is none of the rule's; a deck that reports it is wrong"
