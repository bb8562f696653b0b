"""Faults that the published way of evaluating decks has, one test each: none of them makes a wrong verdict here."""

from __future__ import annotations

from pathlib import Path

import pytest
from published_tree import LABELS, bar, make_tree, spec_text

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.rules.evaluate import Reading, RuleVerdict, evaluate
from pytest_iclayout.rules.published import load_published_rule
from pytest_iclayout.rules.rule import Rule

pytestmark = pytest.mark.eda

HEAD = 'source($input)\nreport("met1", $output)\nm1 = input(68, 20)\n'
CHECK = 'm1.width(0.14).output("M1_W")\n'


@pytest.fixture
def rule(tmp_path: Path) -> Rule:
    """met1 at least 0.14 µm wide: one layout of 140 dbu, one of 139."""
    return load_published_rule(make_tree(tmp_path))


def run(pool: DeckPool, deck: str | bytes, rule: Rule) -> list[Execution]:
    return run_all(pool, Deck.of_text(deck), [one.gds() for one in rule.layouts])


def judged(pool: DeckPool, deck: str | bytes, rule: Rule) -> tuple[RuleVerdict, RuleVerdict]:
    """The strict verdict, and the lenient one."""
    executions = run(pool, deck, rule)
    return evaluate(rule, executions), evaluate(rule, executions, Reading.LENIENT)


def test_a_good_deck_is_a_success_in_both_readings(pool: DeckPool, rule: Rule) -> None:
    strict, lenient = judged(pool, HEAD + CHECK, rule)
    assert (strict.success, lenient.success, strict.f1, lenient.f1) == (True, True, 1.0, 1.0)


def test_a_deck_that_crashes_on_a_clean_layout_is_an_error(pool: DeckPool, rule: Rule) -> None:
    strict, lenient = judged(pool, f'{HEAD}raise "lost" if m1.width(0.14).is_empty?\n{CHECK}', rule)
    assert (strict.success, strict.error, strict.f1) == (False, True, 0.0)
    assert "did not run to its end on 1 of 2 layouts: ERROR: " in strict.summary()
    assert "lost" in strict.summary()
    assert (lenient.success, lenient.error) == (True, True)


def test_a_category_that_no_layout_violates_can_be_met(pool: DeckPool, tmp_path: Path) -> None:
    rule = load_published_rule(make_tree(tmp_path, labels=LABELS.replace(",1", ",0")))
    strict, lenient = judged(pool, HEAD + 'm1.width(0.1).output("M1_W")\n', rule)
    assert (strict.success, lenient.success, lenient.f1) == (True, False, 0.0)
    assert [one for one in rule.warnings if "no layout violates it" in one]


@pytest.mark.parametrize("name", ["M1.W", "1_W", "M1 W", "M1-W", "M1é"])
def test_a_category_that_klayout_quotes_can_be_met(pool: DeckPool, tmp_path: Path, name: str) -> None:
    path = make_tree(tmp_path, spec_text(categories=f"['{name}']", rules=None), LABELS.replace("M1_W", name), gold=None)
    rule = load_published_rule(path)
    strict, lenient = judged(pool, HEAD + f'm1.width(0.14).output("{name}")\n', rule)
    assert (strict.success, lenient.success) == (True, False)
    assert [one for one in rule.warnings if one.startswith(f"category {name}: is '")]


def test_a_category_that_was_not_asked_for_is_no_success_and_is_named(pool: DeckPool, rule: Rule) -> None:
    strict, lenient = judged(pool, f'{HEAD}{CHECK}m1.width(0.14).output("M1_EXTRA")\n', rule)
    assert (strict.success, lenient.success) == (False, False)
    assert strict.summary() == "reports categories that the rule does not have: M1_EXTRA"
    assert strict.f1 == 1.0


def test_an_empty_report_is_a_run_that_found_nothing(pool: DeckPool, rule: Rule) -> None:
    strict, lenient = judged(pool, HEAD, rule)
    assert (strict.success, strict.error, lenient.success) == (False, False, False)
    assert strict.summary() == "missed violations on 1 of 2 layouts (fail/narrow.gds)"


@pytest.mark.parametrize("end", ["exit!(0)", "Process.exit!(true)"])
def test_status_0_without_a_report_is_no_clean_layout(pool: DeckPool, rule: Rule, end: str) -> None:
    strict, lenient = judged(pool, f"{HEAD}{end} if m1.width(0.14).is_empty?\n{CHECK}", rule)
    assert (strict.success, strict.error, lenient.success) == (False, True, True)
    assert [one.status for one in strict.layouts] == [Status.ERROR, Status.OK]


def test_a_report_that_the_deck_wrote_itself_before_it_ended_early_is_not_read(pool: DeckPool, rule: Rule) -> None:
    executions = run(pool, f'{HEAD}{CHECK}@output_rdb.save($output) rescue File.write($output, "<x/>")\nexit!(0)', rule)
    assert [one.status for one in executions] == [Status.ERROR, Status.ERROR]
    assert not evaluate(rule, executions).success


def test_a_deck_that_is_not_utf8_is_judged_by_what_it_does(pool: DeckPool, rule: Rule) -> None:
    deck = HEAD.encode() + b"# \xb5m, Latin 1\n" + CHECK.encode()
    executions = run(pool, deck, rule)
    verdict = evaluate(rule, executions)
    # Whether Ruby takes such a comment is a matter of its version; never is it half a verdict.
    assert {one.status for one in executions} in ({Status.OK}, {Status.ERROR})
    assert verdict.success == all(one.ok for one in executions)
    assert verdict.error == (not verdict.success)


def test_what_a_deck_prints_need_not_be_utf8(pool: DeckPool, rule: Rule) -> None:
    executions = run(pool, HEAD + CHECK + "STDERR.write([0xff, 0xb5].pack('C*'))\n", rule)
    assert evaluate(rule, executions).success
    assert all("\ufffd" in one.log for one in executions)


@pytest.mark.parametrize("other", ['$output + ".lyrdb"', '"other.lyrdb"', '"/tmp/iclayout-other.lyrdb"'])
def test_a_report_at_another_path_is_none(pool: DeckPool, rule: Rule, other: str) -> None:
    strict, lenient = judged(pool, HEAD.replace("$output", other) + CHECK, rule)
    assert (strict.success, strict.error, lenient.success) == (False, True, False)
    assert {one.status for one in strict.layouts} == {Status.ERROR}
    assert not Path("/tmp/iclayout-other.lyrdb").exists()


def test_two_layouts_of_one_file_name_do_not_share_a_report(pool: DeckPool, tmp_path: Path) -> None:
    # Where reports are named by the layout's stem, the second run that leaves none is judged by the first's.
    layouts = {"pass/same.gds": bar(140), "fail/same.gds": bar(139)}
    labels = LABELS.replace("wide", "same").replace("narrow", "same")
    rule = load_published_rule(make_tree(tmp_path, labels=labels, layouts=layouts))
    strict, _ = judged(pool, f"{HEAD}exit!(0) if m1.width(0.14).is_empty?\n{CHECK}", rule)
    assert [one.status for one in strict.layouts] == [Status.ERROR, Status.OK]
    assert judged(pool, HEAD + CHECK, rule)[0].success
