"""Figures over judged decks, against enumeration and published values."""

from __future__ import annotations

import random
from itertools import combinations
from math import isclose, nan, sqrt
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.rules.evaluate import Reading, RuleVerdict
from pytest_iclayout.rules.metrics import (
    MetricError,
    RuleScore,
    bootstrap,
    mean_pass_at_k,
    oracle_error,
    oracle_success,
    pass_at_k,
    rule_f1,
    summarize,
    wilson,
)


def score(rule: str, sample: int = 0, what: str = "wrong", **more) -> RuleScore:
    more = {"f1": 1.0 if what == "right" else 0.0, **more}
    return RuleScore(rule=rule, sample=sample, success=what == "right", error=what == "error", **more)


def scores(**decks: str) -> list[RuleScore]:
    """``a="rwe"``: of rule a one deck that is right, one wrong, one in error."""
    names = {"r": "right", "w": "wrong", "e": "error"}
    return [score(rule, number, names[one]) for rule, several in decks.items() for number, one in enumerate(several)]


@pytest.mark.parametrize("samples", range(1, 8))
def test_pass_at_k_is_the_share_of_subsets_with_a_right_deck(samples):
    for right in range(samples + 1):
        for k in range(1, samples + 1):
            subsets = list(combinations(range(samples), k))
            hit = sum(min(one) < right for one in subsets)  # the first so many are right
            assert pass_at_k(samples, right, k) == pytest.approx(hit / len(subsets), abs=1e-12)


def test_pass_at_k_of_many_samples_is_exact():
    assert pass_at_k(1000, 1, 100) == pytest.approx(0.1, abs=1e-12)
    assert pass_at_k(200, 200, 200) == 1


@pytest.mark.parametrize(("samples", "right", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1), (0, 0, 1)])
def test_pass_at_k_of_too_few_samples_is_refused(samples, right, k):
    with pytest.raises(MetricError):
        pass_at_k(samples, right, k)


