"""Ratios of ours to the naive way, from pytest-benchmark's groups; printed, and kept on request.

A benchmark here has a group and a parameter ``way`` that is ``ours`` or ``naive``, and may say its peak
``memory_mb``; or it says in ``extra_info``
``what`` it judged, in how many seconds (``s``; of processor time ``cpu_s``), with how much memory (``peak_mb``)
and from how large a file (``gds_mb``); or it gives the ``slowest`` of ``items`` with their seconds; or
the ``rates`` of the deck pool beside that of an application ``alone`` (runs a second), or what it held before and after
a ``soak``.
``ICLAYOUT_KEEP_PERFORMANCE=1 tox -e perf`` writes the table into docs/performance.md.
"""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN, END = "<!-- ratios: begin -->", "<!-- ratios: end -->"
BEGIN_JUDGED, END_JUDGED = "<!-- large layouts: begin -->", "<!-- large layouts: end -->"
BEGIN_DECKS, END_DECKS = "<!-- decks: begin -->", "<!-- decks: end -->"
BEGIN_SOAK, END_SOAK = "<!-- soak: begin -->", "<!-- soak: end -->"
BEGIN_SUITE, END_SUITE = "<!-- suite: begin -->", "<!-- suite: end -->"


@pytest.fixture(params=["naive", "ours"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def compiled_modules_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user: where Python keeps no compiled modules, each pytest that is started compiles the plugin anew."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    # pytest-benchmark hands its results out in no public way.
    benchmarks: list[Any] = config._benchmarksession.benchmarks  # type: ignore[attr-defined]
    medians: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in benchmarks:
        if one.group and one.params and "way" in one.params:
            medians[one.group, "s"][one.params["way"]] = one.stats.median
            if "memory_mb" in one.extra_info:
                medians[f"{one.group}: peak memory", "MB"][one.params["way"]] = one.extra_info["memory_mb"]
    ratios = [
        f"| {group} | {found['naive']:.3f} {unit} | {found['ours']:.3f} {unit} | {found['ours'] / found['naive']:.2f} |"
        for (group, unit), found in sorted(medians.items())
        if len(found) == 2
    ]
    judged = [
        "| {what} | {s:.1f} s | {cpu_s:.1f} s | {peak_mb:.0f} MB | {gds_mb:.1f} MB |".format(**one.extra_info)
        for one in benchmarks
        if "peak_mb" in one.extra_info
    ]
    decks = [
        f"| {what} | {alone:.2f} | {rate:.1f} | {rate / alone:.0f} |"
        for one in benchmarks
        for alone in [one.extra_info.get("alone", 1)]
        for what, rate in one.extra_info.get("rates", {}).items()
    ]
    soak = [
        f"| {one.extra_info['what']}: {name} | {before} | {after} |"
        for one in benchmarks
        for name, (before, after) in one.extra_info.get("soak", {}).items()
    ]
    suite = [
        row
        for one in benchmarks
        if "slowest" in one.extra_info
        for row in (
            "| all {items} items, each by itself | {items_s:.1f} s |".format(**one.extra_info),
            "| the whole run on two workers | {suite_s:.1f} s |".format(**one.extra_info),
            *(f"| `{name}` | {seconds:.2f} s |" for seconds, name in one.extra_info["slowest"]),
        )
    ]
    for begin, end, head, rows in (
        (BEGIN, END, ["| what | naive | ours | ours / naive |", "| --- | --- | --- | --- |"], ratios),
        (
            BEGIN_JUDGED,
            END_JUDGED,
            ["| what | time | processor time | peak memory | GDS |", "| --- | --- | --- | --- | --- |"],
            judged,
        ),
        (
            BEGIN_DECKS,
            END_DECKS,
            ["| what | an application a run, runs/s | the pool, runs/s | times |", "| --- | --- | --- | --- |"],
            decks,
        ),
        (BEGIN_SOAK, END_SOAK, ["| what | before | after |", "| --- | --- | --- |"], soak),
        (BEGIN_SUITE, END_SUITE, ["| what | time |", "| --- | --- |"], suite),
    ):
        if rows:
            _tell(terminalreporter, begin, end, [*head, *rows])


def _tell(reporter: pytest.TerminalReporter, begin: str, end: str, table: list[str]) -> None:
    reporter.section("measured")
    for line in table:
        reporter.line(line)
    if os.environ.get("ICLAYOUT_KEEP_PERFORMANCE"):
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        kept, _, after = rest.partition(end)
        if begin != BEGIN_SUITE:  # what was not measured now stays; the slowest are others each time
            table = _merged([line for line in kept.splitlines() if line.startswith("|")], table)
        machine = f"Measured with Python {platform.python_version()}, {os.cpu_count()} cores; medians."
        text = "\n".join([begin, machine, "", *table, end])
        PAGE.write_text(before + text + after, encoding="utf-8")


def _merged(old: list[str], new: list[str]) -> list[str]:
    """Rows of tables by their first cell, those of ``new`` in place of those of ``old``."""
    rows = {line.split("|")[1]: line for line in [*new[:2], *old[2:]]}
    return list((rows | {line.split("|")[1]: line for line in new}).values())
