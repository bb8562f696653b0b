"""The handed transcripts of other programs: they replay, and every verdict that differs is accounted for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from iclayout_checkers import CHECKERS
from published import FACTS, TRANSCRIPTS, write_published_suite

from pytest_iclayout.cli import main

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(
        not (FACTS.is_file() and TRANSCRIPTS.is_dir()), reason="the external transcripts are not beside this checkout"
    ),
]
PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("layout-tasks")
    write_published_suite(folder, set(CHECKERS))
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        main(["replay", str(TRANSCRIPTS), "--tasks", str(folder), "--json"])
    result: list[dict[str, Any]] = json.loads(output.getvalue())
    return result


def test_every_transcript_replays_without_divergence(replayed: list[dict[str, Any]]) -> None:
    assert len(replayed) == len(list(TRANSCRIPTS.rglob("*.jsonl"))) >= 30
    assert {one["transcript"]: one["divergences"] for one in replayed if one["divergences"]} == {}


def test_every_transcript_whose_checker_exists_is_judged(replayed: list[dict[str, Any]]) -> None:
    known = {line.split(",")[0] for line in FACTS.read_text().splitlines() if line.split(",")[2] in CHECKERS}
    judged = {one["task_id"] for one in replayed if one["verdict"] is not None}
    assert judged == {one["task_id"] for one in replayed} & known
    assert all(one["recorded"] is not None for one in replayed)


def test_the_page_lists_exactly_the_verdicts_that_differ(replayed: list[dict[str, Any]]) -> None:
    listed = set(re.findall(r"^\| ([\w.\-]+/\w+) \| (?:success|failure) \|", PAGE.read_text(encoding="utf-8"), re.M))
    differing = {f"{Path(one['transcript']).parent.name}/{one['task_id']}" for one in replayed if one["differs"]}
    assert differing == listed


def test_published_tasks_are_gated_and_solved_as_they_lie(pytester: pytest.Pytester) -> None:
    tasks = write_published_suite(pytester.mkdir("layout-tasks"), set(CHECKERS))
    result = pytester.runpytest("layout-tasks", "--agent=oracle", "--gate-examples=5", "-q")
    result.assert_outcomes(passed=3 * len(tasks))
