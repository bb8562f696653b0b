"""The gate of every bundled task, and of the parameters in tests/gate, recorded once and judged again by mutants.

    replay.py calls FILE             write which functions the gates call, in judgements and elsewhere
    replay.py fates MUTANTS FILE     write what becomes of each of the mutants

The gate comes down to layouts and to the verdict on each of them.  What the checkers draw, the witness and the
negatives, is the test data, and stays what it is even where a judgement uses the same function: no mutant is active
while the layouts are drawn, and a mutant is killed when it gives one of them another verdict, or none.

``measure.py`` runs it; by the name of a checker in ICLAYOUT_MUTATION_CHECKERS, those gates alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple
from unittest.mock import patch

import iclayout_checkers
import iclayout_tasks
from hypothesis import Phase, settings
from iclayout_checkers import CHECKERS
from mutants import MUTANTS, load_subjects, oracle_of

from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.suite.manifest import MANIFEST_NAME, load_suite
from pytest_iclayout.suite.task import load_task

FEW, ALL = 10, 50
"""Examples of each gate: to see which functions judge, and to judge with mutants; the latter is the gate's default."""
LIMIT = 20
"""Seconds for one judgement by a mutant; they take hundredths of a second."""
WANTED = frozenset(os.environ.get("ICLAYOUT_MUTATION_CHECKERS", ",".join(CHECKERS)).split(","))
_ACTIVE = "MUTANT_UNDER_TEST"
"""The variable in which mutmut names the active mutant."""
_FOLDER = str(Path(iclayout_checkers.__file__).parent)
_REGISTRY = CheckerRegistry(CHECKERS)
_JUDGE = Oracle.judge


def oracles() -> dict[str, Callable[[], Oracle]]:
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


class Function(NamedTuple):
    """One of the checkers', as Python names it in a frame."""

    module: str
    name: str
    line: int


class Judged(NamedTuple):
    """A layout that a gate has judged, and the functions that were called for it."""

    oracle: Oracle
    artifact: bytes
    accepted: bool
    functions: frozenset[Function]


class Recorder:
    """Judges as an oracle does, and remembers what it judged."""

    def __init__(self) -> None:
        self.judged: dict[tuple[int, bytes], Judged] = {}
        self.drawing: set[Function] = set()
        self._called = self.drawing

    def judge(self, oracle: Oracle, artifact: bytes) -> Verdict:
        self._called = set()
        try:
            verdict = _JUDGE(oracle, artifact)
        finally:
            called, self._called = self._called, self.drawing
        self.judged[id(oracle), artifact] = Judged(oracle, artifact, verdict.ok, frozenset(called))
        return verdict

    def watch(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_FOLDER):
            self._called.add(Function(Path(code.co_filename).stem, code.co_name, code.co_firstlineno))


@contextmanager
def _watched(recorder: Recorder) -> Iterator[None]:
    judge = lambda oracle, artifact: recorder.judge(oracle, artifact)  # noqa: E731 - becomes a method
    with patch.object(Oracle, "judge", judge):
        sys.setprofile(recorder.watch)
        try:
            yield
        finally:
            sys.setprofile(None)


def recorded(examples: int) -> Recorder:
    settings.register_profile("mutation", derandomize=True, deadline=None, phases=[Phase.generate])
    settings.load_profile("mutation")
    recorder, gate = Recorder(), GateSettings(examples=examples)
    for name, oracle in oracles().items():
        with _watched(recorder):
            check_rejects(oracle(), name, gate)
            check_accepts(oracle(), name, gate)
        print(f"{name}: {len(recorder.judged)} layouts so far", flush=True)
    return recorder


def write_calls(path: Path) -> None:
    recorder = recorded(FEW)
    judging = frozenset[Function]().union(*(one.functions for one in recorder.judged.values()))
    named = {
        purpose: sorted({(f"{one.module}.py", one.line) for one in found})
        for purpose, found in (("judging", judging), ("drawing", recorder.drawing))
    }
    path.write_text(json.dumps(named), encoding="utf-8")


def write_fates(mutants: Sequence[str], path: Path) -> None:
    # What is accepted comes first, for it goes through more of a checker.
    judged = sorted(recorded(ALL).judged.values(), key=lambda one: not one.accepted)
    for one in judged:
        _ = one.oracle.start_view  # once, and not in every child
    fates = {}
    for mutant in mutants:
        module, _, name = mutant.rpartition(".")
        original = module.rpartition(".")[2], f"{name.rpartition('__mutmut_')[0]}__mutmut_orig"
        concerned = [one for one in judged if any((by.module, by.name) == original for by in one.functions)]
        fates[mutant] = fate(mutant, concerned)
        print(f"{mutant}: {fates[mutant]}", flush=True)
    path.write_text(json.dumps(fates), encoding="utf-8")


def fate(mutant: str, judged: Sequence[Judged]) -> str:
    """``lived``, ``killed`` or ``late``: in a process of its own, which a mutant may take with it."""
    child = os.fork()
    if not child:
        os._exit(0 if _agrees(mutant, judged) else 1)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        return "killed" if os.WEXITSTATUS(status) else "lived"
    return "late" if os.WTERMSIG(status) == signal.SIGALRM else "killed"


def _agrees(mutant: str, judged: Sequence[Judged]) -> bool:
    """Whether it gives every layout the verdict that the checker gives."""
    os.environ[_ACTIVE] = mutant
    for one in judged:
        signal.alarm(LIMIT)
        try:
            if _JUDGE(one.oracle, one.artifact).ok != one.accepted:
                return False
        except BaseException:  # whatever it is, no verdict came of it
            return False
    return True


def main() -> None:
    os.environ[_ACTIVE] = ""
    what, *paths = sys.argv[1:]
    if what == "calls":
        write_calls(Path(paths[0]))
    else:
        write_fates(json.loads(Path(paths[0]).read_text(encoding="utf-8")), Path(paths[1]))


if __name__ == "__main__":
    main()
