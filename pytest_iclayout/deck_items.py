"""Decks as pytest collectors and their rules as items (``pytest --deck``)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_iclayout.broken import broken_file
from pytest_iclayout.deck_options import LABELS_NEEDED, DeckSettings, name_decks
from pytest_iclayout.deck_runs import DeckRuns
from pytest_iclayout.deck_terminal import REST_PROPERTY, RULE_PROPERTY, DeckRest, DeckRule, summarize
from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Execution
from pytest_iclayout.items import write_picture
from pytest_iclayout.options import settings_key
from pytest_iclayout.rules.label_book import LabelBook, is_layout, read_label_book, read_layout_file
from pytest_iclayout.rules.observe import Observations, observe
from pytest_iclayout.rules.region_picture import region_picture
from pytest_iclayout.rules.regression import NEXT_STEPS, LabelResult, RuleResult, RuleStatus, judge_rule, not_tested
from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.terminal import shown_path
from pytest_iclayout.trial.record import file_name

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr
    from _pytest.terminal import TerminalReporter

REST_NAME = "every_category_is_labelled"
"""The last item of a deck."""
_MOST_PICTURES = 4
_MOST_LINES = 20
"""Labels of one rule that are told of one by one."""


class DeckWarning(pytest.PytestWarning):
    """Something of a deck is not tested, or something of the labels says nothing."""


class RuleNotMet(Exception):
    """A deck does not do what the labels say; the message is the whole failure."""


def register(config: pytest.Config, settings: DeckSettings) -> None:
    """Let a run judge decks. Raises pytest.UsageError."""
    if not hasattr(config, "workerinput"):
        _require_application(config)
    config.pluginmanager.register(DeckRegression(config, settings), "iclayout-deck")


def _require_application(config: pytest.Config) -> None:
    from pytest_iclayout.drc.decks.engines import EngineUnavailable, find_engine
    from pytest_iclayout.sandbox.policy import SandboxUnavailable, support

    try:
        find_engine()
        if config.stash[settings_key].sandbox:
            support().require()
    except (EngineUnavailable, SandboxUnavailable) as error:
        raise pytest.UsageError(f"--deck: {error}") from error


class DeckRegression:
    """The plugin of a run with decks: what was read at its start, and the runs of the decks."""

    def __init__(self, config: pytest.Config, settings: DeckSettings) -> None:
        self.config = config
        self.settings = settings
        self.decks: dict[Path, Deck] = {path: settings.load(path) for path in settings.decks}
        self.book = self._read_labels()
        self._keep = {deck: self._report_paths(deck) for deck in self.decks}
        options = config.stash[settings_key]
        self._runs = DeckRuns(settings, options.run_id, sandbox=options.sandbox)
        self._observed: dict[tuple[Path, str], Observations] = {}
        name_decks(config, settings.decks)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        path = file_path.resolve()
        if path in self.decks:
            return DeckFile.from_parent(parent, path=file_path, regression=self)
        if parent.session.isinitpath(file_path) and (is_layout(file_path) or file_path.suffix == ".csv"):
            return NothingToCollect.from_parent(parent, path=file_path)
        return None

    def pytest_report_header(self) -> str:
        decks = ", ".join(self.shown(path) for path in self.decks)
        book = self.book
        return (
            f"iclayout: deck {decks}; {len(book.labels)} labels of {len(book.rules)} rules in "
            f"{len(book.layouts)} layouts"
        )

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        summarize(terminalreporter, self.config)

    def pytest_unconfigure(self) -> None:
        self._runs.close(remove=not hasattr(self.config, "workerinput"))

    def executions(self, item: DeckItem) -> dict[str, Execution]:
        """The deck's runs on the layouts of the item, by the layouts' names."""
        return {
            name: next(iter(self.observations(item, name).by_label.values())).execution for name in item.layout_names
        }

    def observations(self, item: DeckItem, layout: str) -> Observations:
        """What the item's deck says of all labels of a layout. Raises RuleNotMet where it cannot be run."""
        key = (item.path.resolve(), layout)
        if key not in self._observed:
            # All that this run will ask for, at once: the deck runs on several layouts at a time.
            names = dict.fromkeys(
                name
                for one in item.session.items
                if isinstance(one, DeckItem) and one.path == item.path
                for name in one.layout_names
            )
            files = {name: self.book.layouts[name] for name in (*names, layout)}
            try:
                runs = self._runs.of(self.decks[key[0]], files.values(), self._keep[key[0]])
            except (OSError, RuntimeError) as error:
                raise RuleNotMet(f"error: the deck could not be run: {error}") from error
            labels = [one for one in self.book.labels if one.layout == layout]
            run = runs[files[layout]]
            self._observed[key] = observe(run.execution, run.report, files[layout], labels)
        return self._observed[key]

    def picture(self, deck: str, result: LabelResult, number: int) -> str:
        """Draws where a label is not met; a line that says where the picture is, or why there is none."""
        layout = self.book.layouts[result.label.layout]
        folder = self.config.stash[settings_key].results / ".decks" / file_name(deck)
        try:
            png = region_picture(read_layout_file(layout, result.label.layout), result, deck, self.settings.layers)
        except RuleError as error:
            return f"no picture: {error}"
        if png is None:
            return "no picture: nothing is drawn there, or too much"
        return write_picture(folder / f"{file_name(result.label.rule)}-{number}.png", png, self.config)

    def shown(self, path: Path) -> str:
        return shown_path(path, self.config)

    def _read_labels(self) -> LabelBook:
        settings = self.settings
        book = read_label_book(settings.layouts, settings.tables, settings.layers, self.shown)
        if not book.labels and not book.broken:
            where = ", ".join(self.shown(path) for path in settings.layouts) or "in no folder"
            raise pytest.UsageError(LABELS_NEEDED.format(where=f"in {where}"))
        return book

    def _report_paths(self, deck: Path) -> dict[Path, Path]:
        """Where ``--rdb-dir`` keeps the report of each layout. Raises pytest.UsageError."""
        if self.settings.reports is None:
            return {}
        folder = self.settings.reports / deck.stem if len(self.decks) > 1 else self.settings.reports
        if sum(one.stem == deck.stem for one in self.decks) > 1:
            raise pytest.UsageError(f"--rdb-dir: two decks are called {deck.stem}; run them apart")
        names = {path: file_name(name.replace("/", "_")) for name, path in self.book.layouts.items()}
        if double := [name for name, count in Counter(names.values()).items() if count > 1]:
            raise pytest.UsageError(f"--rdb-dir: two layouts would write {double[0]}.lyrdb; run them apart")
        return {path: folder / f"{name}.lyrdb" for path, name in names.items()}


