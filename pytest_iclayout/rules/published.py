"""Rules of a published tree: a folder a rule, with spec.yaml, a gold deck and labelled GDS files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, ValidationError

from pytest_iclayout.drc.report import written_name
from pytest_iclayout.rules.labels import Labels, read_labels
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleCategory, RuleError
from pytest_iclayout.rules.sniff import GDS_FOLDER, LABELS_NAME, is_published_rule
from pytest_iclayout.technology.errors import explain, short
from pytest_iclayout.technology.layers import Layer

__all__ = ["PublishedSpec", "check_layouts", "is_published_rule", "label_warnings", "load_published_rule", "parse_spec"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML is also built without the C library
_MOST_BYTES = 1 << 20
"""Of a spec.yaml, which has one or two thousand: what is larger is something else."""


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

    id: StrictStr = Field(pattern=r"^[^\s./\\][^\s/\\]*$")
    title: StrictStr | None = None
    categories: list[Annotated[StrictStr, Field(min_length=1)]] = Field(min_length=1)
    data_dir: StrictStr = Field(min_length=1)
    deck: StrictStr | None = None
    nl_description: StrictStr | None = None
    layers: Annotated[dict[StrictStr, Annotated[Layer, BeforeValidator(_layer)]], BeforeValidator(_given)] = {}
    rules: list[_Sentence] | None = None

    def rule_categories(self) -> tuple[RuleCategory, ...]:
        """In the order of ``categories``; the sentences of one are joined, the name stands in for none."""
        texts: dict[str, list[str]] = {}
        for one in self.rules or ():
            texts.setdefault(one.category, []).append(one.text)
        return tuple(RuleCategory(name=name, text="; ".join(texts.get(name, (name,)))) for name in self.categories)


def parse_spec(data: bytes, place: str) -> PublishedSpec:
    """Raises RuleError that names ``place`` and the key or line."""
    if len(data) > _MOST_BYTES:
        raise RuleError(f"{place}: {len(data)} bytes are too many for the description of a rule")
    try:
        values = yaml.load(data.decode("utf-8-sig"), _Loader)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(f"{place}:{line}: not UTF-8: byte {data[error.start]:#04x}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f":{mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise RuleError(f"{place}{at}: not YAML: {reason}") from error
    if not isinstance(values, dict):
        raise RuleError(f"{place}: needs a mapping of keys, such as id, categories and data_dir")
    try:
        spec = PublishedSpec.model_validate(values)
    except ValidationError as error:
        raise RuleError(f"{place}: {explain(error)}") from error
    double = sorted({name for name in spec.categories if spec.categories.count(name) > 1})
    if double:
        raise RuleError(f"{place}: categories: {double[0]} is listed twice")
    return spec


def load_published_rule(spec_path: Path, suite: str = "", suite_version: str = "") -> Rule:
    """The rule of a ``spec.yaml``; no layout and no deck is read.

    Raises RuleError that names the file and the key, or the line: a required key is missing, a value has the wrong
    type, the categories are not those of the labels, a layout has no label or a label no layout.
    """
    place = os.fspath(spec_path)
    try:
        with open(place, "rb") as file:  # noqa: PTH123 - a suite has a thousand
            spec = parse_spec(file.read(_MOST_BYTES + 1), place)
    except OSError as error:
        raise RuleError(f"{place}: cannot be read: {error.strerror}") from error
    folder = os.path.abspath(spec_path.parent)  # noqa: PTH100
    gds = _data_folder(spec, folder)
    if gds is None:
        raise RuleError(f"{place}: data_dir: no {LABELS_NAME} in {spec.data_dir}, seen from the folder of the problems "
                        "or the working directory, nor in data/gds beside the file")  # fmt: skip
    table = f"{gds}/{LABELS_NAME}"
    try:
        with open(table, "rb") as file:  # noqa: PTH123
            data = file.read()
        files = frozenset(_files(gds))
    except OSError as error:
        raise RuleError(f"{error.filename}: cannot be read: {error.strerror}") from error
    labels = read_labels(data, table, files, _prefixes(spec, folder, gds))
    require_same_categories(spec, labels, place, table)
    gold = _gold(spec, folder)
    warnings = [*label_warnings(spec.categories, labels), *_spec_warnings(spec)]
    if os.path.basename(folder) != spec.id:  # noqa: PTH119
        warnings.append(f"id: {spec.id} is not the folder's name; the published evaluator finds its decks by the id")
    if gold is None:
        usual = f"gold/{spec.id}.drc"
        other = f" nor {spec.deck}" if spec.deck and not spec.deck.endswith(usual) else ""
        warnings.append(f"no gold deck: no {usual}{other}; whether a deck can meet the labels is not known")
    return Rule(
        id=spec.id,
        title=spec.title or spec.id,
        text=(spec.nl_description or "").strip(),
        layers=spec.layers,
        categories=spec.rule_categories(),
        layouts=tuple(LabelledLayout(name, ones, Path(f"{gds}/{name}")) for name, ones in labels.violates.items()),
        path=spec_path,
        gold=gold,
        suite=suite,
        suite_version=suite_version,
        warnings=tuple(warnings),
    )


def check_layouts(rule: Rule) -> list[str]:
    """What is wrong with a rule's layouts, each named: one that KLayout cannot read, or without a single top cell,
    on which no deck runs.  Reads all of them."""
    import klayout.db as db

    found = []
    for one in rule.layouts:
        layout = db.Layout()
        try:
            layout.read_bytes(one.gds(), db.LoadLayoutOptions())
        except RuleError as error:
            found.append(f"{one.name}: {error}")
            continue
        except RuntimeError as error:
            found.append(f"{one.name}: not readable as a layout: {' '.join(str(error).split())}")
            continue
        tops = layout.top_cells()
        if len(tops) != 1:
            found.append(f"{one.name}: needs one top cell, has {len(tops)}")
    return found


def require_same_categories(spec: PublishedSpec, labels: Labels, place: str, table: str) -> None:
    """Raises RuleError."""
    for names, others, what in (
        (spec.categories, labels.categories, f"{table} has no column"),
        (labels.categories, spec.categories, f"not in the list, but a column of {table}"),
    ):
        missing = sorted(set(names) - set(others))
        if missing:
            raise RuleError(f"{place}: categories: {', '.join(missing)}: {what}")


def label_warnings(categories: Sequence[str], labels: Labels) -> Iterator[str]:
    """What is odd about labels, and can be worked with."""
    for name in categories:
        count = sum(name in ones for ones in labels.violates.values())
        if count == 0:
            yield f"category {name}: no layout violates it; the published evaluator counts no deck as right then"
        elif count == len(labels.violates):
            yield f"category {name}: every layout violates it; a deck that always reports it is right"
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


def _data_folder(spec: PublishedSpec, folder: str) -> str | None:
    """The folder of the labels.  The working directory comes last: there may be another copy of the tree."""
    for place in (
        f"{_above(folder, 2)}/{spec.data_dir}",
        f"{folder}/{spec.data_dir}",
        f"{folder}/{GDS_FOLDER}",
        spec.data_dir,
    ):
        place = os.path.normpath(place)
        if os.path.isfile(f"{place}/{LABELS_NAME}"):  # noqa: PTH113
            return os.path.abspath(place)  # noqa: PTH100
    return None


def _prefixes(spec: PublishedSpec, folder: str, gds: str) -> list[str]:
    """What a table may write before the name that a layout has below ``gds``."""
    tops = (_above(folder, 2), os.getcwd())  # noqa: PTH109
    near = [gds[len(top.rstrip("/")) + 1 :] for top in tops if gds.startswith(f"{top.rstrip('/')}/")]
    return [f"{one}/" for one in (os.path.normpath(spec.data_dir), *near, gds)]


def _gold(spec: PublishedSpec, folder: str) -> Path | None:
    deck = spec.deck
    named = () if not deck else (f"{_above(folder, 2)}/{deck}", f"{folder}/{deck}")
    for place in (*named, f"{folder}/gold/{spec.id}.drc", *((deck,) if deck else ())):
        if os.path.isfile(place):  # noqa: PTH113
            return Path(os.path.abspath(place))  # noqa: PTH100
    return None


def _files(gds: str, below: str = "") -> Iterator[str]:
    """Names of the files below the GDS folder.  Raises OSError."""
    with os.scandir(f"{gds}/{below}" if below else gds) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=not below):  # pass may be a link; a link further down may lead to itself
                yield from _files(gds, f"{below}{entry.name}/")
            elif entry.is_file():
                yield f"{below}{entry.name}"


def _above(folder: str, levels: int) -> str:
    for _ in range(levels):
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder
