"""What becomes of a mutant: a fault that is taken for none would hide a hole in the gate."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding

sys.path.append(str(Path(__file__).parents[1]))
from replay import Judged, Recorder, fate

ACCEPTED, REJECTED = Verdict(), Verdict.of(Finding(rule="bars", message="no bar"))


def judged(judge: Callable[[str], Verdict], *, accepted: bool = True) -> list[Judged]:
    """A layout, and an oracle that judges it by the name of the active mutant."""
    checker = SimpleNamespace(check=lambda view, params: judge(os.environ["MUTANT_UNDER_TEST"]))
    oracle: Any = SimpleNamespace(_open=lambda artifact: "view", checker=checker, params=None)
    return [Judged(oracle, b"", accepted, frozenset())]


def endless(mutant: str) -> Verdict:
    while True:
        pass


def raising(mutant: str) -> Verdict:
    raise RuntimeError(mutant)


def test_mutant_that_gives_every_verdict_lives() -> None:
    assert fate("x", judged(lambda mutant: ACCEPTED)) == "lived"
    assert fate("x", judged(lambda mutant: REJECTED, accepted=False)) == "lived"


def test_mutant_is_active_and_killed_by_another_verdict() -> None:
    assert fate("x", judged(lambda mutant: REJECTED if mutant == "x" else ACCEPTED)) == "killed"
    assert fate("x", judged(lambda mutant: ACCEPTED, accepted=False)) == "killed"


@pytest.mark.parametrize("judge", [raising, lambda mutant: os.kill(os.getpid(), signal.SIGKILL)])
def test_mutant_that_gives_no_verdict_is_killed(judge: Callable[[str], Verdict]) -> None:
    assert fate("x", judged(judge, accepted=False)) == "killed"


def test_mutant_that_comes_to_no_end_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.LIMIT", 1)
    assert fate("x", judged(endless)) == "late"


def test_recorder_tells_what_is_called_in_a_judgement_from_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay._FOLDER", __file__)
    monkeypatch.setattr("replay._JUDGE", lambda oracle, artifact: judging())
    recorder, oracle = Recorder(), Oracle.__new__(Oracle)
    sys.setprofile(recorder.watch)
    try:
        drawing()
        recorder.judge(oracle, b"layout")
    finally:
        sys.setprofile(None)
    (one,) = recorder.judged.values()
    assert not one.accepted
    assert "judging" in {function.name for function in one.functions}
    assert "drawing" not in {function.name for function in one.functions}
    assert {"drawing"} <= {function.name for function in recorder.drawing} - {"judging"}


def judging() -> Verdict:
    return REJECTED


def drawing() -> None:
    pass