class NothingToCollect(pytest.File):
    """A layout or table that is named on the command line: labels come from it, no items."""

    def collect(self) -> Iterator[pytest.Item]:
        return iter(())


class BrokenLabels(pytest.Collector):
    """A layout or table whose labels cannot be read: one error."""

    def __init__(self, *, problem: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._problem = problem

    def collect(self) -> Iterator[pytest.Item]:
        raise broken_file(self, self._problem)


class DeckFile(pytest.File):
    """A deck: an item for each rule that labels name, and one for what they leave out."""

    def __init__(self, *, regression: DeckRegression, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.regression = regression

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        book = self.regression.book
        if self.path.resolve() == next(iter(self.regression.decks)):
            for path, problem in book.broken.items():
                name = self.regression.shown(path)
                yield BrokenLabels.from_parent(self, name=name, problem=problem)
        for rule in book.rules:
            layouts = tuple(dict.fromkeys(one.layout for one in book.labels if one.rule == rule))
            yield RuleItem.from_parent(self, name=rule, regression=self.regression, layout_names=layouts)
        yield RestItem.from_parent(self, name=REST_NAME, regression=self.regression, layout_names=tuple(book.layouts))


class DeckItem(pytest.Item):
    """``layout_names`` are the layouts on which its deck must have run."""

    def __init__(self, *, regression: DeckRegression, layout_names: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.regression = regression
        self.layout_names = layout_names
        self.deck = regression.shown(self.path)
        self.add_marker("deck")

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        return self.path, None, f"{self.deck}: {self.name}"

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any
    ) -> str | TerminalRepr:
        if isinstance(excinfo.value, (RuleNotMet, DeckWarning)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)


class RuleItem(DeckItem):
    """One rule by all its labels."""

    def runtest(self) -> None:
        seen = {
            label: observation
            for name in self.layout_names
            for label, observation in self.regression.observations(self, name).by_label.items()
            if label.rule == self.name
        }
        result = judge_rule(self.name, seen.items())
        self.user_properties.append(("deck_status", result.status.value))
        row = DeckRule.of(self.deck, result)
        self.user_properties.append((RULE_PROPERTY, row.model_dump_json()))
        if result.status is not RuleStatus.MET:
            raise RuleNotMet("\n".join(self._failure(result)))

    def _failure(self, result: RuleResult) -> Iterator[str]:
        yield f"{self.deck}: {result.rule}: {result.summary}"
        wrong = [one for one in result.labels if one.status is not RuleStatus.MET]
        if result.status is not RuleStatus.NOT_IMPLEMENTED:
            for number, one in enumerate(wrong[:_MOST_LINES], 1):
                yield str(one)
                if one.status in (RuleStatus.MISSED, RuleStatus.FALSE) and number <= _MOST_PICTURES:
                    yield f"  {self.regression.picture(self.deck, one, number)}"
            if len(wrong) > _MOST_LINES:
                yield f"... and {len(wrong) - _MOST_LINES} more labels"
        yield f"what to do: {NEXT_STEPS[result.status]}"


class RestItem(DeckItem):
    """What no label names: a warning, with ``--deck-strict`` a failure."""

    def runtest(self) -> None:
        regression = self.regression
        executions = regression.executions(self).values()
        if not any(one.ok for one in executions):
            raise RuleNotMet("error: the deck ran to its end on no layout, so its categories are not known")
        placeless = {
            f"{name}: {count} markers of {rule} have no place, so they count for no box"
            for name in self.layout_names
            for rule, count in regression.observations(self, name).without_place.items()
        }
        rest = DeckRest(
            deck=self.deck,
            not_tested=not_tested(executions, regression.book.rules),
            warnings=(*regression.book.warnings, *sorted(placeless)),
        )
        self.user_properties.append((REST_PROPERTY, rest.model_dump_json()))
        lines = list(rest.lines())
        if not lines:
            return
        if regression.settings.strict:
            raise RuleNotMet("\n".join([*lines, f"what to do: {NEXT_STEPS[RuleStatus.NOT_TESTED]}"]))
        for line in lines:
            warnings.warn_explicit(DeckWarning(line), None, filename=str(self.path), lineno=1)
