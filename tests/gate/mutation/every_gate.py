"""The gate of every bundled task, and of the parameters in tests/gate: what a mutant in a checker must fail.

A mutant is active while an artifact is judged and at no other time.  What the checker draws, the witness and the
negatives, is the test data, and stays what it is even where the judgement uses the same function.

Not collected by itself: ``measure.py`` runs it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import iclayout_checkers
import iclayout_tasks
import pytest
from hypothesis import Phase, settings
from iclayout_checkers import CHECKERS
from mutants import MUTANTS, load_subjects, oracle_of

from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.suite.manifest import MANIFEST_NAME, load_suite
from pytest_iclayout.suite.task import load_task

GATE = GateSettings(examples=int(os.environ.get("ICLAYOUT_MUTATION_EXAMPLES", "50")))
WANTED = frozenset(os.environ.get("ICLAYOUT_MUTATION_CHECKERS", ",".join(CHECKERS)).split(","))
"""Names of the checkers whose gates run."""
CALLS_FILE = os.environ.get("ICLAYOUT_MUTATION_CALLS")
"""Where to write which functions of the checkers were called."""
_ACTIVE = "MUTANT_UNDER_TEST"
"""The variable in which mutmut names the active mutant."""
_FOLDER = str(Path(iclayout_checkers.__file__).parent)
_REGISTRY = CheckerRegistry(CHECKERS)


def _oracles() -> dict[str, Callable[[], Oracle]]:
    """By a name for each: the bundled tasks' oracles, then those of the tables."""
    suite = load_suite(Path(iclayout_tasks.__file__).parent / MANIFEST_NAME)
    found: dict[str, Callable[[], Oracle]] = {}
    for path in sorted((suite.folder / "layout").rglob("*.toml")):
        oracle = load_task(path, suite, _REGISTRY).oracle
        if oracle.checker.name in WANTED:
            found[path.stem] = lambda oracle=oracle: oracle
    table = (*MUTANTS, *load_subjects(Path(__file__).with_name("parameters.toml")))
    different = {
        (one.checker, str(one.params), one.rule_set, one.start, one.solution): one
        for one in table
        if one.checker in WANTED
    }
    for number, one in enumerate(different.values()):
        found[f"{one.checker}-{number}"] = cache(lambda one=one: oracle_of(one))
    return found


class Calls:
    """Functions of the checkers that were called, as file name and first line, in a judgement and elsewhere."""

    def __init__(self) -> None:
        self.judging = False
        self.seen: dict[bool, set[tuple[str, int]]] = {True: set(), False: set()}

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_FOLDER):
            self.seen[self.judging].add((Path(code.co_filename).name, code.co_firstlineno))

    def write(self, path: Path) -> None:
        named = {"judging": sorted(self.seen[True]), "drawing": sorted(self.seen[False])}
        path.write_text(json.dumps(named), encoding="utf-8")


@pytest.fixture(scope="session")
def calls() -> Iterator[Calls | None]:
    if CALLS_FILE is None:
        yield None
        return
    found = Calls()
    yield found
    found.write(Path(CALLS_FILE))


@pytest.fixture(autouse=True)
def _mutant_is_active_in_judgements_only(monkeypatch: pytest.MonkeyPatch, calls: Calls | None) -> Iterator[None]:
    settings.register_profile("mutation", derandomize=True, deadline=None, phases=[Phase.generate])
    settings.load_profile("mutation")
    mutant = os.environ.get(_ACTIVE, "")
    monkeypatch.setenv(_ACTIVE, "")
    judge = Oracle.judge

    def judge_with_the_mutant(oracle: Oracle, artifact: bytes) -> Verdict:
        os.environ[_ACTIVE] = mutant
        if calls:
            calls.judging = True
        try:
            return judge(oracle, artifact)
        finally:
            os.environ[_ACTIVE] = ""
            if calls:
                calls.judging = False

    monkeypatch.setattr(Oracle, "judge", judge_with_the_mutant)
    if calls:
        sys.setprofile(calls)
    yield
    sys.setprofile(None)


_ORACLES = _oracles()


@pytest.mark.parametrize("name", _ORACLES)
def test_rejects(name: str) -> None:
    check_rejects(_ORACLES[name](), name, GATE)


@pytest.mark.parametrize("name", _ORACLES)
def test_accepts(name: str) -> None:
    check_accepts(_ORACLES[name](), name, GATE)
