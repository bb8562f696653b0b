"""Figures over many judged decks: rates with their intervals, pass@k, the best and the worst of N."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import comb, isfinite, sqrt
from statistics import NormalDist, fmean

from pydantic import BaseModel, ConfigDict, Field

from pytest_iclayout.rules.evaluate import RuleVerdict


class MetricError(ValueError):
    """A figure that the scores do not give; the message says what is missing."""


class RuleScore(BaseModel):
    """One deck of one agent for one rule; ``sample`` numbers the decks that an agent wrote for the same rule.

    A deck can be a success in error only where verdicts were read leniently.
    """

    model_config = ConfigDict(frozen=True)

    rule: str
    group: str = ""
    agent: str = ""
    sample: int = Field(default=0, ge=0)
    success: bool
    error: bool
    f1: float = Field(ge=0, le=1)

    @classmethod
    def of(cls, verdict: RuleVerdict, rule: str, group: str = "", agent: str = "", sample: int = 0) -> RuleScore:
        return cls(
            rule=rule, group=group, agent=agent, sample=sample,
            success=verdict.success, error=verdict.error, f1=verdict.f1,
        )  # fmt: skip


class Interval(BaseModel):
    """From ``low`` to ``high``, both included."""

    model_config = ConfigDict(frozen=True)

    low: float
    high: float


class Share(BaseModel):
    """``count`` of ``total``, with the Wilson interval of the rate.

    Decks for the same rule are alike: where a rule has several, the interval is that of so many rules, not decks.
    """

    model_config = ConfigDict(frozen=True)

    count: int
    total: int
    interval: Interval

    @property
    def rate(self) -> float:
        return self.count / self.total


class GroupSummary(BaseModel):
    """One agent on the rules of one group; of all groups where ``group`` is None.

    ``success`` and ``error`` count decks.  ``oracle_success`` counts the rules with at least one right deck,
    ``oracle_error`` those whose decks are all in error.  ``f1`` is the mean over rules of the mean over a rule's decks;
    its interval is by bootstrap over the rules.
    """

    model_config = ConfigDict(frozen=True)

    group: str | None
    rules: int
    samples: int
    """Decks a rule."""
    success: Share
    error: Share
    oracle_success: Share
    oracle_error: Share
    f1: float
    f1_interval: Interval
    pass_at: dict[int, float]


def wilson(count: float, total: int, confidence: float = 0.95) -> Interval:
    """The score interval of a rate; ``count`` need not be whole.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of the American
    Statistical Association 22 (1927) 209-212.  Raises MetricError for a total of 0 or a count outside it.
    """
    if total < 1 or not 0 <= count <= total:
        raise MetricError(f"a rate of {count} in {total} has no interval; the count is from 0 to a total of at least 1")
    z = NormalDist().inv_cdf((1 + _part(confidence, "confidence")) / 2)
    rate = count / total
    middle = rate + z * z / (2 * total)
    half = z * sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    # At the ends the formula gives 0 and 1 exactly, which rounding would miss.
    low = 0.0 if count == 0 else max(0.0, (middle - half) / scale)
    high = 1.0 if count == total else min(1.0, (middle + half) / scale)
    return Interval(low=low, high=high)


def bootstrap(values: Sequence[float], confidence: float = 0.95, resamples: int = 2000, seed: int = 0) -> Interval:
    """The percentile interval of a mean, from samples drawn with replacement.

    B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.  The same for the same seed and the
    same values in the same order.  Raises MetricError for no values, for one that is not finite, for no resamples.
    """
    if not values or not all(isfinite(one) for one in values):
        raise MetricError("a bootstrap needs at least one value, and finite ones")
    if resamples < 1:
        raise MetricError(f"resamples: {resamples} is below 1")
    dice = random.Random(seed)
    means = sorted(fmean(dice.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - _part(confidence, "confidence")) / 2
    return Interval(low=_quantile(means, tail), high=_quantile(means, 1 - tail))


def pass_at_k(samples: int, right: int, k: int) -> float:
    """The chance that at least one of ``k`` decks is right, drawn from ``samples`` of which ``right`` are.

    1 - C(n - c, k) / C(n, k): M. Chen et al., Evaluating Large Language Models Trained on Code (2021), equation 1; the
    mean over rules estimates it without bias.  Raises MetricError for k above the samples, or below 1.
    """
    if not 0 <= right <= samples:
        raise MetricError(f"{right} of {samples} samples cannot be right")
    if not 1 <= k <= samples:
        raise MetricError(
            f"pass@{k} needs at least {max(k, 1)} samples a rule and k of at least 1; there are {samples}"
        )
    return 1 - comb(samples - right, k) / comb(samples, k)


def mean_pass_at_k(scores: Sequence[RuleScore], k: int) -> float:
    """Of one agent, over its rules. Raises MetricError where a rule has fewer samples than k, and without scores."""
    by_rule = _by_rule(scores)
    return fmean(pass_at_k(len(decks), sum(one.success for one in decks), k) for decks in by_rule.values())


def oracle_success(scores: Sequence[RuleScore]) -> Share:
    """Oracle@N: the rules of which at least one of the agent's N decks is right. Raises MetricError as below."""
    return _share([any(one.success for one in decks) for decks in _of_equal_size(scores).values()])


