"""What ``pytest --help`` and ``pytest --markers`` teach."""

from __future__ import annotations

import re

import pytest

from pytest_iclayout import options


@pytest.fixture
def help_text(pytester):
    return pytester.runpytest_inprocess("--help").stdout.str()


def test_help_has_a_group_of_all_options_with_an_example(help_text):
    group = help_text.split("integrated-circuit layout tasks (pytest-iclayout):")[1].split("\n\n")[0]
    assert re.findall(r"^  (--[\w-]+)", group, re.MULTILINE) == [
        "--agent",
        "--max-iterations",
        "--gate-examples",
        "--iclayout-results",
        "--variants",
        "--variant-seed",
        "--rule-feedback",
        "--lenient-crash",
        "--rule-timeout",
        "--context",
        "--unsafe-no-sandbox",
    ]
    words = " ".join(group.split())
    for text in (
        "mock",
        "oracle",
        "nop",
        "replay:DIR",
        "Example: pytest --pyargs iclayout_tasks --agent=mock -k tier1",
        "default: 4",
        "default: the ini",
    ):
        assert text in words, text


def test_help_lists_the_ini_values(help_text):
    assert "iclayout_results (string):" in help_text
    assert "iclayout_gate_examples (string):" in help_text


def test_markers_are_listed_with_what_they_mean(pytester):
    printed = pytester.runpytest_inprocess("--markers").stdout.str()
    for marker in options.MARKERS:
        assert f"@pytest.mark.{marker}" in printed


def test_items_use_registered_markers_only(tasks, run):
    tasks.write("a.toml")
    run("--strict-markers", "--agent=oracle").assert_outcomes(passed=3)


def test_fixtures_are_listed_with_what_they_give(pytester):
    printed = pytester.runpytest_inprocess("--fixtures", "-p", "iclayout").stdout.str()
    for name in ("task", "checker", "layout_session", "agent_session", "deck_pool"):
        heading = rf"^{name}( \[session scope\])? -- .*pytest_iclayout/fixtures.py:\d+\n    \w"
        assert re.search(heading, printed, re.MULTILINE), name