def test_mean_pass_at_k_is_over_rules_of_any_number_of_samples():
    assert mean_pass_at_k(scores(a="rw", b="www", c="rr"), 2) == pytest.approx((1 + 0 + 1) / 3)
    with pytest.raises(MetricError, match="pass@3 needs at least 3 samples a rule"):
        mean_pass_at_k(scores(a="rw", b="www"), 3)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998),
        # table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_values(count, total, low, high):
    found = wilson(count, total)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(st.integers(1, 10_000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_holds_the_rate_and_mirrors(pair):
    count, total = pair
    found, mirrored = wilson(count, total), wilson(total - count, total)
    assert 0 <= found.low <= count / total <= found.high <= 1
    assert isclose(found.low, 1 - mirrored.high, abs_tol=1e-12)
    assert wilson(count, total, 0.99).low <= found.low
    # where they are exactly: rates at which the observed one is so many standard errors away (the score equation)
    for end in (found.low, found.high):
        if 0 < end < 1:
            away = abs(count / total - end) / sqrt(end * (1 - end) / total)
            assert away == pytest.approx(1.959963985, abs=1e-6)


def test_wilson_reaches_the_ends_and_narrows():
    assert wilson(0, 7).low == 0
    assert wilson(7, 7).high == 1
    far = wilson(500_000, 1_000_000)
    assert far.high - far.low == pytest.approx(2 * 1.959964 * 0.5 / 1000, rel=1e-3)


@pytest.mark.parametrize(
    ("count", "total", "confidence"), [(0, 0, 0.95), (2, 1, 0.95), (-1, 1, 0.95), (1, 2, 1), (1, 2, 0)]
)
def test_wilson_of_no_rate_is_refused(count, total, confidence):
    with pytest.raises(MetricError):
        wilson(count, total, confidence)


def test_bootstrap_is_near_the_normal_interval_of_many_values():
    dice = random.Random(5)
    values = [dice.random() for _ in range(400)]
    found = bootstrap(values, resamples=3000)
    half = 1.96 * stdev(values) / sqrt(400)
    assert found.low == pytest.approx(fmean(values) - half, abs=half / 8)
    assert found.high == pytest.approx(fmean(values) + half, abs=half / 8)


def test_bootstrap_depends_on_its_seed_only():
    values = [0.0, 0.2, 0.9, 1.0, 0.4]
    assert bootstrap(values, seed=1) == bootstrap(values, seed=1)
    assert bootstrap(values, seed=1, resamples=50) != bootstrap(values, seed=2, resamples=50)
    assert bootstrap([0.5]).low == bootstrap([0.5]).high == 0.5


@pytest.mark.parametrize(
    ("values", "more"),
    [([], {}), ([nan], {}), ([1.0], {"resamples": 0}), ([1.0], {"confidence": 1.5})],
)
def test_bootstrap_of_nothing_is_refused(values, more):
    with pytest.raises(MetricError):
        bootstrap(values, **more)


DECKS = st.integers(1, 4).flatmap(
    lambda size: st.dictionaries(st.sampled_from("abcdef"), st.text("rwe", min_size=size, max_size=size), min_size=1)
)


@given(DECKS)
def test_oracle_counts_rules_with_one_right_and_with_all_in_error(decks):
    some = scores(**decks)
    random.Random(0).shuffle(some)
    assert oracle_success(some).count == sum("r" in one for one in decks.values())
    assert oracle_error(some).count == sum(set(one) == {"e"} for one in decks.values())
    assert oracle_success(some).total == oracle_error(some).total == len(decks)
    size = len(next(iter(decks.values())))
    assert oracle_success(some).rate == pytest.approx(mean_pass_at_k(some, size))


def test_oracle_of_different_numbers_of_samples_is_refused():
    with pytest.raises(MetricError, match="rule a has 1 samples and b has 2"):
        oracle_success(scores(a="r", b="rw"))


def test_a_sample_that_is_there_twice_is_refused():
    with pytest.raises(MetricError, match="rule a: sample 0 is there twice"):
        rule_f1([score("a"), score("a")])


def test_scores_of_several_agents_are_not_mixed():
    with pytest.raises(MetricError, match=r"several agents \(x, y\)"):
        oracle_success([score("a", agent="x"), score("a", agent="y")])


def test_no_scores_have_no_figure():
    with pytest.raises(MetricError, match="no scores"):
        oracle_error([])
    assert summarize([]) == {}


def test_f1_is_the_mean_over_rules_of_the_mean_over_decks():
    some = [score("a", 0, f1=0.5), score("a", 1, f1=0.0), score("b", 0, "right"), score("b", 1, f1=0.5)]
    assert rule_f1(some) == {"a": 0.25, "b": 0.75}
    assert summarize(some)[""][0].f1 == 0.5


def test_summary_by_agent_and_group_with_all_groups_last():
    some = [
        *(score(rule, number, what, group=group, agent=agent)
          for agent, right in (("x", "right"), ("y", "error"))
          for rule, group in (("a", "space"), ("b", "width"), ("c", "width"))
          for number, what in enumerate((right, "wrong"))),
    ]  # fmt: skip
    found = summarize(some, ks=(1, 2))
    assert list(found) == ["x", "y"]
    assert [(one.group, one.rules, one.samples) for one in found["x"]] == [
        ("space", 1, 2), ("width", 2, 2), (None, 3, 2)
    ]  # fmt: skip
    everything = found["x"][-1]
    assert (everything.success.count, everything.success.total, everything.error.count) == (3, 6, 0)
    assert everything.oracle_success.count == 3
    assert everything.pass_at == {1: pytest.approx(0.5), 2: pytest.approx(1)}
    assert (found["y"][-1].error.count, found["y"][-1].oracle_error.count) == (3, 0)


def test_decks_for_the_same_rule_do_not_narrow_the_interval():
    one, many = summarize(scores(a="r", b="w"))[""][0], summarize(scores(a="rrrr", b="wwww"))[""][0]
    assert (many.success.count, many.success.total) == (4, 8)
    assert many.success.interval == one.success.interval == wilson(1, 2)


def test_no_figure_depends_on_the_order_of_the_scores():
    some = [score(rule, number, f1=number / 10 + ord(rule) / 200) for rule in "abcdef" for number in range(3)]
    mixed = list(some)
    random.Random(3).shuffle(mixed)
    assert summarize(some, ks=(2,)) == summarize(mixed, ks=(2,))


def test_one_group_needs_no_total():
    assert [one.group for one in summarize([score("a", group="g"), score("b", group="g")])[""]] == ["g"]


def test_score_of_a_verdict():
    verdict = RuleVerdict(reading=Reading.STRICT, success=False, error=True, f1=0.0, categories={}, layouts=())
    made = RuleScore.of(verdict, "a", group="g", agent="x", sample=3)
    assert made == score("a", 3, "error", group="g", agent="x", f1=0.0)
