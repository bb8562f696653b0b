"""All labels of a regression: those of tables and those in layouts."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import klayout.db as db

from pytest_iclayout.geometry.io import LayoutFileError, read_layout
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules.label_table import FILE_NAME, read_label_table
from pytest_iclayout.rules.markers import MarkerLayers, read_marked
from pytest_iclayout.rules.regression import Label
from pytest_iclayout.rules.rule import RuleError

LAYOUT_SUFFIXES = (".gds", ".gds2", ".gdsii", ".oas", ".oasis")


@dataclass
class LabelBook:
    """``layouts`` are the files by the names that labels have for them; ``broken`` are files with what is wrong."""

    labels: list[Label] = field(default_factory=list)
    layouts: dict[str, Path] = field(default_factory=dict)
    broken: dict[Path, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def rules(self) -> tuple[str, ...]:
        """In the order of the labels, each once."""
        return tuple(dict.fromkeys(one.rule for one in self.labels))


def read_label_book(
    places: Iterable[Path],
    tables: Iterable[Path],
    layers: MarkerLayers | None,
    name_of: Callable[[Path], str],
) -> LabelBook:
    """The labels of the layouts at and below ``places``, and of the tables there and the ones named.

    Hidden folders are left out.  A file that cannot be read is ``broken``, and the others are read.
    """
    book = LabelBook()
    files = list(dict.fromkeys(path for place in places for path in _files(place)))
    layouts = [path for path in files if is_layout(path)]
    named = [*(path for path in files if path.name == FILE_NAME), *(path.resolve() for path in tables)]
    by_table: dict[Path, Mapping[str, bool]] = {}
    for table in dict.fromkeys(named):
        try:
            rows = read_label_table(table)
            if double := sorted(set(rows) & set(by_table)):
                raise RuleError(f"{table}: {double[0]} has a row in another table already")
        except RuleError as error:
            book.broken[table] = str(error)
        else:
            by_table |= rows
    for path in dict.fromkeys([*layouts, *by_table]):
        name = name_of(path)
        found = [Label(rule=rule, layout=name, violated=violated) for rule, violated in by_table.get(path, {}).items()]
        if layers is not None:
            found += _marked(path, name, layers, book)
        if found:
            book.layouts[name] = path
            book.labels += found
    _warn_of_unlabelled(book, [path for path in layouts if path not in book.broken], name_of)
    return book


def is_layout(path: Path) -> bool:
    """By the name: GDS or OASIS, also compressed with gzip."""
    return path.name.lower().removesuffix(".gz").endswith(LAYOUT_SUFFIXES)


def read_layout_file(path: Path, name: str) -> db.Layout:
    """A GDS or OASIS file, compressed or not. Raises RuleError that begins with ``name``."""
    try:
        data = path.read_bytes()
        return read_layout(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data, name)
    except OSError as error:  # gzip's own is one
        raise RuleError(f"{name}: cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise RuleError(f"{name}: not a complete gzip file: {error}") from error
    except LayoutFileError as error:
        raise RuleError(str(error)) from error


def _marked(path: Path, name: str, layers: MarkerLayers, book: LabelBook) -> Iterator[Label]:
    try:
        layout = read_layout_file(path, name)
        marked = read_marked(layout, layers, name)
    except RuleError as error:
        book.broken[path] = str(error)
        return
    book.warnings += marked.warnings
    for one in marked.boxes:
        region = Rect.from_db(one.box)
        yield Label(rule=one.rule, layout=name, violated=one.violated, region=region, dbu_um=layout.dbu)


def _files(place: Path) -> Iterator[Path]:
    """Resolved, in the order of their names."""
    if place.is_file():
        yield place.resolve()
    for folder, below, names in os.walk(place):
        below[:] = sorted(name for name in below if not name.startswith("."))
        yield from (Path(folder, name).resolve() for name in sorted(names) if not name.startswith("."))


def _warn_of_unlabelled(book: LabelBook, layouts: list[Path], name_of: Callable[[Path], str]) -> None:
    idle = [name for path in layouts if (name := name_of(path)) not in book.layouts]
    if idle:
        more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
        book.warnings.append(f"{idle[0]}{more}: no label, so the deck is not run on it")
