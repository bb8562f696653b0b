"""The table by agent and tier, and the reasons below it."""

from __future__ import annotations

from dataclasses import replace

from pytest_iclayout.trial.summary import RuleLine, TrialLine, reason_lines, rule_table, trial_table


def trials(agent: str = "one", tier: int | None = 1, **outcomes: int) -> list[TrialLine]:
    return [TrialLine(agent, tier, outcome, 2) for outcome, count in outcomes.items() for _ in range(count)]


def cells(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines[1:]]


def test_rate_counts_neither_errors_nor_trials_that_were_not_run():
    """An endpoint that was down would lower an agent's score otherwise."""
    (row,) = cells(trial_table(trials(passed=2, failed=1, error=5, not_run=3)))
    assert row == ["one", "1", "2", "1", "5", "3", "67%", "2.00"]


def test_rate_of_nothing_judged_is_not_zero():
    (row,) = cells(trial_table(trials(error=1, not_run=1)))
    assert row == ["one", "1", "0", "0", "1", "1", "-", "-"]


def test_rates_are_by_agent_and_tier():
    lines = trial_table([*trials(passed=1, failed=1), *trials(tier=2, passed=1), *trials("other", failed=1)])
    assert [(row[0], row[1], row[6]) for row in cells(lines)] == [
        ("one", "1", "50%"),
        ("one", "2", "100%"),
        ("other", "1", "0%"),
    ]


def test_columns_stand_below_their_headings():
    """Also with a long name, three-digit rates and a tier that is not known."""
    lines = trial_table([*trials("an-agent-of-a-long-name", passed=100), *trials("b", None, error=1)])
    assert len({len(line) for line in lines}) == 1
    for heading in ("tier", "passed", "failed", "error", "not_run", "rate", "iterations"):
        end = lines[0].index(heading) + len(heading)
        assert all(line[end - 1] != " " and line[end : end + 1] in ("", " ") for line in lines)


def test_no_trials_have_no_table():
    assert trial_table([]) == []


def unjudged(reason: str, count: int = 1, outcome: str = "error") -> list[TrialLine]:
    return [TrialLine("one", 1, outcome, 0, reason)] * count


def test_each_reason_is_told_once_with_its_number_and_the_commonest_first():
    lines = reason_lines([*unjudged("lost"), *unjudged("no key", 3, "not_run"), *trials(passed=1, failed=4)])
    assert lines == ["not_run 3: one: no key", "error 1: one: lost"]


def test_reason_of_many_lines_is_told_by_its_first():
    assert reason_lines(unjudged("first\nsecond\n")) == ["error 1: one: first"]


def test_trial_without_a_reason_has_a_line_all_the_same():
    assert reason_lines(unjudged("\n")) == ["error 1: one: no reason is known"]


def test_reasons_that_all_differ_are_cut_off_and_counted():
    """A run of a thousand trials must not end in a thousand lines."""
    lines = reason_lines([one for number in range(7) for one in unjudged(f"reason {number}")])
    assert len(lines) == 6
    assert lines[-1] == "... and 2 more reasons"
    assert "more reasons" not in "".join(reason_lines([one for number in range(5) for one in unjudged(str(number))]))


def decks(*readings: str, outcome: str = "passed") -> list[RuleLine]:
    return [RuleLine("one", "width", outcome, True, 1.0, reading) for reading in readings]


def test_lenient_reading_is_told_as_success_and_error_would_not_fit_together_else():
    lenient = "read leniently (--lenient-crash): where a deck is in error it counts as reporting nothing"
    assert rule_table(decks("lenient", "lenient"))[2:] == [f"all {lenient}"]
    assert rule_table(decks("lenient", "strict", "strict"))[2:] == [f"1 of 3 {lenient}"]
    assert len(rule_table(decks("strict"))) == len(rule_table(decks("lenient", outcome="error"))) == 2


def test_decks_that_were_not_asked_for_alike_or_are_of_several_suites_are_told():
    """A figure over them is of no one setting."""
    one = replace(decks("strict")[0], suite="ours")
    others = [replace(one, context="docs"), replace(one, feedback="compile", suite="mine")]
    assert rule_table([one, *others])[2:] == [
        "not all were asked for alike: 1 with --context=docs --rule-feedback=none, "
        "1 with --context=none --rule-feedback=compile, 1 with --context=none --rule-feedback=none",
        "of 2 suites: mine 1, ours 2",
    ]
    assert len(rule_table([one, one])) == 2
