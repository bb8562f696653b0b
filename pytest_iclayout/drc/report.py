"""KLayout report databases (``.lyrdb``): findings written for people to browse, reports of decks read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

import klayout.db as db
from pydantic import BaseModel, ConfigDict

from pytest_iclayout.geometry.atomic import replacing
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.technology.models import Rule

if TYPE_CHECKING:
    import klayout.rdb as rdb


_DEEPEST = 100
"""Elements within one another; reports of decks have ten."""
_GZIP = b"\x1f\x8b"


class ReportError(ValueError):
    """A file that is no complete report database; the message names it and KLayout's reason."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlaceUm(NamedTuple):
    """A bounding box in µm."""

    left: float
    bottom: float
    right: float
    top: float


class ReportItem(_Frozen):
    """One marker: the cell it is in, the bounding box of its shapes in that cell's coordinates, and its texts.

    :func:`~pytest_iclayout.drc.report_places.places_in_top` gives shapes in the top cell's.
    """

    cell: str
    place_um: PlaceUm | None
    text: str


class ReportCategory(_Frozen):
    """One category, usually a rule, with or without markers.  A category within another one is named
    by all names on the way to it, joined with dots."""

    name: str
    description: str
    items: tuple[ReportItem, ...]


class Report(_Frozen):
    origin: str
    """The layout that was checked, as the report names it."""
    generator: str
    cell: str
    categories: tuple[ReportCategory, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Markers a category, the empty ones included."""
        return {category.name: len(category.items) for category in self.categories}


def write_report(
    path: Path,
    findings: Iterable[Finding],
    rules: Iterable[Rule],
    cell: str,
    dbu_um: float,
    *,
    origin: str,
) -> None:
    """Write findings as a report database that the KLayout application opens as well.

    Each rule becomes a category, also without findings: what was checked shows.  ``cell`` is the
    checked cell, ``dbu_um`` the layout's database unit in µm, ``origin`` the checked layout's name.
    A reader sees the complete file or none.
    """
    import klayout.rdb as rdb

    report = rdb.ReportDatabase("")
    report.description = f"Design rules of {origin}"
    report.generator = "pytest-iclayout"
    report.original_file = origin
    report.top_cell_name = cell
    cell_id = report.create_cell(cell).rdb_id()
    categories: dict[str, int] = {}

    def category_of(rule_id: str, description: str) -> int:
        # Rules of one id on several layers share a category.
        if rule_id not in categories:
            category = report.create_category(rule_id)
            category.description = description
            categories[rule_id] = category.rdb_id()
        return categories[rule_id]

    for rule in rules:
        category_of(rule.id, rule.description)
    for finding in findings:
        item = report.create_item(cell_id, category_of(finding.rule, ""))
        if finding.place is not None:
            item.add_value(rdb.RdbItemValue(finding.place.to_db().to_dtype(dbu_um)))
        item.add_value(finding.message)
    with replacing(path) as beside:
        report.save(str(beside))


def read_report(path: Path) -> Report:
    """Read a report database of this module or of a deck.

    Raises ReportError for a file that is missing, cut off or something else: a report that cannot be
    read in full says nothing about its layout.
    """
    report = load_database(path)
    items: dict[int, list[ReportItem]] = {}
    for item in report.each_item():
        items.setdefault(item.category_id(), []).append(_read_item(item, report))
    return Report(
        origin=report.original_file,
        generator=report.generator,
        cell=report.top_cell_name,
        categories=tuple(
            ReportCategory(
                name=name,
                description=category.description,
                items=tuple(items.get(category.rdb_id(), ())),
            )
            for name, category in walk_categories(report.each_category())
        ),
    )


class Counts(NamedTuple):
    """:attr:`Report.counts`, and how the report itself writes the categories that have markers: see written_name.

    The two differ in more than quotes: a category ``a`` within ``M1`` and one called ``M1.a`` have the same name, and
    are written ``M1.a`` and ``'M1.a'``.
    """

    items: dict[str, int]
    written: tuple[str, ...]


def count_items(path: Path) -> Counts:
    """Of a report database, without its markers. Raises ReportError as :func:`read_report`."""
    report = load_database(path)
    counts: dict[str, int] = {}
    written = []
    for name, category in walk_categories(report.each_category()):
        # A category's own count holds those of the categories within it.
        own = category.num_items() - sum(one.num_items() for one in category.each_sub_category())
        counts[name] = counts.get(name, 0) + own
        if own:
            written.append(category.path())
    return Counts(counts, tuple(written))


def load_database(path: Path) -> rdb.ReportDatabase:
    """KLayout's own object. Raises ReportError as :func:`read_report`."""
    import klayout.rdb as rdb

    _require_harmless(path)
    report = rdb.ReportDatabase("")
    try:
        report.load(str(path))
    except RuntimeError as error:
        reason = str(error).removesuffix(" in ReportDatabase.load")
        raise ReportError(f"{path}: not a complete report database ({reason})") from error
    return report


def _require_harmless(path: Path) -> None:
    """Raises ReportError for what KLayout unpacks without an end, or what is nested so deep that it crashes.

    Whoever wrote the report may be hostile, and it is read in the judging process.
    """
    depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise ReportError(f"{path}: not a report database (more than {_DEEPEST} elements within one another)")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        with path.open("rb") as stream:
            if stream.read(2) == _GZIP:
                raise ReportError(f"{path}: not a report database (compressed)")
            stream.seek(0)
            parser.ParseFile(stream)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}") from error
    except expat.ExpatError:
        pass  # KLayout says what is wrong; it reads no further than this


def walk_categories(categories: Iterable[rdb.RdbCategory], prefix: str = "") -> Iterator[tuple[str, rdb.RdbCategory]]:
    """With those within them, by their names joined with dots."""
    for category in categories:
        name = prefix + category.name()
        yield name, category
        yield from walk_categories(category.each_sub_category(), f"{name}.")


def _read_item(item: rdb.RdbItem, report: rdb.ReportDatabase) -> ReportItem:
    values = list(item.each_value())
    place = db.DBox()
    for value in values:
        place += _bounding_box(value)
    cell = report.cell_by_id(item.cell_id())
    return ReportItem(
        cell=cell.name() if cell is not None else "",
        place_um=None if place.empty() else PlaceUm(place.left, place.bottom, place.right, place.top),
        text="; ".join(value.string() for value in values if value.is_string()),
    )


def _bounding_box(value: rdb.RdbItemValue) -> db.DBox:
    if value.is_box():
        return value.box()
    if value.is_polygon():
        return value.polygon().bbox()
    if value.is_edge_pair():
        return value.edge_pair().bbox()
    if value.is_edge():
        return value.edge().bbox()
    if value.is_path():
        return value.path().bbox()
    if value.is_text():
        return value.text().bbox()
    return db.DBox()