def oracle_error(scores: Sequence[RuleScore]) -> Share:
    """The rules whose N decks are all in error.

    Raises MetricError without scores, for several agents, a sample that is there twice, and rules with different
    numbers of samples: N would mean nothing.
    """
    return _share([all(one.error for one in decks) for decks in _of_equal_size(scores).values()])


def rule_f1(scores: Sequence[RuleScore]) -> dict[str, float]:
    """The mean F1 of each rule's decks, of one agent."""
    return {rule: fmean(one.f1 for one in decks) for rule, decks in _by_rule(scores).items()}


def summarize(
    scores: Sequence[RuleScore], ks: Sequence[int] = (), resamples: int = 2000, seed: int = 0
) -> dict[str, list[GroupSummary]]:
    """By agent: a summary of each group of rules, sorted by name, and then of all rules where there are several groups.

    Raises MetricError for a ``k`` above the number of samples and for scores that do not fit together.
    """
    agents: dict[str, list[RuleScore]] = {}
    for one in scores:
        agents.setdefault(one.agent, []).append(one)
    found = {}
    for agent, own in sorted(agents.items()):
        by_group = {group: [one for one in own if one.group == group] for group in sorted({one.group for one in own})}
        found[agent] = [_summary(group, some, ks, resamples, seed) for group, some in by_group.items()]
        if len(by_group) > 1:
            found[agent].append(_summary(None, own, ks, resamples, seed))
    return found


def _summary(
    group: str | None, scores: Sequence[RuleScore], ks: Sequence[int], resamples: int, seed: int
) -> GroupSummary:
    by_rule = _of_equal_size(scores)
    f1 = list(rule_f1(scores).values())
    return GroupSummary(
        group=group,
        rules=len(by_rule),
        samples=len(scores) // len(by_rule),
        success=_share([one.success for one in scores], len(by_rule)),
        error=_share([one.error for one in scores], len(by_rule)),
        oracle_success=oracle_success(scores),
        oracle_error=oracle_error(scores),
        f1=fmean(f1),
        f1_interval=bootstrap(f1, resamples=resamples, seed=seed),
        pass_at={k: mean_pass_at_k(scores, k) for k in ks},
    )


def _share(hits: Sequence[bool], rules: int | None = None) -> Share:
    rules = len(hits) if rules is None else rules
    return Share(count=sum(hits), total=len(hits), interval=wilson(sum(hits) / (len(hits) / rules), rules))


def _by_rule(scores: Sequence[RuleScore]) -> dict[str, list[RuleScore]]:
    """In the order of the rules' ids, so that no figure depends on the order of the scores."""
    if not scores:
        raise MetricError("no scores")
    if len(agents := sorted({one.agent for one in scores})) > 1:
        raise MetricError(f"scores of several agents ({', '.join(agents)}): sum each up by itself")
    found: dict[str, list[RuleScore]] = {}
    for one in sorted(scores, key=lambda one: (one.rule, one.sample)):
        decks = found.setdefault(one.rule, [])
        if decks and decks[-1].sample == one.sample:
            raise MetricError(f"rule {one.rule}: sample {one.sample} is there twice")
        decks.append(one)
    return found


def _of_equal_size(scores: Sequence[RuleScore]) -> dict[str, list[RuleScore]]:
    by_rule = _by_rule(scores)
    sizes = {len(decks): rule for rule, decks in by_rule.items()}
    if len(sizes) > 1:
        few, many = min(sizes), max(sizes)
        raise MetricError(f"rule {sizes[few]} has {few} samples and {sizes[many]} has {many}; N must be one number")
    return by_rule


def _part(value: float, name: str) -> float:
    if not 0 < value < 1:
        raise MetricError(f"{name}: {value} is not between 0 and 1")
    return value


def _quantile(ordered: Sequence[float], part: float) -> float:
    """Between two values by their distance, as numpy's default."""
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
