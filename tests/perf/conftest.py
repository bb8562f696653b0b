"""Ratios of ours to the naive way, from pytest-benchmark's groups; printed, and kept on request.

Every benchmark here has a group and a parameter ``way`` that is ``ours`` or ``naive``.
``ICLAYOUT_KEEP_PERFORMANCE=1 tox -e perf`` writes the table into docs/performance.md.
"""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN, END = "<!-- ratios: begin -->", "<!-- ratios: end -->"


@pytest.fixture(params=["naive", "ours"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    medians: dict[str, dict[str, float]] = defaultdict(dict)
    for one in config._benchmarksession.benchmarks:  # type: ignore[attr-defined]
        if one.group and one.params and "way" in one.params:
            medians[one.group][one.params["way"]] = one.stats.median
    rows = [
        f"| {group} | {found['naive']:.3f} s | {found['ours']:.3f} s | {found['ours'] / found['naive']:.2f} |"
        for group, found in sorted(medians.items())
        if len(found) == 2
    ]
    if not rows:
        return
    table = ["| what | naive | ours | ours / naive |", "| --- | --- | --- | --- |", *rows]
    terminalreporter.section("ratios")
    for line in table:
        terminalreporter.line(line)
    if os.environ.get("ICLAYOUT_KEEP_PERFORMANCE"):
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        machine = f"Measured with Python {platform.python_version()}, {os.cpu_count()} cores; medians."
        text = "\n".join([BEGIN, machine, "", *table, END])
        PAGE.write_text(head + text + rest.partition(END)[2], encoding="utf-8")
