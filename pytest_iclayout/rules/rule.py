"""A rule: what an agent writes a deck for, and the labelled layouts that judge the deck."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.technology.layers import Layer

if TYPE_CHECKING:
    # A thousand published rules are collected without a layout library.
    from pytest_iclayout.rules.shape_list import ShapeList
    from pytest_iclayout.rules.structure import Structure

LONGEST_ID = 200
"""Letters of a rule's id, which names files and folders."""


class RuleError(ValueError):
    """A rule that cannot be used; the message names the file and the key or line."""


class RuleCategory(BaseModel):
    """One category of the report that a deck must write, and the sentence that it stands for."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str


@dataclass(frozen=True)
class LabelledLayout:
    """A layout with the categories that it violates; all others of its rule it meets.

    ``name`` is unique in the rule: ``pass/x.gds`` or ``fail/x.gds`` for a file of a published tree.  ``source`` is
    a file that is read, or shapes that are drawn, only when they are needed: a suite has thousands; or GDS itself.
    """

    name: str
    violates: frozenset[str]
    source: Path | ShapeList | bytes = field(repr=False)

    def gds(self) -> bytes:
        """The layout's bytes. Raises RuleError for a file that cannot be read."""
        if isinstance(self.source, bytes):
            return self.source
        if not isinstance(self.source, Path):
            return self.source.gds()
        try:
            return self.source.read_bytes()
        except OSError as error:
            raise RuleError(f"{self.source}: cannot be read: {error.strerror}") from error


class LayoutsOnDemand(Sequence[LabelledLayout]):
    """Those that are ``listed`` and then those that ``make`` gives, which is asked when the first of all is needed: to
    collect a suite takes none of them.  Raises RuleError then, as ``make`` does."""

    def __init__(self, listed: Iterable[LabelledLayout], make: Callable[[], Iterable[LabelledLayout]]) -> None:
        self._listed = tuple(listed)
        self._make = make

    @cached_property
    def _all(self) -> tuple[LabelledLayout, ...]:
        return (*self._listed, *self._make())

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> LabelledLayout: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[LabelledLayout, ...]: ...
    def __getitem__(self, index: int | slice) -> LabelledLayout | tuple[LabelledLayout, ...]:
        return self._all[index]


def label_warnings(category: str, labels: Collection[frozenset[str]]) -> Iterator[str]:
    """What is odd about a category, by what each layout of its rule violates: all layouts are alike."""
    count = sum(category in ones for ones in labels)
    if count == 0:
        yield f"category {category}: no layout violates it; the published evaluator counts no deck as right then"
    elif count == len(labels):
        yield f"category {category}: every layout violates it; a deck that always reports it is right"


@dataclass(frozen=True)
class Rule:
    """A rule as loaded, whatever it was loaded from.

    ``layers`` are the drawn layers by the names that the text uses.  ``gold`` is a deck that meets all labels, as
    text or a file, None where none is known.  ``structures`` say what categories measure, where that was declared.
    ``group`` is the kind of rule that results are summed up by.  ``warnings`` are what is odd, but can be worked with.
    """

    id: str
    title: str
    text: str
    layers: Mapping[str, Layer]
    categories: tuple[RuleCategory, ...]
    layouts: Sequence[LabelledLayout]
    path: Path
    gold: str | Path | None = None
    structures: Mapping[str, Structure] = field(default_factory=dict)
    equivalent: tuple[str, ...] = ()
    """Keys of mutants of the gold deck that mean the same as it."""
    dbu_um: float = 0.001
    group: str = ""
    suite: str = ""
    suite_version: str = ""
    warnings: tuple[str, ...] = ()

    @cached_property
    def category_names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.categories)

    @cached_property
    def digest(self) -> str:
        """Of all that judges: categories, labels and layouts.  Reads the layouts. Raises RuleError."""
        found = hashlib.sha256("\0".join((self.id, *self.category_names)).encode())
        for one in self.layouts:
            found.update("\0".join(("", one.name, *sorted(one.violates), "")).encode())
            found.update(hashlib.sha256(one.gds()).digest())
        return found.hexdigest()

    def gold_deck(self) -> Deck | None:
        """Raises RuleError for a file that cannot be read."""
        if self.gold is None:
            return None
        if isinstance(self.gold, str):
            return Deck.of_text(self.gold, f"{self.id}.drc")
        try:
            return Deck.of_text(self.gold.read_bytes(), self.gold.name)
        except OSError as error:
            raise RuleError(f"{self.gold}: cannot be read: {error.strerror}") from error
