"""A suite's tasks as a table, for the command line and for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_iclayout.suite.task import Task

_COLUMNS = ("task", "tier", "checker", "rule set", "parameters", "start", "refinement")


def listed(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """What the table shows, as JSON data, by tier and id."""
    return [
        {
            "id": task.id,
            "tier": task.spec.tier,
            "checker": task.oracle.checker.name,
            "technology": task.technology.name,
            "rule_set": task.oracle.bench.rule_set,
            "parameters": list(task.values or ()),
            "start": bool(task.spec.start),
            "refinement": bool(task.spec.refinement),
            "digest": task.digest,
        }
        for task in sorted(tasks, key=lambda one: (one.spec.tier, one.id))
    ]


def text_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    cells = [_COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_COLUMNS))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def markdown_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = [_COLUMNS, ("---",) * len(_COLUMNS)]
    for row in rows:
        task, tier, checker, rule_set, *others = _cells(row)
        lines.append((f"`{task}`", tier, f"`{checker}`", f"`{rule_set}`", *others))
    return [f"| {' | '.join(line)} |".replace("  |", " |") for line in lines]


def summary_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How many tasks there are, by tier and by checker."""
    tiers, checkers = Counter(row["tier"] for row in rows), Counter(row["checker"] for row in rows)
    return [
        f"{len(rows)} tasks by tier: {', '.join(f'{tier}: {count}' for tier, count in sorted(tiers.items()))}",
        f"by checker: {', '.join(f'{name}: {count}' for name, count in sorted(checkers.items()))}",
    ]


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    flags = ("yes" if row[key] else "" for key in ("parameters", "start", "refinement"))
    return (row["id"], str(row["tier"]), row["checker"], row["rule_set"], *flags)
