"""Runs of pytest within tests: task files, agents that misbehave, and what such a run left behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gdstk
import klayout.db
import klayout.lay
import pytest
from iclayout_checkers import CHECKERS

import pytest_iclayout.collect
import pytest_iclayout.crash
import pytest_iclayout.trial.picture
from pytest_iclayout.checking.registry import CheckerRegistry

# A run within this process drops the modules that it was the first to import; extension modules do not
# survive a second import, and everything heavy would be imported again for every test.
_PRELOADED = (
    gdstk,
    klayout.db,
    klayout.lay,
    pytest_iclayout.collect,
    pytest_iclayout.crash,
    pytest_iclayout.trial.picture,
)
for _name in CHECKERS:
    CheckerRegistry(CHECKERS).get(_name)

# Frames of an agent that crashed are shown on purpose: a traceback may begin in a conftest.py, and nowhere else.
OUR_TRACEBACK = re.compile(
    r'(pytest_iclayout|iclayout_checkers)/[\w/]+\.py(:\d+: |", line \d)|INTERNALERROR'
    r'|Traceback(?! \(most recent call last\):\n[E ]+File "[^"\n]+/conftest\.py", line \d)'
)

RECT_TASK: dict[str, Any] = {
    "tier": 1,
    "prompt": "Draw a rectangle on met1 in a cell named top.",
    "technology": "sky130",
    "checker": "rect_present:layer=68/20",
}

AGENTS = '''
import os, signal, sys, threading, time
import pytest
from pytest_iclayout.agents.protocol import AgentUnavailable, Proposal

LAYER = {"layer": 68, "datatype": 20}
RECT = {"op": "add_rect", "cell": "top", "layer": LAYER,
        "rect": {"min": {"x": 0, "y": 0}, "max": {"x": 600, "y": 400}}}

class Scripted:
    """Does what the function of its name does."""
    def __init__(self, name, act):
        self.name, self.backend, self._act = name, "scripted", act
    def start(self, context):
        self.context = context
        return self
    def propose(self, turn, layout):
        return self._act(self.context, turn, layout) or Proposal()

def good(context, turn, layout):
    layout.execute({"op": "create_cell", "name": "top"})
    layout.execute(RECT)

def hasty(context, turn, layout):
    good(context, turn, layout)
    return Proposal(gives_up=True)

def stubborn(context, turn, layout):
    layout.execute({"op": "create_cell", "name": f"cell{turn.iteration}"})

def crashes(context, turn, layout):
    layout.execute({"op": "create_cell", "name": "top"})
    raise ConnectionError("the endpoint went away")

def exits(context, turn, layout):
    sys.exit("no key")

def skips(context, turn, layout):
    pytest.skip("no key")

def surrogate(context, turn, layout):
    raise ValueError("bad byte \\udcff in the answer")

def clumsy(context, turn, layout):
    layout.execute({"op": "create_cell", "name": "top"})
    layout.execute({"op": "delete_cell", "name": "first"})
    layout.execute({"op": "delete_cell", "name": "second"})
    return Proposal(gives_up=True)

def unavailable(context, turn, layout):
    raise AgentUnavailable("not authenticated")

def wrong_type(context, turn, layout):
    return "done"

def killed(context, turn, layout):
    os.kill(os.getpid(), signal.SIGKILL)

def second_killed(context, turn, layout):
    if context.task_id == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    good(context, turn, layout)

ACTS = (good, hasty, stubborn, clumsy, crashes, exits, skips, surrogate, unavailable, wrong_type, killed, second_killed)

def pytest_iclayout_agents(config):
    return {act.__name__: (lambda argument, act=act: Scripted(act.__name__, act)) for act in ACTS}
'''


@dataclass(frozen=True)
class Tasks:
    """Writes task files below the folder of the inner run."""

    folder: Path

    def write(self, path: str, *, without: tuple[str, ...] = (), more: str = "", **keys: Any) -> Path:
        """A task that asks for a rectangle, its id the file's name; ``keys`` add to or replace its keys."""
        file = self.folder / path
        keys = {"id": file.stem, **RECT_TASK, **keys}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items() if key not in without]
        return self.write_text(path, "\n".join([*lines, more]))

    def write_text(self, path: str, content: str | bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


@pytest.fixture
def tasks(pytester: pytest.Pytester) -> Tasks:
    return Tasks(pytester.path)


@pytest.fixture
def agents(pytester: pytest.Pytester) -> None:
    """The agents above, by their functions' names."""
    pytester.makeconftest(AGENTS)


@pytest.fixture
def run(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """pytest in this process, with as short a gate as can be; later arguments win."""

    def runs(*arguments: str | Path) -> pytest.RunResult:
        return pytester.runpytest_inprocess("--gate-examples=1", *arguments)

    return runs


@pytest.fixture
def xdist() -> None:
    """For tests of runs with workers."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")


@pytest.fixture
def collected(run: Callable[..., pytest.RunResult]) -> Callable[..., list[str]]:
    """Node ids of the items that a run would have, in order."""

    def collects(*arguments: str | Path) -> list[str]:
        return [line for line in run("--collect-only", "-q", *arguments).outlines if "::" in line]

    return collects


@pytest.fixture
def records(pytester: pytest.Pytester) -> Callable[..., dict[str, dict[str, Any]]]:
    """The trial records of the inner runs as plain JSON, by their paths below the results folder."""

    def reads(folder: str = ".iclayout/results") -> dict[str, dict[str, Any]]:
        results = pytester.path / folder
        return {
            str(path.relative_to(results)): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(results.rglob("*.json"))
        }

    return reads


@pytest.fixture
def shown() -> Callable[[pytest.RunResult], str]:
    """All that a run printed; no run may print a traceback of ours."""

    def shows(result: pytest.RunResult) -> str:
        text = f"{result.stdout.str()}\n{result.stderr.str()}"
        assert not OUR_TRACEBACK.search(text), text
        return text

    return shows
