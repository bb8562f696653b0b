"""Rules as pytest collectors, and the items that they yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_iclayout import rule_warnings
from pytest_iclayout.broken import broken_file
from pytest_iclayout.fixtures import MUTANTS_PROPERTY, RuleRun, TrialError, load_rule_instances
from pytest_iclayout.items import OneOfSeveral, WorkItem, items_of, keep_picture
from pytest_iclayout.options import agents, settings_key
from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.suite.files import SuiteError

if TYPE_CHECKING:
    from pytest_iclayout.checking.rule_gate import RuleGateFailure
    from pytest_iclayout.drc.decks.pool import DeckPool

_Report = TypeVar("_Report")
_ids_key = pytest.StashKey[dict[tuple[str, str], Path]]()
"""Rules seen, with their files, by suite and id: records go by both."""


class RuleFile(pytest.File):
    """A file of one or many rules: for each an item for each agent, and the two items of its gate."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        try:
            rules = load_rule_instances(self.path, self.config)
            self._require_new_ids(rules)
            # Here and not in a rule's collector: agents that cannot be made are the error of the file.
            agents(self.config)
        except (RuleError, SuiteError, pytest.UsageError) as error:
            raise broken_file(self, str(error)) from error
        idle = not agents(self.config)
        for rule in rules:
            rule_warnings.note(self.config, rule, idle=idle and rule.gold is None)
        if self.path.name == "spec.yaml":
            yield from _items(self, rules[0])
            return
        for rule in rules:
            yield OneOfSeveral.from_parent(self, name=rule.id, items=partial(_items, rule=rule))

    def _require_new_ids(self, rules: tuple[Rule, ...]) -> None:
        ids = self.session.stash.setdefault(_ids_key, {})
        for rule in rules:
            other = ids.setdefault((rule.suite, rule.id), self.path)
            if other != self.path:
                raise RuleError(
                    f"{self.path}: rule {rule.id}: {other} has a rule of that id already; ids are unique in a suite "
                    f"(both files are in one named {rule.suite!r})"
                )


def _items(parent: pytest.Collector, rule: Rule) -> Iterator[pytest.Item]:
    accepts, rejects = (None, None) if rule.gold is None else (_accepts, _rejects)
    words = {word for word in (rule.id, rule.group) if word}
    return items_of(RuleItem, parent, accepts=accepts, rejects=rejects, solve=_solve, words=words, rule=rule)


class RuleItem(WorkItem):
    """An item of a rule."""

    def __init__(self, *, rule: Rule, **kwargs: Any) -> None:
        super().__init__(work_id=rule.id, **kwargs)
        self.rule = rule
        self.add_marker("rule")


def _solve(request: pytest.FixtureRequest) -> None:
    RuleRun(request, request.node.rule, request.node.agent).run().require_passed()


def _accepts(request: pytest.FixtureRequest) -> None:
    from pytest_iclayout.checking.gate import GateSettings
    from pytest_iclayout.checking.rule_gate import check_accepts

    settings, rule = request.config.stash[settings_key], request.node.rule
    gate = GateSettings(settings.gate_examples, settings.gate_database)
    layouts = _gated(request, lambda pool: check_accepts(rule, pool, f"{rule.suite}-{rule.id}", gate))
    request.node.user_properties.append(("iclayout_gate", f"{layouts} layouts"))


def _rejects(request: pytest.FixtureRequest) -> None:
    from pytest_iclayout.checking.rule_gate import check_rejects

    report = _gated(request, lambda pool: check_rejects(request.node.rule, pool))
    request.node.user_properties.append((MUTANTS_PROPERTY, f"{report.killed}/{report.tried}"))
    if report.survivors:
        told = "\n".join(f"{one.key}: {one.description}" for one in report.survivors)
        request.node.add_report_section("call", "mutated gold decks that no layout tells", told)


def _gated(request: pytest.FixtureRequest, check: Callable[[DeckPool], _Report]) -> _Report:
    from pytest_iclayout.checking.rule_gate import RuleGateError, RuleGateFailure
    from pytest_iclayout.pools import PoolUnavailable, pools

    try:
        return check(pools(request.config).decks)
    except PoolUnavailable as error:
        pytest.skip(str(error))
    except (RuleGateError, RuleError) as error:
        raise TrialError(f"{request.node.rule.id}: {error}") from error
    except RuleGateFailure as failure:
        _attach_picture(request, failure)
        raise


def _attach_picture(request: pytest.FixtureRequest, failure: RuleGateFailure) -> None:
    """Draw the layout that shows what is wrong, and name the file in the failure."""
    from pytest_iclayout.pools import pools
    from pytest_iclayout.rules.layout_picture import picture_of_layout, picture_of_result

    rule: Rule = request.node.rule
    if failure.layout is None:
        return
    failure.message += f"\nlayout: {failure.layout.name}"
    gold = rule.gold_deck()
    if failure.result is None or gold is None:
        picture = picture_of_layout(rule, failure.layout)
    else:
        picture = picture_of_result(rule, failure.result, "the gold deck", gold, pools(request.config).decks)
    keep_picture(request.node, rule.suite, picture, failure)
